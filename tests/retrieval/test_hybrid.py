"""Hybrid retrieval: rank fusion against a brute-force one, any LlamaIndex retriever as a member, sync and async."""
from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st
from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from strategies import examples

from ragnb.chunking.sentence_window import SentenceWindowNodeParser
from ragnb.documents.span import InputError, parse_address
from ragnb.models.embedding import NgramEmbedding
from ragnb.retrieval.bm25 import Bm25Retriever
from ragnb.retrieval.hybrid import check_question, HybridRetriever, rrf, VectorRetriever
from ragnb.storage.store import MemoryStore


def hit(i: str, score: float | None = 0.5, text: str = "글") -> NodeWithScore:
    return NodeWithScore(node=TextNode(id_=i, text=text), score=score)


class Fixed(BaseRetriever):
    """Returns what it was given."""

    def __init__(self, hits: Sequence[NodeWithScore], meet: Sequence[asyncio.Event] = ()) -> None:
        super().__init__()
        self.hits, self.meet, self.asked = list(hits), meet, []

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self.asked.append(query_bundle.query_str)
        return self.hits

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self.meet:
            mine, other = self.meet
            mine.set()
            await other.wait()
        return self.hits


ids = st.one_of(st.builds("{}#{}{}".format, st.sampled_from("ab"), st.sampled_from("cs"), st.integers(0, 12)),
                st.sampled_from(["n1", "n10", "n2", "#", ""]))
rankings = st.lists(st.lists(ids, max_size=8), max_size=4)


def brute_force(rankings, k, weights) -> dict[str, Fraction]:
    """The formula as written, in exact arithmetic."""
    scores: dict[str, Fraction] = {}
    for document in {i for ranking in rankings for i in ranking}:
        scores[document] = Fraction(0)
        for ranking, weight in zip(rankings, weights):
            distinct = [i for n, i in enumerate(ranking) if i not in ranking[:n]]
            if document in distinct:
                scores[document] += Fraction(weight) / (Fraction(k) + distinct.index(document) + 1)
    return scores


@examples(200)
@given(rankings, st.sampled_from([60, 1, 0.5, 1000]), st.data())
def test_rrf_is_the_formula(rankings, k, data):
    weights = data.draw(st.one_of(st.none(), st.lists(st.sampled_from([0, 0.5, 1, 3]), min_size=len(rankings), max_size=len(rankings))))
    weights = weights if weights is None or any(weights) else None  # zeros alone are refused
    fused = rrf(rankings, k, weights)
    expected = brute_force(rankings, k, weights or [1] * len(rankings))
    assert len(fused) == len(expected)
    for i, score in fused:
        assert math.isclose(score, expected[i], rel_tol=1e-12, abs_tol=1e-300)
    scores = [s for _, s in fused]
    assert scores == sorted(scores, reverse=True)


@examples(100)
@given(rankings, st.data())
def test_ties_do_not_depend_on_the_order_of_the_members(rankings, data):
    """Scores that are equal as numbers are ordered by address, in whatever order they were added."""
    fused = rrf(data.draw(st.permutations(rankings)))
    assert fused == rrf(rankings)
    keys = [(-score, (0, parse_address(i)) if i[1:2] == "#" else (1, i)) for i, score in fused]
    assert keys == sorted(keys)


@pytest.mark.parametrize("question", ["", "  \n", None, 5])
def test_a_question_must_hold_text(question):
    with pytest.raises(InputError, match="question must not be empty"):
        check_question(question)
    with pytest.raises(InputError, match="question must not be empty"):
        HybridRetriever({"x": Fixed([])}).fuse(question)


def test_members_vote_by_rank_and_the_trace_says_how():
    words, vectors = Fixed([hit("d#c1", 12.0), hit("d#c2", 3.0)]), Fixed([hit("d#c2", 0.9), hit("d#c3", None)])
    fusion = HybridRetriever({"words": words, "vectors": vectors}).fuse("q")
    assert [(h.node_id, h.score) for h in fusion.hits] == [("d#c2", 1 / 62 + 1 / 61), ("d#c1", 1 / 61), ("d#c3", 1 / 62)]
    assert fusion.members == {"words": {"d#c1": (1, 12.0), "d#c2": (2, 3.0)}, "vectors": {"d#c2": (1, 0.9), "d#c3": (2, 0.0)}}
    assert words.asked == vectors.asked == ["q"]


def test_weights_and_top_k():
    members = {"x": Fixed([hit("d#c1"), hit("d#c2")]), "y": Fixed([hit("d#c3")])}
    assert [h.node_id for h in HybridRetriever(members, weights=[1, 2], top_k=2).retrieve("q")] == ["d#c3", "d#c1"]
    assert [h.node_id for h in HybridRetriever(members, weights=[2, 1]).retrieve("q")] == ["d#c1", "d#c2", "d#c3"]


