"""One contract for every store: in memory, Chroma in a folder, on a server and over a client of one's own, OpenSearch."""
from __future__ import annotations

import itertools
import json
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import write
from hypothesis import given, strategies as st
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.schema import Document, NodeRelationship, RelatedNodeInfo, TextNode
from strategies import doc_ids, examples

from ragnb import (Address, Bm25Retriever, ChromaStore, DuplicateIdError, Expander, HybridRetriever, Index, InputError,
                   MemoryStore, MissingChunkError, Outline, ParentChildNodeParser, RagnbError, Span, VectorRetriever)
from ragnb.cli import main
from ragnb.documents.span import parse_address, Spans
from ragnb.expansion.policy import resolve_policy
from ragnb.indexing.collections import chroma_names, DEFAULT_COLLECTIONS
from ragnb.opensearch.cluster_store import ClusterStore
from ragnb.retrieval.sqlite_store import SqliteStore, unpacked
from ragnb.storage.store import ChunkStore, outline_from_json, outline_to_json

SIZE = 10  # Characters of every chunk made here
DIMS = 4
_number = itertools.count()


@pytest.fixture(scope="session")
def chroma_url(tmp_path_factory) -> Iterator[str]:
    """A real Chroma server on a free port."""
    from chromadb import HttpClient
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    folder = tmp_path_factory.mktemp("server")
    program = str(Path(sys.executable).with_name("chroma"))
    command = [program, "run", "--path", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    if not Path(command[0]).exists():
        pytest.skip("the chroma command is not installed beside this Python")
    with open(folder / "log", "wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        for _ in range(200):
            if server.poll() is not None:
                pytest.fail(f"chroma run ended: {(folder / 'log').read_text()}")
            try:
                HttpClient("127.0.0.1", port).heartbeat()
                break
            except ValueError:
                time.sleep(0.1)
        else:
            pytest.fail("chroma run does not answer")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(20)


def names() -> dict[str, str]:
    """Names of collections that no other store has."""
    n = next(_number)
    return {"children": f"t{n}-children", "parents": f"t{n}-parents"}


@pytest.fixture(params=["memory", "sqlite", "folder", "server", "client", pytest.param("cluster", marks=pytest.mark.cluster)])
def new_store(request, tmp_path) -> Callable[[], ChunkStore]:
    """Makes an empty store at each call."""
    if request.param == "memory":
        return MemoryStore
    if request.param == "sqlite":
        return lambda: SqliteStore(tmp_path / f"{next(_number)}.db")
    if request.param == "folder":
        return lambda: ChromaStore(tmp_path / f"chroma{next(_number)}")
    if request.param == "server":
        url = request.getfixturevalue("chroma_url")
        return lambda: ChromaStore(url=url, **names())
    if request.param == "cluster":
        return new_cluster_store(request.getfixturevalue("opensearch_client"), request.addfinalizer)
    import chromadb
    return lambda: ChromaStore(client=chromadb.EphemeralClient(), **names())


def new_cluster_store(client, at_end: Callable[[Callable[[], None]], None]) -> Callable[[], ChunkStore]:
    """Empty stores on a cluster, removed at the end."""
    def make() -> ChunkStore:
        name = f"contract-{next(_number)}"
        client.indices.delete(index=f"{name}-*", ignore_unavailable=True)
        made = ClusterStore(client=client, name=name, tokenizer=lambda texts: [t.split() for t in texts],
                            settings={"number_of_replicas": 0})
        at_end(made.drop)
        return made
    return make


@pytest.fixture
def store(new_store) -> ChunkStore:
    return new_store()


def document(
    doc_id: str,
    /,
    n: int = 5,                          # Children; one parent for every two
    vector: Callable[[int], list[float]] = lambda i: [1.0, float(i), 0.0, 0.5],
    word: str = "",
    **metadata: object,
) -> tuple[list[TextNode], Outline]:
    """A document of equal chunks."""
    parents = [Span(i * SIZE, min(n, i + 2) * SIZE) for i in range(0, n, 2)]
    levels = {"p": parents, "c": [Span(i * SIZE, (i + 1) * SIZE) for i in range(n)]}
    text = "".join(f"{word}{i}".ljust(SIZE)[:SIZE] for i in range(n))
    nodes = [
        TextNode(id_=str(Address(doc_id, level, i)), text=s.of(text), start_char_idx=s.start, end_char_idx=s.end,
                 metadata={"level": level, "index": i, **metadata}, embedding=vector(i) if level == "c" else None,
                 relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=doc_id)})
        for level, spans in levels.items() for i, s in enumerate(spans)]
    return nodes, Outline(doc_id, n * SIZE, levels, metadata=dict(metadata))


