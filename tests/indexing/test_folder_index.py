"""Opening an index: what does not fit is refused, damage is named, other folders are left alone."""
from __future__ import annotations

import gc
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from helpers_ingest import ToyEmbedding, many, state, text_of, update, write

from ragnb.documents.span import IndexMismatchError, InputError, RagnbError
from ragnb.indexing.folder_index import Index
from ragnb.indexing.update import update_index
from ragnb.models.embedding import NgramEmbedding
from ragnb.pipeline.pipeline import Pipeline


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
        if "DROP" not in statements[0]:    # that is seen by the checksum
            (folder / "index.sum").unlink()     # as if no checksum had been written
    return spoil


def _bytes(change):
    def spoil(folder: Path) -> None:
        data = (folder / "index.db").read_bytes()
        (folder / "index.db").write_bytes(change(data))
    return spoil


DAMAGE = {
    "cut": _bytes(lambda data: data[:20_000]), "empty": _bytes(lambda data: b""),
    "noise": _bytes(lambda data: b"\xff\xfe\0" * 1_000),
    "a bit": _bytes(lambda data: data[:-100] + bytes([data[-100] ^ 1]) + data[-99:]),
    "no table": _sql("DROP TABLE chunk"), "no units": _sql("DROP TABLE block"),
    "list": _sql("UPDATE about SET value = '[]' WHERE key = 'manifest'"),
    "format": _sql("""UPDATE about SET value = '{"format": 99}' WHERE key = 'manifest'"""),
    "key": _sql("""UPDATE about SET value = json_set(value, '$.unknown', 1) WHERE key = 'manifest'"""),
    "parser": _sql("""UPDATE about SET value = json_set(value, '$.parser', json('{"child_size": 200}')) WHERE key = 'manifest'"""),
    "settings": _sql("""UPDATE about SET value = json_set(value, '$.parser.max_size', -1) WHERE key = 'manifest'"""),
    "entry": _sql("UPDATE entry SET told = 'x'"), "no embedding": _sql("DELETE FROM model"),
    "earlier": lambda f: [(f / "index.db").unlink(), (f / "manifest.json").write_text("{}")],
}


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
    for call in (lambda: Index.open(tmp_path / "i"), lambda: update_index(source, tmp_path / "i", show_progress=False)):
        with pytest.raises(IndexMismatchError, match="--force|pass `parser`"):
            call()
    assert (source / "a.md").exists()
    index, counts, _ = update(source, tmp_path / "i", "ngram", force=True)
    assert counts == (1, 0, 0, 0) and state(index) == wanted
