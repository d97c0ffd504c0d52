"""Multi-scale retrieval: windows, statistics, candidates, budget, add and remove, saving, hooks."""
from __future__ import annotations

import asyncio
import json

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from llama_index.core.schema import Document, QueryBundle, TextNode

from ragnb.models.embedding import NgramEmbedding
from ragnb.chunking.units import UnitNodeParser, document_parts, unit_spans
from ragnb.retrieval.multiscale import KnownPlace, MultiScaleRanking, MultiScaleRetriever, Piece, WITH_FIRST, put_first, query_terms
from ragnb.retrieval.multiscale_index import MultiScaleIndex
from ragnb.retrieval.unit_corpus import SCALES, check_scales, window_bounds
from ragnb.documents.span import (
    Address,
    DuplicateIdError,
    IndexMismatchError,
    InputError,
    MissingChunkError,
    Outline,
    Span,
    Why,
    n_characters,
)
from ragnb.retrieval.unit_vectors import UnitVectors
from ragnb.storage.store import embed_nodes, MemoryStore

WORDS = ["sun", "moon", "star", "rain", "wind", "leaf", "stone", "river"]


def tokens(texts):
    """White space tokens, so that a test can count by hand."""
    return [t.lower().replace(".", "").split() for t in texts]


def vector(text: str, dims: int = 5) -> np.ndarray:
    """A vector that depends on the words alone."""
    out = np.zeros(dims)
    for word in tokens([text])[0]:
        out += np.random.default_rng(sum(map(ord, word))).standard_normal(dims)
    return out if np.any(out) else np.eye(1, dims)[0]


def kept(text: str) -> np.ndarray:
    """The vector of a text as an index keeps it: one byte a number."""
    own = vector(text)
    codes = np.rint(own / np.abs(own).max() * 127)
    return codes / np.linalg.norm(codes)


class Words:
    """An embedding for tests."""

    def get_query_embedding(self, text: str) -> list[float]:
        return vector(text).tolist()

    async def aget_query_embedding(self, text: str) -> list[float]:
        return self.get_query_embedding(text)


def corpus(documents: dict[str, list[str]], dense: bool = True, titles: dict[str, str] | None = None):
    """Nodes and outlines of documents given unit by unit."""
    nodes, outlines = [], []
    for doc_id, units in documents.items():
        at, spans = 0, []
        for i, text in enumerate(units):
            embedding = vector(text).tolist() if dense else None
            place = {"start_char_idx": at, "end_char_idx": at + len(text)}
            nodes.append(TextNode(id_=f"{doc_id}#u{i}", text=text, embedding=embedding, **place))
            spans.append(Span(at, at + len(text)))
            at += len(text) + 1
        blanks = {s.end: " " for s in spans[:-1]}
        metadata = {"title": (titles or {}).get(doc_id, "")}
        outlines.append(Outline(doc_id, max(0, at - 1), {"u": spans}, blanks, metadata=metadata))
    return nodes, outlines


def make(documents: dict[str, list[str]], dense: bool = True, **options) -> tuple[MultiScaleIndex, MemoryStore]:
    """An index and a store of documents given unit by unit."""
    nodes, outlines = corpus(documents, dense)
    index, store = MultiScaleIndex(tokenizer=tokens, **options), MemoryStore()
    index.add(nodes, outlines)
    for node in nodes:
        node.embedding = node.embedding or [1.0]
    store.put(nodes, outlines)
    return index, store


unit = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
documents = st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), st.lists(unit, min_size=1, max_size=12), min_size=1)
question = st.lists(st.sampled_from([*WORDS, "unknown"]), min_size=1, max_size=4)


# The last unit that is read lies between two that were taken before it
BETWEEN = {"a": ["sun sun sun sun moon moon", "moon moon stone", "sun", "sun moon stone", "moon"]}


def windows(docs: dict[str, list[str]], width: int) -> list[list[str]]:
    """The texts of every window, by definition."""
    half = width // 2
    return [units[max(0, i - half):i + half + 1] for units in docs.values() for i in range(len(units))]


def chance(n: int, f: int, width: int) -> float:
    """That one of `width` units drawn evenly is among `f` of `n`."""
    return 1 - (1 - f / n) ** width


