"""The trace: a row for every chunk, and a page that no document can break out of."""
from __future__ import annotations

import re
import unicodedata
from html.parser import HTMLParser
from pathlib import Path

import pytest
from conftest import SAMPLE
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core import MockEmbedding
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import Document, NodeWithScore, QueryBundle, TextNode
from strategies import PIECES, doc_ids, examples

from ragnb.context import RankedContextBuilder
from ragnb.expand import Expander, neighbours, no_expansion
from ragnb.ingest import update_index
from ragnb.inspect import _width, trace_html, trace_rows, trace_table, visible, write_html
from ragnb.pipeline import Answer, Pipeline
from ragnb.span import InputError, Span, parse_address
from ragnb.split import ParentChildNodeParser
from ragnb.store import MemoryStore

VOID = {"meta", "br", "rect"}


class Page(HTMLParser):
    """Checks that tags are balanced, and collects what a page would do and show."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []    # Of `<div class="text">`, marking removed
        self.marked: list[list[tuple[str, str]]] = []
        self.body = ""
        self._div: int | None = None
        self.feed(page)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if dict(attrs).get("class") == "text":
            self._div = len(self.open)
            self.texts.append("")
            self.marked.append([])

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> while {self.open[-3:]} are open"
        self.open.pop()
        if self._div and len(self.open) < self._div:
            self._div = None

    def handle_data(self, data):
        self.body += data
        if self._div:
            self.texts[-1] += data
            last = self.tags[-1][1].get("class", "") if len(self.open) > self._div else ""
            self.marked[-1].append((last, data))


ALLOWED = {"html", "head", "meta", "title", "style", "body", "p", "h1", "h2", "small", "span", "br", "article", "div", "b", "svg", "rect", "details", "summary", "table", "tr", "td", "pre"}


def check_page(answer: Answer) -> Page:
    """What must hold for the page of any answer."""
    text = trace_html(answer)
    page = Page(text)
    assert {tag for tag, _ in page.tags} <= ALLOWED, "a tag that is not ours"
    for tag, attributes in page.tags:
        for name, value in attributes.items():
            assert not name.startswith("on") and name not in ("href", "src", "srcset", "action", "formaction", "style", "xlink:href", "background")
            assert "javascript:" not in (value or "").lower()
    assert sum(tag == "article" for tag, _ in page.tags) == len(answer.expansion.passages) == len(page.texts)
    style = re.search(r"<style>(.*?)</style>", text, re.S)[1]
    assert "url(" not in style and "@import" not in style and "http" not in style
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text), "a character that acts"
    for shown, p in zip(page.texts, answer.expansion.passages):
        assert shown == visible(p.text).replace("\r", ""), "marking changes the text"
    for tag, a in page.tags:
        if tag == "rect" and "x" in a:
            assert 0 <= float(a["x"]) and float(a["width"]) > 0 and float(a["x"]) + float(a["width"]) <= 1000.1
            assert 0 <= float(a["y"]) and float(a["y"]) + float(a["height"]) <= 14
    rows = trace_rows(answer)
    assert {r["chunk"] for r in rows if r["role"] == "hit"} == {i for p in answer.expansion.passages for i in p.hits} == {h.node_id for h in answer.fusion.hits}
    assert len(rows) == sum(len(p.hits) + len(p.neighbors) for p in answer.expansion.passages)
    assert len(trace_table(answer).splitlines()) == len(rows) + 1
    return page


class Fixed(BaseRetriever):
    def __init__(self, hits: list[NodeWithScore]) -> None:
        super().__init__()
        self.hits = hits

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self.hits


def ask(texts: dict[str, str], question: str = "연차는 며칠?", every: int = 3, policy=neighbours(1), budget: int | None = 300, **metadata) -> Answer:
    """An answer over some documents, every third chunk a hit."""
    store = MemoryStore()
    parser = ParentChildNodeParser(parent_size=120, parent_overlap=20, child_size=40, child_overlap=10, sentences="rule")
    nodes = store.add_documents([Document(text=t, id_=i, metadata=metadata) for i, t in texts.items()], parser, MockEmbedding(embed_dim=1))
    hits = [NodeWithScore(node=n, score=1 / (1 + i) if i % 2 else None) for i, n in enumerate([n for n in nodes if n.metadata["level"] == "c"][::every])]
    return Pipeline(Fixed(hits), Expander(store, policy, top_k=5), RankedContextBuilder(budget)).ask(question)


@pytest.fixture(scope="module")
def answer(tmp_path_factory) -> Answer:
    index, _ = update_index(SAMPLE / "corpus" / "hr_labor", tmp_path_factory.mktemp("index") / "hr", show_progress=False)
    return Pipeline.from_index(index, budget=900).ask("입사 1년차 직원의 연차는 며칠인가요?")


# --- rows and table -------------------------------------------------------------------------------------------------------------------


def test_rows_say_rank_role_and_reason(answer):
    rows = trace_rows(answer)
    assert {r["chunk"] for r in rows if r["role"] == "hit"} == {h.node_id for h in answer.fusion.hits}
    for r in rows:
        assert r["why"] and r["start"] < r["end"] and parse_address(r["chunk"])
        for name, ranks in answer.fusion.members.items():
            assert r[name] == (ranks[r["chunk"]][0] if r["chunk"] in ranks else None)
        assert (r["score"] is not None) == (r["role"] == "hit")
    assert [r["passage"] for r in rows] == sorted(r["passage"] for r in rows)


@pytest.mark.parametrize("budget", [60, 160, 300, 440])
def test_rows_say_what_the_model_does_not_see(budget):
    """A passage is cut to the budget: the chunks beyond the cut are not in the context, the others are."""
    answer = ask({"d": " ".join(f"{i}년차의 연차는 {i + 14}일이다." for i in range(60))}, every=12, policy=neighbours(3), budget=budget)
    cited, rows = answer.context.citations, trace_rows(answer)
    for r in rows:
        assert r["in_context"] == any(c.passage.span.overlap(Span(r["start"], r["end"])) > 0 for c in cited)
    cut = max(answer.passages, key=lambda p: p.rank)
    assert cut not in answer.expansion.passages, "the example should cut a passage"
    assert {r["in_context"] for r in rows if r["passage"] == cut.rank} == {True, False}


@pytest.mark.parametrize("text, columns", [("", 0), ("abc", 3), ("연차", 4), ("휴가a", 5), ("e\u0301", 1), (unicodedata.normalize("NFD", "휴가"), 4), ("①", 1), ("\u200d", 0), ("＃", 2)])
def test_width_in_a_terminal(text, columns):
    assert _width(text) == columns


def test_columns_are_straight_where_hangul_is_two_wide():
    answer = ask({"hr/휴가 규정.md": "연차는 15일이다. " * 9, unicodedata.normalize("NFD", "한글"): "반차는 4시간이다. " * 9, "a": "leave is 15 days. " * 9}, policy=no_expansion)
    lines = trace_table(answer).splitlines()
    starts = {_width(line[:re.search(r"  (hit|role)\b", line).start()]) for line in lines}
    assert len({_width(line[:line.index("hit, rank" if i else "why")]) for i, line in enumerate(lines)}) == 1
    assert starts and len(lines) == len(answer.fusion.hits) + 1


@examples(40)
@given(st.dictionaries(doc_ids, st.lists(st.sampled_from(PIECES), min_size=1, max_size=20).map(" ".join), min_size=1, max_size=3), st.sampled_from([" ", "\n"]))
def test_a_page_of_any_documents(texts, glue):
    check_page(ask({i: t.replace(" ", glue) for i, t in texts.items()}, "연차는 며칠?"))


# --- characters that act --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text, shown", [
    ("연차 15일\n\t끝", "연차 15일\n\t끝"), ("a\r\nb", "a\nb"), ("a\rb", "a␍b"), ("\x1b[31m", "␛[31m"), ("\x00", "␀"), ("\x7f", "⟨U+007F⟩"), ("\x9b", "⟨U+009B⟩"),
    ("\u202e", "⟨U+202E⟩"), ("\u2066\u2069", "⟨U+2066⟩⟨U+2069⟩"), ("\u200f", "⟨U+200F⟩"), ("\ufeff", "⟨U+FEFF⟩"), ("\u2028", "⟨U+2028⟩"), ("👩\u200d💻", "👩\u200d💻"),
])
def test_acting_characters_are_named(text, shown):
    assert visible(text) == shown and visible(shown) == shown


HOSTILE = {
    "script": "연차 </div><script>alert(1)</script><img src=x onerror=alert(1)>",
    "closing tags": "연차 </span></div></article></body></html></style></pre><!-- -->",
    "quotes": "연차 \" onmouseover=\"alert(1)\" ' onload='x' `y`",
    "entities": "연차 &lt;script&gt; &amp; &#60;b&#62; &nbsp",
    "cdata": "연차 <![CDATA[ <b> ]]> <!doctype html> <?php ?>",
    "ANSI": "연차 \x1b[31m빨강\x1b[0m \x1b]8;;http://x\x07",
    "right to left": "연차 \u202egpj.exe \u2066\u2069 שלום",
    "NUL": "연차 \x00\x01\x02",
    "url": "연차 http://evil.example/x.js javascript:alert(1) url(http://x)",
    "line ends": "연차\r\n15일\rx\u2028y\x85z",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_is_shown_not_obeyed(name, tmp_path):
    text = (HOSTILE[name] + ". ") * 4
    answer = ask({"d": text}, HOSTILE[name], title=HOSTILE[name])
    page = check_page(answer)
    if name != "line ends":
        assert visible(HOSTILE[name]) in page.body
    assert "\x1b" not in trace_table(answer) and "\u202e" not in trace_table(answer)
    written = write_html(answer, tmp_path / "new" / "page.html").read_text(encoding="utf-8")
    assert Page(written).tags == page.tags


@pytest.mark.parametrize("doc_id", ["<script>alert(1)</script>", "a\" onload=\"x", "줄\n바꿈\tb", "x\x1b[2J", "a&amp;b", "#c0"])
def test_hostile_names_too(doc_id):
    answer = ask({doc_id: "연차는 15일이다. " * 20})
    page = check_page(answer)
    assert visible(doc_id) in page.body
    assert all("\t" not in line and "\x1b" not in line for line in trace_table(answer).splitlines())


def test_a_megabyte_on_one_line():
    text = "연차는 15일이다 " * 120_000
    store = MemoryStore()
    parser = ParentChildNodeParser(parent_size=500_000, parent_overlap=0, child_size=400_000, child_overlap=0, sentences="rule")
    nodes = store.add_documents([Document(text=text, id_="d")], parser, MockEmbedding(embed_dim=1))
    node = next(n for n in nodes if n.node_id == "d#c1")
    expansion = Pipeline(Fixed([NodeWithScore(node=node, score=1.0)]), Expander(store, neighbours(5)), RankedContextBuilder(2_000))
    fusion = expansion._fusion("연차")
    expanded, context, _ = expansion._context(fusion)
    page = check_page(Answer("연차", "", context, expanded, fusion))
    assert len(page.texts[0]) > 1_000_000


# --- the page -------------------------------------------------------------------------------------------------------------------------


def test_marks_are_those_of_the_chunks(answer):
    page = check_page(answer)
    for pieces, p in zip(page.marked, answer.expansion.passages):
        outline, at = answer.expansion.outlines[p.doc_id], p.span.start
        hits = [outline.span_of(parse_address(i)) for i in p.hits]
        for classes, text in pieces:
            span = Span(at, at + len(text))
            assert ("hit" in classes.split()) == any(h.contains(span) for h in hits)
            assert not ("hit" in classes.split() and "near" in classes.split())
            at = span.end
        assert at == p.span.end
    best = "".join(text for pieces in page.marked for classes, text in pieces if "best" in classes.split())
    i, span = answer.best
    used = answer.passages[i]
    assert best == used.text[span.start - used.span.start:span.end - used.span.start]


def test_page_says_what_is_beyond_the_budget(answer):
    text = trace_html(answer)
    seen = {c.passage.rank for c in answer.context.citations}
    assert text.count("beyond the budget") == text.count("<article class=out>") == sum(p.rank not in seen for p in answer.expansion.passages) > 0


def test_the_map_of_a_long_document_stays_in_its_frame():
    """A hit at the very end of 100,000 characters would be a fraction of a pixel wide: it is widened, and must not stick out."""
    store, parser = MemoryStore(), ParentChildNodeParser(parent_size=120, parent_overlap=20, child_size=40, child_overlap=10, sentences="rule")
    nodes = store.add_documents([Document(text="연차는 15일이다. " * 10_000, id_="d")], parser, MockEmbedding(embed_dim=1))
    last = max(nodes, key=lambda n: (n.metadata["level"] == "c", n.metadata["index"]))
    page = check_page(Pipeline(Fixed([NodeWithScore(node=last, score=1.0)]), Expander(store)).ask("연차"))
    assert [a["width"] for tag, a in page.tags if tag == "rect" and "x" in a] == ["3.0", "3.0"]


def test_page_forbids_itself_everything(answer):
    (policy,) = [a["content"] for tag, a in check_page(answer).tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_a_generated_answer_is_shown_and_escaped(answer):
    from dataclasses import replace
    shown = trace_html(replace(answer, text="15일 <b>[1]</b>", generated=True), title="<t>")
    assert "<h2>Answer</h2><pre>15일 &lt;b&gt;[1]&lt;/b&gt;</pre>" in shown and "<title>&lt;t&gt;</title>" in shown
    Page(shown)


def test_nodes_of_others_have_a_row_and_an_article():
    """Also where their document is known to the index, but they are not chunks of it."""
    from llama_index.core.schema import NodeRelationship, RelatedNodeInfo
    store = MemoryStore()
    (known, *_) = store.add_documents([Document(text="연차는 15일이다.", id_="d")], ParentChildNodeParser(), MockEmbedding(embed_dim=1))
    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="d")}
    hits = [TextNode(id_="uuid", text="연차", start_char_idx=0, end_char_idx=2, relationships=source), TextNode(id_="d#c99", text="15일", start_char_idx=4, end_char_idx=7, relationships=source),
            TextNode(id_="empty", text="")]
    fixed = Fixed([NodeWithScore(node=n, score=None) for n in (*hits, store._chunks["d#c0"])])
    answer = Pipeline(fixed, Expander(store)).ask("연차")
    check_page(answer)
    assert [r["chunk"] for r in trace_rows(answer)] == ["uuid", "d#c99", "empty", "d#c0"]


def test_an_answer_with_nothing_in_it():
    answer = Pipeline(Fixed([]), Expander(MemoryStore())).ask("연차")
    check_page(answer)
    assert trace_rows(answer) == [] and trace_table(answer).split() == ["#", "chunk", "role", "retriever", "score", "why"]


def test_half_a_surrogate_pair_does_not_stop_the_writing(answer, tmp_path):
    from dataclasses import replace
    path = write_html(replace(answer, question="연차 \ud800 끝"), tmp_path / "page.html")
    assert "<h1>연차 ? 끝</h1>" in path.read_text(encoding="utf-8")


def test_write_html(answer, tmp_path):
    path = write_html(answer, tmp_path / "a" / "b.html")
    assert path == Path(tmp_path / "a" / "b.html") and path.read_text(encoding="utf-8") == trace_html(answer)
    with pytest.raises(InputError, match="is a folder"):
        write_html(answer, tmp_path)
