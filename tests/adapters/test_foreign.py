"""Neighbors in an index made by others: the designs' own cases, over a list and over a real OpenSearch."""
from __future__ import annotations

import copy
import itertools
import json
import sys
import warnings
from typing import Any
from unittest.mock import MagicMock

import pytest
from hypothesis import given, strategies as st
from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode
from opensearchpy import NotFoundError
from search_server import SearchServer
from strategies import examples

from ragnb.context.builders import RankedContextBuilder, resolve_builder
from ragnb.documents.span import InputError, Outline, RagnbError, Span
from ragnb.adapters.chunk_expanders import ChunkExpander, NeighborChunkExpander
from ragnb.expansion.expander import Expander
from ragnb.expansion.fetch import fetch_doc_chunks, fetch_doc_pages
from ragnb.adapters.foreign import ForeignIndex, ForeignStore
from ragnb.expansion.policies import by_doc_type, llm_window, whole_document
from ragnb.expansion.policy import resolve_policy
from ragnb.models.scripted import ScriptedLLM
from ragnb.storage.store import MemoryStore

_number = itertools.count()


def rag_rows(documents: int = 3, chunks: int = 20, words: int = 6) -> list[dict]:
    """Rows with the fields of the neighbor expander design."""
    return [{"_id": f"chunk_{d}_{i}", "_source": {
        "document_id": d, "chunk_index": i, "text": f"문서 {d}의 {i}번째 조각이다. " + "나무 " * (words - 4),
        "file_name": f"규정{d}.md", "embedding": [0.1 * d, 0.2, float(i % 3)]}}
        for d in range(1, documents + 1) for i in range(chunks)]


def page_rows() -> list[dict]:
    """Rows with the fields of the page design: a manual in pages of three chunks, and two kinds read whole."""
    rows = []
    for doc_id, kind, n, per_page in (("m-1", "manual", 30, 3), ("g-1", "GCB", 60, 60), ("s-1", " MyService ", 4, 4),
                                      ("m-2", None, 9, 3)):
        for i in range(n):
            source = {"doc_id": doc_id, "doc_type": kind, "page": i // per_page + 1, "chunk_id": f"{doc_id}-{i}",
                      "chunk_index": i, "content": "x", "text": f"{doc_id} {i}번째 부분이다.", "chapter": {"title": f"장 {i // 9}"}}
            rows.append({"_id": f"{doc_id}:{i:04d}", "_source": {k: v for k, v in source.items() if v is not None}})
    return rows


class Made:
    """An index made by others: its client, its name, and how many requests were made."""

    def __init__(self, client: Any, name: str) -> None:
        self.client, self.name = client, name

    def expander(self, **options: Any) -> NeighborChunkExpander:
        return NeighborChunkExpander(self.client, self.name, **options)


@pytest.fixture(scope="session", params=["list", pytest.param("server", marks=pytest.mark.cluster)])
def make(request):
    """Fills an index with rows."""
    if request.param == "list":
        yield lambda rows, shards=1: Made(SearchServer(copy.deepcopy(rows)), "rag")
        return
    client, names = request.getfixturevalue("opensearch_client"), []

    def fill(rows: list[dict], shards: int = 1) -> Made:
        name = f"foreign-{next(_number)}"
        names.append(name)
        vector = {"type": "knn_vector", "dimension": 3, "method": {"name": "hnsw", "engine": "lucene"}}
        properties: dict = {"embedding": vector, "text": {"type": "text"}}
        properties |= {k: {"type": "keyword"} for k in ("doc_id", "doc_type", "chunk_id")}
        client.indices.create(index=name, body={"settings": {"index.knn": True, "number_of_shards": shards},
                                                "mappings": {"properties": properties}})
        lines = [line for r in rows for line in ({"index": {"_index": name, "_id": r["_id"]}}, r["_source"])]
        assert not client.bulk(body=lines, refresh=True)["errors"]
        return Made(client, name)

    client.indices.delete(index="foreign-*", ignore_unavailable=True)
    yield fill
    client.indices.delete(index=",".join(names), ignore_unavailable=True)


