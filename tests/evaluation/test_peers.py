"""Peers: other libraries' texts put back at their place, asked as their documentation does it."""
from __future__ import annotations

import random
import sys
from collections.abc import Callable
from functools import lru_cache
from itertools import groupby

import pytest
from conftest import SAMPLE
from hypothesis import given, strategies as st
from llama_index.core.schema import Document
from llama_index.core.vector_stores import SimpleVectorStore
from strategies import examples, PIECES

from ragnb import DuplicateIdError, InputError, NgramEmbedding, Passage, Span
from ragnb.context.builders import Ranking
from ragnb.evaluation import peers
from ragnb.evaluation.peers import align, build_peer, locate, parse_peer, PEERS, PeerSystem
from ragnb.evaluation.strategy import resolve_strategies

pytestmark = pytest.mark.heavy  # whole runs of evaluation or indexing

QUESTION = "연차휴가는 며칠인가요?"
SMALL = {  # Settings that make several pieces of a short document
    "llamaindex-bm25": {"chunk_size": 64, "chunk_overlap": 16},
    "llamaindex-vector": {"chunk_size": 64, "chunk_overlap": 16},
    "llamaindex-fusion": {"chunk_size": 64, "chunk_overlap": 16}, "llamaindex-sentence-window": {},
    "llamaindex-auto-merging": {"chunk_sizes": [256, 96, 32]},
    "llamaindex-prev-next": {"chunk_size": 64, "chunk_overlap": 16}, "haystack-sentence-window": {},
    "haystack-auto-merging": {"block_sizes": [20, 5]}, "chonkie-recursive": {"chunk_size": 60},
    "chonkie-sentence": {"chunk_size": 60}, "chonkie-token": {"chunk_size": 60, "chunk_overlap": 13},
    "chonkie-fast": {"chunk_size": 600}, "dsrag-segments": {"chunk_size": 60, "minimum": 0.1},
    "autorag": {"chunk_size": 64, "chunk_overlap": 16}, "recipe": {"size": 40}}
REPEATED = ("\n".join(f"제{i}조(휴가) 연차휴가는 15일이다. 삭제. 신청서를 낸다. 낸다. 삭제." for i in range(1, 30)) + "\n\n부칙. 삭제. 삭제.  삭제.\n")
ENGLISH = "Leave is 15 days. Yes. " * 12 + "Leave is 16 days in the second year. Yes. No.\n\n\nYes. " * 6


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    paths = sorted(p for p in (SAMPLE / "corpus").rglob("*") if p.suffix in (".md", ".txt"))[::6]
    return [Document(text=p.read_text(encoding="utf-8"), id_=p.relative_to(SAMPLE).as_posix()) for p in paths]


@pytest.fixture(scope="module")
def model(documents: list[Document]) -> NgramEmbedding:
    return NgramEmbedding(dims=64, max_fit=500).fit([line for d in documents for line in d.text.splitlines() if line.strip()])


@pytest.fixture(scope="module")
def repeated() -> list[Document]:
    return [Document(text=REPEATED, id_="a"), Document(text=REPEATED[::-1] + REPEATED, id_="a/1.0"),
            Document(text=ENGLISH, id_="0"), Document(text="삭제.", id_="0.0")]


@pytest.fixture(scope="module")
def on_sample(documents: list[Document], model: NgramEmbedding) -> Callable[[str], PeerSystem]:
    return lru_cache(lambda name: build_peer(name, documents, model))


@pytest.fixture(scope="module")
def on_repeated(repeated: list[Document], model: NgramEmbedding) -> Callable[[str], PeerSystem]:
    return lru_cache(lambda name: build_peer(name, repeated, model, **SMALL[name]))


def check(system: PeerSystem, question: str) -> None:
    """Every passage is the document at its span, and the budget holds."""
    ranking = system.rank(question)
    assert isinstance(ranking, Ranking)
    for p in ranking.passages:
        assert p.span and p.text == p.span.of(system.texts[p.doc_id]), (p.id, p.text[:40])
    for budget in (1, 50, 1000):
        assert sum(len(p.span) for p in ranking.at(budget)) <= budget


