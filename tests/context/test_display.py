"""References, display documents, page images and the conversation."""
from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from PIL import Image
from hypothesis import given, strategies as st
from llama_index.core.schema import Document, NodeWithScore
from strategies import examples, KOREAN, PIECES

from ragnb import (by_doc_type, Conversation, Expander, InputError, MemoryStore, ParentChildNodeParser, Passage,
                   RankedContextBuilder, Span, UnitNodeParser)
from ragnb.context.compress import compress_passages
from ragnb.context.page_images import page_image
from ragnb.context.display import display_docs
from ragnb.context.sources import answer_refs
from ragnb.documents.files import record_to_document
from ragnb.documents.span import Why
from ragnb.storage.store import Found

PARSER = ParentChildNodeParser(parent_size=200, parent_overlap=0, child_size=30, child_overlap=10, sentences="rule")


def document(doc_id: str, parts: list[str], pages: bool = True, **metadata) -> Document:
    starts = [sum(len(p) + 2 for p in parts[:i]) for i in range(len(parts))]
    return Document(text="\n\n".join(parts), id_=doc_id, metadata=metadata | ({"page_starts": starts} if pages else {}))


def stored(*documents: Document) -> MemoryStore:
    store = MemoryStore()
    put(store, *documents)
    return store


def put(store: MemoryStore, *documents: Document) -> None:
    nodes, outlines = [], []
    for d in documents:
        found, outline = PARSER.parse(d)
        for n in found:
            n.embedding = [1.0, 0.0]
        nodes += found
        outlines.append(outline)
    store.put(nodes, outlines)


def hits(store: MemoryStore, *words: str) -> list[NodeWithScore]:
    """The first chunk with each word, best first."""
    texts = list(store.texts("c"))
    ids = list(dict.fromkeys(next(a for a, t in texts if w in t) for w in words))
    return [NodeWithScore(node=store.get_chunks([i]).found[i], score=1 - n / 100) for n, i in enumerate(ids)]


def alone(store: MemoryStore, *words: str) -> list[Passage]:
    """The chunks with the words as passages, nothing around them."""
    return Expander(store, lambda o, h: o.span_of(h), expand_top_k=80).expand(hits(store, *words)).passages


def manual(doc_id: str = "manual.pdf", n: int = 9, word: str = "manual", **metadata) -> Document:
    return document(doc_id, [f"{word} 쪽 {i}번의 첫 문장이다. 점검 {word}{i}표 항목을 적는다." for i in range(1, n + 1)], **metadata)


# --- references ------------------------------------------------------------------------------------------------------
@examples(60)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=12).map(" ".join), st.data())
def test_references_of_anything(text, data):
    a, b = sorted((data.draw(st.integers(0, len(text))), data.draw(st.integers(0, len(text)))))
    p = Passage("d", Span(5, 5 + len(text)), text, None, 1, ("d#c0",), (None,), Span(5 + a, 5 + b))
    ref = answer_refs([p], data.draw(st.integers(1, 300)))[0]
    assert ref.text == text[ref.start - 5:ref.end - 5] and (a == b or ref.start <= 5 + a and 5 + b <= ref.end)


def test_references_of_a_context_have_its_numbers():
    text = " ".join(["머리말이다.", "연차는 15일이다.", "점심은 자유다.", "연차는 3월까지 쓴다."])
    items = [Passage(f"규정{r}.md", Span(0, len(text)), text, 1 / r, r, (f"규정{r}.md#c0",), (1 / r,), Span(7, 17), pages=(r,),
                     metadata={"title": "T", "file_name": "f", "doc_type": 3}) for r in (1, 2, 3)]
    context = RankedContextBuilder().build(items)
    assert [(r.number, r.doc_id, r.pages, r.title, r.file, r.doc_type) for r in answer_refs(context)] == [
        (1, "규정1.md", (1,), "T", "f", "3"), (2, "규정2.md", (2,), "T", "f", "3"), (3, "규정3.md", (3,), "T", "f", "3")]
    short = RankedContextBuilder().build(compress_passages(items[:1], "연차는 언제까지 쓰나?", 24))
    assert len(short.sources) == 2 and [r.text for r in answer_refs(short)] == ["연차는 15일이다."]
    ref = answer_refs([Passage("a", Span(0, 1), "가", metadata={"doc_type": " GCB\n", "original_filename": "휴가.hwp"})])[0]
    assert (ref.doc_type, ref.file) == ("gcb", "휴가.hwp")