def put(store: ChunkStore, *documents: tuple[list[TextNode], Outline]) -> None:
    store.put([n for nodes, _ in documents for n in nodes], [o for _, o in documents])


def contents(store: ChunkStore) -> tuple:
    """Everything that a store holds, comparable between stores."""
    outlines = store.get_outlines(store.doc_ids()).all()
    nodes = store.get_chunks(a for o in outlines.values() for a in o.addresses()).all()

    def facts(n: TextNode) -> tuple:
        return n.text, n.metadata, n.start_char_idx, n.end_char_idx, n.ref_doc_id, n.embedding
    return outlines, {i: facts(n) for i, n in nodes.items()}


def rows(store: ChunkStore) -> int:
    """Rows in all collections of a store."""
    if isinstance(store, MemoryStore):
        return len(store._chunks) + len(store._outlines)
    if isinstance(store, SqliteStore):
        select = store.database.connection.execute
        n_outlines = select("SELECT count(*) FROM stored").fetchone()[0]
        return n_outlines + sum(len(unpacked(nodes)) for nodes, in select("SELECT nodes FROM chunk"))
    if isinstance(store, ClusterStore):
        documents, state = store.rows.documents().values(), store.rows.look().state
        written = [json.loads(row["counts"])["rows"] for row in store.rows.scan(state.live({"term": {"kind": "d"}}), ["counts"])]
        store.refresh(state.rows) if state.rows else None
        n = store.rows.client.count(index=state.rows)["count"] if state.rows else 0
        assert n == sum(written) == state.totals.get("rows", 0)
        return len(documents) + sum(sum(d.own.levels.values()) for d in documents)
    return sum(store.row_counts())


