"""The built site in a real Chromium: every page, its links, its search, its looks."""
from __future__ import annotations

import functools
import json
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from conftest import ROOT

from tools.docs import __main__ as docs, config

pytestmark = pytest.mark.browser


class Quiet(SimpleHTTPRequestHandler):
    """A server that keeps what was asked for in vain; a connection serves many requests."""
    protocol_version, disable_nagle_algorithm = "HTTP/1.1", True
    missing: list[str] = []

    def log_message(self, *args: object) -> None:
        pass

    def send_error(self, code: int, *args: object, **kwargs: object) -> None:
        self.missing.append(f"{code} {self.path}")
        super().send_error(code, *args, **kwargs)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built by the process that needs it first, for the others too."""
    import fcntl
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    with open(folder / "docs.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "docs").exists():
            assert docs.build(ROOT, folder / "docs-work", folder / "docs-made", config.Host()) == []
            (folder / "docs-made").rename(folder / "docs")
    return folder / "docs"


class Unsearched(Quiet):
    """Its search index has one entry: each page reads all of it, and the search has tests of its own."""

    def translate_path(self, path: str) -> str:
        found = Path(super().translate_path(path))
        if found.name != "search.json":
            return str(found)
        small = found.parent.with_name("one_entry.json")
        if not small.exists():
            index = json.loads(found.read_text(encoding="utf-8"))
            small.write_text(json.dumps(index | {"items": index["items"][:1]}), encoding="utf-8")
        return str(small)


@contextmanager
def served(site: Path, handler: type[Quiet]) -> Iterator[str]:
    """Serve a folder; its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture(scope="module")
def base(site: Path) -> Iterator[str]:
    with served(site, Quiet) as address:
        yield address


@pytest.fixture(scope="module")
def unsearched(site: Path) -> Iterator[str]:
    with served(site, Unsearched) as address:
        yield address


@pytest.fixture
def opened(chromium: object, base: str, unsearched: str) -> Iterator[object]:
    """A function from width and colours to a page that notes errors and requests to other hosts."""
    contexts = []

    def make(width: int = 1440, scheme: str = "light") -> object:
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.wrong = []
        page.on("console", lambda m: page.wrong.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: page.wrong.append(str(e)))
        page.on("request", lambda r: page.wrong.append(r.url) if not r.url.startswith((base, unsearched, "data:", "blob:")) else None)
        return page

    yield make
    for context in contexts:
        context.close()


DRAWN = "() => 'ready' in document.documentElement.dataset"
STATE = """() => ({
  title: document.querySelector('h1')?.textContent || '',
  wide: Math.max(0, document.documentElement.scrollWidth - innerWidth),
  undrawn: [...document.querySelectorAll('.diagram')].filter(d => !d.querySelector('svg')).length,
  cut: [...document.querySelectorAll('.diagram foreignObject')].filter(f => f.firstElementChild?.scrollWidth > f.width.baseVal.value + 2)
    .map(f => f.textContent),
  tex: [...document.querySelectorAll('.arithmatex')].filter(n => !n.querySelector('.katex')).length,
  failed: document.querySelectorAll('.katex-error').length,
  broken: [...document.images].filter(i => !i.complete || !i.naturalWidth).map(i => i.src),
  views: [...document.querySelectorAll('ragnb-view')].filter(v => !v.shadowRoot
    || !v.shadowRoot.textContent && !v.shadowRoot.querySelector('svg, img')).length,
})"""


@pytest.mark.parametrize("half", [0, 1])   # one for each process
def test_every_page_on_a_narrow_screen(half: int, site: Path, unsearched: str, opened: object) -> None:
    page = opened(390)
    Quiet.missing.clear()
    wrong, diagrams = [], 0
    for file in sorted(site.rglob("*.html"))[half::2]:
        name = file.relative_to(site).as_posix()
        if name == "404.html":
            continue
        page.goto(unsearched + name)
        page.wait_for_function(DRAWN)
        diagrams += page.locator("div.diagram svg").count()
        state = page.evaluate(STATE)
        if not state.pop("title").strip() or any(state.values()):
            wrong.append((name, state))
    assert wrong == [] and page.wrong == [] and Quiet.missing == []
    assert diagrams >= 15


SEARCHED = {
    "연차": "연차", "휴가": "휴가", "연차휴가를": "휴가", "형태소": "형태소", "이웃 청크": "이웃",
    "NeighborChunkExpander": "NeighborChunkExpander", "reranking": "rerank", "budget": "budget", "evidence recall": "recall",
    "table_aware": "table_aware"}


