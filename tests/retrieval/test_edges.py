"""The edges of retrieval: what matches stays, a cut on request, numbers that mean nothing, a cross-encoder in a folder."""
from __future__ import annotations

import asyncio
import math

import pytest
from hypothesis import given, strategies as st
from llama_index.core import MockEmbedding
from llama_index.core.bridge.pydantic import ValidationError
from llama_index.core.schema import Document, NodeWithScore, TextNode
from strategies import examples
from tiny_onnx import field, write_cross_encoder

from ragnb import (
    HybridRetriever, InputError, MemoryStore, MultiScaleRetriever, NgramEmbedding, UnitNodeParser, VectorRetriever)
from ragnb.pipeline.specs import parse_retriever
from ragnb.retrieval.arguments import check_counts, check_weights, is_number
from ragnb.retrieval.bm25 import PositiveOkapi
from ragnb.retrieval.hybrid import fuse_scores, rrf
from ragnb.retrieval.multiscale import cut_pieces, Piece
from ragnb.retrieval.rerank import OnnxReranker, RerankReport, resolve_reranker
from ragnb.retrieval.sqlite_store import SqliteStore
from ragnb.documents.span import Span


def offices(n: int) -> list[Document]:
    """Documents that differ in one number."""
    return [Document(text=f"{i}번 지점의 출장 일비는 하루 {i}만원이다. 정산은 귀사 후 7일 안에 한다.", id_=f"office{i}.md") for i in range(1, n + 1)]


def over(documents: list[Document], **options) -> MultiScaleRetriever:
    model, store = NgramEmbedding(dims=32).fit([d.text for d in documents]), SqliteStore()
    store.add_documents(documents, UnitNodeParser(), model)
    return MultiScaleRetriever(store.units, store, model, **options)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 12, 24])
def test_no_document_that_matches_is_left_out(n):
    retriever = over(offices(n), top_k=100)
    ranking = retriever.rank("출장 일비는 하루 얼마인가?")
    assert {p.doc_id for p in ranking.at(4_000)} == {f"office{i}.md" for i in range(1, n + 1)}
    scores = [p.score for p in ranking.pieces]
    assert scores == sorted(scores, reverse=True) and min(scores) >= 0
    assert len(retriever.retrieve("출장 일비는 하루 얼마인가?")) == len(ranking.pieces)
    for hit in ranking.pieces:
        assert ranking.why(ranking.reader.units.address(hit.key)).detail
    assert ranking.at(30)[0].doc_id == ranking.at(4_000)[0].doc_id


@examples(20)
@given(st.integers(1, 8), st.integers(20, 900))
def test_the_budget_is_filled_while_something_matches(n, budget):
    ranking = over(offices(n)).rank("출장 일비")
    total = sum(len(d.text) for d in offices(n))
    read = sum(len(p.span) for p in ranking.at(budget))
    assert read <= budget and read >= min(budget, total) - 60  # the last unit is cut at a word


@examples(60)
@given(st.lists(st.floats(0, 50), max_size=8), st.sampled_from([None, 0.1, 0.5, 0.9]))
def test_a_cut_keeps_the_best_and_what_is_near_it(scores, cut):
    pieces = [Piece(i, s) for i, s in enumerate(sorted(scores, reverse=True))]
    kept = cut_pieces(pieces, cut)
    assert kept == pieces[:len(kept)] and bool(kept) == bool(pieces)
    assert all(p.score < cut * pieces[0].score for p in pieces[len(kept):])


def test_a_cut_reads_less_and_never_what_is_named():
    documents = [*offices(4), Document(text="연차휴가는 15일이다. 경조휴가는 5일이다.", id_="leave.md")]
    whole, part = over(documents), over(documents, cut=0.5)
    many, few = (over(offices(12), cut=cut).rank("출장 일비는 하루 얼마인가?").pieces for cut in (None, 0.5))
    assert few == many[:len(few)] and 0 < len(few) < len(many) == 12
    assert part.rank("경조휴가").at(4_000)[0].doc_id == whole.rank("경조휴가").at(4_000)[0].doc_id == "leave.md"
    named = over(documents, cut=0.9, leads=lambda q: [("office2.md", Span(0, 10))])
    assert named.rank("경조휴가").at(4_000)[0].doc_id == "office2.md"