class TestContract:
    def test_keyed_reads_keep_order_drop_repeats_and_name_the_missing(self, store):
        put(store, document("b"), document("a"))
        asked = ["b#c3", "a#p1", "zz#c0", "a#c0", "b#c3", "a#c99", "no address"]
        found = store.get_chunks(asked)
        assert list(found.found) == ["b#c3", "a#p1", "a#c0"] and found.missing == ("zz#c0", "a#c99", "no address")
        assert [n.node_id for n in found.found.values()] == list(found.found)
        outlines = store.get_outlines(["x", "b", "a", "b"])
        assert list(outlines.found) == ["b", "a"] and outlines.missing == ("x",) and store.doc_ids() == ["a", "b"]
        with pytest.raises(MissingChunkError, match="zz#c0"):
            found.all()
        with pytest.raises(InputError, match="list of ids"):
            store.get_chunks("a#c0")
        assert store.get_chunks([]) == ({}, ()) and store.get_outlines(iter(())) == ({}, ())

    def test_nodes_come_back_as_they_went_in(self, store):
        metadata = dict(title="휴가", year=2024, score=0.5, public=True, nothing=None)
        metadata |= dict(doc_id="own", document_id="own too")
        nodes, outline = document("hr/leave.md", 5, **metadata)
        put(store, (nodes, outline))
        for node in nodes:
            read = store.get_chunks([node.node_id]).all()[node.node_id]
            assert read.embedding is None
            assert read.model_dump(exclude={"embedding"}) == node.model_dump(exclude={"embedding"})
        assert store.get_outlines(["hr/leave.md"]).all() == {"hr/leave.md": outline}

    def test_what_was_given_or_read_can_be_changed_without_harm(self, store):
        nodes, outline = document("a", kind="x")
        before = [n.model_dump() for n in nodes]
        put(store, (nodes, outline))
        assert [n.model_dump() for n in nodes] == before
        nodes[-1].metadata["kind"] = "changed"
        store.get_chunks(["a#c0"]).all()["a#c0"].metadata.clear()
        store.search([1, 0, 0, 0])[0].node.metadata.clear()
        assert {n.metadata["kind"] for n in store.get_chunks([f"a#c{i}" for i in range(5)]).all().values()} == {"x"}

    def test_put_replaces_whole_documents_and_delete_leaves_nothing(self, store):
        put(store, document("a", 9, word="old"), document("b", 3))
        put(store, document("a", 3, word="new"))
        assert rows(store) == 2 * (1 + 3 + 2)
        found = store.get_chunks([f"a#c{i}" for i in range(9)] + [f"a#p{i}" for i in range(5)])
        assert list(found.found) == ["a#c0", "a#c1", "a#c2", "a#p0", "a#p1"]
        assert all(n.text.startswith("new") for n in found.found.values())
        assert {h.node_id for h in store.search([1, 0, 0, 0], 99)} == {f"{d}#c{i}" for d in "ab" for i in range(3)}
        assert store.delete(["a", "zz", "a"]) == 1 and store.doc_ids() == ["b"]
        assert store.delete(["a"]) == 0 and store.delete([]) == 0
        assert store.delete(["b"]) == 1 and rows(store) == 0 and store.search([1, 0, 0, 0]) == []

    def test_an_empty_store_answers(self, store):
        assert store.search([1.0, 0.0], where={"a": 1}) == [] and store.doc_ids() == [] and list(store.texts("c")) == []
        assert store.get_chunks(["a#c0"]).missing == ("a#c0",) and store.get_outlines(["a"]).missing == ("a",)

    def test_a_document_without_chunks_is_held(self, store):
        store.put([], [Outline("blank", 0)])
        assert store.doc_ids() == ["blank"] and store.search([1.0]) == []
        assert store.delete(["blank"]) == 1 and rows(store) == 0

    def test_search_is_by_cosine_best_first(self, store):
        vectors = [[3.0, 0, 0, 0], [1, 1, 0, 0], [0, 2, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 0]]
        put(store, document("a", 5, lambda i: vectors[i]))
        hits = store.search([2, 0, 0, 0], 9)
        assert [h.node_id for h in hits] == ["a#c0", "a#c1", "a#c2", "a#c4", "a#c3"]
        assert [h.score for h in hits] == pytest.approx([1, 2 ** -0.5, 0, 0, -1], abs=1e-6)
        assert hits[0].node.text == "0".ljust(SIZE) and hits[0].node.ref_doc_id == "a"
        assert store.search([0, 0, 0, 0]) == []  # nothing is like a vector without a direction

    def test_ties_fall_by_address(self, store):
        names = [f"d{i}" for i in range(12)]
        random.Random(1).shuffle(names)
        for name in names:
            put(store, document(name, 12, lambda i: [1.0, 1.0, 0.0, 0.0]))
        put(store, document("best", 1, lambda i: [1.0, 1.1, 0.0, 0.0]))
        want = ["best#c0", *map(str, sorted(Address(f"d{d}", "c", i) for d in range(12) for i in range(12)))]
        assert want[1:4] == ["d0#c0", "d0#c1", "d0#c2"] and want[12:14] == ["d0#c11", "d1#c0"]
        for k in (1, 2, 5, 20, 60):
            assert [h.node_id for h in store.search([1, 1.1, 0, 0], k)] == want[:k]

    def test_where_keeps_equal_metadata(self, store):
        put(store, document("a", 3, kind="x", year=2024, public=True, ratio=1.0),
            document("b", 3, kind="y", year=2024, public=False, ratio=0.5),
            document("c", 3, kind="x", year=1), document("d", 2, kind=None))

        def of(**where: object) -> set[str]:
            return {parse_address(h.node_id).doc_id for h in store.search([1, 0, 0, 0], 50, where)}

        assert of() == {"a", "b", "c", "d"} and of(kind="x") == {"a", "c"} and of(kind="z") == set() == of(nokey=1)
        assert of(kind="x", year=2024) == {"a"} and of(kind="x", year=2024, level="c", public=True) == {"a"}
        assert of(year=1) == {"c"} and of(year=True) == set() and of(public=1) == set() and of(public=False) == {"b"}
        assert of(ratio=1) == {"a"} == of(ratio=1.0) and of(year="2024") == set()
        assert of(doc_id="b") == {"b"} == of(ref_doc_id="b")
        assert len(store.search([1, 0, 0, 0], 50, {"index": 1})) == 4
        assert of(kind=["x", "z"]) == {"a", "c"} and of(year=[1, 7]) == {"c"}
        for bad in (None, [None], [], {"$gt": 3}):
            with pytest.raises(InputError, match="where.'kind'"):
                of(kind=bad)

    def test_bad_searches(self, store):
        put(store, document("a"))
        for args, message in [(([1, 0, 0, 0], 0), "top_k must be >= 1, got 0"), (([],), "non-empty"),
                              (([1, float("nan"), 0, 0],), "finite"), (([1, 0],), "4 numbers")]:
            with pytest.raises(InputError, match=message):
                store.search(*args)

    @pytest.mark.parametrize("spoil, error, message", [
        (lambda ns, o: ns.append(ns[0]), DuplicateIdError, "a#p0"),
        (lambda ns, o: setattr(ns[-1], "embedding", None), InputError, "a#c4.* has no embedding"),
        (lambda ns, o: setattr(ns[-1], "embedding", [1.0, 2.0]), InputError, "a#c4.* 4 finite numbers, got 2"),
        (lambda ns, o: setattr(ns[-1], "embedding", [1.0, float("inf"), 0.0, 0.0]), InputError, "a#c4"),
        (lambda ns, o: [setattr(n, "embedding", [1.0, 2.0]) for n in ns if n.embedding],
         InputError, "a#c0.* 4 finite numbers, got 2"),
        (lambda ns, o: ns[0].metadata.update(tags=[["x"]]), InputError, "tags.*a#p0.*list"),
        (lambda ns, o: ns[0].metadata.update(nested={"a": 1}), InputError, "nested.*dict"),
        (lambda ns, o: ns[0].metadata.update(score=float("nan")), InputError, "score.*a#p0.*finite"),
        (lambda ns, o: ns[0].metadata.update(title="\ud800"), InputError, "a#p0.*not a character"),
        (lambda ns, o: o.metadata.update(tags=[{"x": 1}]), InputError, "tags"),
        (lambda ns, o: ns.append(TextNode(id_="zz#c0", text="x", embedding=[1.0] * DIMS)),
         InputError, "zz#c0.*without the outline"),
        (lambda ns, o: ns.append(TextNode(id_="a#c9", text="x", embedding=[1.0] * DIMS)),
         InputError, "a#c9.*not in the outline"),
        (lambda ns, o: ns.append(TextNode(id_="plain", text="x")), InputError, "plain")])
    def test_a_refused_put_changes_nothing(self, store, spoil, error, message):
        put(store, document("a", 3, word="old"))
        before = contents(store)
        nodes, outline = document("a", 5, word="new")
        spoil(nodes, outline)
        with pytest.raises(error, match=message):
            put(store, document("b"), (nodes, outline))
        assert contents(store) == before and rows(store) == 1 + 3 + 2

    def test_vectors_of_levels_that_are_not_searched_are_not_needed_and_not_found(self, store):
        nodes, outline = document("a", 3)
        for node in nodes:
            node.embedding = node.embedding or [1.0, 0.0]
        put(store, (nodes, outline))
        assert {h.node_id for h in store.search([1, 0, 0, 0], 9)} == {"a#c0", "a#c1", "a#c2"}

    def test_metadata_keys_of_any_kind_are_read_back(self, store):
        odd = {"": "empty", "#x": 1, "$ref": "y", "chroma:document": "z", "한 글": "k", "a.b": 2.5, "big": 2**70,
               "quote\"'": "\\\"'\n"}
        nodes, outline = document("a", 2)
        for node in nodes:
            node.metadata |= odd
        put(store, (nodes, outline))
        assert {k: v for k, v in store.get_chunks(["a#c1"]).all()["a#c1"].metadata.items() if k in odd} == odd
        assert len(store.search([1, 0, 0, 0], where={"한 글": "k", "quote\"'": "\\\"'\n"})) == 2

    @pytest.mark.parametrize("doc_id", [
        "a#c1", "#", "hr/C#교육.md#c0", "줄\n바꿈", "'; DROP TABLE x; --", '"', "\\",
        "👩🏽\u200d💻", "a b\0c", "%20", "x" * 2000])
    def test_any_document_id(self, store, doc_id):
        put(store, document(doc_id, 3), document("a", 3))
        address = str(Address(doc_id, "c", 2))
        assert list(store.get_chunks([address, doc_id + "#c3"]).found) == [address]
        assert store.doc_ids() == sorted(["a", doc_id])
        assert store.get_outlines([doc_id]).all()[doc_id].n_characters == 3 * SIZE
        assert address in {h.node_id for h in store.search([1, 2, 0, 0.5], 9)}
        assert dict(store.texts("c"))[address].strip() == "2"
        assert store.delete([doc_id]) == 1 and rows(store) == 1 + 3 + 2

    def test_new_vectors_come_with_their_documents(self, store):
        nodes, outline = document("a", 3, kind="x")
        put(store, (nodes, outline), document("b", 2))
        before, children = contents(store), [n for n in nodes if n.metadata["level"] == "c"]
        for i, node in enumerate(children):
            node.embedding = [0.0, 0.0, float(i), 1.0]
        store.put(nodes, [outline])
        assert contents(store) == before and rows(store) == 2 + 5 + 3
        assert [h.node_id for h in store.search([0, 0, 2, 1], 3, {"kind": "x"})] == ["a#c2", "a#c1", "a#c0"]
        before = store.search([1, 1, 1, 1], 9)
        for change in ([1.0], None):
            children[0].embedding = change
            with pytest.raises(InputError):
                store.put(nodes, [outline])
        assert store.search([1, 1, 1, 1], 9) == before

    def test_texts_of_a_level(self, store):
        put(store, document("b", 3, word="나"), document("a", 4, word="가"))
        assert sorted(store.texts("c"))[:2] == [("a#c0", "가0".ljust(SIZE)), ("a#c1", "가1".ljust(SIZE))]
        assert len(list(store.texts("c"))) == 7 and len(list(store.texts("p"))) == 4 and list(store.texts("s")) == []

    def test_neighbors_cost_two_reads(self, store):
        put(store, *(document(f"d{d}", 30) for d in range(40)))
        for n_hits, n_documents in itertools.product((1, 10, 80), (1, 40)):
            rng, store.reads = random.Random(n_hits), 0
            hits = [Address(f"d{rng.randrange(n_documents)}", "c", rng.randrange(30)) for _ in range(n_hits)]
            outlines = store.get_outlines(h.doc_id for h in hits).all()
            wanted = [str(a) for h in hits for a in h.around(5, len(outlines[h.doc_id].levels["c"]))]
            assert set(store.get_chunks(wanted).all()) == set(wanted) and 0 < store.reads <= 2

    def test_in_any_order_of_edits_it_is_as_memory_is(self, store):
        rng, memory = random.Random(7), MemoryStore()
        near = 5e-3 if isinstance(store, (SqliteStore, ClusterStore)) else 1e-5    # there a number of a vector has one byte
        for step in range(25):
            ids = rng.sample(["a", "b#c1", "다", "d"], rng.randint(1, 3))
            if rng.random() < 0.3:
                assert store.delete(ids) == memory.delete(ids)
            else:
                def vector(j: int) -> list[float]:
                    return [1.0, (7 * step + j) % 11, j, 0.5]
                some = [document(i, rng.randint(1, 6), vector, word=f"{step}-", step=step) for i in ids]
                put(store, *some)
                put(memory, *some)
            assert contents(store) == contents(memory)
            query = [rng.random() for _ in range(DIMS)]
            for where in (None, {"level": "c", "index": 1}):
                mine, other = store.search(query, 4, where), memory.search(query, 4, where)
                assert [h.score for h in mine] == pytest.approx([h.score for h in other], abs=near)
                if not isinstance(store, (SqliteStore, ClusterStore)):
                    assert [h.node_id for h in mine] == [h.node_id for h in other]

    def test_documents_in_one_call(self, store):
        parser = ParentChildNodeParser(parent_size=40, parent_overlap=0, child_size=20, child_overlap=0)
        text = "연차는 1년차에 15일이다. 연차는 2년차부터 16일이다.\n\n병가는 60일까지 쓴다. 병가는 진단서를 낸다."
        documents = [Document(text=text, id_="a"), Document(text=" ", id_="blank")]
        nodes = store.add_documents(documents, parser, MockEmbedding(embed_dim=3))
        assert store.doc_ids() == ["a", "blank"]
        assert set(store.get_chunks(n.node_id for n in nodes).all()) == {n.node_id for n in nodes}
        assert len(store.search([1, 1, 1], 99)) == len([n for n in nodes if n.metadata["level"] == "c"])


