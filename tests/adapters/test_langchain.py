"""LangChain's own objects at both ends: its retriever, its stores, its splitters, a chain."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import chromadb
import pytest
from hypothesis import given, settings, strategies as st
from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from langchain_text_splitters import CharacterTextSplitter, RecursiveCharacterTextSplitter

from ragnb import attach, IndexMismatchError, InputError, NgramEmbedding, Pipeline, trace, update_index
from ragnb.adapters.langchain import as_documents, document_node
from ragnb.chunking.any_parser import span_parser
from ragnb.machinery.registry import adapter_of

TEXTS = {"kiln.md": "# 가마\n\n가마는 하루 두 번 연다. 온도는 900도를 넘기지 않는다.\n\n식힌 뒤에 문을 연다. 식히는 데 여섯 시간이 걸린다.",
         "clay.md": "# 흙\n\n흙은 사흘 동안 재운다. 마른 흙은 체로 친다.\n\n물은 한 되씩 붓는다. 붓는 사람은 장갑을 낀다."}
QUESTION = "식힌 뒤에 문을 언제 여나요?"
ANSWER = "여섯 시간이 걸린다"


class Grams(Embeddings):
    """Vectors of characters."""

    def __init__(self, texts: list[str]) -> None:
        self.made = NgramEmbedding().fit(texts)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.made.get_text_embedding_batch(texts)

    def embed_query(self, text: str) -> list[float]:
        return self.made.get_query_embedding(text)


def loaded() -> list[Document]:
    return [Document(text, metadata={"source": name}) for name, text in TEXTS.items()]


def chunks(**settings: Any) -> list[Document]:
    return RecursiveCharacterTextSplitter(**{"chunk_size": 16, "chunk_overlap": 0, "add_start_index": True} | settings).split_documents(loaded())


def in_memory(documents: list[Document]) -> VectorStore:
    return InMemoryVectorStore.from_documents(documents, Grams([d.page_content for d in documents]))


def in_chroma(documents: list[Document]) -> VectorStore:
    client = chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False))
    if "pots" in [c.name for c in client.list_collections()]:
        client.delete_collection("pots")
    return Chroma.from_documents(documents, Grams([d.page_content for d in documents]), collection_name="pots", client=client)


@pytest.mark.parametrize("store_of", [in_memory, in_chroma])
@pytest.mark.parametrize("offsets", [True, False])
def test_a_store_is_read_around_its_hits(store_of: Any, offsets: bool) -> None:
    """The chunk that answers is behind the one that is found; with offsets the text is the document's."""
    store = store_of(chunks(add_start_index=offsets))
    plain = store.as_retriever(search_kwargs={"k": 1}).invoke(QUESTION)
    pipeline = attach(store, top_k=1, policy="neighbors:2", documents=loaded() if offsets else ())
    (passage,) = pipeline.passages(QUESTION)
    assert ANSWER not in plain[0].page_content and ANSWER in " ".join(passage.text.split()) and passage.doc_id == "kiln.md"
    if offsets:
        assert passage.text == passage.span.of(TEXTS["kiln.md"])
    assert plain[0].page_content in passage.text


@pytest.mark.parametrize("kind", ["vector", "bm25", "hybrid"])
def test_every_way_of_searching(kind: str) -> None:
    pipeline = attach(in_memory(chunks()), retriever=kind, top_k=3)
    assert pipeline.documents(QUESTION)[0] == "kiln.md" and trace(pipeline.ask(QUESTION)).passages


def test_a_retriever_of_a_store_keeps_its_own_number_of_hits() -> None:
    made = in_memory(chunks()).as_retriever(search_kwargs={"k": 2})
    assert len(attach(made, top_k=9).find(QUESTION).hits) == 2


