"""Peers: other libraries' texts put back at their place, asked as their documentation does it."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from functools import lru_cache
from itertools import groupby
from pathlib import Path

import pytest
from conftest import SAMPLE, shared_data
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.schema import Document
from strategies import PIECES, examples

from ragnb.context.builders import Ranking
from ragnb.models.embedding import NgramEmbedding
from ragnb.evaluation.peers import PEERS, PeerHit, PeerSystem, PeerPiece, align, build_peer, locate, parse_peer
from ragnb.documents.span import DuplicateIdError, InputError, Passage, Span

pytestmark = pytest.mark.heavy  # whole runs of evaluation or indexing

QUESTION = "연차휴가는 며칠인가요?"
SMALL = {  # Settings that make several pieces of a short document
    "llamaindex-bm25": {"chunk_size": 64, "chunk_overlap": 16},
    "llamaindex-vector": {"chunk_size": 64, "chunk_overlap": 16},
    "llamaindex-fusion": {"chunk_size": 64, "chunk_overlap": 16},
    "llamaindex-sentence-window": {},
    "llamaindex-auto-merging": {"chunk_sizes": [256, 96, 32]},
    "llamaindex-prev-next": {"chunk_size": 64, "chunk_overlap": 16},
    "haystack-sentence-window": {},
    "haystack-auto-merging": {"block_sizes": [20, 5]},
    "chonkie-recursive": {"chunk_size": 60},
    "chonkie-sentence": {"chunk_size": 60},
    "chonkie-token": {"chunk_size": 60, "chunk_overlap": 13},
    "chonkie-fast": {"chunk_size": 600},
    "dsrag-segments": {"chunk_size": 60, "minimum": 0.1},
    "autorag": {"chunk_size": 64, "chunk_overlap": 16},
}
REPEATED = (
    "\n".join(f"제{i}조(휴가) 연차휴가는 15일이다. 삭제. 신청서를 낸다. 낸다. 삭제." for i in range(1, 30))
    + "\n\n부칙. 삭제. 삭제.  삭제.\n"
)
ENGLISH = "Leave is 15 days. Yes. " * 12 + "Leave is 16 days in the second year. Yes. No.\n\n\nYes. " * 6


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    paths = sorted(p for p in (SAMPLE / "corpus").rglob("*") if p.suffix in (".md", ".txt"))[::6]
    return [Document(text=p.read_text(encoding="utf-8"), id_=p.relative_to(SAMPLE).as_posix()) for p in paths]


@pytest.fixture(scope="module")
def model(documents: list[Document]) -> NgramEmbedding:
    return NgramEmbedding(dims=64, max_fit=500).fit(
        [line for d in documents for line in d.text.splitlines() if line.strip()]
    )


@pytest.fixture(scope="module")
def repeated() -> list[Document]:
    return [
        Document(text=REPEATED, id_="a"),
        Document(text=REPEATED[::-1] + REPEATED, id_="a/1.0"),
        Document(text=ENGLISH, id_="0"),
        Document(text="삭제.", id_="0.0"),
    ]


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


def test_align_follows_the_order_of_the_document() -> None:
    text = "신청서를 낸다. 낸다. 확인한다. 낸다."
    pieces = ["신청서를 낸다. ", "낸다. ", "확인한다. ", "낸다."]
    assert [text.find(p) for p in pieces] != [s.start for s in align(text, pieces)] == [0, 9, 13, 19]


def test_align_takes_the_chain_that_reaches_the_end() -> None:
    text = "가 가 나 가 가 나 가 가 다"
    assert [s.start for s in align(text, ["가 가 나", "가 가 나", "가 가 다"])] == [0, 6, 12]
    assert [s.start for s in align(text, ["가 가 나 가", "가 가 나 가", "가 가 다"])] == [
        0,
        6,
        12,
    ]  # cut with an overlap of one word
    assert [s.start for s in align("aaaa", ["aa", "aa"])] == [0, 2]


def test_align_goes_on_behind_a_piece_that_is_not_there() -> None:
    text = "하나. 둘. 셋. 둘."
    assert align(text, ["하나.", "없는 글", "둘.", "셋.", "둘."]) == [
        Span(0, 3),
        None,
        Span(4, 6),
        Span(7, 9),
        Span(10, 12),
    ]
    assert align(text, []) == [] and align("", ["가"]) == [None] and align(text, [""]) == [None]


def test_align_of_very_repetitive_text_ends() -> None:
    text = "삭제 " * 2_500
    spans = align(text, [text[i : i + 400].strip() for i in range(0, len(text), 300)])
    assert all(s and s.of(text).startswith("삭제") for s in spans)


def test_locate_takes_the_nearest_place() -> None:
    text = "삭제. 가. 삭제. 나. 삭제."
    starts = [i for i in range(len(text)) if text.startswith("삭제.", i)]
    for near in range(len(text)):
        assert abs(locate(text, "삭제.", near).start - near) == min(abs(s - near) for s in starts)


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        ("가  나\n다", "가 나 다"),
        ("  나   다", "나 다"),
        ("\ufffd나 다\ufffd", "나 다"),
        ("라", None),
        ("", None),
        ("  ", None),
        ("\ufffd", None),
        ("가 나 다", "가 나 다"),
    ],
)
def test_locate_bears_other_white_space_and_broken_edges(piece: str, expected: str | None) -> None:
    text = "가 나 다"
    span = locate(text, piece)
    assert (span and span.of(text)) == expected


@examples(150)
@given(
    st.lists(st.sampled_from(PIECES + ["삭제", "삭제.", "가"]), min_size=1, max_size=30),
    st.lists(st.integers(1, 25), min_size=1, max_size=8),
    st.integers(0, 8),
)
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
        p.span and (p.span.of(system.texts[p.doc_id]).split() == p.text.split()) for p in system.pieces.values()
    )


@pytest.mark.parametrize("name", PEERS)
def test_pieces_cover_each_document(name: str, on_repeated: Callable[[str], PeerSystem]) -> None:
    """What a splitter cut is the whole document: no piece was put on top of another."""
    system = on_repeated(name)
    for doc_id, text in system.texts.items():
        inside = set().union(*(range(p.span.start, p.span.end) for p in system.pieces.values() if p.doc_id == doc_id))
        assert not [i for i, c in enumerate(text) if not c.isspace() and i not in inside]


def rounded(passage: Passage) -> float | None:
    """The score as far as two programs can agree: those that are equal have no order."""
    return None if passage.score is None else round(passage.score, 9)


@pytest.mark.parametrize("name", PEERS)
def test_as_shipped_gives_the_same_results(name: str, model: NgramEmbedding) -> None:
    words = "연차휴가 급여 신청서 휴직 정규직 직원 출근 근무 시간 수당 leave pay form office".split()
    draw = random.Random(0)  # no two sentences alike: equal ones are ordered as a store happens to
    few = [
        Document(text=" ".join(f"{' '.join(draw.choices(words, k=9))} {n}{i}번이다." for i in range(40)), id_=f"d{n}")
        for n in range(4)
    ]
    fast, shipped = (build_peer(name, few, model, as_shipped=flag, **SMALL[name]) for flag in (False, True))
    for question in (QUESTION, "신청서는 언제 내나요?", "leave pay"):
        ours, theirs = (s.rank(question).passages for s in (fast, shipped))
        assert [sorted(p.id for p in same) for _, same in groupby(ours, rounded)] == [sorted(p.id for p in same) for _, same in groupby(theirs, rounded)]
        assert [p.score for p in ours] == pytest.approx([p.score for p in theirs], abs=1e-9)
    assert fast.reads == shipped.reads


def test_peers_are_the_same_on_every_run(documents: list[Document], model: NgramEmbedding) -> None:
    few = [Document(text=d.text[:700], id_=d.id_) for d in documents[:3]]
    for name in PEERS:
        first, second = (
            [p.id for p in build_peer(name, few, model, **SMALL[name]).rank(QUESTION).passages] for _ in range(2)
        )
        assert first == second, name


def test_sentence_window_reads_what_stands_in_the_document(repeated: list[Document], model: NgramEmbedding) -> None:
    system = build_peer("llamaindex-sentence-window", repeated, model, window_size=2)
    passage = system.rank("부칙").passages[0]
    assert (
        "  " in system.pieces[passage.hits[0]].text and passage.text in REPEATED + ENGLISH + REPEATED[::-1] + REPEATED
    )


def test_prev_next_returns_neighbors_without_a_score(documents: list[Document], model: NgramEmbedding) -> None:
    system = build_peer("llamaindex-prev-next", documents, model, top_k=1, **SMALL["llamaindex-prev-next"])
    before = system.reads
    passages = system.rank(QUESTION).passages
    assert 2 <= len(passages) <= 3 and sum(p.score is not None for p in passages) == 1
    assert system.reads - before == len(passages)  # one look-up a node


def test_repeated_characters_stay_repeated(on_sample: Callable[[str], PeerSystem]) -> None:
    passages = on_sample("llamaindex-sentence-window").rank(QUESTION).passages
    distinct = len({(p.doc_id, i) for p in passages for i in range(p.span.start, p.span.end)})
    assert distinct < sum(len(p.span) for p in passages)


def test_text_that_is_nowhere_costs_its_characters() -> None:
    pieces = {"0": PeerPiece("d", "가나.", Span(0, 3)), "1": PeerPiece("d", "다라.", None)}
    found = [PeerHit("1", "다라.", 2.0), PeerHit("0", "바사아.", 1.0), PeerHit("0", "가나.", 0.5)]
    system = PeerSystem("toy", {}, {"d": "가나."}, pieces, lambda question: found, lambda: 0)
    passages = system.rank("?").at(9)
    assert [(p.doc_id, len(p.span)) for p in passages] == [("unmapped:d", 3), ("unmapped:d", 4), ("d", 2)]
    assert system.unmapped == 2 and passages[0].metadata == {"unmapped": True}


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("question", ["?!", "a", "없는낱말 qwxz", "<|endoftext|>", "가" * 3000])
def test_odd_questions(name: str, question: str, on_repeated: Callable[[str], PeerSystem]) -> None:
    check(on_repeated(name), question)


@pytest.mark.parametrize("name", PEERS)
def test_one_short_document(name: str, model: NgramEmbedding) -> None:
    system = build_peer(
        name, [Document(text="연차휴가는 15일이다.", id_="d"), Document(text=" \n", id_="blank")], model
    )
    assert [p.id for p in system.rank("연차휴가는 며칠?").passages][:1] in (["d@0-12"], []) and list(system.texts) == [
        "d"
    ]


def test_metadata_that_is_not_to_be_embedded_is_not(model: NgramEmbedding) -> None:
    seen = []

    class Spy(NgramEmbedding):
        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            seen.extend(texts)
            return super()._get_text_embeddings(texts)

    spy = Spy(dims=64).fit(["휴가"])
    document = Document(
        text="연차휴가",
        id_="d",
        metadata={"title": "휴가규정", "page_starts": [0]},
        excluded_embed_metadata_keys=["page_starts"],
    )
    build_peer("llamaindex-vector", [document], spy)
    assert "휴가규정" in seen[0] and "page_starts" not in seen[0]


# --- settings


def test_specs_and_settings(documents: list[Document], model: NgramEmbedding) -> None:
    assert parse_peer("llamaindex-bm25:chunk_size=64,chunk_overlap=8") == (
        "llamaindex-bm25",
        {"chunk_size": 64, "chunk_overlap": 8},
    )
    system = build_peer("llamaindex-bm25:chunk_size=64,chunk_overlap=8,top_k=3", documents[:3])
    assert (
        system.settings == {"chunk_size": 64, "chunk_overlap": 8, "top_k": 3}
        and len(system.rank(QUESTION).passages) == 3
    )
    assert system.name == "llamaindex-bm25:chunk_size=64,chunk_overlap=8,top_k=3"
    assert build_peer("llamaindex-bm25", documents[:3], top_k=10**6).settings["top_k"] == len(
        build_peer("llamaindex-bm25", documents[:3]).pieces
    )


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("bm25", {}, "not a peer"),
        ("llamaindex-bm25:chunk_size", {}, "not a peer"),
        ("llamaindex-bm25", {"size": 3}, "no setting 'size'"),
        ("llamaindex-bm25", {"top_k": 0}, "top_k must be >= 1"),
        ("llamaindex-bm25", {"chunk_size": 64}, "overlap"),
        ("llamaindex-bm25", {"chunk_size": 0}, "chunk_size"),
        ("llamaindex-vector", {}, "embed_model"),
        ("haystack-auto-merging", {"block_sizes": []}, "block_sizes"),
        ("haystack-sentence-window", {"window_size": 0}, "window_size"),
        ("chonkie-token", {"chunk_size": 5, "chunk_overlap": 5}, "chunk_overlap"),
        ("chonkie-token", {"retriever": "grep"}, "retriever must be"),
        ("llamaindex-prev-next", {"mode": "sideways"}, "embed_model"),
        ("llamaindex-bm25", {"fill": 0}, "fill"),
    ],
)
def test_wrong_settings_are_named(name: str, settings: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        build_peer(name, [Document(text=REPEATED, id_="d")], **settings)


def test_wrong_documents_are_named() -> None:
    with pytest.raises(DuplicateIdError, match="'d'"):
        build_peer("llamaindex-bm25", [Document(text="가", id_="d"), Document(text="나", id_="d")])
    with pytest.raises(InputError, match="at least one document"):
        build_peer("llamaindex-bm25", [])


@pytest.mark.parametrize(
    ("name", "module", "library"),
    [
        ("llamaindex-bm25", "llama_index.retrievers.bm25", "llama-index-retrievers-bm25"),
        ("llamaindex-fusion", "llama_index.retrievers.bm25", "llama-index-retrievers-bm25"),
        ("haystack-sentence-window", "haystack", "haystack-ai"),
        ("haystack-auto-merging", "haystack", "haystack-ai"),
        ("chonkie-token", "chonkie", "chonkie"),
    ],
)
def test_a_library_that_is_absent_is_named(
    name: str, module: str, library: str, model: NgramEmbedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    for loaded in [m for m in sys.modules if m.startswith(module + ".")]:
        monkeypatch.setitem(sys.modules, loaded, None)
    with pytest.raises(InputError, match=rf"needs {library}.*ragnb\[peers\]"):
        build_peer(name, [Document(text=REPEATED, id_="d")], model)


def test_every_peer_says_what_it_is() -> None:
    for name, peer in PEERS.items():
        assert peer.name == name and peer.library and peer.topic and peer.description and "top_k" in peer.settings
        assert name in SMALL and SMALL[name].keys() <= peer.settings.keys()


def test_evaluation_data(model: NgramEmbedding) -> None:
    import json

    folder: Path = shared_data("ko_statutes")
    row = json.loads((folder / "corpus.jsonl").open(encoding="utf-8").readline())
    document = Document(text=row["text"][:12_000], id_=row["doc_id"])
    for name in (
        "llamaindex-sentence-window",
        "llamaindex-auto-merging",
        "haystack-sentence-window",
        "chonkie-recursive",
    ):
        system = build_peer(name, [document], model)
        check(system, "제5조는 무엇을 정하는가?")
        assert system.unmapped == 0 and all(p.span for p in system.pieces.values())