@pytest.mark.parametrize("way", ["sync", "async"])
def test_two_articles_that_both_read_deleted_are_two(way):
    """Same text, same metadata: LlamaIndex's own fusion makes one of them."""
    hits = [hit("law#c3", text="삭제"), hit("law#c7", text="삭제")]
    hybrid = HybridRetriever({"x": Fixed(hits), "y": Fixed(hits[::-1])})
    found = hybrid.retrieve("q") if way == "sync" else asyncio.run(hybrid.aretrieve("q"))
    assert [(h.node_id, h.text) for h in found] == [("law#c3", "삭제"), ("law#c7", "삭제")]


def test_inputs_are_not_changed():
    hits = [hit("d#c1", 7.0), hit("d#c2", None)]
    before = [h.model_dump_json() for h in hits]
    fused = HybridRetriever({"x": Fixed(hits), "y": Fixed(hits[::-1])}).retrieve("q")
    assert [h.model_dump_json() for h in hits] == before
    assert all(f is not h for f in fused for h in hits)


def test_members_run_together():
    """Each waits until the other has begun: one after the other they would wait for ever."""

    async def ask():
        a, b = asyncio.Event(), asyncio.Event()
        hybrid = HybridRetriever({"x": Fixed([hit("d#c1")], (a, b)), "y": Fixed([hit("d#c2")], (b, a))})
        return await asyncio.wait_for(hybrid.aretrieve("q"), timeout=20)

    assert [h.node_id for h in asyncio.run(ask())] == ["d#c1", "d#c2"]


def test_a_member_that_fails_is_not_passed_over():
    class Down(Fixed):
        def _retrieve(self, query_bundle):
            raise ConnectionError("search is down")

        async def _aretrieve(self, query_bundle):
            return self._retrieve(query_bundle)
    hybrid = HybridRetriever({"x": Fixed([hit("d#c1")]), "y": Down([])})
    for ask in (hybrid.retrieve, lambda q: asyncio.run(hybrid.aretrieve(q))):
        with pytest.raises(ConnectionError, match="search is down"):
            ask("q")
    for k in (0, -1, math.nan):
        with pytest.raises(InputError, match="k > 0"):
            rrf([["a"]], k)


TEXTS = {"leave": "연차는 15일입니다. 2년차부터는 16일로 증가합니다. 반차는 4시간이다. 남은 연차는 이듬해 6월까지 쓴다.",
         "travel": "출장 여비는 귀사한 날부터 7일 안에 정산한다. 숙박비는 실비로 준다. 삭제", "law": "제3조 삭제 제4조 삭제 제5조 이 법은 공포한 날부터 시행한다."}


@pytest.fixture(scope="module")
def real():
    """A small store with an n-gram embedding, and BM25 over the same nodes."""
    from llama_index.core.schema import Document
    embedding = NgramEmbedding(dims=32).fit(list(TEXTS.values()))
    store = MemoryStore()
    nodes = store.add_documents([Document(text=t, id_=i) for i, t in TEXTS.items()], SentenceWindowNodeParser(), embedding)
    return store, embedding, Bm25Retriever(nodes, top_k=20), nodes


def test_bm25_gives_no_credit_without_a_shared_word(real):
    store, embedding, bm25, nodes = real
    fusion = HybridRetriever({"bm25": bm25, "vector": VectorRetriever(store, embedding, 20)}, top_k=20).fuse("연차는 며칠인가요?")
    assert 0 < len(fusion.members["bm25"]) < len(nodes) == len(fusion.members["vector"])
    assert all(score > 0 for _, score in fusion.members["bm25"].values())
    for h in fusion.hits:
        expected = sum(1 / (60 + ranks[h.node_id][0]) for ranks in fusion.members.values() if h.node_id in ranks)
        assert h.score == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("question", ["은 는 이 가", "?!", "그리고 또는", "zzz qqq"])
def test_a_question_of_stop_words_only(real, question):
    """BM25 has nothing to say; what the vectors say is used; a question that nothing knows finds nothing."""
    store, embedding, bm25, _ = real
    fusion = HybridRetriever({"bm25": bm25, "vector": VectorRetriever(store, embedding)}).fuse(question)
    assert fusion.members["bm25"] == {}
    assert {h.node_id for h in fusion.hits} == set(fusion.members["vector"])
    assert bool(fusion.hits) == any(embedding.get_query_embedding(question))


def test_any_llama_index_retriever_can_be_a_member(real):
    store, embedding, bm25, nodes = real
    stock = VectorStoreIndex(nodes=[n.model_copy() for n in nodes], embed_model=embedding).as_retriever(similarity_top_k=3)
    fusion = HybridRetriever({"ours": bm25, "stock": stock}, top_k=3).fuse("남은 연차는 언제까지")
    assert len(fusion.members["stock"]) == 3
    expected = rrf([[h.node_id for h in m.retrieve("남은 연차는 언제까지")] for m in (bm25, stock)])[:3]
    assert [(h.node_id, h.score) for h in fusion.hits] == expected
    nested = HybridRetriever({"hybrid": HybridRetriever({"ours": bm25, "stock": stock}, top_k=3)}).retrieve("남은 연차는 언제까지")
    assert [h.node_id for h in nested] == [h.node_id for h in fusion.hits]
