"""Keyed reads of a Chroma folder without the library: the same answers, fewer things opened, damage noticed."""

from __future__ import annotations

import contextlib
import gc
import shutil
import sqlite3
from pathlib import Path

import chromadb
import pytest
from llama_index.core.schema import Document
from llama_index.core.vector_stores.types import VectorStoreQuery

from ragnb.chunking.parent_child import ParentChildNodeParser
from ragnb.documents.atomic import in_use, Lease
from ragnb.documents.span import RagnbError
from ragnb.storage import chroma
from ragnb.storage.chroma import ChromaStore, close_unused, keep_lease, open_database, row_counts, settle

TEXT = "연차는 15일이다. 병가는 60일이다.\n\n출장비는 7일 안에 정산한다. 영수증은 5년 보관한다."


def filled(folder: Path, documents: int = 3) -> ChromaStore:
    """A store of some documents, at rest."""
    store = ChromaStore(folder)
    parser = ParentChildNodeParser(parent_size=40, parent_overlap=0, child_size=20, child_overlap=0)
    for n in range(documents):
        nodes, outline = parser.parse(Document(text=TEXT, id_=f"d{n}.md", metadata={"tags": ["가", "나"], "year": 2024}))
        for i, node in enumerate(nodes):
            node.embedding = [1.0, float(i)] if node.metadata["level"] == "c" else None
        store.put(nodes, [outline])
    return settle(store)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that the library was opened for, as it happens."""
    folders: list[Path] = []
    real = chroma._open_folder

    def open_folder(folder: Path, *args: object) -> object:
        folders.append(folder)
        return real(folder, *args)

    monkeypatch.setattr(chroma, "_open_folder", open_folder)
    return folders


def everything(store: ChromaStore) -> tuple:
    """All that keyed reads say of a store."""
    outlines = store.get_outlines(store.doc_ids()).all()
    addresses = [a for o in outlines.values() for a in o.addresses()]
    return outlines, {i: n.model_dump() for i, n in store.get_chunks([*addresses, "d0.md#c99"]).found.items()}, row_counts(store)


def test_keyed_reads_open_nothing_and_say_what_the_library_says(tmp_path: Path, opened: list[Path]) -> None:
    written = filled(tmp_path / "chroma-1")
    opened.clear()
    store = open_database(tmp_path / "chroma-1")
    seen = everything(store)
    assert not opened and len(seen[1]) > 9
    for rows in written._all:
        rows.file = None  # the library itself
    assert seen == everything(written)
    assert store.search([1.0, 0.0], 1)[0].node_id and len(opened) == 1   # a search opens it


def test_what_another_store_writes_is_read(tmp_path: Path) -> None:
    written = filled(tmp_path / "chroma-1")
    store = open_database(tmp_path / "chroma-1")
    assert store.doc_ids() == ["d0.md", "d1.md", "d2.md"]
    written.delete(["d1.md"])
    assert store.doc_ids() == ["d0.md", "d2.md"] and store.get_chunks(["d1.md#c0"]).missing == ("d1.md#c0",)


def words_held(folder: Path) -> int:
    """Rows of Chroma's own full-text table; the database is whole."""
    with contextlib.closing(sqlite3.connect(folder / "chroma.sqlite3", isolation_level=None)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        database.execute("INSERT INTO embedding_fulltext_search(embedding_fulltext_search) VALUES('integrity-check')")
        return database.execute("SELECT count(*) FROM embedding_fulltext_search_content").fetchone()[0]


def test_a_settled_store_keeps_no_table_of_words_and_goes_on_being_written(tmp_path: Path) -> None:
    store = filled(tmp_path / "chroma-1")
    assert words_held(tmp_path / "chroma-1") == 0
    rows = store._children.collection
    with pytest.raises(chroma.chroma_errors()[0], match="full-text"):     # Chroma says so, instead of finding nothing
        rows.get(where_document={"$contains": "연차"})
    before = everything(store)
    chroma.prepare(store)
    store.delete(["d1.md"])
    nodes = list(store._children.nodes(vectors=True))
    nodes[0].set_content("바뀐 글")
    store._children.write([(n.node_id, n.embedding, chroma._metadata_of(n), n.text) for n in nodes])
    again = settle(store)
    assert words_held(tmp_path / "chroma-1") == 0
    assert again.get_chunks([nodes[0].node_id]).found[nodes[0].node_id].text == "바뀐 글"
    assert again.doc_ids() == ["d0.md", "d2.md"] and len(before[1]) > len(everything(again)[1])
    assert again.vector_store().query(VectorStoreQuery(query_embedding=[1.0, 0.0], similarity_top_k=1)).nodes[0].text


def made_before(folder: Path, names: tuple[str, ...]) -> None:
    """Collections as an earlier version, or somebody else, made them: Chroma searches their words."""
    client = chromadb.PersistentClient(str(folder))
    for name in names:
        made = client.create_collection(name, embedding_function=None, configuration={"hnsw": {"space": "cosine" if name == "children" else "l2"}})
        if name not in ("children", "parents", "outlines"):
            made.add(ids=["1"], embeddings=[[1.0, 0.0]], documents=["남의 문서에 적힌 말"])
    client.close()


@pytest.mark.parametrize("names", [("children", "parents", "outlines"), ("others",)])
def test_a_table_of_words_that_somebody_may_ask_stays(tmp_path: Path, names: tuple[str, ...]) -> None:
    made_before(tmp_path / "chroma-1", names)
    store = filled(tmp_path / "chroma-1")
    assert words_held(tmp_path / "chroma-1") > 0
    asked = store.client.get_collection(names[0], embedding_function=None)
    assert asked.get(where_document={"$contains": "연차" if names[0] == "children" else "남의 문서"})["ids"]
    assert everything(store)[2][0] > 0


@pytest.mark.parametrize("change", [
    "UPDATE migrations SET version = version + 90", "DELETE FROM migrations",
    "UPDATE max_seq_id SET seq_id = seq_id - 1", "DELETE FROM max_seq_id"])
def test_an_unknown_or_unfinished_database_is_left_to_the_library(tmp_path: Path, change: str) -> None:
    filled(tmp_path / "chroma-1")
    with contextlib.closing(sqlite3.connect(tmp_path / "chroma-1" / "chroma.sqlite3")) as database, database:
        database.execute(change)
    file = chroma.ChromaFile(tmp_path / "chroma-1")
    assert file.count("children") is None and file.ids("outlines") is None
    assert file.read("children", ["d0.md#c0"], ["_node_content"]) is None


def test_a_damaged_or_missing_database_is_told_by_the_library(tmp_path: Path) -> None:
    with pytest.raises(RagnbError, match="is gone"):
        open_database(tmp_path)
    filled(tmp_path / "chroma-1")
    shutil.copytree(tmp_path / "chroma-1", tmp_path / "chroma-2")
    file = tmp_path / "chroma-2" / "chroma.sqlite3"
    file.write_bytes(file.read_bytes()[:5_000])
    with pytest.raises((RagnbError, *chroma.chroma_errors())):
        everything(open_database(tmp_path / "chroma-2"))


@pytest.mark.heavy
@pytest.mark.parametrize("search_first", [False, True])
@pytest.mark.parametrize("search_then", [False, True])
def test_a_lease_is_kept_as_long_as_anything_can_read(tmp_path: Path, search_first: bool, search_then: bool) -> None:
    """Whether the library was opened before, after, or never."""
    filled(tmp_path / "chroma-1")
    mark = tmp_path / "generation-1.json"
    mark.write_text("{}")
    gc.collect()
    close_unused()                    # what other tests have let go of
    store = open_database(tmp_path / "chroma-1")
    if search_first:
        store.search([1.0, 0.0], 1)
    keep_lease(store, Lease(mark))
    collection = None
    if search_then:
        store.search([1.0, 0.0], 1)
        collection = store._children.collection
    assert in_use(mark)
    del store
    gc.collect()
    assert in_use(mark) == search_then
    del collection
    gc.collect()
    assert not in_use(mark)
    assert len(chroma._UNUSED) == (search_first or search_then)
    close_unused()


def test_a_store_is_freed_when_it_is_let_go(tmp_path: Path) -> None:
    """No circle of references: leases end at once, not when garbage is collected."""
    filled(tmp_path / "chroma-1")
    mark = tmp_path / "generation-1.json"
    mark.write_text("{}")
    gc.disable()
    try:
        store = open_database(tmp_path / "chroma-1")
        keep_lease(store, Lease(mark))
        store.search([1.0, 0.0], 1)
        del store
        assert not in_use(mark)
    finally:
        gc.enable()
    close_unused()


def test_a_read_costs_the_same_in_a_long_collection(tmp_path: Path) -> None:
    """Counted in steps of SQLite: it must look rows up by their keys, and not go through an index of values."""
    def steps(rows: int) -> int:
        store = ChromaStore(tmp_path / str(rows))
        store._children.collection.add(
            ids=[f"d.md#c{i}" for i in range(rows)], embeddings=[[float(i), 1.0] for i in range(rows)],
            documents=[f"{i}번째" for i in range(rows)], metadatas=[{"_node_content": f"{{{i}}}", "level": "c"} for i in range(rows)])
        file, counted = chroma.ChromaFile(tmp_path / str(rows)), []
        assert file.count("children") == rows
        file._database.set_progress_handler(lambda: counted.append(1) and 0, 10)
        found = file.read("children", [f"d.md#c{i}" for i in range(0, rows, rows // 20)], ["_node_content", "chroma:document"])
        assert len(found) == 20 and found["d.md#c0"]["chroma:document"] == "0번째"
        return len(counted)

    assert steps(1_000) < 1.5 * steps(40)