def idf(n: int, p: float) -> float:
    """Of what a share `p` of `n` windows holds."""
    return np.log1p((n - n * p + 0.5) / (n * p + 0.5))


def standardised(x: np.ndarray) -> np.ndarray:
    """z-scores among the units that are scored, clipped at 0."""
    return np.maximum(x - x.mean(), 0) / x.std() if x.std() > 3e-5 else np.zeros(len(x))


def covered(docs: dict[str, list[str]], terms: list[str], width: int, rows: np.ndarray | None = None) -> np.ndarray:
    """z-scores of the windows of a width among those of some units (all when None), by definition."""
    bags, units = windows(docs, width), [t for u in docs.values() for t in tokens(u)]
    n = len(units)
    asked = [([t], 1.0) for t in dict.fromkeys(terms)]
    asked += [(list(pair), 0.15) for pair in dict.fromkeys(zip(terms, terms[1:]))]
    def holds(unit, words): return any(unit[i:i + len(words)] == words for i in range(len(unit)))
    rows = np.arange(len(bags)) if rows is None else rows
    above, variance = np.zeros(len(rows)), 0.0
    for words, weight in asked:
        holding = sum(holds(u, words) for u in units)
        if holding:
            p = chance(n, holding, width)
            inside = np.array([any(holds(u, words) for u in tokens(bag)) for bag in bags])[rows]
            value, share = weight * idf(n, p), inside.mean()
            above, variance = above + value * (inside - share), variance + value**2 * share * (1 - share)
    z = np.maximum(above, 0) / variance**0.5 if variance > 1e-9 else np.zeros(len(rows))
    lengths = np.array([len(u) for u in units])
    return z / (0.6 + 0.4 * lengths / max(lengths.mean(), 1e-9))[rows] if width == 1 else z


@settings(max_examples=25, deadline=None)
@given(documents, question)
@example({"a": ["sun moon", "moon sun", "rain sun moon"], "b": ["moon", "sun"]}, ["sun", "moon", "sun", "moon"])
def test_words_and_vectors_equal_brute_force(docs, terms):
    index, _ = make(docs)
    q = vector(" ".join(terms))
    scores = index.score(terms, q, candidates=None)
    q = q / np.linalg.norm(q)
    for k, width in enumerate(SCALES):
        assert scores.words[k] == pytest.approx(covered(docs, terms, width), abs=1e-6)
        directions = [[kept(t) for t in window] for window in windows(docs, width)]
        pooled = np.array([np.sum(window, axis=0) for window in directions])
        norms = np.linalg.norm(pooled, axis=1)
        if norms.min() < 1e-3:
            continue
        cosine = pooled @ q / norms
        if cosine.var() > 1e-9:
            assert scores.vectors[k] == pytest.approx(standardised(cosine), abs=2e-3)


@settings(max_examples=20, deadline=None)
@given(documents, documents, st.sets(st.sampled_from(["a", "b", "c", "d"])), question)
def test_add_and_remove_equal_a_fresh_build(docs, later, gone, terms):
    index, _ = make(docs)
    nodes, outlines = corpus(later)
    index.add(nodes, outlines)                                 # replaces what is there
    held = docs | later
    gone &= held.keys()
    index.remove(gone)
    held = {i: u for i, u in held.items() if i not in gone}
    order = [i for i in index.corpus.ids]
    assert sorted(order) == sorted(held)
    fresh, _ = make({i: held[i] for i in order}) if order else (MultiScaleIndex(tokenizer=tokens), None)
    assert len(index) == len(fresh)
    q = vector(" ".join(terms)).tolist()
    a, b = index.score(terms, q), fresh.score(terms, q)
    assert a.rows.tolist() == b.rows.tolist() and a.total == pytest.approx(b.total, abs=1e-3)


@settings(max_examples=25, deadline=None)
@given(documents, question, st.integers(0, 120))
@example(BETWEEN, ["moon"], 64)
def test_the_budget_holds_and_passages_are_the_document(docs, terms, budget):
    index, store = make(docs)
    ranking = MultiScaleRetriever(index, store, Words()).rank(" ".join(terms))
    passages = ranking.at(budget)
    assert sum(len(p.span) for p in passages) <= budget
    spans: dict[str, list[Span]] = {}
    for p in passages:
        assert p.text == p.span.of(" ".join(docs[p.doc_id])) and p.text.strip() == p.text and p.text
        assert p.hits and p.scores[0] == max(p.scores) and p.focus is not None and p.span.contains(p.focus)
        assert p.rank == passages.index(p) + 1 and set(p.why) == set(p.hits)
        spans.setdefault(p.doc_id, []).append(p.span)
    for found in spans.values():
        assert n_characters(found) == sum(map(len, found))       # nothing twice