def test_an_embedding_that_loses_texts_is_noticed():
    class Lossy(MockEmbedding):
        def get_text_embedding_batch(self, texts, **kwargs):
            return super().get_text_embedding_batch(texts, **kwargs)[1:]

    store = MemoryStore()
    with pytest.raises(RagnbError, match="0 vectors for 1 texts"):
        store.add_documents([Document(text="가", id_="a")], ParentChildNodeParser(), Lossy(embed_dim=2))
    assert rows(store) == 0


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["memory", "folder"])
def test_ten_thousand_chunks_in_one_put(kind, tmp_path):
    store = MemoryStore() if kind == "memory" else ChromaStore(tmp_path / "c")
    rng = random.Random(4)
    vectors = [[rng.gauss(0, 1) for _ in range(DIMS)] for _ in range(10_500)]
    documents = []
    for nodes, outline in (document("d", 10_500, vectors.__getitem__), document("e", 1_600)):
        documents.append(([n for n in nodes if n.metadata["level"] == "c"], outline))
    put(store, *documents)
    ids = [f"d#c{i}" for i in range(10_500)] + [f"e#c{i}" for i in range(1_600)]
    random.Random(3).shuffle(ids)
    found = store.get_chunks([*ids, "d#c10500"])
    assert list(found.found) == ids and found.missing == ("d#c10500",) and len(ids) > 12_000
    assert sum(1 for _ in store.texts("c")) == 12_100 and store.reads <= 4
    assert store.search(vectors[5250], 3)[0].node_id == "d#c5250"
    assert store.delete(["d", "e"]) == 2 and rows(store) == 0