# --- display documents -----------------------------------------------------------------------------------------------
def test_each_document_is_judged_by_its_own_type():
    store = stored(manual("g", word="gee", doc_type=" GCB "), manual("m", word="emm", doc_type="manual"), manual("n", word="enn"))
    for order in (("gee5표", "emm5표"), ("emm5표", "gee5표")):
        passages = Expander(store, by_doc_type(), 5).expand(hits(store, *order)).passages
        shown = {d.doc_id: d.numbers for d in display_docs(passages, store)}
        assert shown["g"] == tuple(range(1, 10)) and len(shown["m"]) < 9
        assert [d.doc_id for d in display_docs(passages, store)] == ["g" if word[0] == "g" else "m" for word in order]


@pytest.mark.parametrize("window", [0, 1, 2, 50])
def test_pages_are_in_order_and_inside_the_document(window):
    document = manual()
    store = stored(document)
    passages = alone(store, "manual1표", "manual9표", "manual4표")
    own = {n for p in passages for n in p.pages}
    doc = display_docs(passages, store, window)[0]
    assert list(doc.numbers) == sorted({n for n in range(1, 10) if any(abs(n - m) <= window for m in own)})
    for page in doc.pages:
        assert page.text == document.text[page.span.start:page.span.end] and not page.missing
        assert all(page.span.contains(h) for h in page.hits)
    assert {n for p in doc.pages for n in ([p.number] if p.hits else [])} <= own and any(p.hits for p in doc.pages)


@pytest.mark.parametrize("n_documents", [1, 7, 40])
def test_two_reads_for_any_number_of_documents(n_documents):
    documents = [manual(f"d{i}", 4, f"word{i}q", doc_type="gcb" if i % 2 else "manual") for i in range(n_documents)]
    store = stored(*documents)
    passages = alone(store, *(f"word{i}q2표" for i in range(n_documents)))
    before = store.reads
    docs = display_docs(passages, store, 1, n_shown=None)
    assert store.reads - before == 2 and len(docs) == n_documents and [d.rank for d in docs] == sorted(d.rank for d in docs)
    assert len(display_docs(passages, store)) == min(5, n_documents)


def test_documents_without_pages_and_unknown_ones():
    flat = document("flat.md", ["첫 문단이다. flat1표 항목이다.", "둘째 문단이다."], pages=False)
    whole = document("whole.md", ["첫 문단이다. whole1표 항목이다.", "둘째 문단이다."], pages=False, doc_type="gcb")
    store = stored(flat, whole)
    passages = alone(store, "flat1표", "whole1표")
    stranger = Passage("gone", Span(0, 2), "가나", 0.1, 3, ("gone#c0",), (0.1,))
    shown = {d.doc_id: d for d in display_docs([*passages, stranger], store)}
    assert [(p.number, p.text) for p in shown["flat.md"].pages] == [(None, passages[0].text)] and shown["flat.md"].numbers == ()
    assert [p.text for p in shown["whole.md"].pages] == [whole.text]
    assert [(p.number, p.text, p.missing) for p in shown["gone"].pages] == [(None, "가나", False)]
    assert display_docs([], store) == []
    for bad in ({"page_window": -1}, {"most": 0}):
        with pytest.raises(InputError, match="(page_window|most) must be >= [01]"):
            display_docs(passages, store, **bad)