@pytest.fixture(scope="session")
def rag(make) -> Made:
    return make(rag_rows(), shards=3)


@pytest.fixture(scope="session")
def docs(make) -> Made:
    return make(page_rows())


def indices(results: list[dict]) -> list[int]:
    return [r["_source"]["chunk_index"] for r in results]


def places(results: list[dict]) -> list[tuple]:
    return [(r["_source"]["document_id"], r["_source"]["chunk_index"]) for r in results]


def hit(n: int, index: int, document: Any = 1, score: float = 0.5, **source: Any) -> dict:
    return {"_id": f"c{n}", "_source": {"document_id": document, "chunk_index": index, "text": "..."} | source, "_score": score}


@pytest.mark.parametrize("found, expected", [
    ([], []),
    ([(1, 5)], [(1, i) for i in range(3, 8)]),
    ([(1, 5), (1, 7)], [(1, i) for i in range(3, 10)]),                                            # a shared neighbor comes once
    ([(1, 5), (2, 10)], [*((1, i) for i in range(3, 8)), *((2, i) for i in range(8, 13))]),
    ([(2, 3), (1, 12), (1, 4)], [*((2, i) for i in range(1, 6)), *((1, i) for i in range(10, 15)), *((1, i) for i in range(2, 7))]),
])
def test_neighbors_come_in_the_order_of_relevance(rag, found, expected):
    expanded = rag.expander(window=2).expand([hit(n, i, d) for n, (d, i) in enumerate(found)])
    assert places(expanded) == expected and [r["is_neighbor"] for r in expanded] == [place not in found for place in expected]
    by_document = rag.expander(window=2, order="document").expand([hit(n, i, d) for n, (d, i) in enumerate(found)])
    assert places(by_document) == sorted(expected)


def test_a_neighbor_is_the_row_as_it_is(rag):
    row = rag_rows()[6]
    given = [hit(1, 5)]
    before = copy.deepcopy(given)
    expanded = rag.expander(window=1).expand(given)
    assert given == before and isinstance(rag.expander(), ChunkExpander)
    neighbor = expanded[2]
    assert neighbor["_id"] == row["_id"] and neighbor["_score"] is None and neighbor["is_neighbor"] is True
    assert neighbor["_source"] == {k: v for k, v in row["_source"].items() if k != "embedding"}
    assert expanded[1] == given[0] | {"is_neighbor": False}
    with_vectors = rag.expander(window=1, exclude=()).expand(given)
    assert with_vectors[2]["_source"]["embedding"] == pytest.approx(row["_source"]["embedding"])


def test_the_limit_takes_the_neighbors_of_the_worst_hits(rag):
    results = [hit(1, 15, 3), hit(2, 10, 2), hit(3, 5, 1)]
    expanded = rag.expander(window=5, max_results=9).expand(results)
    assert places(expanded) == [*((3, i) for i in range(12, 19)), (2, 10), (1, 5)]
    assert (expanded.stats.neighbors, expanded.stats.refused) == (6, 3 + 10 + 10)
    assert len(rag.expander(window=5, max_results=1).expand(results)) == 3


@examples(30)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 25)), min_size=1, max_size=6), st.integers(0, 4))
def test_every_hit_is_there_and_every_neighbor_once(found, window):
    server = SearchServer(rag_rows())
    expanded = NeighborChunkExpander(server, "rag", window).expand([hit(n, i, d) for n, (d, i) in enumerate(found)])
    kept = [r for r in expanded if not r["is_neighbor"]]
    assert sorted(r["_id"] for r in kept) == sorted(f"c{n}" for n in range(len(found)))
    near = {(d, j) for d, i in found for j in range(i - window, i + window + 1) if d <= 3 and 0 <= j < 20} - set(found)
    assert sorted(places(r for r in expanded if r["is_neighbor"])) == sorted(near)
    assert len(server.requests) == 2 and server.requests[0] == "field_caps"