def test_reopened(tmp_path):
    put(ChromaStore(tmp_path / "c"), document("a", 4, kind="x"))
    before = contents(ChromaStore(str(tmp_path / "c")))
    code = ("import sys, json; from ragnb.storage.chroma import ChromaStore; s = ChromaStore(sys.argv[1]);"
            "text = s.get_chunks(['a#c1']).all()['a#c1'].text;"
            "print(json.dumps([s.doc_ids(), text, [h.node_id for h in s.search([1, 3, 0, 0.5], 2)]]))")
    command = [sys.executable, "-c", code, str(tmp_path / "c")]  # beside this process
    other = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    out, _ = other.communicate(timeout=60)
    assert other.returncode == 0 and json.loads(out) == [["a"], "1".ljust(SIZE), ["a#c3", "a#c2"]]
    assert contents(ChromaStore(tmp_path / "c")) == before


def test_a_folder_that_was_deleted_starts_afresh(tmp_path, monkeypatch):
    import shutil
    put(ChromaStore(tmp_path / "c"), document("a"))
    shutil.rmtree(tmp_path / "c")
    again = ChromaStore(tmp_path / "c")
    assert again.doc_ids() == []
    put(again, document("b"))
    assert again.doc_ids() == ["b"]
    for name in ("one", "two"):  # the same relative path in two places
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        put(ChromaStore("c"), document(name))
        assert ChromaStore("c").doc_ids() == [name]


