"""BM25: equal to rank_bm25, exact under changes, safe on disk, a drop-in LlamaIndex retriever."""
from __future__ import annotations

import asyncio
import copy
import itertools
import json
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
import rank_bm25
from conftest import shared_data
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import TextNode

from ragnb.retrieval.bm25 import IDFS, VARIANTS, Bm25, Bm25Retriever, compare_with_rank_bm25
from ragnb.documents.span import DuplicateIdError, IndexMismatchError, InputError, MissingChunkError

TOKENS = st.lists(st.sampled_from("가나다라마바사"), max_size=12)  # few terms: many stand in more than half of the documents
CORPUS = st.lists(TOKENS, max_size=12)
CLASSES = {
    "okapi": rank_bm25.BM25Okapi,
    "plus": rank_bm25.BM25Plus,
    "l": rank_bm25.BM25L,
}  # each with the idf of the same name


def build(documents: list[list[str]], first: int = 0, **parameters) -> Bm25:
    index = Bm25(**parameters)
    index.add([f"d#c{i}" for i in range(first, first + len(documents))], documents)
    return index


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


# --- the same scores as rank_bm25


@pytest.mark.parametrize("variant", CLASSES)
def test_equals_rank_bm25_on_vaswani(variant: str) -> None:
    folder = shared_data("vaswani_npl")
    documents = [words(json.loads(line)["text"]) for line in (folder / "corpus.jsonl").open(encoding="utf-8")]
    queries = [words(json.loads(line)["query"]) for line in (folder / "queries.jsonl").open(encoding="utf-8")]
    assert len(documents) == 11_429 and len(queries) == 56
    ours, theirs = build(documents, variant=variant, idf=variant), CLASSES[variant](documents)
    for query in queries if variant == "okapi" else queries[:5]:
        np.testing.assert_allclose(ours.scores(query), theirs.get_scores(query), rtol=0, atol=1e-9)


@pytest.mark.parametrize("variant", CLASSES)
@settings(max_examples=150, deadline=None)
@given(documents=CORPUS.filter(any), query=TOKENS, k1=st.floats(0.1, 3), b=st.floats(0, 0.99))
def test_equals_rank_bm25_on_random_tokens(variant: str, documents: list, query: list, k1: float, b: float) -> None:
    theirs = CLASSES[variant](documents, k1=k1, b=b)
    ours = build(documents, variant=variant, idf=variant, k1=k1, b=b)
    np.testing.assert_allclose(ours.scores(query), theirs.get_scores(query), rtol=0, atol=1e-9)
    assert compare_with_rank_bm25(ours, [query]) < 1e-9


@given(documents=CORPUS, query=TOKENS, variant=st.sampled_from(list(VARIANTS)), idf=st.sampled_from(IDFS))
@settings(max_examples=200, deadline=None)
def test_results_share_a_term_and_are_positive(documents: list, query: list, variant: str, idf: str) -> None:
    index = build(documents, variant=variant, idf=idf)
    scores = dict(zip(index.ids, index.scores(query)))
    found = index.top_k(query, k=5)
    everything = index.top_k(query, k=100)
    assert found == everything[:5]
    assert all(s > 0 and s == pytest.approx(scores[i]) for i, s in everything)
    bags = dict(zip(index.ids, documents))
    assert all(set(bags[i]) & set(query) for i, _ in everything)
    if idf not in ("okapi", "atire"):  # the idf of a word that stands in all documents is above 0
        assert len(everything) == sum(bool(set(d) & set(query)) for d in documents)
    keys = [(-s, int(i.rsplit("c", 1)[1])) for i, s in everything]
    assert keys == sorted(keys)
    for i, score in found:
        assert sum(index.explain(query, i).values()) == pytest.approx(score)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("documents", [[], [[]], [[], []], [["가"]], [["가"], []]])
