"""Multi-scale retrieval: windows, statistics, candidates, budget, refusals, hooks."""
from __future__ import annotations

import asyncio

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from llama_index.core.schema import Document, QueryBundle, TextNode
from unit_worlds import question, tokens, unit, vector, WORDS

from ragnb.chunking.units import document_parts, UnitNodeParser
from ragnb.documents.span import DuplicateIdError, InputError, MissingChunkError, n_characters, Outline, Span
from ragnb.models.embedding import NgramEmbedding
from ragnb.retrieval.multiscale import MultiScaleRanking, MultiScaleRetriever
from ragnb.retrieval.scoring import question_vector, score_units, UnitScores
from ragnb.retrieval.sqlite_store import SqliteStore
from ragnb.retrieval.sqlite_units import SqliteUnits, UnitWriter
from ragnb.retrieval.unit_source import check_scales, in_short_records, REPEATS, SCALES, SHIFT

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


def make(documents: dict[str, list[str]], dense: bool = True) -> tuple[SqliteUnits, SqliteStore]:
    """A source and a store of documents given unit by unit."""
    store = SqliteStore(SqliteUnits(tokenizer=tokens))
    if documents:
        store._replace(*corpus(documents, dense))      # `put` asks for vectors
    return store.units, store


def scored(source: SqliteUnits, terms: list[str], q, candidates: int | None = 100, grow: int = 3) -> UnitScores:
    """The scores of the units around the candidates."""
    return score_units(source, terms, question_vector(q, source.dims), candidates, grow)


def in_order(docs: dict[str, list[str]], source: SqliteUnits, keys) -> list[int]:
    """Positions of units among all units of the documents, as they are given."""
    first = dict(zip(docs, np.cumsum([0, *map(len, docs.values())]).tolist()))
    return [first[source.ids[key >> 20]] + key % (1 << 20) for key in keys.tolist()]


documents = st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), st.lists(unit, min_size=1, max_size=12), min_size=1)


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
    scores = scored(index, terms, q, candidates=None)
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
    read = [sum(len(p.span) for p in ranking.at(b)) for b in (10, 40, 160, 640)]
    assert read == sorted(read)                                  # more budget never reads less


@settings(max_examples=30, deadline=None)
@given(documents, question)
def test_candidates_are_compared_with_each_other(docs, terms):
    index, _ = make(docs)
    q = vector(" ".join(terms)).tolist()
    found = score_units(index, terms, question_vector(q, index.dims), 3, 1)
    rows = np.array(in_order(docs, index, found.keys), int)
    for k, width in enumerate(SCALES):
        assert found.words[k] == pytest.approx(covered(docs, terms, width, rows), abs=1e-6)
    everything = scored(index, terms, q, candidates=None)
    assert scored(index, terms, q, candidates=1_000).total == pytest.approx(everything.total, abs=1e-3)


