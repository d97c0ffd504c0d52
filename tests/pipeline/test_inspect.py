"""The trace: a row for every chunk, and a page that no document can break out of."""
from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given, strategies as st
from llama_index.core import MockEmbedding
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import Document, NodeWithScore, QueryBundle, TextNode
from strategies import doc_ids, examples, PIECES

from ragnb import (Answer, Expander, index_documents, InputError, MemoryStore, MultiScaleRetriever, neighbors, parent,
                   ParentChildNodeParser, Pipeline, RankedContextBuilder, Span, trace, UnitNodeParser)
from ragnb.context.blocks import text_blocks
from ragnb.context.builders import PassageRanking
from ragnb.documents.span import parse_address
from ragnb.evaluation.datasets import Evidence
from ragnb.expansion.policy import no_expansion, Place, QuestionPolicy, together
from ragnb.pipeline.trace_data import display_width, Trace, uncovered, visible
from ragnb.retrieval.hybrid import Hits
from ragnb.retrieval.sqlite_units import SqliteUnits, UnitWriter

VOID = {"meta", "br"}
SMALL = ParentChildNodeParser(parent_size=120, parent_overlap=20, child_size=40, child_overlap=10, sentences="rule")
ACTING = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069\\ufeff\\ud800-\\udfff"
    "\U000e0001\U000e0020-\U000e007f]")