def test_names_keep_indexes_apart(tmp_path):
    one, two = (ChromaStore(tmp_path / "c", **names()) for _ in range(2))
    put(one, document("a"))
    assert two.doc_ids() == [] and two.search([1, 0, 0, 0]) == [] and one.doc_ids() == ["a"]


def test_a_put_that_fails_on_the_way_takes_back_what_it_wrote(tmp_path, monkeypatch):
    store = ChromaStore(tmp_path / "c")
    put(store, document("b"))

    def full(rows):
        raise OSError("disk full")

    add = type(store.parents).add
    monkeypatch.setattr(type(store.parents), "add", lambda self, nodes: full(nodes) if "#p" in nodes[0].node_id else add(self, nodes))
    with pytest.raises(OSError, match="disk full"):
        put(store, document("a"))
    assert store.doc_ids() == ["b"] and rows(store) == 1 + 5 + 3


def test_a_store_once_filled_refuses_vectors_of_another_length(tmp_path):
    store = ChromaStore(tmp_path / "c")
    put(store, document("a"))
    store.delete(["a"])
    other = ChromaStore(tmp_path / "c")  # knows no length: it holds no vector, but Chroma remembers
    with pytest.raises(InputError, match="dimension"):
        put(other, document("b", vector=lambda i: [1.0, 2.0]))
    assert rows(other) == 0