def test_a_window_may_be_a_function_of_the_text(rag):
    results = [hit(1, 5, 1, text="짧다"), hit(2, 10, 2, text="길다 " * 100)]
    expanded = rag.expander(window=lambda text: 3 if len(text) < 50 else 1).expand(results)
    assert indices(expanded) == [*range(2, 9), 9, 10, 11]


def test_a_model_may_choose_the_windows(rag):
    llm = ScriptedLLM(['{"windows": [1, 3]}'])
    expanded = rag.expander(window=llm_window(llm)).expand([hit(1, 5, 1), hit(2, 10, 2)], "연차는 며칠인가?")
    assert indices(expanded) == [4, 5, 6, *range(7, 14)] and expanded.stats.llm_calls == 1


@pytest.mark.parametrize("name", ["parent", "auto-merge", "window:3", "parent+neighbors:1"])
def test_a_policy_that_needs_another_level_is_refused_at_once(name):
    for policy in (name, by_doc_type({"gcb": name})):
        with pytest.raises(InputError, match=name.partition("+")[0]):
            NeighborChunkExpander(SearchServer([]), "rag", policy)


@pytest.mark.parametrize("policy", ["section", "segments", "siblings:2", "pages:1+neighbors:4", by_doc_type({"manual": "section"})])
def test_a_policy_that_needs_outlines_reads_what_it_reads_of_the_documents(make, policy):
    """The same rows as nodes of a store give the same neighbors."""
    texts = [f"# 장 {i // 4}\n{i}번째 부분이다." if i % 4 == 0 else f"{i}번째 부분이다." for i in range(20)]
    rows = [{"_id": f"m{i}", "_source": {"doc_id": d, "doc_type": "manual", "page": i // 3 + 1, "chunk_index": i + 1, "text": text}}
            for d in ("a", "b") for i, text in enumerate(texts)]
    rows = [r | {"_id": f"{r['_source']['doc_id']}{r['_id']}"} for r in rows]
    made = make(rows)
    found = [rows[6] | {"_score": 1.0}, rows[25] | {"_score": 0.5}, rows[9] | {"_score": 0.25}]
    expanded = made.expander(window=policy).expand(found)
    store = ForeignStore(ForeignIndex(made.client, made.name))
    nodes = [NodeWithScore(node=TextNode(id_=r["_id"], text=r["_source"]["text"], metadata=r["_source"]), score=r["_score"]) for r in found]
    passages = Expander(store, resolve_policy(policy)).expand(nodes).passages
    assert sorted(r["_id"] for r in expanded) == sorted(store.rows[i].raw["_id"] for p in passages for i in (*p.hits, *p.neighbors))
    assert [r["_id"] for r in expanded if not r["is_neighbor"]] and len(expanded) > 3 and expanded.stats.reads <= 2


@pytest.mark.parametrize("options, message", [
    ({"window": -1}, "window .*-1"), ({"window": 2.5}, "window .*2.5"), ({"window": "neighbours"}, "'neighbours'"), ({"max_results": 0}, "max_results"),
    ({"on_error": "print"}, "on_error .*'print'"), ({"order": "best"}, "order .*'best'"),
    ({"fields": {"chunk": "n"}}, "'chunk'"), ({"index_name": None}, "index_name .*None"),
    ({"expand_top_k": -1}, "expand_top_k")])
def test_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        NeighborChunkExpander(SearchServer([]), **({"index_name": "rag"} | options))


def doc_hit(doc_id: str, i: int, **more: Any) -> dict:
    row = next(r for r in page_rows() if r["_id"] == f"{doc_id}:{i:04d}")
    return row | {"_score": 1.0} | more


def test_pages_around_and_whole_documents_in_one_request(docs):
    expanded = docs.expander(window="doc_type", max_results=200).expand([doc_hit("m-1", 13), doc_hit("g-1", 58), doc_hit("s-1", 0)])
    held = {d: [r["_source"]["chunk_index"] for r in expanded if r["_source"]["doc_id"] == d] for d in ("m-1", "g-1", "s-1")}
    assert held == {"m-1": list(range(6, 21)), "g-1": list(range(10, 60)), "s-1": [0, 1, 2, 3]}   # pages 3 to 7, fifty, all
    assert expanded.stats.reads <= 2                                                             # the fields, the rows


def test_a_hit_without_a_page_gets_neighbors_and_other_types_other_rules(docs):
    row = doc_hit("m-2", 4)
    del row["_source"]["page"]
    assert indices(docs.expander(window="doc_type").expand([row])) == list(range(9))
    policy = by_doc_type({"manual": "neighbors:1"}, otherwise=whole_document(4), max_chunks=3)
    expanded = docs.expander(window=policy).expand([doc_hit("m-1", 13), doc_hit("m-2", 8)])
    assert indices(expanded) == [12, 13, 14, 6, 7, 8]


def test_helpers_of_the_page_design(docs):
    def store() -> ForeignStore:
        return ForeignStore(ForeignIndex(docs.client, docs.name))

    def numbers(nodes: list[TextNode]) -> list[int]:
        return [n.metadata["chunk_index"] for n in nodes]

    theirs = store()
    assert numbers(fetch_doc_pages(theirs, "m-1", [4, 5, None, 99])) == list(range(9, 15)) and theirs.index.requests == 2
    assert fetch_doc_pages(theirs, "m-1", []) == [] and theirs.index.requests == 2
    assert numbers(fetch_doc_chunks(store(), "g-1", around=58)) == list(range(10, 60))
    assert numbers(fetch_doc_chunks(store(), "m-1", 4)) == [0, 1, 2, 3]
    with pytest.raises(RagnbError, match="'nobody'"):
        fetch_doc_pages(theirs, "nobody", [1])


def test_a_document_may_be_longer_than_fifty_chunks(make):
    made = make([{"_id": f"r{i}", "_source": {"doc_id": "b", "chunk_index": i, "text": str(i)}} for i in range(90)])
    assert indices(made.expander(window="document:80", max_results=100).expand([{"_id": "r3", "_source": {"doc_id": "b", "chunk_index": 3}}])) == [
        *range(80)]


def test_other_names_are_given_or_found(make):
    rows = [{"_id": f"r{i}", "_source": {"parent": "a/b.md", "seq": i, "body": f"본문 {i}"}} for i in range(6)]
    given = {"doc_id": "parent", "index": "seq", "text": "body"}
    expanded = make(rows).expander(window=1, fields=given).expand([rows[3]])
    assert [r["_id"] for r in expanded] == ["r2", "r3", "r4"]
    nested = [{"_id": f"n{i}", "_source": {"text": f"본문 {i}", "metadata": {"document_id": "a/b.md", "chunk_index": i}}} for i in range(6)]
    expanded = make(nested).expander(window=1).expand([nested[3]])
    assert [r["_id"] for r in expanded] == ["n2", "n3", "n4"] and expanded[0]["_source"]["metadata"]["chunk_index"] == 2


def test_numbers_and_ids_that_are_text(make):
    """A mapping that nobody wrote: document ids are text with a keyword beside it, numbers were sent as text."""
    rows = [{"_id": f"r{i}", "_source": {"document_id": "hr/휴가 규정.md", "chunk_index": str(i), "text": f"본문 {i}"}} for i in range(12)]
    made = make(rows)
    if isinstance(made.client, SearchServer):
        made.client.text = ("document_id", "chunk_index", "text")
    expanded = made.expander(window=2).expand([rows[9] | {"_score": 2.0}])
    assert [r["_source"]["chunk_index"] for r in expanded] == ["7", "8", "9", "10", "11"]


def test_two_rows_with_one_number_and_rows_that_are_gone(make):
    rows = [r for r in rag_rows(1) if r["_source"]["chunk_index"] not in (4, 7)]
    rows += [{"_id": f"copy_{i}_{k}", "_source": {"document_id": 1, "chunk_index": i, "text": f"다른 판 {i} {k}"}} for i in (5, 6) for k in range(9)]
    made = make(rows)
    expanded = made.expander(window=2).expand([hit(1, 5)])
    assert sorted(indices(expanded)) == [3, 5] + [6] * 10 and indices(expanded)[0] == 3
    assert expanded.stats.reads == 3      # the fields, a search of five rows, one of the nineteen there are


def test_hits_that_say_nothing_are_kept(rag):
    odd = [{"_id": "x"}, {}, {"_id": "y", "_source": {"document_id": 1}}, {"_id": "x"}, hit(1, 5), {"_id": "z", "_source": {"chunk_index": 4}}]
    expanded = rag.expander(window=1).expand(odd)
    assert [r.get("_id") for r in expanded if not r["is_neighbor"]].count("x") == 1 and len(expanded) == 5 + 2
    assert (expanded.stats.duplicates, expanded.stats.passed_through) == (1, 4)
    assert rag.expander().expand([{"_id": "x"}]) == [{"_id": "x", "is_neighbor": False}]


COUNTS = ("hits", "expanded", "passed_through", "neighbors", "passages", "beside", "merged", "duplicates", "characters")


@examples(40)
@given(st.lists(st.integers(0, 19), max_size=10), st.integers(0, 3), st.integers(0, 8), st.sampled_from(["rank", "document"]))
def test_statistics_mean_the_same_over_a_store_and_over_a_client(found, window, top, order):
    """Of 8 hits with 5 expanded, passed_through was 0 over a store; passages and characters were 0 over a client."""
    rows = [r for r in rag_rows(1)]
    texts = [r["_source"]["text"] for r in rows]
    starts = [sum(map(len, texts[:i])) + i for i in range(len(texts))]
    store = MemoryStore()
    spans = [Span(start, start + len(text)) for start, text in zip(starts, texts)]
    outline = Outline("1", spans[-1].end, {"c": spans}, blanks={span.end: "\n" for span in spans[:-1]})
    nodes = [TextNode(id_=f"1#c{i}", text=text, start_char_idx=span.start, end_char_idx=span.end, embedding=[1.0],
                      relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id="1")}) for i, (text, span) in enumerate(zip(texts, spans))]
    store.put(nodes, [outline])
    hits = [hit(i, i, text=texts[i]) for i in found]
    settings = {"window": window, "expand_top_k": top, "order": order}
    of_store = NeighborChunkExpander(store, **settings).expand(hits)
    of_client = NeighborChunkExpander(SearchServer(rows), "rag", **settings).expand(hits)
    assert indices(of_store) == indices(of_client)
    assert {name: getattr(of_client.stats, name) for name in COUNTS} == {name: getattr(of_store.stats, name) for name in COUNTS}
    assert of_client.stats.expanded + of_client.stats.passed_through == of_client.stats.hits