def test_a_chunk_that_is_gone_is_a_page_that_says_so():
    store = stored(manual())
    passages = alone(store, "manual5표")

    class Holey(MemoryStore):
        def get_chunks(self, addresses):
            found = store.get_chunks(addresses)
            return found._replace(found={k: v for k, v in found.found.items() if "manual4표" not in v.text})

        def get_outlines(self, doc_ids):
            return store.get_outlines(doc_ids)

    pages = {p.number: p for p in display_docs(passages, Holey(), 2)[0].pages}
    assert pages[4].missing and pages[4].text == "" and not pages[7].missing and pages[7].text


# --- page images -----------------------------------------------------------------------------------------------------
@pytest.fixture
def pdf(tmp_path):
    import pypdfium2
    made = pypdfium2.PdfDocument.new()
    for size in ((200, 100), (50, 100), (1, 14_000)):
        made.new_page(*size).close()
    made.save(tmp_path / "manual.pdf")
    made.close()
    return tmp_path / "manual.pdf"


def decoded(png: bytes) -> tuple[int, int, bytes]:
    """Width, height and pixels, as Pillow reads them."""
    image = Image.open(io.BytesIO(png))
    assert (image.format, image.mode) == ("PNG", "RGB")
    return *image.size, image.tobytes()


def test_a_page_is_drawn(pdf):
    assert decoded(page_image(pdf, 1, 100))[:2] == (100, 50) and decoded(page_image(pdf, 2, 64))[:2] == (64, 128)
    assert set(decoded(page_image(pdf, 1, 16))[2]) == {255}, "white"
    assert decoded(page_image(pdf, 3, 100))[1] <= 16_001


def test_typed_errors_of_page_images(pdf, tmp_path):
    (tmp_path / "no.pdf").write_bytes(b"not a PDF")
    for path, page, width, words in (
        (pdf, 4, 100, "has 3 pages, got page=4"), (pdf, 0, 100, "page must be >= 1, got 0"),
        (pdf, -1, 100, "page must be >= 1, got -1"), (pdf, 1, 15, "between 16 and 4000"),
        (pdf, 1, 9_999, "between 16 and 4000"), (tmp_path / "no.pdf", 1, 100, "cannot be read as a PDF"),
        (tmp_path / "gone.pdf", 1, 100, "no file 'gone.pdf'"), (tmp_path, 1, 100, "no file"),
    ):
        with pytest.raises(InputError, match=words):
            page_image(path, page, width)


def test_a_page_has_at_most_so_many_pixels(tmp_path):
    import pypdfium2
    made = pypdfium2.PdfDocument.new()
    made.new_page(300, 1_000).close()
    made.save(tmp_path / "tall.pdf")
    made.close()
    width, height, _ = decoded(page_image(tmp_path / "tall.pdf", 1, 4_000))
    assert 0.99 < width * height / (32 * 2**20) < 1.01 and height / width == pytest.approx(10 / 3, 0.01)


def test_an_image_stays_in_the_corpus(pdf, tmp_path):
    store = stored(manual())
    doc = display_docs(alone(store, "manual1표"), store)[0]
    assert decoded(doc.image(1, tmp_path, 50))[0] == 50
    for evil in ("../manual.pdf", "/etc/hosts", "a/../../x"):
        with pytest.raises(InputError, match="not in the folder of the corpus"):
            replace(doc, doc_id=evil).image(1, tmp_path / "sub" if evil == "../manual.pdf" else tmp_path)


# --- conversation ----------------------------------------------------------------------------------------------------
@pytest.fixture
def talk():
    store = stored(manual("a.pdf", word="aaa"), manual("b.pdf", word="bbb", doc_type="gcb"),
                   document("c.md", ["첫째. ccc1표.", "둘째."], pages=False))
    history = Conversation()
    for words in (("aaa2표", "bbb3표"), ("aaa5표", "ccc1표")):
        passages = alone(store, *words)
        history.add(" ".join(words), "답 [1]", passages, display_docs(passages, store, 1))
    return store, history