def test_what_cannot_be_opened(tmp_path):
    with pytest.raises(InputError, match="exactly one"):
        ChromaStore(tmp_path, url="http://x")
    with pytest.raises(InputError, match="http://host:port, got 'localhost:8000'"):
        ChromaStore(url="localhost:8000")
    with pytest.raises(ConnectionError, match="http://127.0.0.1:9"):
        ChromaStore(url="http://127.0.0.1:9")
    (tmp_path / "file").write_text("x")
    write(tmp_path / "damaged", {"chroma.sqlite3": b"no database" * 1000})
    for name in ("file", "damaged"):
        with pytest.raises(RagnbError, match=name):
            ChromaStore(tmp_path / name)


def test_plain_llama_index_reads_it(tmp_path):
    put(ChromaStore(tmp_path / "c"), document("a", 4, lambda i: [float(i == j) for j in range(DIMS)], kind="x"))

    class Second(MockEmbedding):
        def _get_query_embedding(self, query):
            return [0.0, 1.0, 0.0, 0.0]

        async def _aget_query_embedding(self, query):
            return self._get_query_embedding(query)

    vectors = ChromaStore(tmp_path / "c").children
    index = VectorStoreIndex.from_vector_store(vectors, embed_model=Second(embed_dim=DIMS))
    hit = index.as_retriever(similarity_top_k=1).retrieve("?")[0]
    assert (hit.node_id, hit.text, hit.node.ref_doc_id, hit.node.start_char_idx) == ("a#c1", "1".ljust(SIZE), "a", SIZE)
    assert hit.node.metadata["kind"] == "x" and hit.node.relationships[NodeRelationship.SOURCE].node_id == "a"


@pytest.mark.parametrize("where", ["folder", "server"])
def test_chroma_embeds_nothing_itself_and_reaches_no_network(where, tmp_path, request, monkeypatch):
    """Parents have no embedding of their own; Chroma's own embedding would download a model."""
    from chromadb.utils import embedding_functions
    place = {"path": tmp_path / "c"} if where == "folder" else {"url": request.getfixturevalue("chroma_url")}
    connect = socket.socket.connect

    def local(self, address):
        assert self.family == socket.AF_UNIX or address[0] in ("127.0.0.1", "localhost", "::1"), address
        return connect(self, address)

    def never(*_):
        raise AssertionError("an embedding of Chroma was called")
    monkeypatch.setattr(socket.socket, "connect", local)
    monkeypatch.setattr(embedding_functions.DefaultEmbeddingFunction, "__call__", never)
    named = names()
    put(ChromaStore(**place, **named), document("a", 4, kind="x"))
    store = ChromaStore(**place, **named)
    assert store.search([1, 0, 0, 0], 1)[0].node_id == "a#c0" and store.get_chunks(["a#p1"]).all()["a#p1"].text
    assert {len(v) for v in store.parents.client.get(include=["embeddings"])["embeddings"]} == {1}
    assert store.delete(["a"]) == 1 and rows(store) == 0