def test_a_client_that_fails_has_expanded_nothing():
    class Broken:
        def search(self, **_: Any) -> None:
            raise ConnectionError("gone")
    with pytest.warns(UserWarning, match="gone"):
        stats = NeighborChunkExpander(Broken(), "rag").expand([hit(1, 5), hit(2, 9)]).stats
    assert (stats.hits, stats.expanded, stats.passed_through, stats.passages) == (2, 0, 2, 2)


def test_a_window_costs_little_more_than_the_designs_own_query(monkeypatch):
    """One search, no longer than the design's, and few calls for each row: five hits, five chunks on both sides."""
    wanted = [{"bool": {"filter": [{"term": {"document_id": n}}, {"range": {"chunk_index": {"gte": 10 * n - 5, "lte": 10 * n + 5}}}]}}
              for n in range(1, 6)]
    own = {"query": {"bool": {"should": wanted, "minimum_should_match": 1}}, "size": 80, "sort": ["document_id", "chunk_index"]}
    expander = NeighborChunkExpander(SearchServer(rag_rows(5, 60)), "rag", on_error="raise")
    hits, sent, calls = [hit(n, 10 * n, n) for n in range(1, 6)], [], []
    answer = expander.index._send([own | {"size": 55}])
    monkeypatch.setattr(expander.index, "_send", lambda searches: sent.extend(searches) or answer)
    expander.expand(hits)       # asks what the fields are called
    sys.setprofile(lambda frame, event, arg: calls.append(event == "call"))
    try:
        expanded = expander.expand(hits)
    finally:
        sys.setprofile(None)
    assert len(expanded) == 55 and len(sent) == 2 and len(json.dumps(sent[1])) <= len(json.dumps(own))
    assert sum(calls) < 110 * len(expanded)      # 163 when every value was looked for under every name