class Page(HTMLParser):
    """Checks that tags are balanced, and collects what a page would do and show."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[tuple[str, str]] = []  # Tag, class
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []      # Of passages; marks, labels and notes removed
        self.around: list[str] = []     # Of what is around them
        self.notes: list[str] = []
        self.marked: list[list[tuple[str, str]]] = []
        self.body = ""
        self.feed(page)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs)
        self.tags.append((tag, dict(attrs)))
        kind = dict(attrs).get("class") or ""
        if tag not in VOID:
            self.open.append((tag, kind))
        if kind == "text" and tag == "div":
            self.texts.append("")
            self.marked.append([])
        elif kind == "text around":
            self.around.append("")

    def handle_startendtag(self, tag, attrs):
        raise AssertionError(f"<{tag}/>")

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag, f"</{tag}> while {self.open[-3:]} are open"
        self.open.pop()

    def handle_data(self, data):
        self.body += data
        kinds = [kind for _, kind in self.open]
        if "note" in kinds or self.open and self.open[-1][0] == "summary":
            self.notes.append(data)
        elif "text" in kinds:
            self.texts[-1] += data
            self.marked[-1].append((kinds[-1] if kinds[-1] not in ("text", "fold") else "", data))
        elif "text around" in kinds:
            self.around[-1] += data


ALLOWED = set("html head meta title style body p h3 h4 span mark bdi i b br div svg rect details summary table tr td th".split())
ATTRIBUTES = set("class dir data-k open lang charset name content http-equiv viewbox preserveaspectratio role aria-label width height x y rx "
                 "fill".split())


def in_view(passages) -> list:
    """Passages in the order of the view."""
    return [p for d in dict.fromkeys(p.doc_id for p in passages)
            for p in sorted((q for q in passages if q.doc_id == d), key=lambda q: q.span)]


def readable(text: str) -> str:
    """A text without the signs of Markdown that a page draws."""
    return "".join(text[p.start:p.end] for block in text_blocks(text) for row in block.rows for cell in row for p in cell)


def check_html(text: str, passages) -> Page:
    """What must hold for any view."""
    page = Page(text)
    assert {tag for tag, _ in page.tags} <= ALLOWED, "a tag that is not ours"
    for tag, attributes in page.tags:
        assert set(attributes) <= ATTRIBUTES, "an attribute that is not ours"
        assert re.fullmatch(
            r"((^| · )((hit|evidence) \d+|hit|by name|filler|cited|beside|parent|neighbor|not read))*", attributes.get("data-k", "")
        )
        assert "javascript:" not in "".join(v or "" for v in attributes.values()).lower()
    for style in re.findall(r"<style>(.*?)</style>", text, re.S):
        assert "url(" not in style and "@import" not in style and "http" not in style and "<" not in style
    assert not ACTING.search(text), "a character that acts"
    shown = [(t, p) for t, p in zip(page.texts, in_view(passages), strict=True)]
    for t, p in shown:
        if len(t) == len(visible(readable(p.text))) or len(p.text) < 600:
            assert t == visible(readable(p.text)), "marking changes the text"
    for tag, a in page.tags:
        if tag == "rect" and "x" in a:
            assert 0 <= float(a["x"]) and float(a["width"]) > 0 and float(a["x"]) + float(a["width"]) <= 1000.2
            assert 0 <= float(a["y"]) and float(a["y"]) + float(a["height"]) <= 26
    return page


def check_page(answer: Answer | Trace) -> Page:
    """What must hold for the page of any answer."""
    told = answer if isinstance(answer, Trace) else trace(answer)
    page, part = check_html(told.page(), told.passages[:200]), told.fragment()
    check_html(part, told.passages[:200])
    assert "\n" not in part and "$" not in part, "Markdown or MathJax could read it"
    expansion, rows = told.answer.expansion, told.rows()
    found = {i: s for p in expansion.passages for i, s in zip(p.hits, p.scores)}
    weak = {i for i, s in found.items() if s is not None and s < 0.05 * told.best_score}
    assert {r["chunk"] for r in rows if r["role"] == "hit"} == found.keys() - weak
    assert {r["chunk"] for r in rows if r["role"] == "filler"} == weak
    assert not told.answer.fusion.hits or {i for p in expansion.passages for i in p.hits} <= {h.node_id for h in told.answer.fusion.hits}
    assert len(rows) == sum(len(p.hits) + len(p.neighbors) for p in expansion.passages) + len(expansion.dropped)
    assert len(told.table().splitlines()) == len(rows) + 1
    return page


class Fixed(BaseRetriever):
    def __init__(self, hits: list[NodeWithScore]) -> None:
        super().__init__()
        self.hits = hits

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self.hits


def ask(
    texts: dict[str, str], question: str = "연차는 며칠?", every: int = 3, policy=neighbors(1), budget: int | None = 300,
    **metadata,
) -> Answer:
    """An answer over some documents, every third chunk a hit."""
    store = MemoryStore()
    parser = SMALL
    nodes = store.add_documents([Document(text=t, id_=i, metadata=metadata) for i, t in texts.items()], parser, MockEmbedding(embed_dim=1))
    hits = [NodeWithScore(node=n, score=1 / (1 + i) if i % 2 else None)
            for i, n in enumerate([n for n in nodes if n.metadata["level"] == "c"][::every])]
    return Pipeline(Fixed(hits), Expander(store, policy, expand_top_k=5), RankedContextBuilder(budget)).ask(question)


def laid_out(hits: list[NodeWithScore], store: MemoryStore) -> Answer:
    """An answer without a text."""
    expanded = Expander(store, neighbors(5)).expand(hits)
    return Answer("연차", "", RankedContextBuilder(2_000, passage_size=None).build(expanded.passages), expanded,
                  Hits(hits, {"retriever": {h.node_id: (n, h.score) for n, h in enumerate(hits, 1)}}))


@pytest.fixture(scope="module")
def answer(hr_chunks) -> Answer:
    return Pipeline.from_index(hr_chunks, budget=900).ask("입사 1년차 직원의 연차는 며칠인가요?")


@pytest.mark.parametrize("budget", [60, 160, 300, 440])
def test_rows_say_what_the_model_does_not_see(budget):
    """A passage is cut to the budget: the chunks beyond the cut are not in the context, the others are."""
    answer = ask({"d": " ".join(f"{i}년차의 연차는 {i + 14}일이다." for i in range(60))}, every=12, policy=neighbors(3), budget=budget)
    cited, rows = answer.context.sources, trace(answer).rows()
    for r in rows:
        assert r["in_context"] == any(c.passage.span.overlap(Span(r["start"], r["end"])) > 0 for c in cited)
    cut = max(answer.passages, key=lambda p: p.rank)
    assert cut not in answer.expansion.passages, "the example should cut a passage"
    number = max(c.number for c in cited)
    assert {r["in_context"] for r in rows if r["passage"] == number} == {True, False}


def test_rows_have_the_numbers_of_the_answer(answer):
    """Whatever the ranks of the hits: what is not in the context goes on counting."""
    hits = tuple(replace(p, rank=7 * p.rank) for p in answer.expansion.passages)
    moved = replace(answer, expansion=replace(answer.expansion, passages=hits))
    told, sources = trace(moved), answer.context.sources
    for s in sources:
        assert {told.numbers[p.id] for p in hits if p.doc_id == s.passage.doc_id and p.span.overlap(s.passage.span)} >= {s.number}
    for i, row in enumerate(told.rows()):
        where = [s.number for s in sources if row["passage"] == s.number]
        assert bool(where) == row["in_context"] or row["dropped"], i
    numbers = list(told.numbers.values())
    assert sorted(set(numbers)) == list(range(1, max(numbers) + 1))
    assert f"<b>{sources[0].number}.</b>" in told.fragment() and f"<b>{7 * max(p.rank for p in hits)}.</b>" not in told.fragment()


def test_columns_are_straight_where_hangul_is_two_wide():
    answer = ask({"hr/휴가 규정.md": "연차는 15일이다. " * 9, unicodedata.normalize("NFD", "한글"): "반차는 4시간이다. " * 9, "a": "leave is 15 days. " * 9},
                 policy=no_expansion)
    lines = trace(answer).table().splitlines()
    starts = {display_width(line[:re.search(r"  (hit|role)\b", line).start()]) for line in lines}
    assert len({display_width(line[:line.index("hit, rank" if i else "why")]) for i, line in enumerate(lines)}) == 1
    assert starts and len(lines) == len(answer.fusion.hits) + 1


@examples(40)
@given(st.dictionaries(doc_ids, st.lists(st.sampled_from(PIECES), min_size=1, max_size=20).map(" ".join), min_size=1, max_size=3),
       st.sampled_from([" ", "\n"]))
def test_a_page_of_any_documents(texts, glue):
    check_page(ask({i: t.replace(" ", glue) for i, t in texts.items()}, "연차는 며칠?"))


@pytest.mark.parametrize("text, shown", [
    ("연차 15일\n\t끝", "연차 15일\n\t끝"), ("a\r\nb", "a\nb"), ("a\rb", "a␍b"), ("\x1b[31m", "␛[31m"), ("\x00", "␀"),
    ("\x7f", "⟨U+007F⟩"), ("\x9b", "⟨U+009B⟩"), ("\u202e", "⟨U+202E⟩"), ("\u2066\u2069", "⟨U+2066⟩⟨U+2069⟩"),
    ("\u200f", "⟨U+200F⟩"), ("\ufeff", "⟨U+FEFF⟩"), ("\u2028", "⟨U+2028⟩"), ("a\udc00", "a⟨U+DC00⟩"),
    ("\U000e0041", "⟨U+E0041⟩"), ("\u2060", "⟨U+2060⟩"), ("👩\u200d💻", "👩\u200d💻")])
def test_acting_characters_are_named(text, shown):
    assert visible(text) == shown and visible(shown) == shown


HOSTILE = {
    "script": "연차 </div><script>alert(1)</script><img src=x onerror=alert(1)>",
    "closing tags": "연차 </span></div></article></body></html></style></pre><!-- -->",
    "quotes": "연차 \" onmouseover=\"alert(1)\" ' onload='x' `y`",
    "entities": "연차 &lt;script&gt; &amp; &#60;b&#62; &nbsp", "cdata": "연차 <![CDATA[ <b> ]]> <!doctype html> <?php ?>",
    "ANSI": "연차 \x1b[31m빨강\x1b[0m \x1b]8;;http://x\x07", "right to left": "연차 \u202egpj.exe \u2066\u2069 שלום",
    "NUL": "연차 \x00\x01\x02", "url": "연차 http://evil.example/x.js javascript:alert(1) url(http://x)",
    "line ends": "연차\r\n15일\rx\u2028y\x85z",
    "hidden letters": "연차 " + "".join(chr(0xE0000 + ord(c)) for c in "ignore"),
    "Markdown": "연차\n\n[a](javascript:alert(1)) ![](http://x) **b** `c` $\\href{x}{y}$ "
    "<details open ontoggle=alert(1)>",
    "style": "연차 </style><style>*{display:none}</style><link rel=stylesheet href=//x><base href=//x>",
    "our own classes": '연차 <mark class="hit" data-k="hit 1">15일</mark><i class="note">'}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_is_shown_not_obeyed(name, tmp_path):
    text = (HOSTILE[name] + ". ") * 4
    answer = ask({"d": text}, HOSTILE[name], title=HOSTILE[name])
    page = check_page(answer)
    for word in visible(HOSTILE[name]).split():
        assert word in page.body
    assert "\x1b" not in trace(answer).table() and "\u202e" not in trace(answer).table()
    written = trace(answer).write(tmp_path / "new" / "page.html")
    assert written == tmp_path / "new" / "page.html" and Page(written.read_text(encoding="utf-8")).tags == page.tags


@pytest.mark.parametrize("doc_id", ["<script>alert(1)</script>", 'a" onload="x', "줄\n바꿈\tb", "x\x1b[2J", "a&amp;b", "#c0"])
def test_hostile_names_too(doc_id):
    answer = ask({doc_id: "연차는 15일이다. " * 20})
    page = check_page(answer)
    assert visible(doc_id) in page.body
    assert all("\t" not in line and "\x1b" not in line for line in trace(answer).table().splitlines())


def test_a_megabyte_on_one_line():
    text = "연차는 15일이다 " * 120_000
    store = MemoryStore()
    parser = ParentChildNodeParser(parent_size=500_000, parent_overlap=0, child_size=400_000, child_overlap=0, sentences="rule")
    nodes = store.add_documents([Document(text=text, id_="d")], parser, MockEmbedding(embed_dim=1))
    node = next(n for n in nodes if n.node_id == "d#c1")
    page = check_page(told := trace(laid_out([NodeWithScore(node=node, score=1.0)], store), store=store))
    assert len(told.passages[0].text) > 1_000_000
    assert len(told.page()) < 60_000 and len(told.fragment()) < 60_000, "the view stays small"
    assert any("characters are not shown" in n for n in page.notes) and len(page.texts[0]) > 1_000
    counted = sum(int(n.replace(",", "")) for t in page.notes for n in re.findall(r"… ([\d,]+) characters are not shown", t))
    folded = sum(int(n.replace(",", "")) for t in page.notes for n in re.findall(r"… ([\d,]+) characters …", t))
    assert len(page.texts[0]) + counted == len(told.passages[0].text), (counted, folded)


def test_marks_are_those_of_the_chunks(answer):
    page = check_page(answer)
    for pieces, p in zip(page.marked, in_view(answer.expansion.passages)):
        outline, at = answer.expansion.outlines[p.doc_id], 0
        hits = [outline.span_of(parse_address(i)) for i in p.hits]
        for classes, text in pieces:
            signs, at = at, p.text.index(text, at)           # a table, a heading and bold words are shown without their signs
            assert not p.text[signs:at].strip(" |*#-:\n")
            span = Span(p.span.start + at, p.span.start + at + len(text))
            assert ("hit" in classes.split()) == any(h.contains(span) for h in hits) or not text.strip()
            assert not ("hit" in classes.split() and "near" in classes.split())
            at += len(text)
        assert not p.text[at:].strip(" |*#-:\n")


def test_page_says_what_is_beyond_the_budget(answer):
    text = trace(answer).page()
    seen = {c.passage.rank for c in answer.context.sources}
    assert (text.count("not read: beyond the budget") == text.count('class="passage out"')
            == sum(p.rank not in seen for p in answer.expansion.passages) > 0)


def test_the_map_of_a_long_document_stays_in_its_frame():
    """A hit at the very end of 100,000 characters is widened to be seen, and must not stick out."""
    store, parser = MemoryStore(), SMALL
    nodes = store.add_documents([Document(text="연차는 15일이다. " * 10_000, id_="d")], parser, MockEmbedding(embed_dim=1))
    last = max(nodes, key=lambda n: (n.metadata["level"] == "c", n.metadata["index"]))
    page = check_page(Pipeline(Fixed([NodeWithScore(node=last, score=1.0)]), Expander(store)).ask("연차"))
    assert [a["width"] for tag, a in page.tags if tag == "rect" and "x" in a] == ["4.0", "4.0"]


def test_page_forbids_itself_everything(answer):
    (policy,) = [a["content"] for tag, a in check_page(answer).tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")


def test_nodes_of_others_have_a_row_and_an_article():
    """Also where their document is known to the index, but they are not chunks of it."""
    from llama_index.core.schema import NodeRelationship, RelatedNodeInfo
    store = MemoryStore()
    known, *_ = store.add_documents([Document(text="연차는 15일이다.", id_="d")], ParentChildNodeParser(), MockEmbedding(embed_dim=1))
    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="d")}
    hits = [TextNode(id_="uuid", text="연차", start_char_idx=0, end_char_idx=2, relationships=source),
            TextNode(id_="d#c99", text="15일", start_char_idx=4, end_char_idx=7, relationships=source),
            TextNode(id_="empty", text="")]
    fixed = Fixed([NodeWithScore(node=n, score=None) for n in (*hits, store._chunks["d#c0"])])
    answer = Pipeline(fixed, Expander(store)).ask("연차")
    check_page(answer)
    assert [r["chunk"] for r in trace(answer).rows()] == ["uuid", "d#c99", "empty", "d#c0"]


def test_around_is_the_text_of_the_document(answer):
    """What is shown beside the passages is what stands there, brought by one more read."""
    texts = {"a": " ".join(f"{i}년차의 연차는 {i + 14}일이다." for i in range(90)), "b": "\r\n\r\n".join(f"반차는 {i}시간이다." for i in range(9))}
    store = _store_of(texts)
    pipeline = Pipeline(
        Fixed([NodeWithScore(node=store._chunks[i], score=1.0) for i in ("a#c9", "a#c20", "b#c1", "a#c13")]),
        Expander(store), RankedContextBuilder(300))
    found = pipeline.ask("연차")
    before = store.reads
    told = trace(found, store=store, around=80)
    assert store.reads == before + 1 and trace(pipeline, "연차").around and told.around
    assert not trace(pipeline, "연차", around=0).around and not trace(found).around
    for doc_id, pieces in told.around.items():
        assert all(texts[doc_id][s.start:s.end] == t for s, t in pieces.items())
        held = [p.span for p in told.passages if p.doc_id == doc_id]
        free = {x for s in pieces for x in (s.start, s.end)} - {0, len(texts[doc_id])} - {x for s in held for x in (s.start, s.end)}
        assert all(texts[doc_id][x - 1].isspace() or texts[doc_id][x].isspace() for x in free), "no word is torn"
        spans = sorted([*pieces] + [p.span for p in told.passages if p.doc_id == doc_id])
        assert all(a.end <= b.start for a, b in zip(spans, spans[1:]))
    page = check_page(told)
    assert sorted("".join(t.split()) for t in page.around) == sorted(
        "".join(visible(t).split()) for ts in told.around.values() for t in ts.values())
    assert told.rows() == trace(told.answer).rows() and "evidence: " not in told.page()


def test_what_was_brought_from_elsewhere():
    """A cited place stands behind its hit, in its own document; its role is its own."""
    def cites(outline, hit):
        return [outline.span_of(hit), Place("b", Span(0, 30), "제2조", role="cited")]
    cites.name = "citations:1"
    texts = {"a": "연차는 15일이다. 제2조를 본다. " * 6, "b": "제2조 반차는 4시간이다. " * 12}
    store = MemoryStore()
    nodes = store.add_documents([Document(text=t, id_=i) for i, t in texts.items()], SMALL, MockEmbedding(embed_dim=1))
    hit = next(n for n in nodes if n.node_id == "a#c1")
    policy = together(neighbors(1), QuestionPolicy("citations:1", lambda s: cites, lambda hits: ["b"]))
    answer = Pipeline(Fixed([NodeWithScore(node=hit, score=1.0)]), Expander(store, policy), RankedContextBuilder(None)).ask("연차")
    roles = {r["chunk"]: (r["role"], r["policy"]) for r in trace(answer).rows()}
    assert roles["a#c1"] == ("hit", "") and roles["a#c0"] == roles["a#c2"] == ("neighbor", "neighbors:1+citations:1")
    assert roles["b#c0"] == ("cited", "neighbors:1+citations:1")
    page = check_page(answer)
    assert ("div", {"class": "passage"}) in page.tags and any(a.get("data-k") == "cited" for _, a in page.tags)
    assert {r["doc_id"] for r in trace(answer, evidence=[Evidence("b", Span(0, 10), texts["b"][:10])]).evidence_rows()} == {"b"}


def test_parents_are_told_from_neighbors():
    answer = ask({"d": " ".join(f"{i}년차의 연차는 {i + 14}일이다." for i in range(30))}, every=25, policy=parent)
    rows = trace(answer).rows()
    assert {r["role"] for r in rows} == {"hit", "parent"} and {r["policy"] for r in rows if r["role"] == "parent"} == {"parent"}
    assert any("parent" in (a.get("class") or "").split() for _, a in check_page(answer).tags)


def test_evidence_is_followed():
    text = " ".join(f"{i}년차의 연차는 {i + 14}일이다." for i in range(60))
    plain = ask({"d": text, "e": "다른 글이다. " * 20}, every=12, policy=neighbors(1), budget=160)
    read, beyond = plain.passages[0], next(p for p in reversed(plain.expansion.passages) if p.doc_id == "d")
    places = [Span(read.span.start, read.span.start + 10), Span(beyond.span.start, beyond.span.start + 10),
              Span(beyond.span.end + 30, beyond.span.end + 40), Span(0, 5)]
    gold = [Evidence("d", s, text[s.start : s.end]) for s in places[:3]] + [Evidence("unknown </b>", Span(7, 12), "<b>없다")]
    told = trace(plain, evidence=gold)
    assert [(r["state"], r["read"]) for r in told.evidence_rows()] == [
        ("read", 1.0), ("found, but beyond the budget", 0.0), ("not found", 0.0), ("not found", 0.0)]
    page = check_page(told)
    marked = {label: a["class"] for _, a in page.tags for label in a.get("data-k", "").split(" · ") if label.startswith("evidence")}
    assert set(marked) == {f"evidence {n}" for n in (1, 2, 3, 4)} and all("gold" in c.split() for c in marked.values())
    assert page.around[-1] == "<b>없다" and "evidence: 3" in told.page()


def test_what_was_dropped_has_a_row_and_a_reason():
    answer = ask({"d": "연차는 15일이다. " * 60}, every=40, policy=neighbors(6))
    few = Pipeline(Fixed(answer.fusion.hits), Expander(_store_of({"d": "연차는 15일이다. " * 60}), neighbors(6), max_chunks=3)).ask("연차")
    dropped = [r for r in trace(few).rows() if r["role"] == "dropped"]
    assert {r["chunk"]: r["dropped"] for r in dropped} == few.expansion.dropped and set(
        few.expansion.dropped.values()) == {"beyond max_chunks"}
    assert all(r["passage"] is None and not r["in_context"] for r in dropped) and "beyond max_chunks" in trace(few).table()
    check_page(few)


def _store_of(texts: dict[str, str]) -> MemoryStore:
    store = MemoryStore()
    store.add_documents([Document(text=t, id_=i) for i, t in texts.items()], SMALL, MockEmbedding(embed_dim=1))
    return store


def test_rows_are_the_answer(answer):
    """Rank, role, score and reason of every chunk, in a list and a table."""
    told = trace(answer)
    rows = told.rows()
    assert {r["chunk"] for r in rows if r["role"] == "hit"} == {h.node_id for h in answer.fusion.hits}
    assert [r["passage"] for r in rows] == sorted(r["passage"] for r in rows) and repr(told) == told.table()
    for r in rows:
        assert r["why"] and r["start"] < r["end"] and parse_address(r["chunk"]) and (r["score"] is not None) == (r["role"] == "hit")
    for p in answer.expansion.passages:
        own = [r for r in rows if r["passage"] == told.numbers[p.id] and r["chunk"] in (*p.hits, *p.neighbors)]
        assert {r["chunk"]: r["score"] for r in own if r["role"] == "hit"} == dict(zip(p.hits, p.scores))
        assert all(0 < r["characters"] <= len(p.span) for r in own)
    for name, ranks in answer.fusion.members.items():
        shown = {r["chunk"]: (r[name], r[f"{name} score"]) for r in rows if r[name]}
        assert shown == {i: v for i, v in ranks.items() if i in {r["chunk"] for r in rows}}


def test_a_ranking_without_fusion_and_context():
    passages = ask({"d": "연차는 15일이다. " * 60}, budget=None).expansion.passages
    told = trace(PassageRanking(passages), "연차", budget=100)
    assert sum(len(p.span) for p in told.passages) <= 100 and told.rankers == {} and told.answer is None
    check_html(told.page(), told.passages)
    assert len(told.table().splitlines()) == len(told.rows()) + 1


def test_units_say_what_each_scale_gave_them():
    documents = [Document(
                     text="# 휴가\n\n" + "\n\n".join(f"{i}년차 직원의 연차는 {i + 14}일이다. 반차는 {i}시간이다." for i in range(1, 40)),
                     id_="휴가 <b>", metadata={"title": "휴가"}),
                 Document(text="세정장비의 압력을 본다. " * 9, id_="b")]
    store, index = MemoryStore(), SqliteUnits()
    nodes = store.add_documents(documents, UnitNodeParser(sentences="rule"), MockEmbedding(embed_dim=1))
    UnitWriter(index).add(nodes, list(store.get_outlines([d.id_ for d in documents]).all().values()))
    retriever = MultiScaleRetriever(index, store)
    told, ranking = trace(retriever, "7년차 직원의 연차는?", budget=300), retriever.rank("7년차 직원의 연차는?")
    assert told.passages == tuple(ranking.at(300)) and {"multi-scale", "words"} <= set(told.rankers)
    for i, given in told.signals.items():
        assert given == ranking.explain(i)
        if i in told.rankers["words"]:
            assert told.rankers["words"][i][1] == pytest.approx(sum(z for name, z in given.items() if name.startswith("words")))
    assert min(r["multi-scale"] for r in told.rows()) == 1 and "words 7" in told.page()
    check_html(told.page(), told.passages)
    for policy in (no_expansion, neighbors(1)):  # spans of the ranking itself; units as hits
        piped = trace(Pipeline(retriever, Expander(store, policy), RankedContextBuilder(300)), "7년차 직원의 연차는?")
        assert {"multi-scale", "words"} <= set(piped.rankers) and piped.signals and piped.outlines and piped.around
        assert {r["role"] for r in piped.rows()} <= {"hit", "neighbor"} and any(r["multi-scale"] == 1 for r in piped.rows())
        check_page(piped)


def test_a_model_that_does_not_answer_is_a_fact():
    from llama_index.core.llms import MockLLM

    class Broken(MockLLM):
        def complete(self, *args, **kwargs):
            raise ConnectionError("no <b>route</b>")

    store = _store_of({"d": "연차는 15일이다. " * 9})
    hit = NodeWithScore(node=store._chunks["d#c0"], score=1.0)
    told = trace(Pipeline(Fixed([hit]), Expander(store), llm=Broken()), "연차")
    assert "did not answer" in told.facts[-1] and told.passages
    check_page(told)


def test_what_trace_refuses(answer, tmp_path):
    with pytest.raises(InputError, match="needs a question"):
        trace(Pipeline(Fixed([]), Expander(MemoryStore())))
    with pytest.raises(InputError, match="around must be >= 0"):
        trace(answer, around=-1)
    with pytest.raises(InputError, match="is a folder"):
        trace(answer).write(tmp_path)


@given(st.integers(0, 60), st.integers(0, 60), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=6))
def test_what_is_not_covered(a, b, pairs):
    span, held = Span(min(a, b), max(a, b)), [Span(min(p), max(p)) for p in pairs]
    rest = {i for s in uncovered(span, held) for i in range(s.start, s.end)}
    assert rest == set(range(span.start, span.end)) - {i for s in held for i in range(s.start, s.end)}


def test_the_style_stays_in_its_place(answer):
    """Every rule is bound to our class or nested in one that is, so that a notebook or a docs page looks as before."""
    depth, outer, selector = 0, [], ""
    for c in re.search(r"<style>(.*?)</style>", trace(answer).fragment(), re.S)[1]:
        if c == "{" and depth == 0:
            outer.append(selector)
        depth += (c == "{") - (c == "}")
        selector = "" if c in "{}" else selector + c
    assert depth == 0 and outer and all(".rt.rt" in s for selectors in outer for s in selectors.split(","))


CANTEEN = ("# 구내식당 안내\n\n구내식당은 본관 지하 1층에 있다.\n\n## 시간\n\n점심은 11시 30분부터 13시까지이다.\n\n"
           "## 값\n\n점심 식권은 5,000원이다.\n\n## 기타\n\n반찬은 세 가지이다. 음식을 남기지 않는다.")


def test_only_what_matches_strongly_has_the_strong_colour(tmp_path):
    """Of a small document that is read whole; hits are numbered by their scores, what only fills is dimmed."""
    documents = [Document(text=CANTEEN, id_="a.md"), Document(text="# 주차\n\n방문객은 주차권을 받는다.", id_="b.md")]
    index, _ = index_documents(documents, tmp_path / "index", show_progress=False)
    told = trace(Pipeline.from_index(index), "점심 식권은 얼마인가요?")
    page = check_page(told)
    strong = [text for text in page.marked[0] if text[0] == "hit"]
    assert [text for _, text in strong] == ["점심 식권은 5,000원이다."]
    assert {kind for kind, _ in page.marked[0]} <= {"hit", "hit low", "hit low bold", ""} and "filler" in str(page.marked[1])
    scored = sorted((r for r in told.rows() if r["role"] == "hit"), key=lambda r: r["multi-scale"])
    assert [r["score"] for r in scored] == sorted((r["score"] for r in scored), reverse=True) and len(scored) > 4
    assert [r["multi-scale"] for r in scored] == list(range(1, len(scored) + 1))
    for words in ("strong match: among", "weaker match", "fills the remaining space", "Hits are numbered by score"):
        assert words in page.body
    assert "neighbor" not in page.body and page.body.count("best scorescore") == 1
