"""The documentation site: notebooks become pages, and the checker finds what is wrong with a built site."""
from __future__ import annotations

import ast
import base64
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, write
from hypothesis import given, settings, strategies as st

import ragnb
from tools.docs import __main__ as docs, assets, card, check, config, pages, prose, reference, rooms, signatures, words
from tools.readme import joined

PIXEL = base64.b64encode(b"\x89PNG picture").decode()


def code(source: str, *outputs: dict) -> dict:
    return {"cell_type": "code", "source": source.splitlines(keepends=True), "outputs": list(outputs)}


def text(source: str) -> dict:
    return {"cell_type": "markdown", "source": source.splitlines(keepends=True)}


def shown(**data: str) -> dict:
    return {"output_type": "execute_result", "data": {kind.replace("_", "/"): value for kind, value in data.items()}}


def printed(words_: str, name: str = "stdout") -> dict:
    return {"output_type": "stream", "name": name, "text": words_}


SPAN = '''#| exports
class Span:
    """A half-open interval.

    Parameters
    ----------
    start : int
        First character.

    Raises
    ------
    ValueError
        When `start` is negative.
    """
    start: int
    end: int = 3  # One past the last

    def of(
        self,
        text: str,   # The whole document
    ) -> str:        # Its characters
        "Cut it out."
        return text[self.start:self.end]

    @property
    def size(self) -> int:
        "Characters."
        return 1
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Two notebooks, one of a room and one index."""
    def save(path: str, *cells: dict) -> None:
        file = tmp_path / "nbs" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"cells": list(cells)}), encoding="utf-8")

    save("index.ipynb", text("# demo\n\n> gain"), text("See [span](00_documents/span.ipynb#span), `Span`, [data](../data/x.md)."))
    save("00_documents/span.ipynb", text("# Spans `of` text\n\n> What they are.\n"), code("#| default_exp documents.span"), code(SPAN),
         code("#| hide\nsecret()"), code("#| echo: false\ndrawn()", shown(image_png=PIXEL, text_plain="<Figure>")),
         code("Span(0, 2).of('연차')", printed("warned", "stderr"), printed("a   b    c\nd   e    f"), shown(text_plain="'연차'")),
         code("frame", shown(text_html='<div>\n<style scoped>\n</style>\n<table border="1" class="dataframe"><tr><td>1</td></tr></table></div>')),
         code("page", shown(text_html='<style>b{}</style><details class="x">"글"</details>')))
    save("studies/one.ipynb", text("# A study"))
    save("tutorials/01_first.ipynb", text("# First steps"))
    return tmp_path


# --- prose
@pytest.mark.parametrize("head", ["**Note.** One", "**Note** One", "[!NOTE]\n> One"])
def test_callouts_become_admonitions(head: str) -> None:
    made = prose.callouts(f"Before.\n\n> {head}\n> two `x`.\n\n> a quotation\n")
    assert '!!! note "Note"\n\n    One\n    two `x`.' in made and "> a quotation" in made


def test_fenced_code_is_left_alone() -> None:
    source = "Text\n- item\n\n```md\nText\n- item\n[kept](a.ipynb) `Span`\n```\n\n```mermaid\nflowchart LR\n```"
    made = prose.markdown(source, lambda target: None, {"Span": "api.md#Span"})
    assert "Text\n\n- item" in made and "```md\nText\n- item\n[kept](a.ipynb) `Span`\n```" in made
    assert made.endswith("```mermaid\nflowchart LR\n```")


@pytest.mark.parametrize("target, local, hosted", [
    ("bm25.ipynb#the-formula", "bm25.md#the-formula", "bm25.md#the-formula"),
    ("../00_documents/span.ipynb", "../00_documents/span.md", "../00_documents/span.md"),
    ("../../docs/glossary.md", "../glossary.md", "../glossary.md"),
    ("../../data/corpus", None, "https://host/o/n/blob/main/data/corpus"),
    ("../studies/results/a.json", None, "https://host/o/n/blob/main/nbs/studies/results/a.json"),
    ("../figures/a.png", "../figures/a.png", "../figures/a.png"),
    ("https://arxiv.org/abs/1", "https://arxiv.org/abs/1", "https://arxiv.org/abs/1"),
    ("#here", "#here", "#here")])
def test_links_lead_to_pages_or_to_the_host(target: str, local: str | None, hosted: str) -> None:
    made = {"40_retrieval/bm25.md", "00_documents/span.md", "glossary.md"}
    assert prose.linker("40_retrieval/hybrid.md", made, "")(target) == local
    assert prose.linker("40_retrieval/hybrid.md", made, "https://host/o/n/blob/main")(target) == hosted


def test_names_are_linked_in_prose_only_and_links_without_a_goal_become_their_text() -> None:
    assert prose.relinked("[the `data`](../data) and ![p](a.png)", lambda t: t if "png" in t else None) == "the `data` and ![p](a.png)"
    known = {"Span": "s.md#Span"}
    source = "# `Span`\n`Span`, `Span(0, 2)`, `span`, [`Span`](x.md), ``a `Span` b``, `ragnb.Span`"
    assert prose.doclinks(source, known) == (
        "# `Span`\n[`Span`](s.md#Span), [`Span(0, 2)`](s.md#Span), `span`, [`Span`](x.md), ``a `Span` b``, [`ragnb.Span`](s.md#Span)")


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(["text", "- item", "  - inner", "1. one", "| a | b |", "|---|---|", "", "> **Tip.** t", "```", "# h", "    code"]), max_size=14))
def test_rewriting_loses_no_word(lines: list[str]) -> None:
    source = "\n".join(lines)
    made = prose.markdown(source, lambda target: target, {})
    words_ = [w for w in source.replace("> **Tip.** ", "").split() if w not in ("```", ">")]
    left = iter(made.split())
    assert all(any(w == other for other in left) for w in words_)


# --- signatures
def test_notes_come_from_comments_and_docstrings() -> None:
    [symbol] = signatures.symbols(SPAN)
    whole = "\n\n".join(symbol.blocks)
    assert (symbol.kind, symbol.summary) == ("class", "A half-open interval.")
    assert "| `start` | <code>int</code> |  | First character. |" in whole
    assert "| `end` | <code>int</code> | <code>3</code> | One past the last |" in whole
    assert "- `ValueError`: When `start` is negative." in whole and "Parameters\n---" not in whole
    assert "### `Span.of` { #Span.of .api }" in whole and "@property\ndef size(self) -> int" in whole
    assert "| `text` | <code>str</code> |  | The whole document |" in whole and "| *returns* | <code>str</code> |  | Its characters |" in whole


def test_signatures_say_what_the_source_says() -> None:
    """Every exported function of the package, written and read again."""
    seen = 0
    for path in sorted((ROOT / "ragnb").rglob("*.py"))[::8]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for width in (30, 100_000):
                    again = ast.parse(signatures.signature(node, node.name, width) + ": ...").body[0]
                    assert ast.unparse(again.args) == ast.unparse(node.args), node.name
                    assert (again.returns is None) == (node.returns is None) and type(again) is type(node)
                seen += 1
    assert seen > 150
    odd = ast.parse("async def f(a, /, b=1, *args: int, c, d: str='|', **kw) -> None: ...").body[0]
    assert signatures.signature(odd, "f", 10).splitlines()[1:-1] == ["    a,", "    /,", "    b=1,", "    *args: int,", "    c,", "    d: str = '|',", "    **kw,"]
    assert signatures.code("a|<b>") == "<code>a&#124;&lt;b&gt;</code>" and signatures.cell("a | b\nc") == r"a \| b c"


# --- pages
def test_a_notebook_becomes_a_page(project: Path) -> None:
    site = pages.Site(pages.notebooks(project / "nbs"))
    span = next(n for n in site.notebooks if n.module)
    made = pages.notebook_page(span, site, project / "out")
    assert (span.title, span.gain, span.api) == ("Spans of text", "What they are.", "api/documents.span.md")
    assert "[Download the notebook](span.ipynb){ download } · open in JupyterLab: `make lab NB=00_documents/span.ipynb`" in made
    assert "secret" not in made and "default_exp" not in made and "drawn()" not in made and "warned" not in made
    assert "![span-4](figures/span-4.png){ .plot }" in made
    assert (project / "out" / "00_documents" / "figures" / "span-4.png").read_bytes() == b"\x89PNG picture"
    assert '<span class="symbol" id="Span"></span>**[`Span`](../api/documents.span.md#Span)** A half-open interval.' in made
    assert '???+ quote "source"\n\n    ```python\n    class Span:' in made
    assert "```` { .text" not in made and "``` { .text .cell-output .columns }\na   b    c" in made and "{ .text .cell-output }\n'연차'" in made
    assert "<style scoped" not in made and 'class="dataframe"' in made
    assert 'data-html="&lt;style&gt;b{}&lt;/style&gt;&lt;details class=&quot;x&quot;&gt;&quot;글&quot;' in made
    assert "[reference of `ragnb.documents.span`](../api/documents.span.md)" in made and "https://" not in made
    index = next(n for n in site.notebooks if n.path == "index.ipynb")
    assert "[span](00_documents/span.md#span), [`Span`](api/documents.span.md#Span), data." in pages.notebook_page(index, site, project)


def test_the_reference_leads_to_the_lesson_and_the_host(project: Path) -> None:
    found = pages.notebooks(project / "nbs")
    span = next(n for n in found if n.module)
    local = pages.api_page(span, pages.Site(found))
    assert "## `Span` { #Span .api }" in local and "[source and example](../00_documents/span.md#Span)" in local
    assert "http" not in local
    hosted = pages.api_page(span, pages.Site(found, blob="https://github.com/o/n/blob/abc"))
    assert "[module](https://github.com/o/n/blob/abc/ragnb/documents/span.py)" in hosted
    stub = project / "stub.pyi"
    stub.write_text("from .documents.span import (\n    Span as Span,\n)\n", encoding="utf-8")
    overview = reference.reference_page(pages.Site(found), stub)
    assert "| [`Span`](documents.span.md#Span) | A half-open interval. | [`documents.span`](documents.span.md) |" in overview


def test_navigation_holds_every_page_once(project: Path) -> None:
    site = pages.Site(pages.notebooks(project / "nbs"))
    nav = config.navigation(site)
    assert [next(iter(part)) for part in nav] == ["Start", "Tutorials", "Notebooks", "Studies", "Reference"]

    def leaves(value: object) -> list[str]:
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
        return [value] if isinstance(value, str) else [leaf for part in parts for leaf in leaves(part)]

    wanted = {n.page for n in site.notebooks} | {n.api for n in site.notebooks if n.module} | set(pages.OTHER_PAGES)
    wanted |= {f"{folder}/index.md" for folder in ("00_documents", "studies", "tutorials")}
    assert sorted(leaves(nav)) == sorted(wanted)


def test_hosts_come_from_the_environment() -> None:
    assert config.host({}) == config.Host() and config.host({}).blob == ""
    there = config.host({"GITHUB_REPOSITORY": "Owner/name", "GITHUB_SHA": "abc"})
    assert (there.repository, there.site) == ("https://github.com/Owner/name", "https://owner.github.io/name/")
    assert there.blob == "https://github.com/Owner/name/blob/abc"
    other = {"GITHUB_REPOSITORY": "o/n", "GITHUB_SERVER_URL": "https://git.example.org", "RAGNB_DOC_HOST": "https://docs.example.org"}
    assert config.host(other) == config.Host("https://git.example.org/o/n", "https://docs.example.org/")
    site = pages.Site([])
    facts = {"site_description": "told", "version": "1.2.3", "templates": "/a b/templates"}
    here, hosted = (config.configuration(site, h, ("pages", "site"), facts) for h in (config.Host(), there))
    assert ".invalid" not in here + hosted and "http" not in here and "site_url: https://owner.github.io/name/" in hosted
    plain = yaml.load(here, Loader=type("Loose", (yaml.SafeLoader,), {"yaml_multi_constructors": {"tag:yaml.org,2002:python/": lambda *a: None}}))
    assert (plain["extra"]["release"], plain["theme"]["custom_dir"], plain["site_description"]) == ("1.2.3", "/a b/templates", "told")
    assert plain["theme"]["font"] is False and plain["use_directory_urls"] is False


def test_a_page_says_what_it_is_and_what_it_is_made_from() -> None:
    made = pages.headed("# T\n", "Find `x`: [a](b.md), " + "word " * 80, "nbs/a.ipynb", "https://host/blob/main")
    facts = yaml.safe_load(made.split("---\n")[1])
    assert facts["description"].startswith("Find x: a, word") and len(facts["description"]) <= pages.TOLD
    assert (facts["source"], facts["address"]) == ("nbs/a.ipynb", "https://host/blob/main/nbs/a.ipynb")
    assert made.endswith("---\n\n# T\n") and "address" not in pages.headed("# T", "t", "nbs/a.ipynb")


def test_the_road_has_every_stop_in_order_and_an_arc_for_each_import() -> None:
    names = ("01_span", "02_text", "03_files")
    stops = [pages.Notebook(f"00_documents/{name}.ipynb", [], title=f"<{name}>", gain="Gain.", module=f"documents.{name[3:]}") for name in names]
    stops[1].uses, stops[2].uses = {"documents.span", "models.llm"}, {"documents.span", "documents.text", "documents.files"}
    assert rooms.arcs(stops) == [(1, 0), (2, 0), (2, 1)]
    page = rooms.room_page("00_documents", stops)
    assert page.startswith("# Documents\n\n> The 3 notebooks of `00_documents`, in the order of learning. An arc joins")
    places = [page.index(f'href="{name}.html"><title>&lt;{name}&gt;</title>') for name in names]
    assert places == sorted(places) and page.count('class="arc"') == 3
    assert "2. **[<02_text>](02_text.md)**<br>Gain." in page and "make lab NB=00_documents/01_span.ipynb" in page
    assert "arc" not in rooms.room_page("tutorials", [pages.Notebook("tutorials/01_a.ipynb", [], title="A", gain="G.")])


def test_the_card_is_drawn_from_the_figure_of_today() -> None:
    content = (ROOT / card.CARD).read_bytes()
    assert card.fingerprint(ROOT).encode() in content, "the figure has changed: python -m tools.docs card"
    assert content[16:24] == (1200).to_bytes(4, "big") + (630).to_bytes(4, "big")


# --- the checker
GOOD = '<link rel="stylesheet" href="a.css"><a name="x" href="b.html#y">b</a><img src="p.png"><a href="https://arxiv.org/">p</a><a href="mailto:a@b">m</a>'


@pytest.fixture
def built(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    for name, content in {"index.html": GOOD, "b.html": '<h2 id="y">y</h2><a href="sub/">s</a><a href="#y">y</a>', "a.css": "b{background:url(p.png)}",
                          "sub/index.html": '<a href="../index.html#x">up</a><pre>::: {.callout}</pre>', "p.png": ""}.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("addition, problem", [
    ('<a href="c.html">c</a>', "no such file: c.html"),
    ('<a href="b.html#z">z</a>', "no such anchor: b.html#z"),
    ('<a href="#top">t</a>', "no such anchor: #top"),
    ('<a href="sub/none.png">t</a>', "no such file: sub/none.png"),
    ('<a href="https://ragnb.invalid/a">r</a>', "a host that does not exist: https://ragnb.invalid/a"),
    ('<img src="https://cdn.example.org/a.png">', "loaded from another host: https://cdn.example.org/a.png"),
    ('<script src="//unpkg.com/m.js"></script>', "loaded from another host: //unpkg.com/m.js"),
    ('<link rel="preconnect" href="https://fonts.example.org">', "loaded from another host: https://fonts.example.org"),
    ('<p style="background:url(none.png)">', "no such file: none.png"),
    ("<p>\n::: {.callout-note}\n</p>", "not rendered: ::: {.callout-note}"),
    ("<p>```{mermaid}</p>", "not rendered: ```{mermaid}")])
def test_the_checker_names_what_is_wrong(built: Path, addition: str, problem: str) -> None:
    assert check.problems(built) == []
    (built / "index.html").write_text(GOOD + addition, encoding="utf-8")
    assert f"index.html: {problem}" in check.problems(built)


def test_the_checker_reads_style_sheets_and_its_own_address(built: Path) -> None:
    (built / "a.css").write_text("@import 'https://fonts.example.org/x.css'; b{src:url('no.woff2')}", encoding="utf-8")
    (built / "index.html").write_text(GOOD + '<a href="https://o.github.io/n/b.html#none">b</a>', encoding="utf-8")
    found = check.problems(built, "https://o.github.io/n/")
    assert [p.partition(": ")[2].partition(":")[0] for p in found] == ["no such anchor", "loaded from another host", "no such file"]
    assert len(check.problems(built)) == 2       # without an address of its own that link is somebody else's


# --- Korean words, vendored files
def test_korean_words_are_marked_once(tmp_path: Path) -> None:
    file = tmp_path / "search.json"
    item = {"location": "a.html", "title": "연차휴가를", "text": "<p>휴가</p> 연차휴가를 leave"}
    file.write_text(json.dumps({"config": {"separator": "[ ]+"}, "items": [item]}))
    assert words.korean_index(file, lambda w: w.replace("휴가", f"{words.MARK}휴가")) == 1
    once = file.read_text(encoding="utf-8")
    assert json.loads(once)["items"] == [{**item, "title": "연차\u200b휴가를", "text": "휴가 연차\u200b휴가를 leave"}]
    words.korean_index(file, lambda w: w + "!")
    assert file.read_text(encoding="utf-8") == once
    split = words.splitter()
    assert split("연차휴가를") == f"연차{words.MARK}휴가{words.PARTICLE}를" and split("문맥에서는") == f"문맥{words.PARTICLE}에서{words.PARTICLE}는"
    assert split("에서는").startswith(words.PARTICLE) and split("휴가") == "휴가"


def test_the_index_has_prose_and_no_constants() -> None:
    def item(location: str, title: str, text: str) -> dict:
        return {"location": location, "title": title, "text": text, "level": 1}
    made = words.slim([item("api/m.html#f", "<code>f</code>", "<pre><code>def f(x: int) -&gt; int\n</code></pre> <p>Count.</p> " + "x " * 200),
                       item("api/m.html#MOST", "<code>MOST</code>", "<pre><code>MOST = 3\n</code></pre>"),
                       item("a.html", "A", "<p>Download the notebook · open</p> <p>One &lt;two&gt;.</p> <pre><code>code()</code></pre>" + "긴 글 " * 400),
                       item("40_retrieval/04_rerank.html", "Reranking", "<p>Sort.</p>")])
    assert [i["location"] for i in made] == ["40_retrieval/04_rerank.html", "a.html", "api/m.html#f"]
    assert made[0]["title"].startswith("재정렬") and made[0]["title"].endswith("Reranking") and made[2]["title"] == "f"
    assert made[1]["text"].startswith("One <two>. 긴 글") and len(made[1]["text"]) <= words.MOST and len(made[2]["text"]) <= 160
    assert "code()" not in made[1]["text"] and "def f" not in made[2]["text"]


def test_pages_with_korean_terms_are_there() -> None:
    """A notebook that gets another name takes its line of `tools/docs/words.py` with it."""
    gone = [place for place in words.TERMS if not (ROOT / "nbs" / f"{place.removesuffix('/index')}").is_dir()
            and not (ROOT / "nbs" / f"{place}.ipynb").is_file()]
    assert gone == []
    first = [terms.split(", ")[0] for terms in words.TERMS.values()]
    assert len(set(first)) >= len(first) - 1      # 별표 and 클러스터 have a tutorial each, which comes first or second


def test_vendored_files_are_what_the_list_says(tmp_path: Path) -> None:
    vendor = ROOT / "docs" / "vendor"
    assert len(assets.verified(vendor)) > 20 and {"LICENSE.mermaid", "LICENSE.katex"} <= set(assets.listing(vendor))
    assert sum(p.stat().st_size for p in vendor.rglob("*") if p.is_file()) < 2_000_000
    assets.copied(vendor, tmp_path)
    assert b"mermaid" in (tmp_path / "vendor" / "mermaid.min.js").read_bytes()[:5_000_000]
    assert not [u for u in check.in_style((tmp_path / "vendor/katex/katex.min.css").read_text()) if not (tmp_path / "vendor/katex" / u).is_file()]
    other = write(tmp_path / "changed", {"a.js": "1"})
    assets.write_list(other)
    assets.verified(other)
    (other / "a.js").write_text("2")
    with pytest.raises(SystemExit, match="a.js"):
        assets.verified(other)


# --- this project's own pages
def test_every_name_of_the_design_documents_is_on_its_page() -> None:
    cells = json.loads((ROOT / "nbs/studies/from_design.ipynb").read_text(encoding="utf-8"))["cells"]
    page = "\n".join(joined(c["source"]) for c in cells if c["cell_type"] == "markdown")
    names = """ChunkExpander NoopChunkExpander NeighborChunkExpander AdaptiveChunkExpander _calculate_window _merge_results NEIGHBOR_WINDOW
    MAX_EXPANDED_RESULTS opensearch_client index_name window max_results is_neighbor NeighborChunkTool get_neighbor_chunks
    ContextBuilder SimpleContextBuilder RankedContextBuilder DebugContextBuilder _reorder_for_attention reorder include_score file_name
    page_number original_filename chunk_text fetch_doc_pages fetch_doc_chunks max_chunks expand_related_docs_node page_fetcher
    doc_fetcher page_window combine_related_text merge_same_doc_id results_to_ref_json answer_ref_json display_docs expanded_pages
    expand_top_k AgentState ask_user_after_retrieve_node FR-01 FR-02 FR-03 FR-04 FR-05 FR-06 NFR-01 NFR-02 NFR-03 max_attempts
    user_feedback retrieval_confirmed process_laws MIN_ARTICLE_CHUNK MAX_ARTICLE_CHUNK _format_article_text
    _split_large_article_by_clauses _build_article_doc _determine_filter_info process_interpretations process_court_cases parent_id
    _should_chunk NO_CHUNK_FILES OPTIONAL_CHUNK_FILES CHUNK_FILES OPTIONAL_CHUNK_THRESHOLD splitter_type table_aware qa_aware
    _split_with_table_awareness _split_preserving_qa format_context_length source_content_length startup_funding_db finance_tax_db
    hr_labor_db law_common_db parent_chunk_size parent_overlap child_chunk_size child_overlap children parents RRF HIGH
    bona/bge-m3-korean""".split()
    assert [name for name in names if name not in page] == []


def test_the_glossary_has_both_languages() -> None:
    rows = [line.split("|")[1:-1] for line in (ROOT / "docs/glossary.md").read_text(encoding="utf-8").splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 25
    for term, word, meaning, sense in rows:
        assert term.strip() and word.strip() and meaning.strip().endswith(".") and any("가" <= c <= "힣" for c in sense)
    terms = " ".join(row[0] for row in rows)
    assert [t for t in ("unit", "chunk", "policy", "budget", "evidence recall", "outline", "address", "source mark") if t not in terms] == []


@pytest.mark.heavy
def test_the_korean_front_page_runs_as_pasted(tmp_path: Path) -> None:
    page = (ROOT / "docs/ko.md").read_text(encoding="utf-8")
    script = tmp_path / "ko.py"
    script.write_text(page.split("```python\n")[1].split("```")[0], encoding="utf-8")
    done = subprocess.run([sys.executable, script], cwd=ROOT, env=os.environ | {"TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)},
                          capture_output=True, timeout=300)
    assert done.returncode == 0 and "연차는 15일입니다" in done.stdout.decode("utf-8"), done.stderr.decode("utf-8", "replace")[-2_000:]


@pytest.mark.heavy
def test_the_site_of_a_hosted_repository_has_no_broken_link(tmp_path: Path) -> None:
    host = config.host({"GITHUB_REPOSITORY": "owner/ragnb", "GITHUB_SHA": "0123abc"})
    assert docs.build(ROOT, tmp_path / "work", tmp_path / "site", host) == []
    assert '<html lang="ko"' in (tmp_path / "site" / "ko.html").read_text(encoding="utf-8")[:300]
    for file in (tmp_path / "site").rglob("*.html"):
        whole = file.read_text(encoding="utf-8")
        assert f"ragnb {ragnb.__version__}</a>" in whole and 'property="og:image" content="https://owner.github.io/ragnb/assets/card.png"' in whole
        assert file.name == "404.html" or re.search(r'source:\s+<a href="https://github.com/owner/ragnb/blob/0123abc/', whole), file
        assert re.search(r'<meta name="description" content="[^"]{5,}"', whole), file
    page = (tmp_path / "site" / "api" / "documents.span.html").read_text(encoding="utf-8")
    assert "https://github.com/owner/ragnb/blob/0123abc/ragnb/documents/span.py" in page
    assert "github.com/owner/ragnb/blob/0123abc/nbs/00_documents/01_span.ipynb" in (tmp_path / "site/00_documents/01_span.html").read_text(encoding="utf-8")
