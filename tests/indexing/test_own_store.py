"""An index over a store of the caller's: cut short, removed from, and left tidy."""
from __future__ import annotations

import chromadb
import pytest
from helpers_ingest import ToyEmbedding, plain_words, text_of, update, write

from ragnb.indexing import update as ingest
from ragnb.indexing.folder_index import Index
from ragnb.storage.chroma import ChromaStore
from ragnb.storage.store import MemoryStore


class HalfWritten(MemoryStore):
    """Stops like a killed process: the outlines are written, the chunks are not, and nothing is taken back."""

    stop = False

    def _replace(self, nodes, outlines):
        if self.stop:
            self.delete([o.doc_id for o in outlines])
            nodes = []
        super()._replace(nodes, outlines)
        if self.stop:
            raise KeyboardInterrupt


@pytest.mark.parametrize("force", [False, True])
def test_what_was_cut_short_over_a_store_of_your_own_is_written_again(tmp_path, monkeypatch, force):
    parser, store = plain_words(monkeypatch.setattr), HalfWritten()
    source = write(tmp_path / "s", {f"{i}.md": text_of(i) for i in range(3)})
    update(source, tmp_path / "i", store=store, parser=parser)
    want = {a: t for level in "pc" for a, t in store.texts(level)}
    if not force:
        write(source, {"0.md": text_of(9)})
    store.stop = True
    with pytest.raises(KeyboardInterrupt):
        update(source, tmp_path / "i", store=store, parser=parser, force=force)
    store.stop = False
    write(source, {"0.md": text_of(0)})
    index, counts, _ = update(source, tmp_path / "i", store=store, parser=parser)
    assert counts[1] == (3 if force else 1) and index.unfinished == []
    assert {a: t for level in "pc" for a, t in store.texts(level)} == want


def test_a_chroma_of_your_own_is_removed_from_and_keeps_one_generation(tmp_path, monkeypatch):
    parser = plain_words(monkeypatch.setattr)
    store = ChromaStore(client=chromadb.EphemeralClient(), prefix="own-")
    in_turn = ingest.IndexUpdate._in_turn
    monkeypatch.setattr(ingest.IndexUpdate, "_in_turn", lambda *args: in_turn(*args, every=1))
    monkeypatch.setattr(ingest, "_batches", lambda parsed: ([pair] for pair in parsed))
    source = write(tmp_path / "s", {f"{i}.md": text_of(i) for i in range(4)})
    index, _, _ = update(source, tmp_path / "i", store=store, parser=parser)
    assert len(list((tmp_path / "i").glob("generation-*"))) == len(list((tmp_path / "i").glob("bm25-*"))) == 1
    index.remove(["1.md"])
    assert store.doc_ids() == index.doc_ids == ["0.md", "2.md", "3.md"]
    again = Index.open(tmp_path / "i", ToyEmbedding(embed_dim=32), store=store)
    again.remove(["2.md"])
    assert store.doc_ids() == ["0.md", "3.md"] and not list((tmp_path / "i").glob("chroma-*"))


def test_an_index_on_a_cluster_is_opened_with_every_setting(monkeypatch, tmp_path):
    """What `Index.open` is told reaches the opening of the mirrored folder, whatever the place is."""
    from inspect import signature
    from types import SimpleNamespace

    from ragnb.indexing import folder_index
    told = {}

    def opened(folder, embed, **more):
        told.update(more, embed=embed, folder=folder)
        return SimpleNamespace()
    mirror = SimpleNamespace(files={"manifest.json": None}, units=None, folder=tmp_path, store="its store")
    monkeypatch.setattr(folder_index, "ClusterState", lambda url, light: mirror)
    monkeypatch.setattr(folder_index, "_open_folder", opened)
    wanted = {name: f"a {name}" for name in signature(Index.open).parameters if name not in ("folder", "store")}
    Index.open("opensearch://127.0.0.1:1/x", **wanted)
    assert told == {**wanted, "store": "its store", "rest": None, "folder": tmp_path}