@settings(max_examples=20, deadline=None)
@given(documents, question)
def test_more_budget_never_reads_less(docs, terms):
    index, store = make(docs)
    ranking = MultiScaleRetriever(index, store, Words()).rank(" ".join(terms))
    read = [sum(len(p.span) for p in ranking.at(b)) for b in (10, 40, 160, 640)]
    assert read == sorted(read)


@settings(max_examples=30, deadline=None)
@given(documents, question)
def test_candidates_are_compared_with_each_other(docs, terms):
    index, _ = make(docs)
    q = vector(" ".join(terms)).tolist()
    few, everything = index.score(terms, q, candidates=3, grow=1), index.score(terms, q, candidates=None)
    for k, width in enumerate(SCALES):
        assert few.words[k] == pytest.approx(covered(docs, terms, width, few.rows), abs=1e-6)
    assert index.score(terms, q, candidates=1_000).total == pytest.approx(everything.total, abs=1e-3)
    assert set(few.rows.tolist()) <= set(range(len(index)))


def big(n: int = 600) -> dict[str, list[str]]:
    """Documents with more units than a question has candidates."""
    rng = np.random.default_rng(0)
    return {f"d{i}": [" ".join(rng.choice(WORDS, 4)) + f" n{i}x{j}" for j in range(n // 10)] for i in range(10)}


def test_named_candidates_are_scored_as_all_units_are():
    index, _ = make(big())
    q = vector("sun rain")
    every = index.score(["sun", "rain"], q, nearest=index.words.ids)
    near = index.score(["sun", "rain"], q, candidates=None)
    assert every.rows.tolist() == near.rows.tolist() and every.vectors == pytest.approx(near.vectors, abs=2e-3)
    assert len(index.score(["sun", "rain"], q, nearest=index.words.ids[::7]).rows) < len(near.rows)


def test_the_balance_of_signals_does_not_depend_on_the_size_of_the_corpus():
    """Over the whole corpus, a title that matches one document of n has a z-score of about the root of n, and a cosine has not."""
    def asked(others: int):
        units = {f"base{i}": [f"sun moon n{i}x{j}" for j in range(40)] for i in range(10)}
        units |= {f"far{i}": [f"rain stone m{i}x{j}" for j in range(40)] for i in range(others)}
        index = MultiScaleIndex(tokenizer=tokens)
        index.add(*corpus(units, titles={i: f"about {i}" for i in units}))
        return index.score(["base3", "n3x4", "sun"], vector("n3x4 sun"))
    few, many = asked(20), asked(400)
    for kind, z in few.by_kind().items():
        assert many.by_kind()[kind].max() == pytest.approx(z.max(), rel=0.5), kind


def test_one_read_of_chunks_and_one_of_outlines():
    index, store = make(big())
    retriever = MultiScaleRetriever(index, store, Words())
    store.reads = 0
    ranking = retriever.rank("sun moon n3x4")
    assert store.reads == 0
    ranking.at(500)
    assert store.reads == retriever.reads == 2
    ranking.at(200)
    assert store.reads == 2
    retriever.retrieve("sun moon")
    assert store.reads == 3


def test_empty_one_unit_and_unknown_words():
    index, store = MultiScaleIndex(tokenizer=tokens), MemoryStore()
    assert MultiScaleRetriever(index, store, Words()).rank("sun").at(100) == []
    index, store = make({"a": ["sun moon"]})
    retriever = MultiScaleRetriever(index, store, Words())
    found = retriever.rank("nothing known").at(100)
    assert found == [] or found[0].text == "sun moon"
    docs = {"a": ["sun moon", "rain wind"], "b": ["leaf stone", "river star"]}
    index, store = make(docs)
    bundle = QueryBundle("unheard", embedding=vector("rain wind").tolist())
    ranking = MultiScaleRetriever(index, store, Words()).rank(bundle)
    assert not ranking.scores.words.any()                      # vectors alone
    assert ranking.scores.vectors[0].argmax() == index.words.ids.index("a#u1") and ranking.at(9)


def test_without_an_embedding_words_alone_rank():
    docs = {"a": ["sun moon", "rain wind", "leaf"], "b": ["stone river", "star star"]}
    index, store = make(docs, dense=False)
    assert index.vectors.shape == (5, 0)
    assert MultiScaleRetriever(index, store).rank("star").reader.nodes == {}
    assert MultiScaleRetriever(index, store).rank("star").at(9)[0].text == "star star"
    index.remove(["b"])
    assert MultiScaleRetriever(index, store).rank("star").at(9) == []


def test_ties_are_broken_by_address():
    docs = {"b": ["sun", "moon rain"], "a": ["sun", "moon rain"], "c": ["leaf", "stone"]}
    index, store = make(docs)
    passages = MultiScaleRetriever(index, store, Words()).rank("sun").at(100)
    assert [p.doc_id for p in passages][:2] == ["a", "b"]


def test_said_again_counts_half():
    long = "sun moon star rain wind leaf stone river sun moon"
    docs = {"a": [long, "rain", long, "leaf", "rain"], "b": [long]}
    index, store = make(docs)
    ranking = MultiScaleRetriever(index, store, Words()).rank("sun moon rain")
    assert index.corpus.repeats.tolist() == [False, False, True, False, False, False]
    scored = {index.words.ids[r]: t for r, t in zip(ranking.scores.rows, ranking.scores.total)}
    assert sum(ranking.explain("a#u2").values()) == pytest.approx(2 * scored["a#u2"])
    order = [index.words.ids[p.row] for p in ranking.pieces]
    assert order.index("a#u0") < order.index("a#u2")
    assert ranking.explain("a#u2")
    with pytest.raises(MissingChunkError, match="was not scored"):
        ranking.explain("z#u0")


def test_saved_and_loaded(tmp_path):
    index, store = make(big())
    index.save(tmp_path)
    index.save(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    for mmap in (True, False):
        loaded = MultiScaleIndex.load(tmp_path, mmap, tokenizer=tokens)
        q = vector("sun")
        assert loaded.score(["sun"], q).total == pytest.approx(index.score(["sun"], q).total)
        loaded.remove(["d0"])
        nodes, outlines = corpus({"new": ["sun sun", "moon"]})
        loaded.add(nodes, outlines)
        assert len(loaded) == 542
    header = json.loads((tmp_path / "multiscale.json").read_text())
    (tmp_path / "multiscale.json").write_text(json.dumps(header | {"version": 99}))
    with pytest.raises(IndexMismatchError, match="version|format"):
        MultiScaleIndex.load(tmp_path)
    (tmp_path / "multiscale.json").write_text(json.dumps(header))
    (tmp_path / header["data"] / "norms.npy").unlink()
    with pytest.raises(IndexMismatchError, match="damaged"):
        MultiScaleIndex.load(tmp_path)
    with pytest.raises(InputError, match="no multi-scale"):
        MultiScaleIndex.load(tmp_path / "absent")


def test_bad_input_is_refused_and_nothing_changes():
    index, store = make({"a": ["sun moon", "rain"]})
    nodes, outlines = corpus({"b": ["star", "leaf"]})
    with pytest.raises(InputError, match="every unit"):
        index.add(nodes[:1], outlines)
    with pytest.raises(DuplicateIdError):
        index.add(nodes, [outlines[0], outlines[0]])
    with pytest.raises(InputError, match="without the outline"):
        index.add(nodes, [])
    with pytest.raises(InputError, match="numbers like those"):
        index.add([n.model_copy(update={"embedding": [1.0]}) for n in nodes], outlines)
    with pytest.raises(InputError, match="1 of 2"):
        index.add([nodes[0], nodes[1].model_copy(update={"embedding": None})], outlines)
    with pytest.raises(InputError, match="finite"):
        index.add([n.model_copy(update={"embedding": [float("nan")] * 5}) for n in nodes], outlines)
    with pytest.raises(MissingChunkError):
        index.remove(["a", "z"])
    assert len(index) == 2 and index.score(["sun"], vector("sun")).total.max() > 0
    with pytest.raises(InputError, match="finite numbers"):
        index.score(["sun"], [1.0])
    for bad in ({"top_k": 0}, {"budget": 0}, {"candidates": 0}, {"grow": -1}):
        with pytest.raises(InputError):
            MultiScaleRetriever(index, store, **bad)
    with pytest.raises(InputError, match="empty"):
        MultiScaleRetriever(index, store).rank(" ")
    with pytest.raises(InputError, match="budget"):
        MultiScaleRetriever(index, store).rank("sun").at(-1)
    for bad in ((), (2,), (1, 1), (0,), (1.5,)):
        with pytest.raises(InputError):
            check_scales(bad)


LAW = """휴가법

제1조(목적) 이 법은 휴가를 정한다.

제2조(연차휴가) ① 연차휴가는 15일로 한다.
② 3년마다 하루를 더한다. 다만, 제3조에 따른 사람은 그러하지 아니하다.

제3조(적용 제외) 일용직에는 이 법을 적용하지 아니한다.

제4조(병가) 병가는 30일로 한다.
"""


def law_index():
    """A statute, indexed with the offline embedding."""
    plain = Document(id_="plain", text="오늘은 날씨가 맑다. 내일은 비가 온다.")
    documents = [Document(id_="law", text=LAW, metadata={"title": "휴가법"}), plain]
    model, store = NgramEmbedding(dims=32).fit([LAW]), MemoryStore()
    return MultiScaleIndex.from_documents(documents, store, model), store, model


def test_articles_are_walls_and_are_read_whole():
    parts, records = document_parts(Document(id_="law", text=LAW))
    assert records and [name for name, _ in parts][1:3] == ["휴가법 제1조 (목적)", "휴가법 제2조 (연차휴가)"]
    index, store, model = law_index()
    assert index.corpus.records.all() and len(index.corpus.records)
    top = MultiScaleRetriever(index, store, model).rank("연차휴가는 며칠인가").at(200)[0]
    assert top.doc_id == "law" and "① 연차휴가는 15일로 한다.\n② 3년마다" in top.text and top.metadata["title"] == "휴가법"


def test_leads_and_follow_come_first():
    index, store, model = law_index()
    third, fourth = LAW.index("제3조(적"), LAW.index("제4조(병")
    named = [("law", Span(fourth, len(LAW.rstrip())))]
    def leads(question): return named if "제4조" in question else [("gone", Span(0, 1))]
    def follow(doc_id, span): return [("law", Span(third, fourth - 2), "cited")] if "제3조에" in span.of(LAW) else []
    retriever = MultiScaleRetriever(index, store, model, leads=leads, follow=follow)
    led = retriever.rank("휴가법 제4조").at(20)
    assert led[0].text.startswith("제4조(병가)") and {str(w) for w in led[0].why.values()} == {"asked for by name"}
    ranking = retriever.rank("연차휴가 15일")
    read = ranking.at(200)
    assert "제2조" in read[0].text and any("적용 제외" in p.text for p in read)
    assert ("cited", "cited") in {(w.role, w.detail) for p in read for w in p.why.values()}
    assert len({p.row for p in ranking.pieces}) == len(ranking.pieces)


@pytest.mark.parametrize("whole", [0, 100, 10_000])
def test_what_was_found_stays_ahead_of_the_beginning_of_its_long_article(whole):
    """Only a record that is ranked as one is put ahead, with what it cites."""
    long = " ".join(f"{i}호에 해당하는 사람은 그 사유가 생긴 날부터 한 달 안에 부서의 장에게 서면으로 알리고 허락을 받는다." for i in range(2, 9))
    text, model, store = LAW.replace("15일로 한다.", f"15일로 한다. {long}"), NgramEmbedding(dims=32).fit([LAW]), MemoryStore()
    index = MultiScaleIndex.from_documents([Document(id_="law", text=text, metadata={"title": "휴가법"})], store, model)
    fourth, asked = text.index("제4조"), []

    def follow(doc_id, span):
        asked.append(span.of(text))
        return [("law", Span(fourth, fourth + 10), "cited")]
    plain = MultiScaleRetriever(index, store, model, whole=whole).rank("연차휴가 15일")
    led = MultiScaleRetriever(index, store, model, whole=whole, follow=follow).rank("연차휴가 15일")
    rows, found = ([p.row for p in ranking.pieces] for ranking in (led, plain))
    part = [*index.corpus.units_in(*index.corpus.part_span(found[0]))]
    if whole < len(asked[0] if asked else text):
        assert rows == found and not asked
    else:
        cited = index.corpus.units_in("law", Span(fourth, fourth + 10))
        best = sorted(part, key=found.index)        # of an article that is read whole the best unit is read first
        assert rows[:len(part) + len(cited)] == [*best, *cited] != found[:len(part) + len(cited)] and len(asked) == 1


def test_a_part_that_is_put_ahead_says_why_its_unknown_units_are_there():
    index = MultiScaleIndex.from_documents([Document(id_="law", text=LAW, metadata={"title": "휴가법"})], MemoryStore(), NgramEmbedding(dims=32).fit([LAW]))
    place = KnownPlace(*index.corpus.part_span(1), Why("hit", "part", detail=WITH_FIRST))
    units = [*index.corpus.units_in(place.doc_id, place.span)]
    order = put_first(index.corpus, [place], [Piece(units[0], 9.0)])
    assert [p.row for p in order] == units and order[0].why is None
    assert {p.why.detail for p in order[1:]} <= {WITH_FIRST}


@pytest.mark.parametrize("texts", [["연차는 15일이다."], ["연차는 15일이다."] * 2])
@pytest.mark.parametrize("embedded", [True, False])
def test_a_corpus_where_nothing_varies_is_found_too(texts, embedded):
    documents, store = [Document(id_=f"d{i}", text=t) for i, t in enumerate(texts)], MemoryStore()
    model = NgramEmbedding(dims=8).fit([*texts, "주차는 지하 2층에 한다."])
    index = MultiScaleIndex.from_documents(documents, store, model)
    retriever = MultiScaleRetriever(index, store, model if embedded else None)
    passages = retriever.rank("연차는 며칠인가?").at(100)
    assert [p.text for p in passages] == texts
    assert all(p.score > 0 and "too few texts to compare" in str(p.why[p.hits[0]]) for p in passages)
    assert MultiScaleRetriever(index, store).rank("주차장").at(100) == []


def test_retrieve_sync_async_and_passages():
    index, store, model = law_index()
    retriever = MultiScaleRetriever(index, store, model, top_k=3)
    found = retriever.retrieve("병가는 며칠인가")
    assert [h.node_id for h in asyncio.run(retriever.aretrieve("병가는 며칠인가"))] == [h.node_id for h in found]
    assert len(found) == 3 and found[0].node.node_id.startswith("law#u") and found[0].score >= found[1].score
    passages = MultiScaleRetriever(index, store, model, budget=60).retrieve("병가는 며칠인가")
    assert passages[0].node.node_id.startswith("law@") and sum(len(p.node.text) for p in passages) <= 60
    one, two = retriever.rank("병가"), asyncio.run(retriever.arank("병가"))
    assert isinstance(one, MultiScaleRanking) and one.pieces == two.pieces and one.at(80) == two.at(80)
    from_store = MultiScaleRetriever(index, store, model, search_store=True).rank("병가")
    assert [p.row for p in from_store.pieces[:3]] == [p.row for p in one.pieces[:3]]


@settings(max_examples=25, deadline=None)
@given(st.text("ab .\n\u0301가나다#", max_size=200), st.integers(1, 30))
def test_units_cover_every_character_once(text, size):
    spans = unit_spans(text, size=size, sentences="rule")
    assert all(a.end <= b.start for a, b in zip(spans, spans[1:]))
    assert "".join("".join(s.of(text).split()) for s in spans) == "".join(text.split())
    assert all(len(s) <= max(size, size * 5 // 4) for s in spans)
    assert all("\n\n" not in s.of(text) for s in spans)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), st.sampled_from([1, 3, 7]))
def test_windows_stay_in_their_document(sizes, width):
    edges = np.cumsum([0, *sizes])
    first, last = np.repeat(edges[:-1], sizes), np.repeat(edges[1:], sizes)
    low, high = window_bounds(np.arange(edges[-1]), width, first, last)
    for i, (a, b) in enumerate(zip(low, high)):
        assert first[i] <= a <= i < b <= last[i] and b - a <= width


def test_question_words():
    assert query_terms("What is the rain?") == ["is", "the", "rain"]
    assert query_terms("무엇") == ["무엇"]


def test_parser_survives_odd_documents():
    parser = UnitNodeParser()
    for text in ("", "   \n", "#", "a" * 1000, "| a | b |\n|---|---|\n| 1 | 2 |", "제1조", "\ud83d\ude00" * 3):
        nodes, outline = parser.parse(Document(id_="x", text=text))
        assert all(n.text == text[n.start_char_idx:n.end_char_idx] for n in nodes)
        assert "".join("".join(n.text.split()) for n in nodes) == "".join(text.split())


def test_hits_of_a_ranking_are_read_once_and_may_be_changed():
    index, store = make(big())
    retriever = MultiScaleRetriever(index, store, Words(), top_k=4)
    ranking = retriever.rank("sun moon n3x4")
    hits = retriever.hits_of(ranking)
    assert [(h.node_id, h.score) for h in hits] == [(h.node_id, h.score) for h in retriever.retrieve("sun moon n3x4")]
    assert len(hits) == 4 and len(retriever.hits_of(ranking, 2)) == 2 and ranking.reads == 1
    hits[0].node.metadata["mine"] = 1
    assert "mine" not in retriever.hits_of(ranking)[0].node.metadata
    why = [ranking.why(h.node_id) for h in hits]
    assert [(w.role, w.policy, w.rank) for w in why] == [("hit", "multi-scale", rank) for rank in range(1, 5)]
    assert retriever.hits_of(MultiScaleRetriever(MultiScaleIndex(tokenizer=tokens), MemoryStore()).rank("sun")) == []


def test_a_ranking_keeps_the_positions_of_its_question():
    index, store = make({"a": ["sun moon", "rain"], "b": ["star", "leaf"]})
    ranking = MultiScaleRetriever(index, store, Words()).rank("star")
    before = ranking.piece_of("b#u0")
    index.remove(["a"])
    assert ranking.piece_of("b#u0") == before and ranking.at(4)[0].text == "star"


def test_words_alone_are_loaded_added_to_and_saved_again(tmp_path):
    index, _ = make({"a": ["sun moon", "rain"]}, dense=False)
    index.save(tmp_path)
    loaded = MultiScaleIndex.load(tmp_path, tokenizer=tokens)
    loaded.add(*corpus({"b": ["star sun"]}, dense=False))
    loaded.save(tmp_path)
    again = MultiScaleIndex.load(tmp_path, tokenizer=tokens)
    assert again.vectors.shape == (3, 0) and again.score(["star"]).total.max() > 0


def test_scores_are_the_same_after_saving_forgets_terms(tmp_path):
    index, _ = make({"a": ["river stone", "stone"], "b": ["sun moon", "rain sun"]})
    index.remove(["a"])                                        # river and stone have no unit now
    before = {t: index.score([t], vector(t)).total for t in ("sun", "moon", "rain", "river")}
    index.save(tmp_path)
    for index in (index, MultiScaleIndex.load(tmp_path, tokenizer=tokens)):
        assert all(np.array_equal(index.score([t], vector(t)).total, total) for t, total in before.items())
    assert before["sun"].max() > 0


def test_vectors_are_put_together_once_for_many_additions(monkeypatch):
    """A long run adds hundreds of batches: copying all vectors at each of them costs by the square of the corpus."""
    joined, plain = [], UnitVectors.joined
    monkeypatch.setattr(UnitVectors, "joined", lambda self, *others: joined.append(len(others)) or plain(self, *others))
    documents = [Document(id_=f"{i}.md", text=f"문서 {i}의 글이다. 둘째 문장이다.") for i in range(12)]
    model, parser, index = NgramEmbedding(dims=32).fit([d.text for d in documents]), UnitNodeParser(), MultiScaleIndex()
    made = []
    for document in documents:
        nodes, outline = parser.parse(document)
        embed_nodes(nodes, model)
        index.add(nodes, [outline])
        made += nodes
    assert joined == []
    assert len(index.unit_vectors) == len(made) and joined == [12] and index.unit_vectors is index.unit_vectors
    once = MultiScaleIndex()
    once.add(made, [parser.outline(d) for d in documents])
    assert all((a == b).all() for a, b in zip(index.unit_vectors.arrays().values(), once.unit_vectors.arrays().values()))
    index.add(made[:1], [parser.outline(documents[0])])           # in place of what was held
    assert len(index.unit_vectors) == len(made) == len(index)
