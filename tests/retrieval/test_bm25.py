"""BM25 in memory: rank_bm25's scores with a weight above 0 for every word, the score of an index, a drop-in LlamaIndex retriever."""
from __future__ import annotations

import math
from collections import Counter

import pytest
import rank_bm25
from hypothesis import given, settings, strategies as st
from llama_index.core.schema import TextNode
from unit_worlds import question, tokens, world, written

from ragnb.documents.span import DuplicateIdError, InputError
from ragnb.retrieval.bm25 import Bm25Retriever, PositiveOkapi
from ragnb.retrieval.missing_words import index_words
from ragnb.retrieval.scoring import B, K1
from ragnb.retrieval.sqlite_store import SqliteStore
from ragnb.retrieval.sqlite_units import SqliteUnits
from ragnb.storage.filtered import filtered_store

TOKENS = st.lists(st.sampled_from("가나다라마바사"), max_size=12)  # few words: many are in more than half of the texts
CORPUS = st.lists(TOKENS, max_size=12)


def by_hand(documents: list[list[str]], query: list[str], k1: float, b: float) -> list[float]:
    """The formula, word by word."""
    mean = sum(map(len, documents)) / max(1, len(documents))
    out = []
    for document in documents:
        counts, score = Counter(document), 0.0
        for word in query:
            n = sum(word in d for d in documents)
            if counts[word]:
                idf = math.log(1 + (len(documents) - n + 0.5) / (n + 0.5))
                score += idf * counts[word] * (k1 + 1) / (counts[word] + k1 * (1 - b + b * len(document) / mean))
        out.append(score)
    return out


@settings(max_examples=200, deadline=None)
@given(CORPUS, TOKENS, st.floats(0.1, 3), st.floats(0, 0.99))
def test_scores_are_those_of_the_formula(documents: list, query: list, k1: float, b: float) -> None:
    """Of any corpus: an empty one, one of empty texts, one of two texts."""
    okapi = PositiveOkapi(documents, k1, b)
    scores = okapi.get_scores(query)
    assert scores.tolist() == pytest.approx(by_hand(documents, query, k1, b))
    assert [s > 0 for s in scores] == [bool(set(d) & set(query)) for d in documents]
    assert all(weight > 0 for weight in okapi.idf.values())


@given(CORPUS.filter(any), TOKENS)
def test_only_the_weights_differ_from_rank_bm25(documents: list, query: list) -> None:
    theirs, ours = rank_bm25.BM25Okapi(documents), PositiveOkapi(documents)
    theirs.idf = ours.idf
    assert ours.get_scores(query).tolist() == pytest.approx(theirs.get_scores(query).tolist())


@settings(max_examples=60, deadline=None)
@given(world, question)
def test_an_index_scores_its_words_like_rank_bm25(documents: dict, terms: list[str]) -> None:
    """`best_by_words` of a source, with the same k1, b and weights; equal scores in any order at the cut."""
    nodes, outlines = written(documents)
    store = SqliteStore(SqliteUnits(tokenizer=tokens))
    store.put(nodes, outlines)
    okapi = PositiveOkapi(tokens(n.text for n in nodes), K1, B)
    wanted = {n.node_id: s for n, s in zip(nodes, okapi.get_scores(terms)) if s > 0}
    hits = store.search_words(terms, len(nodes) + 1)
    assert {h.node_id: h.score for h in hits} == pytest.approx(wanted)
    best = [h.score for h in store.search_words(terms, 3)]
    assert best == pytest.approx(sorted(wanted.values(), reverse=True)[:3])


@settings(max_examples=30, deadline=None)
@given(world, question, st.integers(1, 4))
def test_words_behind_a_filter_are_those_of_the_allowed_chunks(documents: dict, terms: list[str], top_k: int) -> None:
    """A filter neither hides a chunk that it allows nor lets another one take its place among the best."""
    nodes, outlines = written(documents)
    for n, node in enumerate(nodes):
        node.metadata["half"] = n % 2
    store = SqliteStore(SqliteUnits(tokenizer=tokens))
    store.put(nodes, outlines)
    every, allowed = store.search_words(terms, len(nodes) + 1), {n.node_id for n in nodes[::2]}
    hits = filtered_store(store, {"half": 0}).search_words(terms, top_k)
    assert [h.score for h in hits] == [h.score for h in every if h.node_id in allowed][:top_k]
    assert {h.node_id for h in hits} <= allowed


def test_a_retriever_shows_how_many_nodes_it_has() -> None:
    nodes = [TextNode(id_=text, text=text) for text in ("sun", "moon")]
    assert repr(Bm25Retriever(nodes, top_k=3)) == "Bm25Retriever(2 nodes, top_k=3)"


@pytest.mark.parametrize("bad", [{"k1": 0}, {"k1": -1}, {"k1": math.nan}, {"b": 1}, {"b": -0.1}, {"b": "1"}])
def test_bad_parameters(bad: dict) -> None:
    with pytest.raises(InputError, match=next(iter(bad))):
        PositiveOkapi([["가"]], **bad)


@pytest.fixture
def nodes() -> list[TextNode]:
    texts = ["연차는 15일입니다.", "삭제", "삭제", "출장 여비는 실비로 지급한다.", "반송로봇의 속도를 줄인다.", "회의실은 예약한다."]
    return [TextNode(id_=f"leave.md#s{i}", text=t, metadata={"title": "휴가규정"}) for i, t in enumerate(texts)]


def test_equal_texts_stay_two_results_and_metadata_is_not_searched(nodes: list[TextNode]) -> None:
    retriever = Bm25Retriever(reversed(nodes), str.split)
    found = retriever.retrieve("삭제")
    assert [n.node_id for n in found] == ["leave.md#s1", "leave.md#s2"] and found[0].score == found[1].score > 0
    assert retriever.retrieve("휴가규정") == retriever.retrieve("없는말") == []


@settings(max_examples=100, deadline=None)
@given(CORPUS, TOKENS.filter(bool), st.integers(1, 5))
def test_the_best_are_the_head_of_all_ties_in_address_order(documents: list, query: list, k: int) -> None:
    numbered = [TextNode(id_=f"d#c{i}", text=" ".join(words)) for i, words in enumerate(documents)]
    scores = PositiveOkapi(documents).get_scores(query)
    order = sorted((i for i, s in enumerate(scores) if s > 0), key=lambda i: (-scores[i], i))
    assert [h.node_id for h in Bm25Retriever(numbered, str.split, top_k=k).retrieve(" ".join(query))] == [f"d#c{i}" for i in order[:k]]


def test_words_of_what_may_be_known_of(nodes: list[TextNode]) -> None:
    retriever = Bm25Retriever(nodes)
    everything, allowed = index_words(retriever), frozenset(["leave.md#s0"])
    assert everything.occurs("여비") and everything.occurs("연차") and not everything.occurs("공룡")
    some = index_words(retriever, allowed)
    assert some.occurs("연차") and not some.occurs("여비") and index_words(retriever, allowed) is some


def test_bad_retriever_arguments(nodes: list[TextNode]) -> None:
    retriever = Bm25Retriever(nodes, str.split)
    for query in ("", " \n\t"):
        with pytest.raises(InputError, match="query"):
            retriever.retrieve(query)
    with pytest.raises(InputError, match="nodes must"):
        Bm25Retriever(["연차"])
    with pytest.raises(DuplicateIdError):
        Bm25Retriever([*nodes, nodes[0]], str.split)