def test_hits_without_an_id_are_known_in_the_store() -> None:
    """A retriever of one's own returns documents as they were given."""
    stored = chunks()
    assert {d.id for d in stored} == {None}

    class Last(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return stored[-1:]

    with pytest.raises(InputError, match="pass nodes="):
        attach(Last())
    (passage,) = attach(Last(), nodes=stored, documents=loaded()).passages("?")
    assert stored[-1].page_content in passage.text and len(passage.text) > len(stored[-1].page_content)


def test_a_store_that_lists_nothing_says_what_to_pass() -> None:
    class Closed(VectorStore):
        def similarity_search(self, query: str, k: int = 4, **more: Any) -> list[Document]:
            return chunks()[:k]

        @classmethod
        def from_texts(cls, *given: Any, **more: Any) -> VectorStore:
            return cls()

    with pytest.raises(InputError, match="pass nodes="):
        attach(Closed())
    assert attach(Closed(), nodes=chunks(), top_k=1).passages("흙")
    with pytest.raises(InputError, match="vector store, a retriever or documents"):
        attach(RecursiveCharacterTextSplitter())


def test_faiss_lists_its_documents_by_their_ids() -> None:
    """Its class is in a package of its own; this has the two things of it that are asked for."""
    class Faiss(InMemoryVectorStore):
        @property
        def store(self) -> Any:
            return None

        @store.setter
        def store(self, rows: Any) -> None:
            self.rows = rows

    whole = in_memory(chunks())
    made = Faiss(whole.embeddings)
    made.index_to_docstore_id = dict(enumerate(whole.store))
    made.get_by_ids = whole.get_by_ids
    made.similarity_search = whole.similarity_search
    assert ANSWER in attach(made, top_k=1, policy="neighbors:2").passages(QUESTION)[0].text


async def test_documents_keep_place_and_metadata(tmp_path: Path) -> None:
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(f"---\nteam: pots\n---\n{text}", encoding="utf-8")
    index, _ = update_index(tmp_path, tmp_path / ".ragnb", show_progress=False)
    pipeline = Pipeline.from_index(index, budget=200)
    retriever = pipeline.as_langchain()
    found = retriever.invoke(QUESTION)
    assert isinstance(retriever, BaseRetriever) and [d.id for d in found] == [p.id for p in pipeline.ask(QUESTION).passages]
    for document, passage in zip(found, pipeline.passages(QUESTION)):
        m = document.metadata
        assert (m["doc_id"], m["start"], m["end"], m["team"]) == (passage.doc_id, passage.span.start, passage.span.end, "pots")
        assert document.page_content == passage.text and m["source"] and isinstance(m["score"], float)
    assert [d.id for d in await retriever.ainvoke(QUESTION)] == [d.id for d in found]
    assert [[d.id for d in one] for one in retriever.batch([QUESTION, QUESTION])] == [[d.id for d in found]] * 2
    labelled = pipeline.as_langchain(labels=True).invoke(QUESTION)
    assert all(d.page_content.startswith(f"[{n}]") for n, d in enumerate(labelled, 1))
    only = Pipeline.from_index(index, budget=200, where="team=other").as_langchain()
    assert only.invoke(QUESTION) == []


def test_a_chain_reads_what_the_pipeline_reads() -> None:
    pipeline = attach(in_memory(chunks()), top_k=1, policy="neighbors:2", documents=loaded())
    model, seen = FakeListChatModel(responses=["여섯 시간 뒤입니다."]), []
    prompt = ChatPromptTemplate.from_template("{context}\n\n{question}")

    def keep(value: Any) -> Any:
        seen.append(value.to_string())
        return value

    joined = pipeline.as_langchain() | (lambda documents: "\n\n".join(d.page_content for d in documents))
    chain = {"context": joined, "question": RunnablePassthrough()} | prompt | keep | model | StrOutputParser()
    assert chain.invoke(QUESTION) == "여섯 시간 뒤입니다." and ANSWER in seen[0]


def test_an_index_with_a_splitter_knows_it_again(tmp_path: Path) -> None:
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    def updated(size: int, separator: str = " ") -> Any:
        return update_index(tmp_path, tmp_path / ".ragnb", parser=CharacterTextSplitter(separator, chunk_size=size, chunk_overlap=0), show_progress=False)

    index, _ = updated(20)
    texts = dict(index.store.texts("c"))
    assert all(len(t) <= 20 and any(t in whole for whole in TEXTS.values()) for t in texts.values())
    _, report = updated(20)
    assert not report.added and not report.changed
    with pytest.raises(IndexMismatchError):
        updated(30)
    assert Pipeline.from_index(tmp_path / ".ragnb").passages(QUESTION)
    with pytest.raises(IndexMismatchError, match="LangChainNodeParser"):
        from ragnb import Index
        Index.open(tmp_path / ".ragnb").parser.split("흙")


@settings(max_examples=60, deadline=None)
@given(st.text("가나 .\n#", min_size=1, max_size=80), st.integers(2, 20), st.integers(0, 1))
def test_chunks_are_spans(text: str, size: int, overlap: int) -> None:
    """Of any text: each chunk stands in it, in order, and nothing visible is lost."""
    spans = span_parser(RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap)).split(text)["c"]
    held = {i for span in spans for i in range(span.start, span.end)}
    assert list(spans) == sorted(spans) and all(text[i].isspace() for i in set(range(len(text))) - held)


def test_pages_of_a_file_are_one_document() -> None:
    pages = [Document("첫 쪽", metadata={"source": "a.pdf", "page": 0}), Document("둘째 쪽", metadata={"source": "a.pdf", "page": 1})]
    (whole,) = as_documents(pages)
    assert (whole.id_, whole.text) == ("a.pdf", "첫 쪽\n\n둘째 쪽")
    passage = attach(pages, top_k=1, policy="neighbors:1").passages("둘째")[0]
    assert passage.doc_id == "a.pdf" and "첫 쪽" in passage.text and list(passage.pages) == [1, 2]


def test_documents_without_a_source_stand_alone() -> None:
    one, two = document_node(Document("흙")), document_node(Document("흙", metadata={"n": 1}))
    assert one.ref_doc_id is None and one.node_id != two.node_id == document_node(Document("흙", metadata={"n": 1})).node_id


def test_an_adapter_is_found_by_the_package_of_an_object() -> None:
    for made in (in_memory(chunks()), CharacterTextSplitter(), Document("흙"), in_memory(chunks()).as_retriever()):
        assert adapter_of(made).__name__ == "LangChain"
    assert adapter_of(NgramEmbedding()) is None and adapter_of([1]) is None
