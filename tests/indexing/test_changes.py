"""Documents taken out or moved, an older format, a folder that cannot be written, a full disk: nothing is lost."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from helpers_ingest import ToyEmbedding, many, plain_words, state, text_of, update, vectors, write
from table_texts import TEXTS

from ragnb.cli import main
from ragnb.documents.span import InputError
from ragnb.retrieval.unit_vectors import from_codes
from ragnb.indexing.folder_index import FORMAT, Index
from ragnb.indexing.update import remove_documents, update_index
from ragnb.models.embedding import NgramEmbedding
from ragnb.models.scripted import ScriptedLLM
from ragnb.storage.store import MemoryStore

HERE = Path(__file__).resolve().parent


def toy(folder: Path) -> Index:
    return Index.open(folder, ToyEmbedding(embed_dim=32))


# --- taken out, moved -------------------------------------------------------------------------------------------------


def test_a_removed_document_leaves_every_part(tmp_path, monkeypatch):
    parser = plain_words(monkeypatch.setattr)
    source = write(tmp_path / "s", {f"{i}.md": text_of(i) for i in range(4)})
    index, _, _ = update(source, tmp_path / "i", parser=parser)
    before = state(index)
    for ids in (["1.md", "nowhere"], ["nowhere"]):
        with pytest.raises(InputError, match="no document 'nowhere'.*ragnb ls"):
            index.remove(ids)
    assert state(toy(tmp_path / "i")) == before
    opened = toy(tmp_path / "i")
    index.remove(["1.md", "1.md", "3.md"])
    write(source, {"1.md": None, "3.md": None})
    want = state(update(source, tmp_path / "j", parser=parser)[0])
    assert state(index) == state(toy(tmp_path / "i")) == want and state(opened) == before
    remove_documents([], tmp_path / "i", embed=ToyEmbedding(embed_dim=32))
    write(source, {"1.md": text_of(1)})  # still in its folder: it comes back
    assert update(source, tmp_path / "i")[1] == (1, 0, 0, 2)
    with pytest.raises(InputError, match="no index"):
        remove_documents(["a"], tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_remove_from_a_store_of_your_own(tmp_path):
    store = MemoryStore()
    index, _, _ = update(write(tmp_path / "s", {"a.md": text_of(1), "b.md": text_of(2)}), tmp_path / "i", store=store)
    index.remove(["a.md"])
    assert store.doc_ids() == index.doc_ids == ["b.md"] and all(i.startswith("b.md") for i in index.bm25.ids)


def test_a_folder_that_moved_is_not_done_again(tmp_path, monkeypatch):
    parser = plain_words(monkeypatch.setattr)
    source = write(tmp_path / "one", {f"{i}.md": text_of(i) for i in range(4)})
    update(source, tmp_path / "i", parser=parser)
    source.rename(tmp_path / "two")
    write(tmp_path / "two", {"0.md": None, "1.md": text_of(9)})  # deleted and edited on the way
    write(tmp_path / "one", {}).mkdir()  # an empty folder is left, as a mount point is
    emb = ToyEmbedding(embed_dim=32)
    index, counts, report = update(tmp_path / "two", tmp_path / "i", emb)
    assert counts == (0, 1, 1, 2) and report.moved == [str(tmp_path / "one")] and not report.problems
    assert state(index) == state(update(tmp_path / "two", tmp_path / "j", parser=parser)[0])
    assert update(tmp_path / "two", tmp_path / "i")[1] == (0, 0, 0, 3)


def test_a_folder_out_of_reach_is_not_taken_for_one_that_moved(tmp_path, monkeypatch):
    parser = plain_words(monkeypatch.setattr)
    one = write(tmp_path / "one", {"README.md": text_of(1), "a.md": text_of(2), "b.md": text_of(3)})
    two = write(tmp_path / "two", {"README.md": text_of(4), "c.md": text_of(5)})
    update(one, tmp_path / "i", parser=parser)
    one.rename(tmp_path / "away")
    index, counts, report = update(two, tmp_path / "i")
    assert counts == (1, 1, 0, 0) and not report.moved
    assert index.doc_ids == ["README.md", "a.md", "b.md", "c.md"]


def test_only_new_text_is_embedded(tmp_path, monkeypatch):
    parser = plain_words(monkeypatch.setattr)
    source = write(tmp_path / "s", {"a.md": text_of(1, 200), "b.md": text_of(2)})
    update(source, tmp_path / "i", parser=parser)
    write(source, {"a.md": text_of(1, 200) + "\n\n" + text_of(7)})
    index, counts, report = update(source, tmp_path / "i")
    searched = sum(i.startswith("a.md") for i in index.bm25.ids)
    assert counts == (0, 1, 0, 1) and searched // 2 < report.vectors_kept < searched
    assert state(index) == state(update(source, tmp_path / "j", parser=parser)[0])


# --- an older format --------------------------------------------------------------------------------------------------


def test_an_index_of_an_older_format_is_upgraded_without_a_model(tmp_path, monkeypatch):
    with zipfile.ZipFile(HERE / "format1.zip") as archive:  # as the version before wrote it, with contexts of a model
        archive.extractall(tmp_path)
    folder, source = tmp_path / "index", write(tmp_path / "docs", {f"{i}.md": text_of(i) for i in range(2)})
    old = Index.open(folder)
    assert old.manifest.format == 1 and old.doc_ids == ["0.md", "1.md"]
    held, answers = vectors(old), old.bm25.top_k(["연차"], 5)
    contexts = {i: n.metadata["context"] for i, n in old.store.get_chunks(held).all().items()}
    size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
    asked = []
    monkeypatch.setattr(NgramEmbedding, "embed", lambda self, texts: asked.append(texts))
    llm = ScriptedLLM(lambda prompt: asked.append(prompt))
    index, report = update_index(source, folder, contexts=llm, show_progress=False)
    assert (report.upgraded, report.moved, asked) == (2, ["/elsewhere/docs"], [])
    assert (report.added, report.changed, report.removed, report.unchanged) == (0, 0, 0, 2)
    for now in (index, Index.open(folder)):
        assert now.manifest.format == FORMAT and vectors(now) == held and now.bm25.top_k(["연차"], 5) == answers
        assert {i: n.metadata["context"] for i, n in now.store.get_chunks(held).all().items()} == contexts
    assert vectors(old) == held  # who has it open goes on reading it
    del old
    again, report = update_index(source, folder, show_progress=False)
    assert report.upgraded == 0 and report.unchanged == 2
    assert sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) < size


def as_format2(folder) -> None:
    """Take from an index what format 2 did not have: the order of the words."""
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"format": 2}))
    for stream in folder.rglob("stream.npy"):
        stream.unlink()


def test_an_index_without_the_order_of_words_is_read_and_upgraded_without_a_model(tmp_path, monkeypatch):
    source = write(tmp_path / "docs", {f"{i}.md": text_of(i) for i in range(3)})
    made, _ = update_index(source, tmp_path / "i", show_progress=False)
    terms = list(made.multiscale.tokenizer([text_of(1)[:30]]))[0]
    whole = made.multiscale.score(terms, candidates=None)
    as_format2(tmp_path / "i")
    old = Index.open(tmp_path / "i")
    assert old.manifest.format == 2 and not old.multiscale.words.counts.ordered
    assert old.multiscale.score(terms, candidates=None).total.max() > 0      # words count, pairs do not
    asked = []
    monkeypatch.setattr(NgramEmbedding, "embed", lambda self, texts: asked.append(texts))
    index, report = update_index(source, tmp_path / "i", show_progress=False)
    assert (report.upgraded, report.unchanged, asked) == (3, 3, [])
    for now in (index, Index.open(tmp_path / "i")):
        found = now.multiscale.score(terms, candidates=None)
        assert now.manifest.format == FORMAT and now.multiscale.words.counts.ordered
        scores = dict(zip(now.multiscale.words.ids, found.words.sum(axis=0)))
        expected = dict(zip(made.multiscale.words.ids, whole.words.sum(axis=0)))
        assert scores == pytest.approx(expected) and vectors(now) == vectors(old)
    assert update_index(source, tmp_path / "i", show_progress=False)[1].upgraded == 0


def as_format3(folder) -> None:
    """Give an index vectors of four bytes a number, as format 3 had them."""
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"format": 3}))
    header = next(folder.glob("multiscale-*/multiscale.json"))
    known = json.loads(header.read_text())
    header.write_text(json.dumps(known | {"version": 2}))
    data = header.parent / known["data"]
    np.save(data / "vectors.npy", from_codes(np.load(data / "codes.npy")))
    (data / "codes.npy").unlink()
    (data / "signs.npy").unlink()


def test_an_index_with_vectors_of_four_bytes_is_read_and_upgraded_without_a_model(tmp_path, monkeypatch):
    source = write(tmp_path / "docs", {f"{i}.md": text_of(i) for i in range(3)})
    made, _ = update_index(source, tmp_path / "i", show_progress=False)
    terms, query = list(made.multiscale.tokenizer(["연차 휴가"]))[0], made.embed_model.get_query_embedding("연차 휴가")
    whole = made.multiscale.score(terms, query, candidates=None)
    as_format3(tmp_path / "i")
    old = Index.open(tmp_path / "i")
    assert old.manifest.format == 3
    assert old.multiscale.score(terms, query, candidates=None).total == pytest.approx(whole.total)
    asked = []
    monkeypatch.setattr(NgramEmbedding, "embed", lambda self, texts: asked.append(texts))
    index, report = update_index(source, tmp_path / "i", show_progress=False)
    assert (report.upgraded, report.unchanged, asked) == (3, 3, [])
    for now in (index, Index.open(tmp_path / "i")):
        assert now.manifest.format == FORMAT and vectors(now) == vectors(old)
        assert now.multiscale.score(terms, query, candidates=None).total == pytest.approx(whole.total)
    assert update_index(source, tmp_path / "i", show_progress=False)[1].upgraded == 0
    newest = tmp_path / "i" / f"multiscale-{index.manifest.generation}"
    assert not list(newest.rglob("vectors.npy")) and len(list(newest.rglob("codes.npy"))) == 1


def format4(tmp_path, write_texts=TEXTS):
    """An index as format 4 had it, its units without headers of tables, and the folder that it came from."""
    with zipfile.ZipFile(HERE / "format4.zip") as archive:
        archive.extractall(tmp_path)
    return tmp_path / "index", write(tmp_path / "docs", write_texts)


def units_of(index: Index) -> dict[str, tuple]:
    """Each unit with its metadata, its vector, its header and its words."""
    held, corpus, counts = vectors(index), index.multiscale.corpus, index.multiscale.words.counts
    nodes, terms = index.store.get_chunks(held).all(), list(counts.vocabulary)
    words = dict(zip(counts.ids, ([terms[t] for t in counts.stream[e - n:e]] for e, n in zip(counts.ends, counts.lengths))))
    return {i: (n.metadata, held[i], corpus.headers[corpus.row_of(i)], words[i]) for i, n in nodes.items()}


def test_an_index_without_headers_of_tables_is_read_and_its_tables_are_split_again(tmp_path, monkeypatch):
    folder, source = format4(tmp_path)
    old = Index.open(folder)
    assert old.manifest.format == 4 and not (old.multiscale.corpus.headers >= 0).any()
    question = old.embed_model.get_query_embedding("의료비 공제 한도")
    assert old.multiscale.score(["공제", "한도"], question).total.max() > 0
    asked, real = [], NgramEmbedding.embed
    monkeypatch.setattr(NgramEmbedding, "embed", lambda self, texts: asked.extend(texts) or real(self, texts))
    index, report = update_index(source, folder, show_progress=False)
    assert (report.upgraded, report.changed, report.unchanged, report.added) == (3, 2, 1, 0)
    rows = [i for i, (metadata, *_) in units_of(index).items() if "table_header" in metadata]
    assert len(asked) == len(rows) > 8 and all("|" in text for text in asked)      # only rows of tables get new vectors
    new, _ = update_index(source, tmp_path / "new", embed=NgramEmbedding(dims=16, n_columns=256, max_fit=64), show_progress=False)
    for now in (index, Index.open(folder)):
        assert now.manifest.format == FORMAT
        found, made = units_of(now), units_of(new)
        assert {i: (unit[0], *unit[2:]) for i, unit in found.items()} == {i: (unit[0], *unit[2:]) for i, unit in made.items()}
        nodes = now.store.get_chunks(found).all()        # its own embedding, which is stored in another precision than a new one
        own = now.embed_model.get_text_embedding_batch([n.get_content(metadata_mode="embed") for n in nodes.values()])
        assert [found[i][1] for i in nodes] == [pytest.approx(vector, abs=1e-3) for vector in own]
    report = update_index(source, folder, show_progress=False)[1]
    assert (report.upgraded, report.unchanged) == (0, 3)


def test_documents_of_another_folder_are_split_again_when_their_folder_is_indexed(tmp_path):
    folder, source = format4(tmp_path)
    other = write(tmp_path / "other", {"more.md": TEXTS["tax.md"]})
    index, _ = update_index(other, folder, show_progress=False)
    with_header = {i.partition("#")[0] for i, (_, _, header, _) in units_of(index).items() if header >= 0}
    assert with_header == {"more.md"} and index.manifest.format == FORMAT
    index, report = update_index(source, folder, show_progress=False)
    assert {i.partition("#")[0] for i, (_, _, header, _) in units_of(index).items() if header >= 0} == {"more.md", "tax.md", "report.md"}


def test_removing_from_an_older_index_upgrades_it_too(tmp_path):
    folder, source = format4(tmp_path)
    index = Index.open(folder)
    index.remove(["report.md"])
    assert index.manifest.format == FORMAT and index.doc_ids == ["leave.md", "tax.md"]
    index, report = update_index(source, folder, show_progress=False)
    assert (report.added, report.changed, report.unchanged) == (1, 1, 1)
    assert {i.partition("#")[0] for i, (_, _, header, _) in units_of(index).items() if header >= 0} == {"tax.md", "report.md"}


# --- a folder that cannot be written, a full disk ---------------------------------------------------------------------

LIMITED = """
import resource, signal, sys
sys.path.insert(0, sys.argv[1])
from helpers_ingest import make_embedding, plain_words
from ragnb.indexing.update import update_index
parser = plain_words()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]), resource.RLIM_INFINITY))
try:
    update_index(sys.argv[2], sys.argv[3], embed=make_embedding("toy"), parser=parser, show_progress=False)
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.heavy
@pytest.mark.skipif(not hasattr(os, "fork"), reason="limits of a process")
def test_a_full_disk_loses_nothing(tmp_path, monkeypatch):
    parser = plain_words(monkeypatch.setattr)
    source = many(tmp_path / "s", 6)
    update(source, tmp_path / "i", parser=parser)
    want = state(toy(tmp_path / "i"))
    write(source, {"000.md": text_of(77, 150), "new.md": text_of(78, 400)})
    database = max(f.stat().st_size for f in (tmp_path / "i").rglob("*") if f.is_file())
    for limit in (2_000, database - 1):
        run = subprocess.run(
            [sys.executable, "-c", LIMITED, str(HERE.parent), str(source), str(tmp_path / "i"), str(limit)],
            capture_output=True, text=True, timeout=400,
        )
        assert run.stdout.strip() and run.returncode == 0, (limit, run.stdout, run.stderr[-2000:])
        assert state(toy(tmp_path / "i")) == want, limit
    index, _, _ = update(source, tmp_path / "i")
    assert state(index) == state(update(source, tmp_path / "j", parser=parser)[0])


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="rights of a folder")
def test_a_folder_that_cannot_be_written_says_so(tmp_path, monkeypatch):
    source = write(tmp_path / "s", {"a.md": text_of(1)})
    update(source, tmp_path / "i")
    write(source, {"a.md": text_of(2)})
    before = {p: p.read_bytes() for p in (tmp_path / "i").rglob("*") if p.is_file()}

    def refused(*_):
        raise PermissionError(13, "Permission denied", "writer.lock")

    from ragnb.indexing import commits
    monkeypatch.setattr(commits, "WriteLock", refused)
    with pytest.raises(InputError, match="index in .* cannot be written: Permission denied"):
        update(source, tmp_path / "i")
    assert {p: p.read_bytes() for p in (tmp_path / "i").rglob("*") if p.is_file()} == before


