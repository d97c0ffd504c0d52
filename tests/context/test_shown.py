"""What a reader is shown: every page can be told, and a conversation shows again what it showed."""
from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.schema import Document
from strategies import KOREAN, examples

from ragnb.chunking.parent_child import ParentChildNodeParser
from ragnb.chunking.units import UnitNodeParser
from ragnb.context.conversation import Conversation
from ragnb.context.sources import display_docs
from ragnb.documents.files import record_to_document
from ragnb.documents.span import Passage, Span, Why
from ragnb.storage.store import MemoryStore

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