def big(n: int = 600) -> dict[str, list[str]]:
    """Documents with more units than a question has candidates."""
    rng = np.random.default_rng(0)
    return {f"d{i}": [" ".join(rng.choice(WORDS, 4)) + f" n{i}x{j}" for j in range(n // 10)] for i in range(10)}


def test_the_balance_of_signals_does_not_depend_on_the_size_of_the_corpus():
    """Over the whole corpus, a title that matches one document of n has a z-score of about the root of n, and a cosine has not."""
    def asked(others: int):
        units = {f"base{i}": [f"sun moon n{i}x{j}" for j in range(40)] for i in range(10)}
        units |= {f"far{i}": [f"rain stone m{i}x{j}" for j in range(40)] for i in range(others)}
        index = SqliteUnits(tokenizer=tokens)
        UnitWriter(index).add(*corpus(units, titles={i: f"about {i}" for i in units}))
        return scored(index, ["base3", "n3x4", "sun"], vector("n3x4 sun"))
    few, many = asked(20), asked(400)
    for kind, z in few.by_kind.items():
        assert many.by_kind[kind].max() == pytest.approx(z.max(), rel=0.5), kind


def test_one_read_of_chunks_and_one_of_outlines():
    index, store = make(big())
    retriever = MultiScaleRetriever(index, store, Words())
    store.reads = 0
    ranking = retriever.rank("sun moon stone")
    assert store.reads == 0
    ranking.at(500)
    assert store.reads == 2
    ranking.at(200)
    assert store.reads == 2
    retriever.retrieve("sun moon")
    assert store.reads == 3
    coded = retriever.rank("sun moon n3x4")     # a code is compared with the names in the outlines, which are read first
    assert store.reads == 4
    coded.at(500)
    assert store.reads == 5


def test_empty_one_unit_and_unknown_words():
    index, store = make({})
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
    best = ranking.scores.keys[ranking.scores.vectors[0].argmax()]
    assert ranking.reader.units.address(best) == "a#u1" and ranking.at(9)


def test_without_an_embedding_words_alone_rank():
    docs = {"a": ["sun moon", "rain wind", "leaf"], "b": ["stone river", "star star"]}
    index, store = make(docs, dense=False)
    assert (len(index), index.dims) == (5, 0)
    assert MultiScaleRetriever(index, store).rank("star").reader.nodes == {}
    assert MultiScaleRetriever(index, store).rank("star").at(9)[0].text == "star star"
    store.delete(["b"])
    assert MultiScaleRetriever(index, store).rank("star").at(9) == []


def test_a_document_that_is_deleted_takes_nothing_of_the_next_one():
    _, store = make({"a": ["sun moon"], "b": ["stone river", "star"], "c": ["leaf"]}, dense=False)
    store.delete(["a"])
    assert store.doc_ids() == ["b", "c"] and store.get_chunks(["a#u0"]).missing == ("a#u0",)
    assert [n.text for n in store.get_chunks(["b#u0", "b#u1", "c#u0"]).all().values()] == ["stone river", "star", "leaf"]


def test_said_again_counts_half():
    long = "sun moon star rain wind leaf stone river sun moon"
    docs = {"a": [long, "rain", long, "leaf", "rain"], "b": [long]}
    index, store = make(docs)
    ranking = MultiScaleRetriever(index, store, Words()).rank("sun moon rain")
    assert (ranking.reader.units.table["flags"] & REPEATS > 0).tolist() == [False, False, True, False, False, False]
    totals = {ranking.reader.units.address(k): t for k, t in zip(ranking.scores.keys, ranking.scores.total)}
    assert sum(ranking.explain("a#u2").values()) == pytest.approx(2 * totals["a#u2"])
    order = [ranking.reader.units.address(p.key) for p in ranking.pieces]
    assert {"a#u0", "a#u2"} <= set(order) and "b#u0" not in order, "the text of another document is read once"
    assert ranking.explain("a#u2")
    with pytest.raises(MissingChunkError, match="was not scored"):
        ranking.explain("z#u0")


def test_bad_input_is_refused_and_nothing_changes():
    index, store = make({"a": ["sun moon", "rain"]})
    nodes, outlines = corpus({"b": ["star", "leaf"]})
    writer, before = UnitWriter(index), index.about()
    with pytest.raises(InputError, match="every unit"):
        writer.add(nodes[:1], outlines)
    with pytest.raises(DuplicateIdError):
        writer.add(nodes, [outlines[0], outlines[0]])
    with pytest.raises(InputError, match="without the outline"):
        writer.add(nodes, [])
    with pytest.raises(InputError, match="numbers like those"):
        writer.add([n.model_copy(update={"embedding": [1.0]}) for n in nodes], outlines)
    with pytest.raises(InputError, match="1 of 2"):
        writer.add([nodes[0], nodes[1].model_copy(update={"embedding": None})], outlines)
    with pytest.raises(InputError, match="finite"):
        writer.add([n.model_copy(update={"embedding": [float("nan")] * 5}) for n in nodes], outlines)
    with pytest.raises(MissingChunkError):
        writer.remove(["a", "z"])
    assert index.about() == before and len(index) == 2 and len(index.sizes) == 1
    assert scored(index, ["sun"], vector("sun")).total.max() > 0
    with pytest.raises(InputError, match="finite numbers"):
        scored(index, ["sun"], [1.0])
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


def indexed(documents: list[Document], model) -> tuple[SqliteUnits, SqliteStore]:
    """A source and a store of whole documents."""
    store = SqliteStore()
    store.add_documents(documents, UnitNodeParser(), model)
    return store.units, store


def law_index():
    """A statute, indexed with the offline embedding."""
    plain = Document(id_="plain", text="오늘은 날씨가 맑다. 내일은 비가 온다.")
    model = NgramEmbedding(dims=32).fit([LAW])
    return *indexed([Document(id_="law", text=LAW, metadata={"title": "휴가법"}), plain], model), model


def part_of(units, key: int) -> tuple[str, Span]:
    """The article that a unit begins in."""
    return units.ids[key >> SHIFT], Span(*units.table[["part_start", "part_end"]][units.rows_of(np.array([key]))[0]].tolist())


def every_unit(source: SqliteUnits, doc_id: str = "law"):
    """The units of a document."""
    return source.read(source.place([(doc_id, Span(0, 10_000))]))


@pytest.mark.shed
def test_articles_are_walls_and_are_read_whole():
    parts, records = document_parts(Document(id_="law", text=LAW))
    assert records and [name for name, _ in parts][1:3] == ["휴가법 제1조 (목적)", "휴가법 제2조 (연차휴가)"]
    index, store, model = law_index()
    assert in_short_records(every_unit(index).table[:3], 10_000)[1:].all()
    top = MultiScaleRetriever(index, store, model).rank("연차휴가는 며칠인가").at(200)[0]
    assert top.doc_id == "law" and "① 연차휴가는 15일로 한다.\n② 3년마다" in top.text and top.metadata["title"] == "휴가법"


@pytest.mark.shed
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
    assert len({p.key for p in ranking.pieces}) == len(ranking.pieces)


@pytest.mark.shed
@pytest.mark.parametrize("whole", [0, 100, 10_000])
def test_what_was_found_stays_ahead_of_the_beginning_of_its_long_article(whole):
    """Only a record that is ranked as one is put ahead, with what it cites."""
    long = " ".join(f"{i}호에 해당하는 사람은 그 사유가 생긴 날부터 한 달 안에 부서의 장에게 서면으로 알리고 허락을 받는다." for i in range(2, 9))
    text, model = LAW.replace("15일로 한다.", f"15일로 한다. {long}"), NgramEmbedding(dims=32).fit([LAW])
    index, store = indexed([Document(id_="law", text=text, metadata={"title": "휴가법"})], model)
    fourth, asked = text.index("제4조"), []

    def follow(doc_id, span):
        asked.append(span.of(text))
        return [("law", Span(fourth, fourth + 10), "cited")]
    plain = MultiScaleRetriever(index, store, model, whole=whole).rank("연차휴가 15일")
    led = MultiScaleRetriever(index, store, model, whole=whole, follow=follow).rank("연차휴가 15일")
    rows, found = ([p.key for p in ranking.pieces] for ranking in (led, plain))
    corpus = plain.reader.units
    part = corpus.keys_in(*part_of(corpus, found[0]))
    if whole < len(asked[0] if asked else text):
        assert rows == found and not asked
    else:
        cited = corpus.keys_in("law", Span(fourth, fourth + 10))
        best = sorted(part, key=found.index)        # of an article that is read whole the best unit is read first
        assert rows[:len(part) + len(cited)] == [*best, *cited] != found[:len(part) + len(cited)] and len(asked) == 1


@pytest.mark.parametrize("texts", [["연차는 15일이다."], ["연차는 15일이다."] * 2])
@pytest.mark.parametrize("embedded", [True, False])
def test_a_corpus_where_nothing_varies_is_found_too(texts, embedded):
    model = NgramEmbedding(dims=8).fit([*texts, "주차는 지하 2층에 한다."])
    index, store = indexed([Document(id_=f"d{i}", text=t) for i, t in enumerate(texts)], model)
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
    one, two = retriever.rank("병가"), retriever.fuse("병가")
    assert isinstance(one, MultiScaleRanking) and one.pieces == two.pieces and one.at(80) == two.at(80)


def test_parser_survives_odd_documents():
    parser = UnitNodeParser()
    for text in ("", "   \n", "#", "a" * 1000, "| a | b |\n|---|---|\n| 1 | 2 |", "제1조", "\ud83d\ude00" * 3):
        nodes, outline = parser.parse(Document(id_="x", text=text))
        assert all(n.text == text[n.start_char_idx:n.end_char_idx] for n in nodes)
        assert "".join("".join(n.text.split()) for n in nodes) == "".join(text.split())


def test_hits_of_a_ranking_are_read_once_and_may_be_changed():
    index, store = make(big())
    retriever = MultiScaleRetriever(index, store, Words(), top_k=4)
    ranking = retriever.rank("sun moon stone")
    hits = ranking.hits
    assert [(h.node_id, h.score) for h in hits] == [(h.node_id, h.score) for h in retriever.retrieve("sun moon stone")]
    assert len(hits) == 4 and len(ranking.best(2)) == 2 and ranking.reader.reads == 1
    hits[0].node.metadata["mine"] = 1
    assert "mine" not in ranking.best(1)[0].node.metadata
    why = [ranking.why(h.node_id) for h in hits]
    assert [(w.role, w.policy, w.rank) for w in why] == [("hit", "multi-scale", rank) for rank in range(1, 5)]
    assert MultiScaleRetriever(*make({})).rank("sun").hits == []


def test_a_ranking_keeps_the_positions_of_its_question():
    index, store = make({"a": ["sun moon", "rain"], "b": ["star", "leaf"]})
    ranking = MultiScaleRetriever(index, store, Words()).rank("star")
    before = ranking.piece_of("b#u0")
    store.delete(["a"])
    assert ranking.piece_of("b#u0") == before and ranking.at(4)[0].text == "star"
