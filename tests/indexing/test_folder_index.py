"""Opening an index: what does not fit is refused, damage is named, other folders are left alone."""
from __future__ import annotations

import gc
import shutil
import sqlite3
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from helpers_ingest import many, state, text_of, ToyEmbedding, update, write

from ragnb import (
    Index, IndexMismatchError, InputError, NgramEmbedding, Pipeline, RagnbError, read_documents, update_index)
from ragnb.evaluation.datasets import find_quote
from ragnb.indexing.folder_index import ReadLater
from ragnb.indexing.writing import drop_index


def test_another_embedding_or_splitter_is_refused_with_the_way_out(tmp_path):
    source = write(tmp_path / "s", {"a.md": text_of(1)})
    index, _, _ = update(source, tmp_path / "i", "ngram")
    before = state(index)
    for options, message in [
        ({"embed": "ollama:nomic"}, "ngram:ragnb-ngram, not ollama:nomic"),
        ({"embed": ToyEmbedding(embed_dim=32)}, "not object:ToyEmbedding"), ({"embed": "ngram"}, None),
        ({"embed": NgramEmbedding(dims=32)}, "other parameters"),
        ({"parser": "sentence"}, "split by.*not.*SentenceWindowNodeParser"),
        ({"parser": "parent-child:700/0,100/0"}, "700"),
    ]:
        if message is None:
            update_index(source, tmp_path / "i", show_progress=False, **options)
            continue
        for call in (lambda: update_index(source, tmp_path / "i", show_progress=False, **options),
                     lambda: Index.open(tmp_path / "i", **options)):
            with pytest.raises(IndexMismatchError, match=message) as error:
                call()
            assert "--force" in str(error.value) and "--index" in str(error.value)
    assert state(Index.open(tmp_path / "i")) == before
    for bad in ({"embed": "word2vec"}, {"parser": "paragraph"}, {"parser": "parent-child:10/20,5/0"}):
        with pytest.raises(ValueError):
            update_index(source, tmp_path / "j", show_progress=False, **bad)
        assert not (tmp_path / "j").exists()


def test_an_embedding_of_your_own(tmp_path):
    source = write(tmp_path / "s", {"a.md": text_of(1)})
    update(source, tmp_path / "i")
    with pytest.raises(IndexMismatchError, match="ToyEmbedding"):
        Index.open(tmp_path / "i")
    given = NgramEmbedding(dims=16, n_columns=256).fit(["연차 휴가", "병가", "출장"])
    index, _, _ = update(source, tmp_path / "j", given)
    assert (
        index.manifest.fitted_on == 0 and index.manifest.embedding == given.describe()
    )  # fitted already: used as it is
    unfitted = NgramEmbedding(dims=16, n_columns=256)
    for _ in range(2):  # the same call again works, and leaves the object alone
        index, counts, _ = update(source, tmp_path / "k", unfitted)
        with pytest.raises(RagnbError, match="not fitted"):
            unfitted.describe()
    assert counts == (0, 0, 0, 1)


@pytest.mark.heavy
def test_what_is_read_later_is_read_once_and_is_a_mapping():
    reads = []
    later = ReadLater(lambda: reads.append(1) or {"a.md": 1, "b.md": 2})
    assert reads == []
    assert (len(later), list(later), later["b.md"], "c.md" in later) == (2, ["a.md", "b.md"], 2, False) and reads == [1]


def test_how_many_documents_a_deletion_takes_away_is_told_before_it(tmp_path):
    update(write(tmp_path / "s", {f"{n}.md": text_of(n) for n in range(3)}), tmp_path / "index", "ngram")
    asked = []
    told = drop_index(tmp_path / "index", sure=lambda contents: asked.append(contents.documents))
    assert asked == [3] and told.documents == 3 and (tmp_path / "index" / "index.db").is_file()      # not sure: it stays
    drop_index(tmp_path / "index")
    assert not (tmp_path / "index").exists()


