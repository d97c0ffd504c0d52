"""Expanders over a client that can only search, splitters of one's own, names of measures, and words of hidden documents."""
from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

ROWS = [{"_id": f"r{i}", "_source": {"document_id": 1, "chunk_index": i, "text": f"{i}번째 조각이다."}} for i in range(20)]
TEXT = "\n\n".join(f"제{i}조 휴가는 {i}일이다. 휴가는 신청한다. 휴가는 신청한다." for i in range(1, 20))


def _found(**asked: Any) -> dict:
    return {"hits": {"total": len(ROWS), "hits": ROWS}}


def _expanded(client: Any, **options: Any) -> str:
    from ragnb.expansion.chunk_expanders import NeighborChunkExpander
    found = NeighborChunkExpander(client, "rag", 2, on_error="raise", **options).expand([ROWS[5]])
    return f"chunks {[r['_source']['chunk_index'] for r in found]}"


def stub_that_only_searches() -> str:
    "`NeighborChunkExpander` with a stub that has only `search`"
    stub = MagicMock(spec=["search"])
    stub.search.side_effect = _found
    return _expanded(stub)


def mock_that_only_searches() -> str:
    "`NeighborChunkExpander` with a MagicMock whose `search` answers"
    client = MagicMock()
    client.search.side_effect = _found
    return _expanded(client)


def mapping_that_nobody_needs() -> str:
    "Calls of `field_caps` where `fields` name the document and the number"
    client = MagicMock()
    client.search.side_effect = _found
    client.field_caps.return_value = {"fields": {name: {"long": {}} for name in ("document_id", "chunk_index")}}
    _expanded(client, fields={"doc_id": "document_id", "index": "chunk_index"})
    return f"{client.field_caps.call_count} calls"


def names_on_the_front_door() -> str:
    "Expanders and helpers of the design documents that `from ragnb import` has"
    import ragnb
    names = ("NeighborChunkExpander", "NoopChunkExpander", "AdaptiveChunkExpander", "fetch_doc_pages", "fetch_doc_chunks")
    return f"{sum(hasattr(ragnb, name) for name in names)} of {len(names)}"


def two_names_of_a_measure() -> str:
    "`measure_ids(…, ['R@10', 'recall@10'])` of a ranking that is right"
    from ragnb.evaluation.measures import measure_ids
    return str({name: of["q"] for name, of in measure_ids({"q": ["a"]}, {"q": {"a": 1}}, ["R@10", "recall@10"]).items()})


def _indexed(folder: str, parser: Any) -> Any:
    from llama_index.core import Document
    from ragnb import index_documents
    return index_documents([Document(text=TEXT, id_="a.md")], folder, parser=parser, show_progress=False)[0]


def index_of_a_splitter_of_ones_own() -> str:
    "Open an index of a splitter of one's own, and ask it"
    from ragnb import Index, Pipeline, Span
    from ragnb.chunking.base import SpanNodeParser

    class Halves(SpanNodeParser):
        def split(self, text: str) -> dict[str, list[Span]]:
            return {"c": [Span(0, len(text) // 2), Span(len(text) // 2, len(text))]}

    with tempfile.TemporaryDirectory() as folder:
        _indexed(folder, Halves())
        return f"{len(Pipeline.from_index(Index.open(folder)).ask('휴가').passages)} passages"


def stock_sentence_splitter() -> str:
    "Index with LlamaIndex's `SentenceSplitter`"
    from llama_index.core.node_parser import SentenceSplitter
    with tempfile.TemporaryDirectory() as folder:
        index = _indexed(folder, SentenceSplitter(chunk_size=60, chunk_overlap=0))
        spans = index.store.get_outlines(["a.md"]).found["a.md"].levels["c"]
        left = {i for i, c in enumerate(TEXT) if not c.isspace()} - {i for s in spans for i in range(s.start, s.end)}
        return f"{len(spans)} chunks, {len(left)} characters in none"


def parser_that_changes_the_text() -> str:
    "Index with a parser that rewrites the text"
    from llama_index.core.node_parser import HTMLNodeParser
    from ragnb import index_documents
    from llama_index.core import Document
    with tempfile.TemporaryDirectory() as folder:
        page = Document(text="<p>연차는 <b>15일</b>이다.</p>", id_="a.html")
        index_documents([page], Path(folder) / "i", parser=HTMLNodeParser(), show_progress=False)
    return "taken"


def word_of_a_hidden_document() -> str:
    "Passages for a word behind a filter, where hidden documents hold it, and where they do not"
    from llama_index.core import Document
    from ragnb import Pipeline, index_documents
    found = []
    for hidden in ("# 비밀 계획\n\n인수합병은 오월에 끝난다. Project Zyphrox is sold.", "# 다른 문서\n\n운동장은 유월에 고친다. Project gardens are cut."):
        texts = {"leave.md": "# 휴가 안내\n\n연차는 15일입니다. 병가는 30일입니다.", "food.md": "# 식당 안내\n\n점심은 12시입니다.", "board.md": hidden}
        documents = [Document(text=text, id_=i, metadata={"group": i == "board.md"}) for i, text in texts.items()]
        with tempfile.TemporaryDirectory() as folder:
            index, _ = index_documents(documents, folder, show_progress=False)
            pipeline = Pipeline.from_index(index, where={"group": False})
            found.append([len(pipeline.ask(word).passages) for word in ("인수합병", "Zyphrox")])
    return f"{found[0]} and {found[1]}"