def test_asking_while_force_makes_it_anew(tmp_path, monkeypatch):
    parser = plain_words(monkeypatch.setattr)
    source = many(tmp_path / "s", 6)
    update(source, tmp_path / "i", parser=parser)
    want, seen = state(toy(tmp_path / "i")), []

    class Asked(ToyEmbedding):
        def _get_text_embeddings(self, texts):
            seen.append(state(toy(tmp_path / "i")) == want)
            return super()._get_text_embeddings(texts)

    Asked.__name__ = "ToyEmbedding"
    write(source, {"000.md": None})
    index, counts, _ = update(source, tmp_path / "i", Asked(embed_dim=32), force=True, parser=parser)
    assert counts == (5, 0, 0, 0) and seen and all(seen) and "000.md" not in toy(tmp_path / "i").doc_ids


# --- the command line -------------------------------------------------------------------------------------------------


def test_list_and_remove(tmp_path, capsys):
    write(tmp_path / "s", {"a.md": "---\ntitle: 휴가규정\n---\n\n연차는 15일이다.\n", "b.md": "병가는 60일이다.\n"})
    where = ["--index", str(tmp_path / "i")]
    assert main(["index", str(tmp_path / "s"), "--quiet", *where]) == 0
    capsys.readouterr()
    assert main(["ls", *where]) == 0
    head, *lines, blank, keys, note = capsys.readouterr().out.splitlines()
    assert note.startswith("(no document says its doc_type")
    assert not blank and keys.startswith("--where takes: ") and {"title", "doc_id", "folder"} <= set(keys.partition(": ")[2].split(", "))
    assert head.split() == ["id", "chunks", "characters", "doc_type", "title"] and [x.split()[0] for x in lines] == ["a.md", "b.md"]
    assert main(["ls", "--json", *where]) == 0
    listed = json.loads(capsys.readouterr().out)
    rows = listed["documents"]
    assert set(listed) == {"index", "documents"}
    assert [set(r) for r in rows] == [{"id", "title", "doc_type", "chunks", "characters", "metadata"}] * 2
    assert main(["remove", "c.md", *where]) == 2 and "no document 'c.md'" in capsys.readouterr().err
    assert main(["remove", "a.md", *where]) == 0 and "1 removed, 1 left" in capsys.readouterr().out
    assert Index.open(tmp_path / "i").doc_ids == ["b.md"]
    assert main(["ls", "--index", str(tmp_path / "nowhere")]) == 2


def test_the_command_line_tells_who_writes(tmp_path, capsys):
    from ragnb.documents.locks import WriteLock
    from ragnb.indexing.commits import LOCK

    update(write(tmp_path / "s", {"a.md": text_of(1)}), tmp_path / "i", "ngram")
    with WriteLock(tmp_path / "i" / LOCK, "the index"):
        code = main(["index", str(tmp_path / "s"), "--index", str(tmp_path / "i"), "--wait", "0", "--quiet"])
    told = capsys.readouterr().err
    assert code == 2 and f"being written by process {os.getpid()}" in told and told.count("\n") == 1


@pytest.mark.parametrize("force", [False, True])
def test_what_a_killed_run_was_writing_is_removed_by_the_next(tmp_path, force):
    """A process killed between writing a state and renaming it leaves `pending.tmp` or the like."""
    source, place = write(tmp_path / "s", {"a.md": text_of(1)}), tmp_path / "i"
    update(source, place, "toy")
    for name in ("pending.tmp", "manifest.tmp", "generation-9.tmp"):
        (place / name).write_text("{")
    write(tmp_path / "s", {"b.md": text_of(2)})
    update(source, place, "toy", force=force)
    assert not list(place.glob("*.tmp"))