def open_search(page: object, name: str) -> object:
    """The box for words: the page listens to the keys a little after it is drawn."""
    from playwright.sync_api import TimeoutError
    box = page.get_by_role("combobox", name=name)
    for _ in range(30):
        page.keyboard.press("Control+k")
        with suppress(TimeoutError):
            box.wait_for(timeout=1_000)
            break
    return box


def test_search_finds(base: str, opened: object) -> None:
    page, targets = opened(), set()
    page.goto(base + "index.html")
    page.wait_for_function(DRAWN)
    box, results = open_search(page, "Search"), page.get_by_role("option")
    for words, wanted in SEARCHED.items():
        box.fill(words)
        results.first.wait_for()
        page.wait_for_timeout(500)
        found = [text.replace("\u200b", "").replace("\u200c", "") for text in results.all_inner_texts()]
        assert found and wanted.lower() in found[0].lower(), (words, found[:3])
        if words == "연차":       # inside compounds and before particles, and shown as it is written
            assert any("연차휴가" in text or "연차를" in text for text in found)
        assert page.locator("[role=option] mark").all_inner_texts()
        targets.add(results.first.get_attribute("href"))
    for target in targets:
        page.goto(target)
        assert page.url.startswith(base) and page.locator("h1").count() == 1
    assert page.wrong == []


RIGHT_PAGES = {   # What a Korean reader types -> where the first result leads
    "재정렬": "40_retrieval/04_rerank.html", "청킹": "20_chunking/index.html", "부모-자식 청크": "20_chunking/04_parent_child.html",
    "하이브리드 검색": "40_retrieval/02_hybrid.html", "임베딩": "10_models/01_embedding.html", "대법원 판례": "84_laws/04_rulings.html",
    "별표": "tutorials/03_laws.html", "평가": "90_evaluation/index.html", "예산": "60_context/03_budgets.html",
    "클러스터": "tutorials/08_opensearch.html"}


def test_a_korean_term_leads_to_its_page(site: Path, base: str, opened: object) -> None:
    assert (site / "search.json").stat().st_size <= 1_500_000
    page, found = opened(), {}
    page.goto(base + "ko.html")
    page.wait_for_function(DRAWN)
    box, results = open_search(page, "검색"), page.get_by_role("option")
    for words, wanted in RIGHT_PAGES.items():
        box.fill(words)
        with suppress(Exception):
            page.wait_for_function(f"[...document.body.children].some(n => n.shadowRoot?.querySelector('[role=option]')"
                                   f"?.closest('a, [href]')?.getAttribute('href')?.includes('{wanted}'))", timeout=8_000)
        found[words] = results.first.get_attribute("href")
    assert {w: h for w, h in found.items() if RIGHT_PAGES[w] not in (h or "")} == {}


def test_a_particle_hides_no_korean_page(base: str, opened: object) -> None:
    """On the Korean page a word with its particle finds what the bare word finds, and a Korean heading among the first."""
    page, counts = opened(), {}
    page.goto(base + "ko.html")
    page.wait_for_function(DRAWN)
    box, results = open_search(page, "검색"), page.get_by_role("option")
    for words in ("휴가", "연차휴가", "연차휴가를", "연차휴가에는", "문맥", "문맥을", "말뭉치", "말뭉치에서는"):
        box.fill(words)
        page.wait_for_timeout(800)
        page.wait_for_function("[...document.body.children].some(n => /\\d/.test("
                               "n.shadowRoot?.querySelector('[role=status]')?.textContent || ''))")
        counts[words] = page.get_by_role("status").last.inner_text().strip()
    assert counts["연차휴가"] == counts["연차휴가를"] == counts["연차휴가에는"] != "결과가 없습니다"
    assert counts["문맥"] == counts["문맥을"] and counts["말뭉치"] == counts["말뭉치에서는"]
    numbers = {words: int(re.sub(r"\D", "", told)) for words, told in counts.items()}
    assert min(numbers.values()) >= 5 and results.count() > 3
    assert numbers["휴가"] > numbers["연차휴가"]       # inside compounds too
    assert page.wrong == []


@pytest.mark.parametrize("name, locale, korean", [("ko.html", "en-US", True), ("index.html", "ko-KR", True),
                                                  ("index.html", "en-US", False)])