@pytest.mark.parametrize("weights", [[0, 0], [1], [1, 2, 3], [1, -1], [1, math.nan], [1, math.inf], [1, True], ["1", 1], 2])
def test_weights_that_mean_nothing(weights):
    inner = VectorRetriever(MemoryStore(), MockEmbedding(embed_dim=2))
    for make in (lambda: check_weights(weights, 2), lambda: rrf([["a"], ["b"]], 60, weights), lambda: fuse_scores([{"a": 1.0}, {}], "zscore", weights),
                 lambda: HybridRetriever({"a": inner, "b": inner}, weights=weights)):
        with pytest.raises(InputError, match="weights must be (2 numbers|Sequence)"):
            make()


def test_a_method_goes_before_weights_and_tokens_are_text():
    for bad in ("hybrid::1/2", "hybrid::0/0", "multi-query:hybrid::1/2"):
        with pytest.raises(InputError, match="unknown retriever"):
            parse_retriever(bad)
    assert parse_retriever("hybrid:rrf:1/2").weights == (1.0, 2.0)
    for bad in ([["cat"]], [1], [None], "cat"):
        with pytest.raises(InputError, match="query must"):
            PositiveOkapi([["cat"]]).get_scores(bad)
        with pytest.raises(InputError, match="token_lists must"):
            PositiveOkapi([bad])
    assert is_number(1) and check_counts(1, top_k=1) is None


TEXTS = ["연차는 15일", "병가는 60일 까지", "연차는 해마다 하루 늘어", "출장 여비"]


def hits() -> list[NodeWithScore]:
    return [NodeWithScore(node=TextNode(id_=f"d#c{i}", text=t), score=1 - i / 10) for i, t in enumerate(TEXTS)]


@pytest.mark.parametrize("doubled", [False, True])
def test_a_cross_encoder_orders_and_loses_nothing(tmp_path, doubled):
    reports: list[RerankReport] = []
    reranker = resolve_reranker(f"onnx:{write_cross_encoder(tmp_path, TEXTS, doubled)}", run_batch_size=3, on_report=reports.append)
    given = hits()
    done = reranker.postprocess_nodes(given, query_str="해마다 연차는 늘어")
    assert [h.node_id for h in done] == ["d#c2", "d#c0", "d#c1", "d#c3"]  # ties stay as they were given
    assert [h.score for h in done] == [s * (2 if doubled else 1) for s in (3, 1, 0, 0)] and [h.given_rank for h in done] == [3, 1, 2, 4]
    assert [h.score for h in given] == [h.score for h in hits()] and reports[0].calls == 2 and reports[0].judged == 4
    assert [h.node_id for h in asyncio.run(reranker.arerank(given, "여비")).nodes][0] == "d#c3"
    assert reranker.rerank([], "여비").nodes == [] and reranker.llm_calls == 0
    single = OnnxReranker(folder=str(tmp_path), run_batch_size=1, top_n=2)
    assert single.score("연차는", TEXTS).tolist() == reranker.score("연차는", TEXTS).tolist()
    assert len(single.rerank(given, "연차는").nodes) == 2
    with pytest.raises(InputError, match="question must not be empty"):
        reranker.rerank(given, " ")


def test_a_pair_is_cut_to_the_length_of_the_model(tmp_path):
    reranker = OnnxReranker(folder=write_cross_encoder(tmp_path, TEXTS), max_length=8)
    assert reranker.score("연차는", ["연차는 " * 50]).tolist() == [4.0] and reranker.score("연차는 " * 50, ["연차는"]).shape == (1,)


def test_folders_that_hold_no_cross_encoder(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        resolve_reranker(f"onnx:{tmp_path / 'none'}")
    folder = write_cross_encoder(tmp_path / "a", TEXTS)
    (tmp_path / "a" / "model.onnx").write_bytes(b"broken")
    with pytest.raises(InputError, match="cannot read .*model.onnx"):
        resolve_reranker(f"onnx:{folder}")
    (tmp_path / "a" / "model.onnx").write_bytes(field(1, 8))
    with pytest.raises(InputError):
        resolve_reranker(f"onnx:{folder}")
    for bad in ("onnx", "onnx:", "onnxx:a"):
        with pytest.raises(InputError, match="onnx:FOLDER"):
            resolve_reranker(bad)
    good = write_cross_encoder(tmp_path / "b", TEXTS)
    for settings in ({"max_length": True}, {"max_length": 2}, {"run_batch_size": 0}, {"threads": math.nan}):
        with pytest.raises(ValidationError):
            OnnxReranker(folder=good, **settings)