# --- where a text stands
def test_align_goes_on_behind_a_piece_that_is_not_there() -> None:
    text = "하나. 둘. 셋. 둘."
    assert align(text, ["하나.", "없는 글", "둘.", "셋.", "둘."]) == [Span(0, 3), None, Span(4, 6), Span(7, 9), Span(10, 12)]
    assert align(text, []) == [] and align("", ["가"]) == [None] and align(text, [""]) == [None]


def test_align_of_very_repetitive_text_ends() -> None:
    text = "삭제 " * 2_500
    spans = align(text, [text[i : i + 400].strip() for i in range(0, len(text), 300)])
    assert all(s and s.of(text).startswith("삭제") for s in spans)


@pytest.mark.parametrize(("piece", "expected"), [
    ("가  나\n다", "가 나 다"), ("  나   다", "나 다"), ("\ufffd나 다\ufffd", "나 다"), ("라", None), ("", None), ("  ", None),
    ("\ufffd", None), ("가 나 다", "가 나 다")])
def test_locate_bears_other_white_space_and_broken_edges(piece: str, expected: str | None) -> None:
    text = "가 나 다"
    span = locate(text, piece)
    assert (span and span.of(text)) == expected


@examples(150)
@given(st.lists(st.sampled_from(PIECES + ["삭제", "삭제.", "가"]), min_size=1, max_size=30),
       st.lists(st.integers(1, 25), min_size=1, max_size=8), st.integers(0, 8))
def test_align_restores_any_cut(parts: list[str], sizes: list[int], overlap: int) -> None:
    text = " ".join(parts)
    spans, at = [], 0
    while at < len(text):
        spans.append(Span(max(0, at - overlap), min(len(text), at + sizes[len(spans) % len(sizes)])))
        at = spans[-1].end
    pieces = [s.of(text).strip() for s in spans]
    found = align(text, pieces)
    for piece, span in zip(pieces, found):
        assert span is None if not piece else span.of(text) == piece
    if overlap == 0:
        starts = [s.start for s in found if s]
        assert starts == sorted(set(starts))  # in order, no place twice
        assert "".join("".join(p.split()) for p in pieces) == "".join(text.split())  # and nothing is left over
        assert sum(len("".join(s.of(text).split())) for s in found if s) == len("".join(text.split()))


# --- systems
@pytest.mark.parametrize("name", PEERS)
def test_peer_on_the_sample(name: str, on_sample: Callable[[str], PeerSystem]) -> None:
    system = on_sample(name)
    for question in (QUESTION, "제17조의2 제2항은 무엇을 정하나?", "How many days of leave?"):
        check(system, question)
    filled = sum(len(p.span) for p in system.rank(QUESTION).passages)
    assert sum(map(len, system.texts.values())) > 20_000 and filled >= (
        1000 if name == "haystack-auto-merging" else 4000
    )  # its BM25 drops what shares no word
    assert system.unmapped == 0 and system.llm_calls == 0 and system.name == name and system.settings["top_k"] >= 2


@pytest.mark.parametrize("name", PEERS)
def test_peer_on_repeated_sentences(name: str, on_repeated: Callable[[str], PeerSystem]) -> None:
    system = on_repeated(name)
    check(system, QUESTION)
    check(system, "삭제. 낸다. Yes")
    assert system.unmapped == 0 and all(
        p.span and (p.span.of(system.texts[p.doc_id]).split() == p.text.split()) for p in system.pieces.values())
    for doc_id, text in system.texts.items():   # what a splitter cut is the whole document: no piece is on top of another
        inside = set().union(*(range(p.span.start, p.span.end) for p in system.pieces.values() if p.doc_id == doc_id))
        assert not [i for i, c in enumerate(text) if not c.isspace() and i not in inside]