def test_two_readers_at_once(tmp_path):
    update(write(tmp_path / "s", {"a.md": text_of(1), "b.md": text_of(2)}), tmp_path / "i", "ngram")
    code = ("import sys; from ragnb import Pipeline; "
            "print(Pipeline.from_index(sys.argv[1]).ask('연차는 며칠인가').passages[0].id)")
    here = Pipeline.from_index(tmp_path / "i")
    other = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "i")], stdout=subprocess.PIPE, text=True)
    want = here.ask("연차는 며칠인가").passages[0].id
    assert (other.communicate(timeout=120)[0].strip(), other.returncode) == (want, 0)
    assert here.ask("연차는 며칠인가").passages[0].id == want


def test_folders_that_are_not_an_index(tmp_path):
    source = many(tmp_path / "s", 1)
    other = write(tmp_path / "other", {"thesis.txt": "mine"})
    for force in (False, True):
        with pytest.raises(InputError, match="not empty and is not an index"):
            update(source, other, force=force)
        with pytest.raises(InputError, match="is a file"):
            update(source, other / "thesis.txt", force=force)
    assert [p.name for p in other.iterdir()] == ["thesis.txt"] and (other / "thesis.txt").read_text() == "mine"
    for missing in (other, tmp_path / "nowhere"):
        with pytest.raises(InputError, match=f"no index in.*{missing.name}.*ragnb index PATH"):
            Index.open(missing)


def _sql(*statements: str):
    def spoil(folder: Path) -> None:
        db = sqlite3.connect(folder / "index.db")
        for statement in statements:
            db.execute(statement)
        db.commit()
        assert db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
        db.close()
    return spoil


def _bytes(change):
    def spoil(folder: Path) -> None:
        data = (folder / "index.db").read_bytes()
        (folder / "index.db").write_bytes(change(data))
    return spoil


DAMAGE = {
    "cut": _bytes(lambda data: data[:20_000]), "empty": _bytes(lambda data: b""),
    "noise": _bytes(lambda data: b"\xff\xfe\0" * 1_000),
    "no table": _sql("DROP TABLE chunk"), "no units": _sql("DROP TABLE block"),
    "list": _sql("UPDATE about SET value = '[]' WHERE key = 'manifest'"),
    "format": _sql("""UPDATE about SET value = '{"format": 99}' WHERE key = 'manifest'"""),
    "key": _sql("""UPDATE about SET value = json_set(value, '$.unknown', 1) WHERE key = 'manifest'"""),
    "parser": _sql("""UPDATE about SET value = json_set(value, '$.parser', json('{"child_size": 200}')) WHERE key = 'manifest'"""),
    "settings": _sql("""UPDATE about SET value = json_set(value, '$.parser.max_size', -1) WHERE key = 'manifest'"""),
    "entry": _sql("UPDATE entry SET told = 'x'"), "no embedding": _sql("DELETE FROM model"),
    "layout": _sql("PRAGMA user_version = 6"), "no total": _sql("DELETE FROM total"),
    "earlier": lambda f: [(f / "index.db").unlink(), (f / "manifest.json").write_text("{}")]}