POLICIES = ("none", "neighbors:2", "siblings:2", "parent", "section", "document", "adaptive", "neighbors:1+section")


@pytest.mark.heavy
@pytest.mark.parametrize("where", ["folder", "server"])
def test_the_four_collections_in_chroma_answer_as_their_indexes(where, tmp_path, request):
    """Every retriever of chunks and every expansion, after `ragnb index --all --force --chroma PLACE`, twice."""
    place = str(tmp_path / "chroma") if where == "folder" else request.getfixturevalue("chroma_url")
    for name, folders in DEFAULT_COLLECTIONS.items():
        for i in range(3):
            page = tmp_path / "corpus" / folders[0] / f"{i}.md"
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text("\n\n".join(f"## {j}. {name}\n\n{i}번 지점의 여비는 하루 {i + j}만원이다. 정산은 {j}일 안에 한다." for j in range(1, 9)), encoding="utf-8")
    command = ["index", str(tmp_path / "corpus"), "--all", "--force", "--chroma", place, "--index", str(tmp_path / "i"), "--split", "parent-child:120/20,40/10", "--quiet"]
    assert main(command) == 0
    (tmp_path / "corpus" / "hr_labor" / "0.md").unlink()
    assert main(command) == 0
    for name in DEFAULT_COLLECTIONS:
        index = Index.open(tmp_path / "i" / name)
        store = ChromaStore(**({"path": place} if where == "folder" else {"url": place}), **chroma_names(name))
        assert contents(store) == contents(index.store) and len(store.doc_ids()) == 3 - (name == "hr_labor_db")
        found = []
        for own in (index.store, store):
            nodes = own.get_chunks(sorted(i for i, _ in own.texts("c"))).all()
            words, vectors = Bm25Retriever(nodes.values(), top_k=9), VectorRetriever(own, index.embed_model, 9)
            hits = [r.retrieve("2번 지점의 여비는 하루 얼마인가?") for r in (words, vectors, HybridRetriever({"bm25": words, "vector": vectors}, 9))]
            read = [[(p.id, p.text) for p in Expander(own, resolve_policy(policy)).expand(h).passages] for h in hits for policy in POLICIES]
            found.append(([{x.node_id for x in h} for h in hits], [sorted(r) for r in read]))
        assert found[0][1][:len(POLICIES)] == found[1][1][:len(POLICIES)]      # by words
        assert found[0][0][0] == found[1][0][0] and all(len(a & b) >= 8 for a, b in zip(found[0][0], found[1][0])) and any(found[1][1])


_offsets = st.lists(st.integers(0, 50), max_size=12).map(sorted)
_spans = _offsets.map(lambda xs: [Span(a, b) for a, b in zip(xs[::2], xs[1::2])])
_scalar = st.one_of(st.text(max_size=6), st.integers(), st.floats(allow_nan=False), st.booleans(), st.none())
_outlines = st.builds(
    Outline, doc_ids, st.integers(0, 100), st.dictionaries(st.sampled_from("ucpsrhg"), _spans, max_size=3),
    st.dictionaries(st.integers(0, 50), st.text(" \n\t\u3000", min_size=1, max_size=3), max_size=3),
    st.lists(st.tuples(st.integers(1, 9), _spans.filter(bool).map(lambda s: s[0])), max_size=3),
    st.lists(st.tuples(st.text(max_size=6), _spans.filter(bool).map(lambda s: s[0])), max_size=3),
    st.dictionaries(st.text(max_size=4), _scalar, max_size=3))


@examples(150)
@given(_outlines)
def test_outlines_come_back_from_json(outline):
    text = outline_to_json(outline)
    again = outline_from_json(text)
    assert again == outline and outline_to_json(again) == text
    assert again.addresses() == outline.addresses()
    assert all(isinstance(s, Spans) for s in again.levels.values()) and all(type(k) is int for k in again.blanks)