@pytest.mark.parametrize("policy, kind", [(5, "search"), ("doc_type", "msearch")])
@pytest.mark.parametrize("failure", [{"_shards": {"total": 3, "failed": 1}, "hits": {"hits": []}}, {"error": {"reason": "no shard"}, "status": 503}])
def test_a_shard_that_is_taken_over_is_asked_again(policy, kind, failure):
    """A node died: its shards fail until others have taken them over."""
    class Dying(SearchServer):
        left = 2

        def _found(self, body):
            self.left -= 1
            return super()._found(body) if self.left < 0 else copy.deepcopy(failure)

    hits = [hit(1, 5), hit(2, 6)]
    expected = NeighborChunkExpander(SearchServer(rag_rows()), "rag", policy, on_error="raise").expand(hits)
    server = Dying(rag_rows())
    expander = NeighborChunkExpander(server, "rag", policy, on_error="raise")
    assert [r["_id"] for r in expander.expand(hits)] == [r["_id"] for r in expected] and server.left < 0


@pytest.mark.parametrize("failure, told", [
    (ConnectionError("connection refused\nmore"), "ConnectionError: connection refused"),
    (NotFoundError(404, "index_not_found_exception", {}), "the search server has no index 'rag'"),
    ({"error": {"type": "search_phase", "reason": "all shards failed"}}, "all shards failed"),
    ({"timed_out": True, "_shards": {"total": 5, "failed": 2}, "hits": {"total": 0, "hits": []}}, "2 of 5 shards did not answer"),
])
def test_a_server_that_fails(failure, told):
    server = SearchServer(rag_rows())
    keep, fail = (NeighborChunkExpander(server, "rag", on_error=on_error) for on_error in ("keep", "raise"))
    keep.index.sleep = fail.index.sleep = lambda seconds: None
    keep.expand([hit(1, 5)]), fail.expand([hit(1, 5)])
    server.fails = failure
    with pytest.warns(UserWarning, match="'rag'") as warned:
        kept = keep.expand([hit(1, 5), hit(2, 6)])
    assert len(warned) == 1 and "\n" not in str(warned[0].message) and told in kept.stats.events[0]
    assert [r["_id"] for r in kept] == ["c1", "c2"] and not any(r["is_neighbor"] for r in kept)
    with pytest.raises(RagnbError, match=told):
        fail.expand([hit(1, 5)])
    server.fails = None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(keep.expand([hit(1, 5)])) == 11


