"""The page in a real Chromium: steps, choices, citations, reload, pictures, phone, dark, keyboard, hostile text, a model that is down.

With `RAGNB_SCREENSHOTS=DIR` pictures are kept there.
"""
from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from serve_world import app_of, build, DEVICES, Held, listening, model, NO, QUESTION, TOKENS
from ragnb.indexing.update import index_documents
from ragnb.agent.library import Library
from ragnb.serve.app import create_app

pytestmark = [pytest.mark.browser]
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
PARACHUTE = "낙하산 점검은 언제 하나요?"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("page") / "world")


class Screen:
    """A page of the service; what it complained of and what it asked for is kept."""

    def __init__(self, browser: Any, address: str, **context: Any) -> None:
        self.context = browser.new_context(**{"viewport": DESK, "locale": "ko-KR", **context})
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda e: self.complaints.append(str(e)))
        self.page.on("request", lambda r: self.asked.append(r.url))
        self.address = address
        self.page.goto(address)

    def ask(self, question: str) -> None:
        self.page.get_by_label("질문", exact=True).fill(question)
        self.page.keyboard.press("Enter")

    def answered(self, n: int = 1) -> Any:
        """The last answer, when it is finished."""
        self.page.wait_for_function("n => document.querySelectorAll('.answer[aria-busy=false]').length >= n && document.getElementById('stop').hidden", arg=n)
        return self.page.locator(".turn").last

    def keep(self, name: str) -> None:
        """A picture, where pictures are wanted."""
        if folder := os.environ.get("RAGNB_SCREENSHOTS"):
            self.page.screenshot(path=Path(folder) / f"{name}.png")

    def fits(self) -> None:
        """Nothing is wider than the window."""
        wide = self.page.evaluate("""() => [...document.querySelectorAll('body *')].filter(e => e.getClientRects().length
            && e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.wide')).map(e => e.outerHTML.slice(0, 90))""")
        assert not wide and self.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.fixture
def show(chromium: Any, world: Path) -> Iterator[Callable[..., Screen]]:
    """Open the page over an application; it is closed afterwards, and must not have complained or asked elsewhere."""
    from contextlib import ExitStack
    with ExitStack() as stack:
        screens: list[tuple[Screen, bool]] = []

        def open_screen(llm: Any = None, context: dict[str, Any] | None = None, complains: bool = False, app: Any = None, **settings: Any) -> Screen:
            address = stack.enter_context(listening(app or app_of(world, llm, **settings)))
            screen = Screen(chromium, address, **(context or {}))
            stack.callback(screen.context.close)
            screens.append((screen, complains))
            return screen
        yield open_screen
        for screen, complains in screens:
            assert complains or not screen.complaints, screen.complaints
            assert all(url.startswith((screen.address, "blob:", "data:", "about:")) for url in screen.asked), screen.asked


def test_steps_answer_and_a_citation_in_its_document(show: Callable[..., Screen]) -> None:
    held = Held("연차는 15일입니다 [1]. 이월은 자료 밖입니다 [9].")
    screen = show(model(held))
    page = screen.page
    screen.keep("desk-empty")
    screen.ask(QUESTION)
    page.wait_for_selector(".steps li:nth-child(5)")
    assert page.locator(".steps li b").all_inner_texts() == ["길 고르기", "검색어 만들기", "범위 정하기", "검색", "주변 읽기"]
    assert "이어 붙인 글" in page.locator(".steps li").nth(4).inner_text() and page.locator("#status").inner_text() == "답을 쓰는 중"
    assert page.locator(".answer").get_attribute("aria-busy") == "true" and page.locator("#stop").is_visible()
    screen.keep("desk-steps")
    held.go.set()
    turn = screen.answered()
    assert turn.locator(".answer").inner_text() == held.text and page.locator("#status").inner_text() == "답을 마쳤습니다."
    assert turn.locator(".answer .lost").inner_text() == "9" and not turn.locator(".steps[open]").count()
    turn.locator("details.doc > summary").first.click()
    assert turn.locator("details.doc mark").count() >= 1
    screen.keep("desk-answer")
    turn.locator(".answer button").click()
    frame = page.frame_locator("#frame")
    frame.locator("mark.hit").first.wait_for()
    assert "연차는 15일이다" in frame.locator(".passage").first.inner_text()
    colours = frame.locator("mark.hit").evaluate_all("all => all.map(e => [e.textContent.includes('15일'), getComputedStyle(e).backgroundColor])")
    assert [True, "rgb(255, 224, 138)"] in colours
    screen.keep("desk-citation")
    page.get_by_role("button", name="닫기").click()
    assert not page.locator("#view[open]").count()