HOPELESS = "cut", "empty", "noise"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder, an index of it that no connection of this process has open, and what it holds."""
    source = write(tmp_path_factory.mktemp("whole") / "s", {"a.md": text_of(1)})
    index, _, _ = update(source, source.parent / "i", "ngram")
    wanted = state(index)
    del index
    gc.collect()
    return source, source.parent / "i", wanted


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_named_and_force_mends_it(whole, tmp_path, damage):
    source, undamaged, wanted = whole
    shutil.copytree(undamaged, tmp_path / "i")
    DAMAGE[damage](tmp_path / "i")
    for call in (lambda: Index.open(tmp_path / "i").doc_ids, lambda: update_index(source, tmp_path / "i", show_progress=False)):
        with pytest.raises(IndexMismatchError, match="--force|pass `parser`"):
            call()
    assert (source / "a.md").exists()
    if damage in HOPELESS:      # the patterns are lost with it
        with pytest.raises(InputError, match="--include none --exclude none"):
            update_index(source, tmp_path / "i", force=True, show_progress=False)
    index, counts, _ = update(source, tmp_path / "i", "ngram", force=True, include=(), exclude=())
    assert counts == (1, 0, 0, 0) and state(index) == wanted


FILES = {"인사/휴가규정.md": "---\n부서: 인사 팀\ntitle: 휴가 규정\n---\n# 휴가 규정\n\n" + "".join(
             f"제{i}조({name}) {name}는 {i + 3}일이며, {name} 신청서를 미리 낸다.\n\n"
             for i, name in enumerate("목적 연차휴가 경조휴가 병가 출산휴가 보상휴가 공가".split(), 1)),
         "설비/세정장비.md": "# 세정장비 점검\n\n배기 압력이 기준보다 낮으면 경보가 울린다. TR-7 조정은 분기마다 한다.\n\n진공펌프는 매월 점검한다.\n",
         "설비/냉각기.md": "# 냉각기 점검\n\n냉각수는 매주 갈아 준다.\n"}
PIPELINES: dict[tuple[int, str], Pipeline] = {}
QUESTIONS = ["휴가 규정 제3조", "휴가규정 3조는?", "진공펌프 점검 주기"]


def nfd(text: str) -> str:
    """The form in which macOS writes Hangul."""
    return unicodedata.normalize("NFD", text)


@pytest.fixture(scope="module")
def indexes(tmp_path_factory) -> tuple[Index, Index]:
    """The same folder as it is typed, and as a Mac stores it."""
    base = tmp_path_factory.mktemp("forms")
    write(base / "plain", FILES)
    write(base / "mac", {nfd(name): nfd(text.replace("인사 팀", "인사\xa0팀")) for name, text in FILES.items()})
    return tuple(update_index(base / name, base / f"{name}-index", show_progress=False)[0] for name in ("plain", "mac"))


def found(index: Index, question: str, **options: object) -> list[tuple[str, str]]:
    """Documents and the places that are read, best first, and what the answer notes."""
    key = id(index), str(options)
    pipeline = PIPELINES[key] = PIPELINES.get(key) or Pipeline.from_index(index, **options)
    answer = pipeline.ask(question)
    return [(p.doc_id, unicodedata.normalize("NFC", p.text).replace("\xa0", " ")) for p in answer.passages]


@pytest.mark.heavy
@pytest.mark.parametrize("ask", [str, nfd, lambda q: q.replace(" ", "\xa0"), lambda q: q.replace(" ", " \u200b")])
def test_a_question_finds_the_same_in_every_form(indexes, ask):
    plain, mac = indexes
    for question in QUESTIONS:
        wanted = found(plain, question)
        assert wanted and found(plain, ask(question)) == wanted
        assert found(mac, ask(question))[0][0] == wanted[0][0]


@pytest.mark.shed
def test_an_article_is_found_by_its_number_in_a_mac_folder(indexes):
    for index in indexes:
        holding, = (h for h in index.catalogue.parts["laws"].holdings.values() if h.spans)
        assert holding.names == ["휴가 규정"] and len(holding.titles) == 7
        assert found(index, nfd("휴가규정 제3조"))[0][1].startswith("제3조(경조휴가)")


@pytest.mark.parametrize("where", ["folder=설비", "부서=인사 팀", "doc_id=설비/냉각기.md", "file_name in 설비/냉각기.md,x"])
def test_filters_in_every_form(indexes, where):
    names = [{doc for doc, _ in found(index, "점검 휴가", where=form)}
             for index in indexes for form in (where, nfd(where), where.replace("사 팀", "사\xa0팀"))]
    assert names[0] and all(other == names[0] for other in names)


@pytest.mark.shed
def test_ids_and_metadata_are_as_they_are_typed(indexes, tmp_path: Path):
    plain, mac = indexes
    assert sorted(plain.catalogue.parts["laws"].holdings) == sorted(mac.catalogue.parts["laws"].holdings)
    (tmp_path / nfd("규정.md")).write_text(nfd("연차는 15일이다."), encoding="utf-8")
    document, = read_documents(tmp_path, [])
    assert document.id_ == document.metadata["file_name"] == "규정.md"
    assert document.text == "연차는 15일이다."                   # composed, so that a budget and a quote count letters
    assert find_quote(document.text, "15일").of(document.text) == "15일"