@pytest.mark.cluster
def test_an_index_that_is_not_there(opensearch_client):
    with pytest.raises(RagnbError, match="^the search server has no index 'no-such-index'$"):
        NeighborChunkExpander(opensearch_client, "no-such-index", on_error="raise").expand([hit(1, 5)])


def test_an_index_without_the_fields(docs):
    with pytest.raises(InputError, match="'index'.*seq"):
        docs.expander(fields={"index": "seq"}).expand([doc_hit("m-1", 3)])
    assert len(docs.expander(window="pages:0", fields={"index": "seq"}).expand([doc_hit("m-1", 3)])) == 3


class Response:
    """What Elasticsearch's client returns: not a dict, but with one in its body."""

    def __init__(self, body: dict) -> None:
        self.body = body

    def __getitem__(self, key: str) -> Any:
        return self.body[key]


class Elastic(SearchServer):
    """Elasticsearch's shape: objects with a body, `searches` instead of a body, a plain number as total."""

    def field_caps(self, **kwargs: Any) -> Response:
        return Response(super().field_caps(**kwargs))

    def _found(self, body: dict) -> dict:
        found = super()._found(body)
        found["hits"]["total"] = found["hits"]["total"]["value"]
        return found

    def search(self, **kwargs: Any) -> Response:
        return Response(super().search(**kwargs))

    def msearch(self, searches: list) -> Response:
        return Response(super().msearch(searches))