def rounded(passage: Passage) -> float | None:
    """The score as far as two programs can agree: those that are equal have no order."""
    return None if passage.score is None else round(passage.score, 9)


@pytest.mark.parametrize("name", PEERS)
def test_faster_stores_give_the_results_of_the_librarys_own(name: str, model: NgramEmbedding, monkeypatch) -> None:
    words = "연차휴가 급여 신청서 휴직 정규직 직원 출근 근무 시간 수당 leave pay form office".split()
    draw = random.Random(0)  # no two sentences alike: equal ones are ordered as a store happens to
    few = [Document(text=" ".join(f"{' '.join(draw.choices(words, k=9))} {n}{i}번이다." for i in range(40)), id_=f"d{n}") for n in range(4)]
    fast = build_peer(name, few, model, **SMALL[name])
    monkeypatch.setattr(peers, "_MatrixStore", SimpleVectorStore)
    monkeypatch.setattr(peers, "_indexed", lambda store: store.filter_documents)
    shipped = build_peer(name, few, model, **SMALL[name])
    for question in (QUESTION, "신청서는 언제 내나요?", "leave pay"):
        ours, theirs = (s.rank(question).passages for s in (fast, shipped))
        assert [sorted(p.id for p in same) for _, same in groupby(ours, rounded)] == [
            sorted(p.id for p in same) for _, same in groupby(theirs, rounded)]
        assert [p.score for p in ours] == pytest.approx([p.score for p in theirs], abs=1e-9)
    assert fast.reads == shipped.reads


@pytest.mark.parametrize("name", PEERS)
def test_one_short_document(name: str, model: NgramEmbedding) -> None:
    system = build_peer(name, [Document(text="연차휴가는 15일이다.", id_="d"), Document(text=" \n", id_="blank")], model)
    assert [p.id for p in system.rank("연차휴가는 며칠?").passages][:1] in (["d@0-12"], []) and list(system.texts) == ["d"]


def test_metadata_that_is_not_to_be_embedded_is_not(model: NgramEmbedding) -> None:
    seen = []

    class Spy(NgramEmbedding):
        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            seen.extend(texts)
            return super()._get_text_embeddings(texts)

    spy = Spy(dims=64).fit(["휴가"])
    document = Document(text="연차휴가", id_="d", metadata={"title": "휴가규정", "page_starts": [0]}, excluded_embed_metadata_keys=["page_starts"])
    build_peer("llamaindex-vector", [document], spy)
    assert "휴가규정" in seen[0] and "page_starts" not in seen[0]


# --- as documented, and at its best
BODY = "신청은 총무팀에 하고, 사흘 안에 답을 받는다. 서류는 두 부를 낸다."


def titled(*titles: str) -> list[Document]:
    """The same text under different titles, hidden as ragnb's readers hide them."""
    hidden = {"excluded_embed_metadata_keys": ["title"], "excluded_llm_metadata_keys": ["title"]}
    return [Document(text=BODY, id_=f"d{i}", metadata={"title": t}, **hidden) for i, t in enumerate(titles)]


def searching(name: str) -> list[str]:
    """The peer with each retriever that it takes, and words wherever it takes them."""
    kinds = {"autorag": ("bm25", "vector", "hybrid-rrf", "hybrid-cc")}.get(name, ("bm25", "vector", "hybrid"))
    takes = PEERS[name].settings
    out = []
    for kind in kinds if "retriever" in takes else [""]:
        words = ["words"] if "words" in takes and kind != "vector" else []
        out.append(",".join([*([f"retriever={kind}"] if kind else []), *words]))
    return out