def test_the_search_speaks_the_language_of_page_or_reader(name: str, locale: str, korean: bool, base: str, chromium: object) -> None:
    """Placeholder, count, and that nothing was found; what is found stays as it is written."""
    context = chromium.new_context(locale=locale)
    page = context.new_page()
    page.goto(base + name)
    page.wait_for_function(DRAWN)
    box = open_search(page, "검색" if korean else "Search")
    assert box.get_attribute("placeholder") == ("검색" if korean else "Search")
    assert page.locator(".md-search__button").inner_text().strip() == ("검색" if korean else "Search")
    assert page.locator(".md-nav--secondary .md-nav__title").first.inner_text().strip() == ("이 페이지" if korean else "On this page")
    heading = page.get_by_role("status").last
    for words, told in (("reranking", r"결과 [\d,]+개" if korean else r"[\d,]+ results?"),
                        ("zqxwvkjj", "결과가 없습니다" if korean else "No results"),
                        ("Search results", r"결과 [\d,]+개" if korean else r"[\d,]+ results?")):
        box.fill(words)
        page.wait_for_function("want => [...document.body.children].some(n => new RegExp(`^${want}$`).test("
                               "n.shadowRoot?.querySelector('[role=status]')?.textContent || ''))", arg=told)
        assert re.fullmatch(told, heading.inner_text().strip())
    context.close()


LOOKS = ["index.html", "ko.html", "glossary.html", "40_retrieval/01_bm25.html", "80_pipeline/09_trace_page.html", "api/retrieval.bm25.html",
         "studies/from_design.html"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 900, 1440])
def test_looks(width: int, scheme: str, base: str, opened: object, tmp_path: Path) -> None:
    """Each page fits its width; colours follow the reader; plots stand on white in the dark; parameters are stacked when narrow."""
    page = opened(width, scheme)
    for name in LOOKS:
        page.goto(base + name)
        page.wait_for_function(DRAWN)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        light = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]")
        assert (light > 200) == (scheme == "light"), name
        assert len(page.screenshot(path=tmp_path / f"{name.replace('/', '_')}-{width}-{scheme}.png")) > 10_000
    page.goto(base + "api/retrieval.bm25.html")
    display = page.evaluate("getComputedStyle(document.querySelector('.params td')).display")
    assert display == ("block" if width == 390 else "table-cell")
    page.goto(base + "90_evaluation/06_plots.html")
    plot = page.evaluate("getComputedStyle(document.querySelector('img.plot')).backgroundColor")
    assert (plot == "rgb(255, 255, 255)") == (scheme == "dark")
    assert page.wrong == []


def test_colours_change_with_the_button_and_diagrams_follow(base: str, opened: object) -> None:
    page = opened(1440, "light")
    page.goto(base + "85_agent/01_library.html")
    page.wait_for_function(DRAWN)
    fill = "() => getComputedStyle(document.querySelector('div.diagram svg .node rect')).fill"
    before = page.evaluate(fill)
    page.locator("[data-md-component=palette] label:visible").click()
    page.wait_for_function(f"before => ({fill})() !== before", arg=before)
    assert page.locator("body").get_attribute("data-md-color-scheme") == "slate" and page.wrong == []


@pytest.mark.parametrize("width", [400, 1000, 1700])
def test_the_road_through_a_room(width: int, base: str, opened: object) -> None:
    """A stop for each notebook, in the order of the files; a click leads to its page; the drawing is not shrunk."""
    page = opened(width)
    page.goto(base + "40_retrieval/index.html")
    page.wait_for_function(DRAWN)
    names = [p.stem for p in sorted((ROOT / "nbs/40_retrieval").glob("*.ipynb"))]
    stops = page.locator(".road svg a")
    assert [Path(a.get_attribute("href")).stem for a in stops.all()] == names
    assert page.locator(".road ol > li").count() == len(names) and page.locator(".road .arc").count() > 10
    assert stops.first.locator("circle").bounding_box()["width"] > 20
    beside = page.locator(".road ol").bounding_box()["x"] > page.locator(".road svg").bounding_box()["x"] + 100
    assert beside == (width > 960)
    stops.nth(1).click()
    page.wait_for_url(f"**/{names[1]}.html")
    assert page.wrong == []


def test_tables_use_the_width_and_lines_end_where_they_can_be_read(base: str, opened: object) -> None:
    page = opened(1700)
    page.goto(base + "glossary.html")
    page.wait_for_function(DRAWN)
    assert page.locator("table").first.bounding_box()["width"] > 1200
    assert page.locator(".md-content blockquote").first.bounding_box()["width"] < 1_050
    search = page.locator(".md-search__button").bounding_box()
    assert search["x"] + search["width"] > 1600


def test_languages_lead_to_each_other(base: str, opened: object) -> None:
    page = opened()
    page.goto(base + "85_agent/01_library.html")
    links = {a.get_attribute("hreflang"): a.get_attribute("href") for a in page.locator("a[hreflang]").all()}
    for language, wanted in (("ko", "ragnb 한국어 안내"), ("en", "ragnb")):
        page.goto(base + "85_agent/01_library.html")
        page.goto(page.evaluate("href => new URL(href, location.href).href", links[language]))
        assert page.locator("h1").inner_text().startswith(wanted)