def test_degenerate_corpora(variant: str, documents: list) -> None:
    with np.errstate(all="raise"):
        index = build(documents, variant=variant, b=1.0)
        assert np.isfinite(index.scores(["가", "나"])).all()
        assert len(index.top_k(["나"])) == 0
        assert index.top_k([]) == []


def test_paper_variants_by_hand() -> None:
    documents = [["가", "가"], ["나", "다"], ["다", "라"]]
    assert build(documents, variant="plus_paper").scores(["가"]) == pytest.approx(
        [np.log(4) * (2 * 2.5 / 3.5 + 1), 0, 0]
    )
    assert build(documents, variant="l_paper").scores(["가"]) == pytest.approx(
        [np.log(4 / 1.5) * 2.5 * 2.5 / (1.5 + 2.5), 0, 0]
    )


def test_ties_at_the_cut_stand_in_address_order() -> None:
    index = Bm25()
    ids = [f"b#c{i}" for i in range(11, -1, -1)] + ["a#c3", "zz", "not an address", "a#p3"]
    index.add(ids, [["가"]] * len(ids))
    index.add([f"x#c{i}" for i in range(40)], [["나"]] * 40)
    order = ["a#c3", "a#p3", *(f"b#c{i}" for i in range(12)), "not an address", "zz"]
    for k in (1, 3, 13, 15, 16, 99):
        assert [i for i, _ in index.top_k(["가"], k)] == order[:k]


# --- the best k without scoring everything


def zipf(rng: np.random.Generator, n: int, terms: int = 300) -> list[list[str]]:
    return [[f"t{min(i, terms)}" for i in rng.zipf(1.2, rng.integers(1, 40))] for _ in range(n)]