def test_follow_ups_get_earlier_pages(talk):
    store, history = talk
    before = store.reads
    back = history.passages(store, last=None)
    assert store.reads - before == 2 and back.lost == {}
    assert [p.rank for p in back.passages] == [1, 2, 3, 4] and back.passages[0].doc_id == "a.pdf" and "aaa5표" in back.passages[0].text
    assert sum(len(p.text) for p in history.passages(store, None, budget=25).passages) <= 25
    assert Conversation().passages(store).passages == [] and history.passages(store, last=99).passages == back.passages
    assert len(history.display(store, 0)) == 2 and history.display(store, -2) == history.display(store, 0)
    for call, words in ((lambda: history.passages(store, last=0), "last must be >= 1, got 0"), (lambda: history.display(store, 2), "has 2 turns, got turn=2")):
        with pytest.raises(InputError, match=words):
            call()


@examples(40)
@given(st.lists(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 60)), max_size=4), max_size=4))
def test_no_character_comes_back_twice(turns):
    document = manual("a.pdf", 6)
    store, history = stored(document), Conversation()
    for wanted in turns:
        spans = [Span(a, min(len(document.text), a + n)) for a, n in wanted]
        history.add("?", "!", [Passage("a.pdf", s, s.of(document.text), None, r, focus=s) for r, s in enumerate(spans, 1)])
    back = history.passages(store, None)
    assert not back.lost and all(p.text == p.span.of(document.text) and p.span.contains(p.focus) for p in back.passages if p.focus)
    spans = sorted(p.span for p in back.passages)
    assert all(a.end <= b.start for a, b in zip(spans, spans[1:]))
    if turns and turns[-1]:
        first = turns[-1][0]
        assert back.passages[0].span == Span(first[0], min(len(document.text), sum(first)))


def test_changed_and_deleted_documents_are_reported(talk):
    store, history = talk
    put(store, document("a.pdf", ["새 판이다. " * 20]))
    store.delete(["c.md"])
    back = history.passages(store, None)
    assert {p.doc_id for p in back.passages} == {"b.pdf"}
    assert sorted(back.lost.values()) == ["its document has changed"] * 2 + ["its document is not in the store"]
    shown = {d.doc_id: d for d in history.display(store)}
    assert shown["a.pdf"].numbers == (4, 5, 6) and all(p.missing and p.text == "" for d in shown.values() for p in d.pages)


def test_a_text_that_the_store_has_lost_is_not_a_change(talk, monkeypatch):
    store, history = talk
    monkeypatch.setattr(store, "get_chunks", lambda addresses: Found({}, tuple(addresses)))
    back = history.passages(store, None)
    assert not back.passages and set(back.lost.values()) == {"its text is not in the store"}


def test_a_conversation_is_bounded():
    history = Conversation(most_turns=3, most_passages=2, most_characters=10)
    for i in range(20):
        history.add(f"질문 {i}", "답" * 99, [Passage("d", Span(i, i + 1), "가", None, i + 1) for i in range(9)])
    assert [(t.question, len(t.answer), len(t.passages)) for t in history.turns] == [(f"질문 {n}", 10, 2) for n in (17, 18, 19)]
    assert Conversation.from_jsonl(history.to_jsonl()) == history


HEAD = '{"ragnb": "conversation", "version": 2, "most_turns": 5, "most_passages": 5, "most_characters": 5}\n'


