"""Opening an index: what does not fit is refused, damage is named, other folders are left alone."""
from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers_ingest import ToyEmbedding, fresh, many, state, text_of, update, write

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
        ({"embed": ToyEmbedding(embed_dim=32)}, "not object:ToyEmbedding"),
        ({"embed": "ngram"}, None),
        ({"embed": NgramEmbedding(dims=32)}, "other parameters"),
        ({"parser": "sentence"}, "split by.*not.*SentenceWindowNodeParser"),
        ({"parser": "parent-child:700/0,100/0"}, "700"),
    ]:
        if message is None:
            update_index(source, tmp_path / "i", show_progress=False, **options)
            continue
        for call in (
            lambda: update_index(source, tmp_path / "i", show_progress=False, **options),
            lambda: Index.open(tmp_path / "i", **options),
        ):
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
    code = (
        "import sys; from ragnb import Pipeline; "
        "print(Pipeline.from_index(sys.argv[1]).ask('연차는 며칠인가').passages[0].id)"
    )
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


def _spoil_json(**changes: object):
    def spoil(folder: Path) -> None:
        path = folder / "manifest.json"
        path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")
    return spoil


DAMAGE = {
    "cut": lambda f: (f / "manifest.json").write_bytes((f / "manifest.json").read_bytes()[:100]),
    "empty": lambda f: (f / "manifest.json").write_bytes(b""),
    "bytes": lambda f: (f / "manifest.json").write_bytes(b"\xff\xfe\0"),
    "list": lambda f: (f / "manifest.json").write_text("[]"),
    "format": _spoil_json(format=99),
    "key": _spoil_json(unknown=1),
    "documents": _spoil_json(documents=[]),
    "entry": _spoil_json(documents={"a": {"hash": 1}}),
    "outside": _spoil_json(chroma_folder="../s"),
    "parser": _spoil_json(parser={"child_size": 200}),
    "settings": _spoil_json(parser={"splitter": "ParentChildNodeParser", "child_size": -1}),
    "no bm25": lambda f: [shutil.rmtree(p) for p in f.glob("bm25-*")],
    "no chroma": lambda f: [shutil.rmtree(p) for p in f.glob("chroma-*")],
    "no embedding": lambda f: [shutil.rmtree(p) for p in f.glob("embedding-*")],
}


@pytest.mark.heavy
@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_named_and_force_mends_it(tmp_path, damage):
    source = write(tmp_path / "s", {"a.md": text_of(1)})
    update(source, tmp_path / "i", "ngram")
    DAMAGE[damage](tmp_path / "i")
    for call in (lambda: Index.open(tmp_path / "i"), lambda: update_index(source, tmp_path / "i", show_progress=False)):
        with pytest.raises(IndexMismatchError, match="--force|pass `parser`"):
            call()
    assert (tmp_path / "s/a.md").exists()
    index, counts, _ = update(source, tmp_path / "i", "ngram", force=True)
    assert counts == (1, 0, 0, 0) and state(index) == fresh(source, tmp_path / "j", "ngram")