@pytest.mark.parametrize("name", PEERS)
def test_a_title_is_seen_at_its_best_and_not_as_documented(name: str) -> None:
    """A question that only a title answers, with each title in each place: BM25, vectors and fusion all find it."""
    names = "주차권 안내", "명함 안내", "회의실 안내"
    model = NgramEmbedding(dims=64).fit([f"{t} {BODY}" for t in names])
    unseen = []
    for turn in range(3):
        pair = titled(*names[turn:], *names[:turn])
        for how in searching(name):
            found = build_peer(f"{name}:titles{',' if how else ''}{how}", pair, model).rank("명함은 어디에 신청하나요?")
            unseen += [(turn, how)] if found.passages[0].doc_id != f"d{(1 - turn) % 3}" else []
    assert not unseen
    if name != "dsrag-segments":   # its own documentation puts titles over chunks
        plain = [[(p.id, p.score) for p in build_peer(name, titled(*t), model).rank("명함은 어디에 신청하나요?").passages]
                 for t in (names, names[::-1])]
        assert plain[0] == plain[1], "a title is read that the documented line hides"


@pytest.mark.parametrize("name", [n for n, p in PEERS.items() if "words" in p.settings])
def test_words_read_korean_without_particles(name: str) -> None:
    """"급여" is in one text as "급여가": a peer with `words` finds it by BM25; vectors know nothing here."""
    texts = "휴가를 신청한다. 여급이 급히 온다.", "급여가 오른다. 여비도 오른다.", "출장을 간다. 급한 여행이다."
    documents = [Document(text=t, id_=f"d{i}") for i, t in enumerate(texts)]
    model = NgramEmbedding(dims=32).fit(["아무 글"])
    only = "" if "retriever" not in PEERS[name].settings else ",retriever=bm25"
    spec = f"{name}:words{only}" + (",minimum=0.1" if name == "dsrag-segments" else "")
    for i, question in enumerate(("휴가는?", "급여는?", "출장은?")):
        best, *_ = found = build_peer(spec, documents, model).rank(question).passages
        if name == "llamaindex-fusion":   # half of its score is of the vectors
            plain = {p.doc_id: p.score for p in build_peer(name, documents, model).rank(question).passages}
            assert {p.doc_id: p.score for p in found}[f"d{i}"] >= max(plain.values()) - 1e-9 > 0
        else:
            assert best.doc_id == f"d{i}", (spec, question)


@pytest.mark.parametrize("name", PEERS)
def test_all_that_is_tried_of_a_peer_runs(name: str, documents: list[Document], model: NgramEmbedding) -> None:
    """Thirteen different lines, the documented one first; each is the same on every run, and places what it returns."""
    specs = PEERS[name].specs
    assert specs[0] == name and len(set(specs)) == 13
    few = [Document(text=d.text[:2500], id_=d.id_, metadata={"title": d.id_}) for d in documents[:3]]
    for spec in specs:
        first, second = (build_peer(spec, few, model) for _ in range(2))
        check(first, QUESTION)
        assert first.unmapped == 0, spec
        assert [p.id for p in first.rank(QUESTION).passages] == [p.id for p in second.rank(QUESTION).passages], spec


@pytest.mark.parametrize(("spec", "said"), [
    ("llamaindex-fusin", "llamaindex-fusion"), ("llamaindex-fusion:titels", "titles"),
    ("llamaindex-fusion:title,words", "titles"), ("llamaindex-fusion:words=yes", "words"),
    ("llamaindex-fusion:titles+words", "words"), ("llamaindex-fusion:128", "chunk_size"),
    ("llamaindex-fusion:chunk_size", "chunk_size=…"), ("llamaindex-vector:words", "titles"),
    ("chonkie-token:words", "chunker"), ("haystack-auto-merging:window_size=2", "block_sizes")])
def test_bad_spellings_are_one_line_with_the_valid_names(spec: str, said: str) -> None:
    """Both where a peer is read and where a whole run is, before anything is indexed."""
    for read in (parse_peer, lambda s: resolve_strategies(["bm25", f"peer:{s}"])):
        with pytest.raises(InputError) as error:
            read(spec)
        assert said in str(error.value).partition(spec)[2] and spec in str(error.value) and "\n" not in str(error.value)