@pytest.mark.parametrize(("text", "words"), [
    ("", "empty"), ("\n \n", "empty"), ("{}", "line 1"), ("[]", "line 1"), ("null\n", "line 1"),
    ('{"ragnb": "conversation", "version": 3}', "line 1.*version 2"), (HEAD + "{", "line 2"),
    (HEAD + "[" * 100_000, "line 2"), (HEAD + "3\n", "line 2"), (HEAD + '{"question": "q"}', "line 2"),
    (HEAD + '{"question": "q", "answer": "a", "passages": [{"doc_id": "d"}]}', "line 2"),
    (HEAD + '{"question": "q", "answer": "a", "shown": [{"doc_id": "d"}]}', "line 2"),
    (HEAD + '{"question":"q","answer":"a","passages":[{"doc_id":"d","start":5,"end":2,"check":1,'
     + '"hits":[],"scores":[],"neighbors":[],"focus":null}]}', "line 2"),
    ('{"ragnb": "conversation", "version": 2, "most_turns": "x", "most_passages": 5, "most_characters": 5}', "line 1.*most_turns"),
    ('{"ragnb": "conversation", "version": 2}', "line 1"),
    *((HEAD + '{"question": "q", "answer": "a", "passages": [], "shown": [{"doc_id": "d", "parts": [%s], "found": [], "rank": 1, "score": null, "hits": []}]}'
       % part, "line 2") for part in ("[1, 5, 2, 0]", "[1, -1, 2, 0]", '["1", 0, 2, 0]', "[1, 0, 2]", '[1, 0, 2, 0, "abc"]', "[1.5, 0, 2, 0]", "3")),
])
def test_a_damaged_file_names_its_line(text, words):
    with pytest.raises(InputError, match=words):
        Conversation.from_jsonl(text)


def test_reasons_stay_data(talk):
    store, history = talk
    again = Conversation.from_jsonl(history.to_jsonl())
    reasons = [w for t in again.turns for ref in t.passages for w in ref.why.values()]
    assert reasons and all(isinstance(w, Why) for w in reasons) and again.passages(store, None) == history.passages(store, None)
    rows = [json.loads(line) for line in history.to_jsonl().splitlines()]
    for bad in (3, None, "hit, rank 1", {"role": "guess"}, {"rule": "hit"}):
        rows[1]["passages"][0]["why"] = {"x": bad}
        with pytest.raises(InputError, match="line 2"):
            Conversation.from_jsonl("\n".join(json.dumps(row) for row in rows))


def test_odd_characters_survive(tmp_path):
    history = Conversation()
    history.add("줄\n바꿈\u2028\x85 \"인용\" <b>", "답 \x00 😀",
                [Passage("a\n#c1.md", Span(0, 1), "가", float("0.1"), why={"x": Why("hit", detail="y\nz")})])
    history.save(tmp_path / "t.jsonl")
    assert Conversation.load(tmp_path / "t.jsonl") == history


PARSERS = [ParentChildNodeParser(parent_size=60, parent_overlap=0, child_size=30, child_overlap=5, sentences="rule"),
           UnitNodeParser(sentences="rule")]
SPACE = ["", "\n", "\n\n", " ", " \n\t\n", "\r\n", "\u3000"]


@st.composite
def records(draw: st.DrawFn, name: str) -> Document:
    """A row of a JSONL file: with pages or without, white space anywhere, also as a page."""
    def text() -> str:
        words = draw(st.lists(st.sampled_from(KOREAN), min_size=0, max_size=3))
        return draw(st.sampled_from(SPACE)) + draw(st.sampled_from([" ", "\n", "\n\n"])).join(words) + draw(st.sampled_from(SPACE))
    if draw(st.booleans()):
        pages = [text() for _ in range(draw(st.integers(1, 5)))]
        row = {"pages": pages if "".join(pages).strip() else [*pages, "글"]}
    else:
        row = {"text": text() + draw(st.sampled_from(["글", "글\n", "글 \n\n"]))}
    row |= {"id": name} | draw(st.sampled_from([{}, {"doc_type": "GCB"}, {"doc_type": "manual"}]))
    return record_to_document(row, name, "rows.jsonl")