def test_the_responses_of_elasticsearch():
    rows = page_rows()
    expanded = NeighborChunkExpander(Elastic(rows), "docs", "doc_type").expand([doc_hit("m-1", 13), doc_hit("s-1", 0)])
    assert indices(expanded) == [*range(6, 21), 0, 1, 2, 3]


class OnlySearch:
    """A stub: it has a search and nothing else."""

    def __init__(self, server: SearchServer) -> None:
        self.search = server.search


class Proxy(OnlySearch):
    """A proxy that refuses whatever is not a search, as soon as it is looked up."""

    def __getattr__(self, name: str) -> Any:
        raise PermissionError(f"{name} is not allowed")


class Refusing(OnlySearch):
    """A server behind a gateway that answers other calls with an error."""

    def field_caps(self, **asked: Any) -> dict:
        raise RuntimeError("403")

    msearch = field_caps


def mocked(server: SearchServer) -> MagicMock:
    """A mock that answers searches; every other call gives another mock."""
    client = MagicMock()
    client.search.side_effect = server.search
    return client


NAMES = {"doc_id": "document_id", "index": "chunk_index"}


@pytest.mark.parametrize("client", [OnlySearch, Proxy, Refusing, mocked], ids=lambda c: c.__name__)
@pytest.mark.parametrize("fields", [None, NAMES, NAMES | {"text": "text", "page": "page", "doc_type": "doc_type"}])
def test_a_client_that_can_only_search(client, fields):
    server, results = SearchServer(rag_rows()), [hit(1, 5, 1), hit(2, 10, 2)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expanded = NeighborChunkExpander(client(server), "rag", 2, fields=fields, on_error="raise").expand(results)
    assert places(expanded) == [*((1, i) for i in range(3, 8)), *((2, i) for i in range(8, 13))]
    assert len(server.requests) == 1


@pytest.mark.parametrize("client", [OnlySearch, Proxy, Refusing, mocked], ids=lambda c: c.__name__)
def test_pages_and_whole_documents_of_a_client_that_can_only_search(client):
    results = [doc_hit("m-1", 13), doc_hit("g-1", 58), doc_hit("s-1", 0)]
    whole = NeighborChunkExpander(SearchServer(page_rows()), "docs", "doc_type", 200, on_error="raise").expand(results)
    alone = NeighborChunkExpander(client(SearchServer(page_rows())), "docs", "doc_type", 200, on_error="raise").expand(results)
    assert list(alone) == list(whole) and len(whole) == 15 + 50 + 4


def test_names_of_the_hits_that_are_nested_flat_or_text(make):
    """Without a mapping a text may be a keyword, or have one beside it."""
    rows = [{"_id": f"n{i}", "_source": {"text": f"본문 {i}", "metadata": {"document_id": "a/휴가 b.md", "chunk_index": str(i)}}} for i in range(12)]
    made = make(rows)
    expanded = NeighborChunkExpander(OnlySearch(made.client), made.name, 1, on_error="raise").expand([rows[9]])
    assert [r["_id"] for r in expanded] == ["n8", "n9", "n10"]
    keyword = {"doc_id": "metadata.document_id.keyword", "index": "metadata.chunk_index.keyword"}
    expanded = NeighborChunkExpander(OnlySearch(made.client), made.name, 1, fields=keyword, on_error="raise").expand([rows[9]])
    assert [r["_id"] for r in expanded] == ["n8", "n9", "n10"]


def test_hundreds_of_hits_stay_below_the_clauses_that_a_server_takes():
    """A text is asked for under two names: the requests are split before a server refuses them."""
    rows = [{"_id": f"r{i}", "_source": {"document_id": f"문서 {i}", "chunk_index": "0", "text": "글"}} for i in range(400)]
    server = SearchServer(rows)

    def clauses(query: Any) -> int:
        if isinstance(query, list):
            return sum(map(clauses, query))
        return sum(1 if k in ("term", "terms", "range") else clauses(v) for k, v in query.items()) if isinstance(query, dict) else 0

    expanded = NeighborChunkExpander(OnlySearch(server), "rag", 1, 1_000, on_error="raise").expand(rows)
    assert len(expanded) == 400 and all(clauses(body["query"]) <= 1_024 for body in server.requests)


@pytest.mark.parametrize("answer", [None, "text", {}, {"hits": None}, {"hits": {"hits": None}}, MagicMock()], ids=lambda a: type(a).__name__)
def test_an_answer_that_is_none(answer):
    client = MagicMock()
    client.search.return_value = answer
    with pytest.warns(UserWarning, match="'rag'"):
        assert [r["_id"] for r in NeighborChunkExpander(client, "rag").expand([hit(1, 5)])] == ["c1"]
    with pytest.raises(RagnbError, match="'rag'"):
        NeighborChunkExpander(client, "rag", on_error="raise").expand([hit(1, 5)])


def test_a_client_that_fails_at_every_call():
    server = SearchServer(rag_rows())
    server.fails = ConnectionError("connection refused")
    for fields in (None, NAMES):
        with pytest.warns(UserWarning, match="connection refused"):
            assert [r["_id"] for r in NeighborChunkExpander(server, "rag", fields=fields).expand([hit(1, 5)])] == ["c1"]
        with pytest.raises(RagnbError, match="connection refused"):
            NeighborChunkExpander(server, "rag", fields=fields, on_error="raise").expand([hit(1, 5)])
    with pytest.raises(InputError, match="search"):
        NeighborChunkExpander(object(), "rag")


def test_names_that_match_no_row_are_noted():
    expanded = NeighborChunkExpander(SearchServer(rag_rows()), "rag", fields={"doc_id": "parent", "index": "seq"}).expand([hit(1, 5)])
    assert [r["_id"] for r in expanded] == ["c1"] and any("fields" in event for event in expanded.stats.events)


def test_neighbors_are_marked_when_asked(rag):
    expanded = rag.expander(window=1).expand([rag_rows()[5] | {"_score": 1.0}])
    context = RankedContextBuilder(mark_neighbors=True).build(expanded, "연차는?")
    assert context.text.startswith("[1] (규정1.md) [이웃]\n문서 1의 4번째") and "[2] (규정1.md)\n문서 1의 5번째" in context.text
    assert context.text.count("[이웃]") == 2 and "[이웃]" not in RankedContextBuilder().build(expanded).text


def test_text_is_joined_where_it_overlaps_and_never_invented(make):
    text = "".join(f"{i}번째 조항은 {i}일의 휴가를 정한다. " for i in range(1, 41))
    rows = [{"_id": f"r{n}", "_source": {"document_id": 1, "chunk_index": n, "text": text[s:s + 120]}} for n, s in enumerate(range(0, 700, 90))]
    expanded = make(rows).expander(window=2).expand([rows[3] | {"_score": 1.0}])
    passage, = resolve_builder("simple").build(expanded, "?").passages
    assert passage.text == text[90:570]
    rows[4]["_source"]["text"] = "전혀 다른 글이다."
    expanded = make(rows).expander(window=1).expand([rows[3] | {"_score": 1.0}])
    passage, = resolve_builder("simple").build(expanded, "?").passages
    assert passage.text == text[180:390] + "\n전혀 다른 글이다."


def test_ranges_of_one_document_are_one_clause():
    server = SearchServer(rag_rows())
    NeighborChunkExpander(server, "rag", 2).expand([hit(1, 5), hit(2, 7), hit(3, 9), hit(4, 1, 2)])
    body = server.requests[-1]
    assert len(body["query"]["bool"]["should"]) == 2 and body["size"] == 9 + 4 and body["_source"] == {"excludes": ["embedding"]}


def test_a_window_counts_from_a_chunk_far_down():
    rows = [{"_id": f"r{i}", "_source": {"document_id": 1, "chunk_index": 5_000_000 + i, "text": "글"}} for i in range(20)]
    assert indices(NeighborChunkExpander(SearchServer(rows), "rag", 7).expand([rows[9]])) == [5_000_000 + i for i in range(2, 17)]