@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    idf=st.sampled_from(IDFS),
    k=st.sampled_from([1, 3, 10, 100]),
    b=st.sampled_from([0.0, 0.4, 0.75, 1.0]),
)
def test_top_k_is_the_head_of_all_scores(variant: str, seed: int, idf: str, k: int, b: float) -> None:
    rng = np.random.default_rng(seed)
    index = Bm25(variant=variant, idf=idf, b=b)
    for first in range(0, 600, 150):  # several segments
        index.add([f"d#c{i}" for i in range(first, first + 150 - first // 10)], zipf(rng, 150 - first // 10))
    index.remove([index.ids[i] for i in rng.choice(len(index), size=40, replace=False)])
    for query in zipf(rng, 5):
        scores, shares = index.scores(query), index.scorer.matched(index.scorer.postings(query))
        ranked = sorted(
            np.flatnonzero((shares > 0) & (scores > 0)), key=lambda row: (-shares[row], int(index.ids[row][3:]))
        )
        assert index.top_k(query, k) == [(index.ids[row], scores[row]) for row in ranked[:k]]  # to the last bit


def test_common_words_are_read_only_for_documents_in_the_race() -> None:
    rng = np.random.default_rng(0)
    index = build([[*d, "의", "의"] for d in zipf(rng, 2_000, 2_000)])
    read, original = [], index.scorer.earned
    index.scorer.earned = lambda weight, rows, counts: read.append(len(rows)) or original(weight, rows, counts)
    assert index.top_k(["의", "t1500", "t1"], 3) and sum(read) < 2_000 < len(index.scorer.postings(["의"])[0].rows) + 1


# --- the same scores as bm25s

# Ours, theirs, and what theirs is multiplied with
BM25S = [
    ({}, {"method": "lucene"}, 2.5),
    ({}, {"method": "atire", "idf_method": "lucene"}, 1),
    ({"idf": "okapi", "epsilon": 0}, {"method": "robertson"}, 2.5),
    ({"idf": "atire"}, {"method": "atire"}, 1),
    ({"variant": "plus"}, {"method": "bm25+", "delta": 1.0}, 1),
]


@pytest.mark.parametrize("ours, theirs, factor", BM25S)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32), b=st.floats(0, 1))
def test_equals_bm25s(ours: dict, theirs: dict, factor: float, seed: int, b: float) -> None:
    bm25s = pytest.importorskip("bm25s")
    rng = np.random.default_rng(seed)
    documents = zipf(rng, 60, 40)
    other = bm25s.BM25(k1=1.5, b=b, dtype="float64", **theirs)
    other.index(documents, show_progress=False)
    index = build(documents, b=b, **ours)
    for query in zipf(rng, 4, 40):
        query = [t for t in query if t in index.vocabulary]
        if query:
            np.testing.assert_allclose(index.scores(query), factor * other.get_scores(query), rtol=0, atol=1e-6)


# --- changes


@settings(max_examples=150, deadline=None)
@given(
    batches=st.lists(CORPUS, max_size=6),
    picks=st.lists(st.sets(st.integers(0, 40), max_size=8), max_size=6),
    query=TOKENS,
    variant=st.sampled_from(list(VARIANTS)),
)
def test_any_history_equals_a_fresh_build(batches: list, picks: list, query: list, variant: str) -> None:
    index, now, n = Bm25(variant=variant), {}, 0
    for step, batch in enumerate(batches):
        new = {f"d#c{n + i}": tokens for i, tokens in enumerate(batch)}
        n += len(batch)
        index.add(new, iter(new.values()))
        now |= new
        if step < len(picks):
            gone = [i for i in now if int(i[3:]) in picks[step]]
            index.remove(gone)
            for i in gone:
                del now[i]
    fresh = Bm25(variant=variant)
    fresh.add(now, now.values())
    assert index.ids == fresh.ids and len(index) == len(now)
    assert index.scores(query).tolist() == fresh.scores(query).tolist()  # to the last bit
    assert index.top_k(query) == fresh.top_k(query)
    with tempfile.TemporaryDirectory() as folder:
        index.save(folder)
        for mmap in (True, False):
            again = Bm25.load(folder, mmap=mmap)
            assert again.parameters == index.parameters
            assert again.scores(query).tolist() == fresh.scores(query).tolist()
            again.add(["late#c0"], [["가", "새"]])
            if now:
                again.remove([next(iter(now))])
            assert len(again) == len(now) + 1 - bool(now)


def test_one_by_one_keeps_few_segments() -> None:
    index = Bm25()
    for i in range(300):
        index.add([f"d#c{i}"], [["가", f"t{i}"]])
    assert len(index.counts.segments) <= 10
    assert (
        index.scores(["가", "t7"]).tolist()
        == build([["가", f"t{i}"] for i in range(300)]).scores(["가", "t7"]).tolist()
    )


@pytest.mark.parametrize("ids, token_lists, error", [
    (["a", "a"], [["x"], ["y"]], DuplicateIdError),
    (["d#c0"], [["x"]], DuplicateIdError),
    (["a"], [["x"], ["y"]], InputError),
    (["a", "b"], [["x"]], InputError),
    (["a"], ["text"], InputError),
    (["a", "b"], [["fine"], ["x", 3]], InputError),
    ([""], [["x"]], InputError),
    ([7], [["x"]], InputError),
    ("ab", [["x"], ["y"]], InputError),
])
def test_a_refused_batch_changes_nothing(ids, token_lists, error) -> None:
    index = build([["가", "나"], ["나"]])
    before = (list(index.ids), dict(index.vocabulary), index.scores(["나", "x"]).tolist())
    with pytest.raises(error):
        index.add(ids, token_lists)
    assert (index.ids, dict(index.vocabulary), index.scores(["나", "x"]).tolist()) == before


def test_removing_an_unknown_document_changes_nothing() -> None:
    index = build([["가"], ["나"]])
    with pytest.raises(MissingChunkError, match="d#c7"):
        index.remove(["d#c0", "d#c7"])
    assert index.ids == ["d#c0", "d#c1"] and index.frequencies.tolist() == [1, 1]


def test_inputs_are_not_mutated() -> None:
    documents, query = [["가", "나"], ["나"]], ["나", "나"]
    before = copy.deepcopy((documents, query))
    build(documents).top_k(query)
    assert (documents, query) == before


@pytest.mark.parametrize("parameters", [
    {"k1": -1}, {"b": 1.5}, {"epsilon": float("nan")}, {"delta": -0.1}, {"variant": "x"}, {"idf": "x"}, {"k1": "2"},
])
def test_bad_parameters(parameters: dict) -> None:
    with pytest.raises(InputError, match=next(iter(parameters))):
        Bm25(**parameters)


# --- disk


def test_counts_stay_on_disk(tmp_path: Path) -> None:
    build([["가", "나"], ["나"]] * 50).save(tmp_path)
    data = Bm25.load(tmp_path).counts.segments[0].indices
    while data.base is not None and not isinstance(data, np.memmap):
        data = data.base
    assert isinstance(data, np.memmap)


def test_saving_again_replaces_and_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    index = build([["가"], ["나"], ["다"]])
    index.save(tmp_path)
    loaded = Bm25.load(tmp_path)
    loaded.add(["e#c0"], [["\ud800", "가 \n나"]])  # any Python string is a token
    loaded.save(tmp_path)
    again = Bm25.load(tmp_path)
    assert again.top_k(["\ud800", "가 \n나"], 1)[0][0] == "e#c0"
    assert sorted(p.name.split("-data-")[0] for p in tmp_path.iterdir()) == ["bm25", "bm25.json", "mine.txt"]


def test_a_failed_save_leaves_the_old_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build([["가"], ["나"], ["다"]]).save(tmp_path)
    names = sorted(p.name for p in tmp_path.iterdir())

    def fail(*args, **kwargs) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("ragnb.retrieval.bm25.write_any_json", fail)
    with pytest.raises(OSError, match="disk full"):
        build([["라"]] * 5).save(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == names
    assert len(Bm25.load(tmp_path)) == 3


def test_bad_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no BM25 index"):
        Bm25.load(tmp_path)
    build([["가"], ["나"]]).save(tmp_path)
    header = json.loads((tmp_path / "bm25.json").read_text())
    for bad in (
        "{",
        "[]",
        json.dumps(header | {"version": 2}),
        json.dumps(header | {"format": "x"}),
        json.dumps(header | {"data": "../.."}),
        json.dumps(header | {"data": "bm25-data-gone"}),
        json.dumps(header | {"parameters": {"k9": 1}}),
        json.dumps({k: v for k, v in header.items() if k != "data"}),
    ):
        (tmp_path / "bm25.json").write_text(bad)
        with pytest.raises(IndexMismatchError):
            Bm25.load(tmp_path)
    (tmp_path / "bm25.json").write_text(json.dumps(header))
    counts = tmp_path / header["data"] / "counts.npy"
    counts.write_bytes(counts.read_bytes()[:-3])
    for mmap in (True, False):
        with pytest.raises(IndexMismatchError, match="damaged"):
            Bm25.load(tmp_path, mmap=mmap)


# --- LlamaIndex


class CountingStore:
    """The part of a chunk store that the retriever needs."""

    def __init__(self, nodes: list[TextNode]) -> None:
        self.nodes, self.reads = {n.node_id: n for n in nodes}, 0

    def get_chunks(self, addresses: list[str]) -> tuple[dict[str, TextNode], list[str]]:
        self.reads += 1
        return {a: self.nodes[a] for a in addresses if a in self.nodes}, [a for a in addresses if a not in self.nodes]


@pytest.fixture
def nodes() -> list[TextNode]:
    texts = ["연차는 15일입니다.", "삭제", "삭제", "출장 여비는 실비로 지급한다.", "반송로봇의 속도를 줄인다.", "회의실은 예약한다."]
    return [TextNode(id_=f"leave.md#s{i}", text=t, metadata={"title": "휴가규정"}) for i, t in enumerate(texts)]


def test_drop_in_for_a_stock_query_engine(nodes: list[TextNode]) -> None:
    before = copy.deepcopy(nodes)
    made = Bm25Retriever.from_nodes(nodes, str.split)
    store = CountingStore(nodes)
    retriever = Bm25Retriever(made.bm25, store, str.split, top_k=2)
    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
    response = engine.query("출장 여비는 얼마?")
    assert [n.node_id for n in response.source_nodes] == ["leave.md#s3"]
    assert store.reads == 1
    assert "실비" in str(response)
    response = asyncio.run(engine.aquery("출장 여비는 얼마?"))
    assert [n.node_id for n in response.source_nodes] == ["leave.md#s3"] and store.reads == 2
    assert nodes == before


def test_equal_texts_stay_two_results_and_metadata_is_not_indexed(nodes: list[TextNode]) -> None:
    retriever = Bm25Retriever.from_nodes(nodes, str.split)
    found = retriever.retrieve("삭제")
    assert [n.node_id for n in found] == ["leave.md#s1", "leave.md#s2"] and found[0].score == found[1].score > 0
    assert retriever.retrieve("휴가규정") == []


def test_no_result_reads_nothing(nodes: list[TextNode]) -> None:
    store = CountingStore(nodes)
    assert Bm25Retriever(Bm25Retriever.from_nodes(nodes, str.split).bm25, store, str.split).retrieve("없는말") == []
    assert store.reads == 0


def test_nodes_out_of_step_with_the_index(nodes: list[TextNode]) -> None:
    bm25 = Bm25Retriever.from_nodes(nodes, str.split).bm25
    with pytest.raises(MissingChunkError, match="leave.md#s1"):
        Bm25Retriever(bm25, CountingStore(nodes[2:]), str.split).retrieve("삭제")
    found = Bm25Retriever(bm25, CountingStore(nodes[2:]), str.split, missing="skip").retrieve("삭제")
    assert [n.node_id for n in found] == ["leave.md#s2"]


def test_bad_retriever_arguments(nodes: list[TextNode]) -> None:
    retriever = Bm25Retriever.from_nodes(nodes, str.split)
    for query in ("", " \n\t"):
        with pytest.raises(InputError, match="query"):
            retriever.retrieve(query)
    with pytest.raises(InputError, match="top_k"):
        Bm25Retriever(retriever.bm25, {}, str.split, top_k=0)
    with pytest.raises(InputError, match="missing"):
        Bm25Retriever(retriever.bm25, {}, str.split, missing="x")
    with pytest.raises(DuplicateIdError):
        Bm25Retriever.from_nodes([*nodes, nodes[0]], str.split)


# --- the order of the tokens ------------------------------------------------------------------------------------------

bags = st.lists(st.lists(st.sampled_from(["a", "b", "c"]), max_size=6), min_size=1, max_size=6)


@settings(max_examples=30, deadline=None)
@given(bags, bags, st.sets(st.integers(0, 5)))
def test_terms_in_a_row_are_found_after_adding_removing_and_saving(first, later, gone):
    index, texts = Bm25(ordered=True), {f"d{i}": words for i, words in enumerate([*first, *later])}
    ids = list(texts)
    index.add(ids[:len(first)], first)
    index.add(ids[len(first):], later)
    index.remove([i for i in ids if int(i[1:]) in gone])
    kept = [texts[i] for i in index.ids]

    def check(index: Bm25) -> None:
        for a, b in itertools.product(index.vocabulary, repeat=2):
            rows = index.counts.adjacent(index.vocabulary[a], index.vocabulary[b])
            assert rows.tolist() == [i for i, words in enumerate(kept) if (a, b) in zip(words, words[1:])]
        rows = np.arange(len(index))[::2]
        assert index.scorer.scores_at(["a", "b", "b"], rows) == pytest.approx(index.scores(["a", "b", "b"])[rows])

    check(index)
    with tempfile.TemporaryDirectory() as folder:
        index.save(folder)
        check(index)
        check(Bm25.load(folder))