@st.composite
def corpora(draw: st.DrawFn) -> tuple[MemoryStore, dict[str, str], bool]:
    """A filled store; its outlines may be those of an index that does not know the white space at the ends."""
    store, texts = MemoryStore(), {}
    parser, old = draw(st.sampled_from(PARSERS)), draw(st.booleans())
    for name in draw(st.lists(st.sampled_from(["a", "b", "휴가.md"]), min_size=1, max_size=3, unique=True)):
        document = draw(records(name))
        nodes, outline = parser.parse(document)
        for node in nodes:
            node.embedding = [1.0]
        if old:
            spans = [s for level in outline.levels.values() for s in level]
            low, high = min(s.start for s in spans), max(s.end for s in spans)
            outline = replace(outline, blanks={i: b for i, b in outline.blanks.items() if low <= i < high})
        store.put(nodes, [outline])
        texts[name] = document.text
    return store, texts, old


@st.composite
def read(draw: st.DrawFn, store: MemoryStore, texts: dict[str, str], strangers: bool = False) -> list[Passage]:
    """Passages of the documents, as an expander would give them, and perhaps one of another system."""
    out = []
    for rank in range(1, draw(st.integers(1, 5)) + 1):
        doc_id = draw(st.sampled_from(sorted(texts)))
        outline = store.get_outlines([doc_id]).found[doc_id]
        level = draw(st.sampled_from(sorted(x for x, spans in outline.levels.items() if spans)))
        i = draw(st.integers(0, len(outline.levels[level]) - 1))
        j = draw(st.integers(i, min(len(outline.levels[level]) - 1, i + 2)))
        span, name = outline.levels[level][i].hull(outline.levels[level][j]), f"{doc_id}#{level}{i}"
        out.append(Passage(doc_id, span, span.of(texts[doc_id]), 1 / rank, rank, (name,), (1 / rank,), outline.levels[level][i],
                           pages=outline.pages_of(span), why={name: Why("hit", rank=rank)}, metadata=dict(outline.metadata)))
    if strangers and draw(st.booleans()):
        name = draw(st.sampled_from(["x1", "gone#c3"]))
        out.append(Passage(name, Span(7, 10), "남의글", 0.1, len(out) + 1, (name,), (0.1,),
                           why={name: Why("passed", detail="not in the index")}, metadata={"title": "남", "tags": 1}))
    return out


options = st.fixed_dictionaries({}, optional={
    "page_window": st.integers(0, 2), "whole": st.sampled_from([(), ("gcb",), ("gcb", "manual", "")]), "n_shown": st.sampled_from([None, 1, 3]),
    "most": st.integers(1, 4), "merge": st.sampled_from([None, (), ("gcb",)])})


@examples(100)
@given(corpora(), st.data())
def test_every_page_of_every_document_can_be_told(corpus, data):
    store, texts, old = corpus
    passages = data.draw(read(store, texts))
    for doc in display_docs(passages, store, page_window=99, n_shown=None):
        outline = store.get_outlines([doc.doc_id]).found[doc.doc_id]
        assert not any(p.missing for p in doc.pages)
        for p in doc.pages:
            assert p.text == p.span.of(texts[doc.doc_id])
        if outline.pages:
            wanted = {n: s for n, s in outline.pages if s}
            assert list(doc.numbers) == sorted(wanted)
            for p in doc.pages:       # all of the page; where the outline is old, all but white space at the document's ends
                assert wanted[p.number].contains(p.span) and p.text.strip() == wanted[p.number].of(texts[doc.doc_id]).strip()
                assert old or p.span == wanted[p.number]


@examples(100)
@given(corpora(), st.data())
def test_a_conversation_shows_again_what_it_showed(corpus, data):
    store, texts, _ = corpus
    history, seen = Conversation(most_passages=data.draw(st.integers(1, 4))), []
    for turn in range(data.draw(st.integers(1, 3))):
        passages = data.draw(read(store, texts, strangers=True))
        docs = display_docs(passages, store, **data.draw(options))
        history.add(f"{turn}?", "답", passages, docs)
        seen.append(docs)
    again = Conversation.from_jsonl(history.to_jsonl())
    assert again == history
    for turn, docs in enumerate(seen):
        before = store.reads
        assert again.display(store, turn) == docs == history.display(store, turn)
        assert store.reads - before <= 4