@pytest.mark.parametrize(("locale", "words"), [("en-US", ("Ask your documents", "Sources", "The passages do not match")),
                                               ("ko-KR", ("문서에 묻기", "출처", "찾은 글이 질문과"))])
def test_the_page_speaks_the_language_of_its_reader(show: Callable[..., Screen], locale: str, words: tuple[str, ...]) -> None:
    screen = show(context={"locale": locale})
    screen.page.locator("#question").fill("연차 Mars?")
    screen.page.keyboard.press("Enter")
    screen.answered()
    said = screen.page.locator("body").inner_text()
    assert all(word in said for word in (words[0], words[2])) and screen.page.locator("html").get_attribute("lang") == locale[:2]
    own = screen.page.evaluate("""() => [...document.querySelectorAll('h1, h3, button, summary, .steps b, .notice, label, #about')]
        .filter(e => !e.closest('.sources, .doc, #past') && e.checkVisibility()).map(e => e.textContent).join(' ')""")
    assert (locale == "ko-KR") == bool(re.search("[가-힣]", own)), own
    screen.keep(f"language-{locale}")
    assert not screen.complaints


ANSWER, ALONE = "🌿 𠮷野의 어린 소나무는 사흘마다 물을 준다.", "다 자란 소나무는 그대로 둔다."


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents whose answer stands below many lines, some with characters of two halves and one that acts."""
    from llama_index.core.schema import Document

    folder = tmp_path_factory.mktemp("trees") / "index"
    lines = "\n\n".join(f"🌳 {n}번 밭에 심은 것: \u202e{name}" for n, name in enumerate(["배추", "무", "고추", "파", "콩", "깨", "마늘", "감자"] * 3, 1))
    index_documents([Document(text=f"# 밭 일지\n\n{lines}\n\n{ANSWER}\n\n{lines}\n", id_="field.md"), Document(text=ALONE, id_="pine.md")],
                    folder, show_progress=False)
    return folder


@pytest.mark.parametrize("context", [{"viewport": {"width": 1200, "height": 900}}, {"viewport": PHONE, "color_scheme": "dark"}])
def test_the_sentence_that_answers_is_marked_in_the_passages(show: Callable[..., Screen], trees: Path, context: dict[str, Any]) -> None:
    library = Library.open(trees, policy="neighbors:6")
    screen = show(app=create_app(library, models={"grade": None}), context=context)
    screen.ask("어린 소나무는 며칠마다 물을 주나요?")
    turn = screen.answered()
    assert turn.locator(".sources mark").all_inner_texts() == [ANSWER]
    field, pine = (turn.locator("blockquote", has_text=text) for text in (ANSWER, ALONE))
    assert field.inner_text().startswith("… 🌳") and field.inner_text().endswith(" …") and pine.inner_text() == ALONE
    assert "⟨U+202E⟩" in field.inner_text() and "\u202e" not in field.inner_text()
    seen = """quote => { const mark = quote.querySelector('mark').getBoundingClientRect(), box = quote.getBoundingClientRect();
        return mark.top >= box.top && mark.bottom <= box.bottom && quote.scrollHeight > quote.clientHeight }"""
    assert field.evaluate(seen), "folded around the mark"
    colour, ground = field.locator("mark").evaluate("e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor]")
    assert contrast(colour, ground) >= 4.5
    screen.fits()
    screen.keep(f"marked-{context['viewport']['width']}")
    whole = turn.locator(".sources li", has_text=ANSWER).get_by_role("button", name="전체 보기")
    whole.click()
    assert field.evaluate("quote => quote.scrollHeight === quote.clientHeight") and not whole.count()


@pytest.mark.parametrize("viewport", [DESK, PHONE])
def test_a_folded_box_shows_the_row_that_answers(show: Callable[..., Screen], tmp_path: Path, viewport: dict[str, int]) -> None:
    """The row is far down in a table whose rows all match, so that its first mark is the header."""
    from llama_index.core.schema import Document

    rows = "\n".join(f"| 누리호 {name} | {n} m |" for n, name in enumerate(["형상", "목적", "직경", "무게", "엔진", "연료", "단수", "속도", "고도", "추력"], 3))
    text = f"# 누리호 제원\n\n{'발사 일정은 따로 알린다. ' * 9}\n\n| 구분 | 누리호 |\n|---|---|\n{rows}\n| 누리호 총 길이 | 47.2 m |\n{rows}\n"
    index_documents([Document(text=text, id_="nuri.md")], tmp_path / "i", show_progress=False)
    screen = show(app=create_app(Library.open(tmp_path / "i"), models={"grade": None}), context={"viewport": viewport})
    screen.ask("누리호 총 길이는 얼마예요?")
    box = screen.answered().locator(".sources blockquote", has_text="47.2 m").first
    assert box.evaluate("""box => { const row = [...box.querySelectorAll('tr')].find(r => r.textContent.includes('47.2 m')).getBoundingClientRect(),
        seen = box.getBoundingClientRect(); return box.scrollHeight > box.clientHeight && row.top >= seen.top && row.bottom <= seen.bottom }""")
    screen.fits()


def test_choose_documents_reload_and_the_keyboard_alone(show: Callable[..., Screen]) -> None:
    screen = show(model("축을 점검합니다 [1]."), ask_user=True)
    page = screen.page
    page.keyboard.type(DEVICES)          # the question has the focus from the start
    page.keyboard.press("Enter")
    page.wait_for_selector(".choose")
    assert page.evaluate("document.activeElement.type") == "checkbox"
    screen.keep("desk-choose")
    page.reload()                        # the question waits over a reload
    page.wait_for_selector(".choose")
    options = page.locator(".choose input[type=checkbox]")
    values = [options.nth(n).get_attribute("value") for n in range(options.count())]
    for _ in range(values.index("TR.md")):
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert page.locator(".choose input:checked").get_attribute("value") == "TR.md"
    for _ in range(len(values) - values.index("TR.md") + 1):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "고른 대로 답하기"
    page.keyboard.press("Enter")
    turn = screen.answered()
    page.wait_for_selector(".doc")
    assert "TR.md" in turn.locator(".sources").inner_text() and not page.locator(".choose").count()
    before = turn.inner_html()
    for _ in range(40):                  # to the citation, from wherever the focus is
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('aria-label')") == "출처 열기 1":
            break
    page.keyboard.press("Enter")
    page.frame_locator("#frame").locator("mark.hit").first.wait_for()
    assert page.evaluate("document.activeElement.id") == "close"
    page.keyboard.press("Escape")
    page.wait_for_selector("#view", state="hidden")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "출처 열기 1"
    page.reload()
    page.wait_for_selector(".doc")
    assert screen.answered().inner_html() == before


def test_a_text_instead_of_a_choice_and_skip(show: Callable[..., Screen]) -> None:
    screen = show(model("밸브를 점검합니다 [1]."), ask_user=True)
    screen.ask(DEVICES)
    screen.page.get_by_label("덧붙여 찾을 말").fill("배기 밸브")
    screen.page.get_by_role("button", name="고른 대로 답하기").click()
    turn = screen.answered()
    turn.locator(".steps > summary").click()
    assert "배기 밸브" in turn.locator(".steps").inner_text()
    screen = show(model("밸브를 점검합니다 [1]."), ask_user=True)
    screen.ask(DEVICES)
    screen.page.get_by_role("button", name="모든 문서에서 답하기").click()
    assert screen.answered().locator(".answer").inner_text() == "밸브를 점검합니다 [1]."


@pytest.mark.parametrize("viewport", [DESK, PHONE])
def test_the_model_is_chosen_from_those_of_the_server(show: Callable[..., Screen], viewport: dict[str, int]) -> None:
    """The choice outlives a reload; without a model nothing is shown, and of a server that is down the default."""
    from ollama_server import OllamaServer
    from ragnb import resolve_llm

    steps = {"grade": None, "route": None, "plan": None, "judge": None}
    with OllamaServer(models=("small", "hf.co/somebody/a-very-long-name-of-a-model-GGUF:Q4_K_M", "qwen3:8b", "bge-m3")) as server:
        screen = show(resolve_llm("ollama:small", server.url, retries=0), {"viewport": viewport}, models=steps)
        select = screen.page.get_by_label("모델", exact=True)
        screen.page.wait_for_selector("#model", state="visible")
        assert select.locator("option").all_inner_texts() == ["small", *server.models[1:3]] and select.input_value() == "small"
        screen.fits()
        select.select_option("qwen3:8b")
        screen.ask(QUESTION)
        screen.answered()
        screen.keep(f"model-{viewport['width']}")
        screen.page.reload()
        screen.answered()
        screen.page.wait_for_selector("#model", state="visible")
        assert select.input_value() == "qwen3:8b"
        screen.ask(QUESTION)
        screen.answered(2)
        assert [b["model"] for b in server.asked("/api/chat")] == ["qwen3:8b"] * 2
        select.select_option(server.models[1])
        screen.fits()
    down = show(resolve_llm("ollama:small", "http://127.0.0.1:9", retries=0))
    down.page.wait_for_selector("#model", state="visible")
    assert down.page.locator("#model option").all_inner_texts() == ["small"]
    bare = show()
    bare.page.wait_for_load_state("networkidle")
    assert bare.page.locator("#model").is_hidden()


@pytest.mark.parametrize("viewport", [DESK, PHONE])
def test_several_choices_are_open_and_a_second_question_closes_its_own(show: Callable[..., Screen], viewport: dict[str, int]) -> None:
    """Two conversations of one tab wait, also seen from a second tab; a new question closes the choice of its conversation only."""
    screen = show(model("밸브를 점검합니다 [1]."), {"viewport": viewport}, ask_user=True)
    page = screen.page
    for n in (1, 2):
        page.get_by_role("button", name="새 대화").click()
        screen.ask(DEVICES + "!" * n)
        page.wait_for_selector(".choose")
        page.wait_for_function("n => document.querySelectorAll('#talks .waits').length === n", arg=n)
    label = page.locator(".choose label", has_text="GN-300").inner_text()
    assert "GN.md" in label and "E-117 알람은" in label and "#" not in label
    screen.fits()
    screen.keep(f"choice-{viewport['width']}")
    other = screen.context.new_page()
    other.goto(page.url)
    other.wait_for_selector(".choose")
    screen.ask(DEVICES)
    turn = screen.answered()
    assert {"GN.md", "TR.md"} <= set(re.findall(r"\w+\.md", " ".join(turn.locator(".sources").all_text_contents()))) and not page.locator(".choose").count()
    assert "닫혔습니다" in page.locator(".turn .notice").first.inner_text()
    screen.keep(f"choice-closed-{viewport['width']}")
    page.wait_for_function("() => document.querySelectorAll('#talks .waits').length === 1")
    screen.complaints.clear()
    other.get_by_role("button", name="모든 문서에서 답하기").click()      # of the conversation that went on meanwhile
    other.wait_for_selector(".turn [role=alert]")
    assert "답을 받지 못했습니다" in other.locator(".turn [role=alert]").first.inner_text()
    if not page.locator("#past").is_visible():
        page.get_by_role("button", name="지난 대화").click()
    page.locator("#talks .open", has=page.locator(".waits")).click()
    page.wait_for_selector(".choose")
    page.get_by_role("button", name="모든 문서에서 답하기").click()
    assert screen.answered().locator(".answer").inner_text() == "밸브를 점검합니다 [1]."


def test_earlier_conversations(show: Callable[..., Screen]) -> None:
    screen = show(model())
    page = screen.page
    screen.ask(QUESTION)
    screen.answered()
    screen.ask("그럼 이월은?")
    screen.answered(2)
    before = page.locator(".turn").all_inner_texts()
    page.get_by_role("button", name="새 대화").click()
    assert page.locator(".turn:visible").count() == 0
    screen.ask("밸브 점검은?")
    screen.answered()
    page.wait_for_function("() => document.querySelectorAll('#talks li').length === 2")
    page.locator("#talks .open", has_text=QUESTION).click()
    screen.answered(2)
    page.wait_for_function("() => document.querySelectorAll('.turn:has(.doc)').length === 2")
    assert page.locator(".turn:visible").all_inner_texts() == before
    screen.keep("desk-talks")
    page.get_by_role("button", name="지우기: 밸브 점검은?").click()
    page.wait_for_function("() => document.querySelectorAll('#talks li').length === 1")
    assert page.locator(".turn:visible").count() == 2


def test_a_page_of_a_pdf_is_shown(show: Callable[..., Screen]) -> None:
    screen = show(model("Every 30 days [1]."))
    screen.ask("How often is the valve inspected?")
    turn = screen.answered()
    turn.locator("details.doc > summary", has_text="valve").click()
    picture = turn.locator("img[alt='valve, 쪽 그림 1']")
    screen.page.wait_for_function("e => e.naturalWidth > 0", arg=picture.element_handle())
    assert picture.evaluate("""e => { const c = document.createElement('canvas'); c.width = e.naturalWidth; c.height = e.naturalHeight;
        const x = c.getContext('2d'); x.drawImage(e, 0, 0); return [...x.getImageData(c.width / 6, c.height * 3 / 4, 1, 1).data] }""") == [255, 0, 0, 255]
    picture.scroll_into_view_if_needed()
    screen.keep("desk-picture")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phone_and_dark(show: Callable[..., Screen], scheme: str) -> None:
    screen = show(model("연차는 15일입니다 [1]."), {"viewport": PHONE, "color_scheme": scheme, "has_touch": True, "is_mobile": True}, ask_user=True)
    page = screen.page
    screen.fits()
    screen.ask(DEVICES)
    page.wait_for_selector(".choose")
    screen.fits()
    screen.keep(f"phone-{scheme}-choose")
    page.get_by_role("button", name="모든 문서에서 답하기").tap()
    turn = screen.answered()
    turn.locator("details.doc > summary").first.tap()
    screen.fits()
    screen.keep(f"phone-{scheme}-answer")
    small = page.evaluate("""() => [...document.querySelectorAll('button')].filter(e => e.getClientRects().length && !e.closest('.answer')
        && e.getBoundingClientRect().height < 32).map(e => e.textContent)""")
    assert not small
    turn.locator(".answer button").tap()
    mark = page.frame_locator("#frame").locator("mark.hit:not(.low)").first
    mark.wait_for()
    screen.fits()
    screen.keep(f"phone-{scheme}-citation")
    assert mark.evaluate("e => getComputedStyle(e).backgroundColor") == {"light": "rgb(255, 224, 138)", "dark": "rgb(92, 71, 0)"}[scheme]
    page.get_by_role("button", name="닫기").tap()
    page.get_by_role("button", name="지난 대화").tap()
    screen.fits()
    screen.keep(f"phone-{scheme}-talks")
    ground, ink = (page.evaluate(f"getComputedStyle(document.body).{name}") for name in ("backgroundColor", "color"))
    assert (contrast(ground, ink) > 7) and (luminance(ground) < 0.2) == (scheme == "dark")


def luminance(colour: str) -> float:
    """Of `rgb(…)`, in [0, 1]."""
    parts = [int(x) / 255 for x in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    r, g, b = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a: str, b: str) -> float:
    """Of two colours, as WCAG counts it."""
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_texts_have_contrast_in_both_schemes(show: Callable[..., Screen]) -> None:
    for scheme in ("light", "dark"):
        screen = show(model(ConnectionError("nobody listens")), {"color_scheme": scheme})
        screen.ask(QUESTION)
        screen.answered()
        screen.keep(f"desk-{scheme}-down")
        pairs = screen.page.evaluate("""() => [...document.querySelectorAll('body *')].filter(e => e.getClientRects().length
            && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())).map(e => {
            let g = e; while (g && getComputedStyle(g).backgroundColor === 'rgba(0, 0, 0, 0)') g = g.parentElement;
            return [getComputedStyle(g || document.body).backgroundColor, getComputedStyle(e).color, e.outerHTML.slice(0, 80)] })""")
        assert len(pairs) > 10
        weak = [p for p in pairs if contrast(p[0], p[1]) < 4.5]
        assert not weak


def test_a_hostile_document_is_inert(show: Callable[..., Screen]) -> None:
    screen = show(model("매년 한다 [1]. <img src=x onerror=window.hacked=6><script>window.hacked=7</script> [x](javascript:window.hacked=8)"), ask_user=True)
    page = screen.page
    screen.ask(PARACHUTE + " <img src=x onerror=window.hacked=9>")
    page.wait_for_selector(".choose, .sources")
    if page.locator(".choose").count():
        page.get_by_role("button", name="모든 문서에서 답하기").click()
    turn = screen.answered()
    for summary in turn.locator("details > summary").all():
        summary.click()
    shown = turn.inner_text()
    assert "<img src=x onerror=" in shown and "<script>window.hacked=1</script>" in shown and "⟨U+202E⟩gnp.exe" in shown
    assert not turn.locator("img:not([data-page]), script, a, svg, h1").count()     # pictures of pages are ours
    screen.keep("desk-hostile")
    turn.locator(".answer button").click()
    frame = page.frame_locator("#frame")
    frame.locator("mark.hit").first.wait_for()
    assert not frame.locator("script, img, a, iframe, h1").count() and "<script>" in frame.locator(".passage").first.inner_text()
    assert page.evaluate("window.hacked") is None


def test_the_policy_stops_what_comes_into_the_page_all_the_same(show: Callable[..., Screen]) -> None:
    screen = show(model(), complains=True)
    screen.page.evaluate("""() => { document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.hacked=1"><p style="color:red" id=styled>x</p>');
        const s = document.createElement('script'); s.textContent = 'window.hacked=2'; document.body.append(s);
        fetch('http://127.0.0.1:9/').catch(() => 0) }""")
    screen.page.wait_for_timeout(200)
    assert screen.page.evaluate("window.hacked") is None
    assert len([c for c in screen.complaints if "Content Security Policy" in c]) >= 4
    screen.asked.clear()


def test_a_model_that_is_down_or_refused_is_said_and_the_passages_stay(show: Callable[..., Screen]) -> None:
    screen = show(model(judge=NO), max_attempts=1)
    screen.ask(QUESTION)
    assert "받아들이지 않았습니다" in screen.answered().locator("[role=alert]").inner_text()
    screen = show(model(ConnectionError("nobody listens")))
    screen.ask(QUESTION)
    turn = screen.answered()
    notice = turn.locator("[role=alert]")
    assert "모델이 답하지 않았습니다" in notice.inner_text() and "nobody listens" in notice.inner_text()
    assert "연차는 15일이다" in turn.locator(".sources").first.inner_text()
    turn.locator(".sources button").first.click()
    screen.page.frame_locator("#frame").locator(".passage").first.wait_for()


def test_stop_and_a_service_that_has_gone(show: Callable[..., Screen]) -> None:
    held = Held()
    screen = show(model(held), complains=True)
    page = screen.page
    screen.ask(QUESTION)
    page.wait_for_selector(".steps li:nth-child(5)")
    page.get_by_role("button", name="멈추기").click()
    page.wait_for_selector("#send", state="visible")
    assert "멈추었습니다" in page.locator(".turn [role=alert]").inner_text()
    held.go.set()
    screen.ask(QUESTION)
    assert screen.answered(2).locator(".answer").inner_text() == held.text
    page.route("**/api/ask", lambda route: route.abort())
    screen.ask("그럼 이월은?")
    page.wait_for_function("() => document.querySelectorAll('.turn [role=alert]').length === 2")
    assert "답을 받지 못했습니다" in page.locator(".turn [role=alert]").last.inner_text()


def test_a_question_waits_for_what_is_being_opened(show: Callable[..., Screen]) -> None:
    """The service is slow to say what it is, or to give a conversation: a question sent meanwhile is neither lost nor ended."""
    screen, held, slow = show(model("15일입니다 [1].")), [], []
    page = screen.page

    def hold(route: Any) -> None:
        if slow:
            held.append(route)
        else:
            route.continue_()      # the count of documents, which is asked for after each answer
    page.route("**/api/about", hold)

    def open_slowly(act: Callable[[], Any]) -> None:
        page.wait_for_load_state("networkidle")
        slow.append(True)
        before = len(screen.asked)
        act()
        screen.ask(QUESTION)
        page.wait_for_timeout(300)
        assert len(held) == 1 and not any(url.endswith("/api/ask") for url in screen.asked[before:])
        slow.clear()
        held.pop().continue_()

    open_slowly(page.reload)
    assert screen.answered().locator(".answer").inner_text() == "15일입니다 [1]."
    open_slowly(page.reload)     # with its conversation, which the question goes on with
    screen.answered(2)
    assert page.locator(".turn:visible").count() == 2
    page.locator("#new").click()
    page.route("**/api/conversations/*", hold)
    open_slowly(page.locator("#talks .open").click)
    screen.answered(3)
    assert page.locator(".turn:visible").count() == 3 and page.locator("#talks li").count() == 1


def test_a_note_is_said_in_the_language_of_the_page(show: Callable[..., Screen]) -> None:
    screen = show()
    for question, told in (("화성 탐사선의 나이는?", "어느 문서에도 질문의 낱말이 없습니다(화성, 탐사선, 나이)"), ("화성 밸브 점검은?", "어느 문서에도 없는 질문의 낱말: 화성")):
        screen.ask(question)
        notice = screen.answered().locator("[role=alert] small", has_text="어느 문서에도")
        assert told in notice.inner_text() and not any("a" <= c <= "z" for c in notice.inner_text())
        screen.page.locator("#new").click()


def test_a_token_is_asked_for(show: Callable[..., Screen]) -> None:
    screen = show(model("모릅니다 [1]."), tokens=True, complains=True)
    page = screen.page
    page.wait_for_selector("#login")
    page.keyboard.type("wrong-0123456789abcdef")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.getElementById('refused').textContent.includes('맞지 않습니다')")
    screen.keep("desk-login")
    page.keyboard.type(TOKENS["clerk"])
    page.keyboard.press("Enter")
    page.wait_for_selector("#ask", state="visible")
    assert "clerk" in page.locator("#about").inner_text() and "문서: 5" in page.locator("#about").inner_text()
    page.reload()
    screen.ask(QUESTION)
    assert screen.answered().locator(".answer").inner_text() == "모릅니다 [1]."
    assert TOKENS["clerk"] not in page.url and not any(TOKENS["clerk"] in url for url in screen.asked)
