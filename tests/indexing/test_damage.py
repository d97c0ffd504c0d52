"""Flip bytes, zero pages and cut the file of an index: every answer is the same, or one line of error."""
from __future__ import annotations

import gc
import random
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from strategies import SLOW

from ragnb import Index, IndexMismatchError, Pipeline, RagnbError, update_index
from ragnb.documents import text as texts
from ragnb.documents.text import TextMemo
from ragnb.retrieval.sqlite_units import Database, SqliteUnits

WORDS = "연차 병가 반차 휴가 출장 숙박 회의 진단서 한도 규정 신청 승인 교육 급여".split()
QUESTIONS = "연차 휴가 신청", "출장 숙박 한도", "병가 진단서 승인", "무급 교육"
PAGE = 4_096


@pytest.fixture(autouse=True, scope="module")
def quick() -> Iterator[None]:
    """Words are what stands between blanks: loading the analyser would be most of a run."""
    plain = TextMemo(lambda given: (texts.Analysis([0], tuple(text.split())) for text in given))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "analysed", plain)
        yield


def answers(place: Path) -> list[object]:
    """What an index that is opened anew answers."""
    pipeline = Pipeline.from_index(Index.open(place), budget=400)
    found = map(pipeline.ask, QUESTIONS)
    return [([(p.doc_id, p.text) for p in answer.passages], answer.context.text, answer.context.notes) for answer in found]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[object]]:
    """The file of an index that was updated, and what it answers."""
    draw, base = random.Random(3), tmp_path_factory.mktemp("whole")
    source = base / "docs"
    source.mkdir()
    for turn in range(2):
        for n in range(10):
            if n % 2 or not turn:
                sentences = (f"{draw.choice(WORDS)} {draw.choice(WORDS)}은 {draw.randrange(90)}일이다." for _ in range(20 + 5 * n))
                (source / f"{n}.md").write_text(f"# 문서 {n}\n\n{' '.join(sentences)}\n", encoding="utf-8")
        update_index(source, base / "index", show_progress=False)
    gc.collect()
    wanted = answers(base / "index")
    gc.collect()
    gc.freeze()     # hundreds of collections follow; none looks through what other tests have loaded
    return (base / "index" / "index.db").read_bytes(), wanted


@pytest.fixture
def whole(made: tuple[bytes, list[object]], tmp_path: Path) -> tuple[bytes, list[object], Path]:
    """The same, and a folder for a damaged copy."""
    (tmp_path / "damaged").mkdir()
    return (*made, tmp_path / "damaged")


def damages(data: bytes, n: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Name a damage, and the file with it: three flipped bits for each cut and each page of zeros."""
    draw = random.Random(seed)
    for number in range(n):
        spoiled = bytearray(data)
        if number % 5 == 0:
            place = draw.randrange(len(data))
            yield f"cut at {place}", data[:place]
        elif number % 5 == 1:
            page = draw.randrange(len(data) // PAGE)
            spoiled[page * PAGE:(page + 1) * PAGE] = bytes(PAGE)
            yield f"zeros in page {page}", bytes(spoiled)
        else:
            place, bit = draw.randrange(len(data)), draw.randrange(8)
            spoiled[place] ^= 1 << bit
            yield f"bit {bit} of {place}", bytes(spoiled)


def outcome(place: Path, data: bytes, wanted: list[object]) -> str:
    """Ask a file: the same, a line, or what is wrong."""
    for file in place.glob("index.db*"):
        file.unlink()
    (place / "index.db").write_bytes(data)
    try:
        return "same" if answers(place) == wanted else "DIFFERENT"
    except Exception as error:
        one_line = isinstance(error, RagnbError) and "\n" not in str(error) and str(place) in str(error)
        return "line" if one_line else f"RAISED {error!r}"
    finally:
        gc.collect()


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(5 if SLOW else 1))
def test_no_damage_changes_an_answer_silently(whole: tuple[bytes, list[object], Path], seed: int) -> None:
    data, wanted, place = whole
    found = {name: outcome(place, spoiled, wanted) for name, spoiled in damages(data, 400, seed)}
    assert {name: how for name, how in found.items() if how not in ("same", "line")} == {}
    assert min(Counter(found.values())[how] for how in ("same", "line")) > 40     # both happen


TABLES = ("about", "document", "part", "block", "vector", "word", "stored", "outline", "chunk", "model", "total", "page",
          "unit_words_data", "unit_words_idx")


def read_all(place: Path) -> None:
    """Read every row that a question can need."""
    index = Index.open(place)
    store, units = index.store, index.store.units
    with store.snapshot():
        outlines = store.get_outlines(index.doc_ids).all()
        store.get_chunks([address for outline in outlines.values() for address in outline.addresses()])
        keys = units.held.keys
        table = units.read(np.stack([keys, keys + 1], axis=1))
        units.texts("name", np.unique(table.part_key[table.part_key >= 0]).tolist())
        for word in units.vocabulary():
            units.holding([word])


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("lost", ["all", "one"])
def test_a_table_without_some_rows_is_noticed(whole: tuple[bytes, list[object], Path], table: str, lost: str) -> None:
    """No checksum of a row notices that a row is not there, and SQLite sees nothing wrong."""
    data, _, place = whole
    (place / "index.db").write_bytes(data)
    db = sqlite3.connect(place / "index.db")
    triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        db.execute(f"DROP TRIGGER {name}")
    key = db.execute(f"PRAGMA table_info({table})").fetchone()[1]
    last = f"(SELECT max({key}) FROM {table})"
    assert db.execute(f"DELETE FROM {table} WHERE {key} {'=' if lost == 'one' else '<='} {last}").rowcount
    for _, sql in triggers:
        db.execute(sql)
    db.commit()
    db.close()
    with pytest.raises(IndexMismatchError, match="damaged.*--force"):
        read_all(place)


def test_an_index_is_opened_without_reading_its_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows that opening reads are as many for ten times the documents."""
    counts = []
    for n in (3, 30):
        source = tmp_path / f"docs{n}"
        source.mkdir()
        for i in range(n):
            (source / f"{i}.md").write_text(f"# 문서 {i}\n\n" + " ".join(f"{word}은 {i}일이다." for word in WORDS), encoding="utf-8")
        update_index(source, tmp_path / f"index{n}", show_progress=False)
        read: list[str] = []
        real = Database.checked
        with monkeypatch.context() as patch:
            patch.setattr(Database, "checked", lambda self, table, rows, to=read: [row for row in real(self, table, rows) if to.append(table) or True])
            Index.open(tmp_path / f"index{n}")
        counts.append(Counter(read))
    assert counts[0] == counts[1] and set(counts[0]) == {"about", "model"}


def test_a_unit_before_the_first_heading_is_no_damage() -> None:
    """Its number of a heading is -1, and no row has it."""
    assert SqliteUnits().texts("name", [-1]) == {}