# --- settings
def test_specs_and_settings(documents: list[Document], model: NgramEmbedding) -> None:
    system = build_peer("llamaindex-bm25:chunk_size=64,chunk_overlap=8,top_k=3", documents[:3])
    assert system.settings == {"chunk_size": 64, "chunk_overlap": 8, "top_k": 3} and len(system.rank(QUESTION).passages) == 3
    assert system.name == "llamaindex-bm25:chunk_size=64,chunk_overlap=8,top_k=3"
    assert build_peer("llamaindex-bm25", documents[:3], top_k=10**6).settings["top_k"] == len(
        build_peer("llamaindex-bm25", documents[:3]).pieces)


@pytest.mark.parametrize(("name", "settings", "message"), [
    ("bm25", {}, "not a peer"), ("llamaindex-bm25:chunk_size", {}, "not a peer"),
    ("llamaindex-bm25", {"size": 3}, "no setting 'size'"),
    ("llamaindex-bm25", {"top_k": 0}, "top_k must be >= 1"), ("llamaindex-bm25", {"chunk_size": 64}, "overlap"),
    ("llamaindex-bm25", {"chunk_size": 0}, "chunk_size"), ("llamaindex-vector", {}, "embed_model"),
    ("haystack-auto-merging", {"block_sizes": []}, "block_sizes"),
    ("haystack-sentence-window", {"window_size": 0}, "window_size"),
    ("chonkie-token", {"chunk_size": 5, "chunk_overlap": 5}, "chunk_overlap"),
    ("chonkie-token", {"retriever": "grep"}, "retriever must be"),
    ("llamaindex-prev-next", {"mode": "sideways"}, "embed_model"), ("llamaindex-bm25", {"fill": 0}, "fill"),
    ("llamaindex-sentence-window:words", {}, "retriever=hybrid"), ("llamaindex-prev-next:retriever=hybird", {}, "hybrid"),
    ("haystack-sentence-window:retriever=hybird", {}, "hybrid"), ("haystack-auto-merging:retriever=vector,words", {}, "retriever=hybrid"),
    ("autorag:retriever=hybrid", {}, "hybrid-rrf"), ("dsrag-segments:retriever=rrf", {}, "hybrid"), ("llamaindex-fusion", {"titles": "no"}, "titles"),
])
def test_wrong_settings_are_named(name: str, settings: dict, message: str, model: NgramEmbedding) -> None:
    with pytest.raises(InputError, match=message):
        build_peer(name, [Document(text=REPEATED, id_="d")], None if message == "embed_model" else model, **settings)


def test_wrong_documents_are_named() -> None:
    with pytest.raises(DuplicateIdError, match="'d'"):
        build_peer("llamaindex-bm25", [Document(text="가", id_="d"), Document(text="나", id_="d")])


@pytest.mark.parametrize(("name", "module", "library"), [
    ("llamaindex-bm25", "llama_index.retrievers.bm25", "llama-index-retrievers-bm25"),
    ("llamaindex-fusion", "llama_index.retrievers.bm25", "llama-index-retrievers-bm25"),
    ("haystack-sentence-window", "haystack", "haystack-ai"), ("haystack-auto-merging", "haystack", "haystack-ai"),
    ("chonkie-token", "chonkie", "chonkie")])
def test_a_library_that_is_absent_is_named(
    name: str, module: str, library: str, model: NgramEmbedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    for loaded in [m for m in sys.modules if m.startswith(module + ".")]:
        monkeypatch.setitem(sys.modules, loaded, None)
    with pytest.raises(InputError, match=rf"needs {library}.*\[peers\]"):
        build_peer(name, [Document(text=REPEATED, id_="d")], model)


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("question", ["?!", "a", "없는낱말 qwxz", "<|endoftext|>", "가" * 3000])
def test_odd_questions(name: str, question: str, on_repeated: Callable[[str], PeerSystem]) -> None:
    check(on_repeated(name), question)
