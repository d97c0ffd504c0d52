"""Filters that match 10,000 documents of a real cluster, and questions of any length: few requests, and no list of what matches."""
from __future__ import annotations

import gzip
import itertools
import json
import random
import shutil

import numpy as np
import pytest
from conftest import SAMPLE
from hypothesis import given, HealthCheck, settings, strategies as st
from llama_index.core.schema import Document

from ragnb import index_documents, Index, NgramEmbedding, Pipeline, update_index
from ragnb.documents.text import word_tokens_batch
from ragnb.opensearch.client import facts_of
from ragnb.opensearch.cluster_source import heard
from ragnb.opensearch.cluster_store import ClusterStore
from ragnb.retrieval.unit_source import SHIFT
from ragnb.retrieval.unit_vectors import to_codes
from ragnb.storage.filtered import FilteredStore
from ragnb.storage.filters import Condition, Group, resolve_where

pytestmark = pytest.mark.cluster
N = 10_000
NAMES = ["x" + "".join(letters) for letters in itertools.islice(itertools.product("bdfgkmp", repeat=5), N)]


@pytest.fixture(scope="module")
def place(opensearch_url):
    return f"opensearch://{opensearch_url.split(',')[0].partition('://')[2]}"


@pytest.fixture
def sent(monkeypatch):
    """Requests: the bytes of each, and those of its answer as it is sent."""
    from opensearchpy import Urllib3HttpConnection
    out, perform = [], Urllib3HttpConnection.perform_request

    def counted(self, method, url, params=None, body=None, *args, **options):
        answer = perform(self, method, url, params, body, *args, **options)
        out.append((len(body.encode() if isinstance(body, str) else body or b""), len(gzip.compress(answer[2].encode()))))
        return answer
    monkeypatch.setattr(Urllib3HttpConnection, "perform_request", counted)
    return out


@pytest.fixture(scope="module")
def large(place):
    """An index of 20 documents, and 10,000 more that are copies of the first one with another name in it."""
    with pytest.MonkeyPatch.context() as patch:
        rows, write = [], ClusterStore.write_rows
        patch.setattr(ClusterStore, "write_rows", lambda self, some, held=None: rows.extend(kept := list(map(dict, some))) or write(self, kept, held))
        documents = [Document(text=f"rule {name} sets the leave within nine days", id_=f"doc-{name}", metadata={"kind": kind, "year": 1999})
                     for name, kind in [("xzzzzz", "a"), *((f"x{'hjlrv'[n % 5]}{'hjlrv'[n // 5]}", "b") for n in range(20))]]
        index, _ = index_documents(documents, f"{place}/filters-large", embed=NgramEmbedding(dims=16), force=True, show_progress=False)
        first = [row for row in rows if row["kind"] in "ud" and row["id"] == "doc-xzzzzz"]
    store, template, noise = index.store, json.dumps(first), np.random.default_rng(0)
    texts = word_tokens_batch([f"rule {name} sets the leave within nine days" for name in NAMES])
    change, copies = store.begin(), []
    for n, (name, words) in enumerate(zip(NAMES, texts)):
        vector = noise.standard_normal(len(first[0]["vector"]))
        for row in json.loads(template.replace("xzzzzz", name).replace('\\"year\\":1999', f'\\"year\\":{2000 + n % 20}')):
            row["pos"] += change.next - row["doc"] << SHIFT
            row["doc"] = change.next
            if row["kind"] == "u":
                facts = facts_of({"kind": "a", "year": 2000 + n % 20} | dict.fromkeys(("doc_id", "document_id", "ref_doc_id"), f"doc-{name}"))
                row |= {"tokens": " ".join(words), "heard": heard(" ".join(words)), "words": sorted(set(words)), "facts": facts,
                        "vector": to_codes(vector[None])[0].tolist()}
            else:
                change.add(json.loads(row["counts"]))
            copies.append(row)
        change.next += 1
    store.check = lambda: None
    store.prepare()
    store.write_rows(copies)
    store.commit()
    yield Index.open(f"{place}/filters-large")
    ClusterStore(f"{place}/filters-large").drop()


@pytest.mark.parametrize("where, n", [("kind=a", N + 1), (Group("and", (Condition("kind", "==", "a"), Condition("doc_id", "!=", f"doc-{NAMES[7]}"))), N), ("year>=2010", N // 2)])
@pytest.mark.parametrize("retriever", ["multi-scale", "bm25", "vector", "hybrid"])
def test_a_filter_of_10000_documents_is_sent_and_no_key_of_them(large, sent, retriever, where, n):
    pipeline, wanted = Pipeline.from_index(large, retriever=retriever, where=where), resolve_where(where)
    pipeline.ask(f"leave of {NAMES[30]}")           # opens a point in time, and counts what passes
    for name, there in ((NAMES[19], True), (NAMES[3_219], True), ("xhh", False), ("xqqqq", False)):
        sent.clear()
        answer = pipeline.ask(f"Which leave does rule {name} set?")
        assert answer.passages and all(wanted.holds(p.metadata | {"doc_id": p.doc_id}) for p in answer.passages)
        assert len(sent) <= 5 and sum(own for own, _ in sent) < 100_000, sent
        best = {p.doc_id for p in answer.passages[:20 if retriever == "hybrid" else 1]}     # vectors are noise
        assert retriever == "vector" or (f"doc-{name}" in best) == there
        assert name in str(answer) or not there
    assert len(pipeline.expander.store.matching()) == n


@pytest.mark.parametrize("retriever", ["multi-scale", "hybrid", "vector", "bm25"])
def test_a_retriever_by_itself_reads_one_state(large, sent, retriever):
    """As in another library, without `ask` around it."""
    alone = Pipeline.from_index(large, retriever=retriever, where="kind=a").retriever
    alone.retrieve("Which leave?")
    sent.clear()
    assert alone.retrieve(f"Which leave does rule {NAMES[3_219]} set?") and len(sent) <= 5, sent


def test_what_a_visitor_and_a_question_ask_for_is_one_filter(large, sent):
    """As `serve` with tokens does: a visitor's filter in front of the store, and another one of the question."""
    behind = FilteredStore(FilteredStore(large.store, "kind=a"), "year<2010")
    assert len(behind.matching()) == N // 2 + 1
    found, missing = behind.get_chunks([f"doc-{NAMES[0]}#u0", f"doc-{NAMES[10]}#u0", "doc-xhh#u0"])
    assert list(found) == [f"doc-{NAMES[0]}#u0"] and len(missing) == 2
    sent.clear()
    with behind.snapshot():
        assert list(behind.get_outlines([f"doc-{NAMES[0]}", f"doc-{NAMES[10]}", "doc-xhh"]).found) == [f"doc-{NAMES[0]}"] and len(sent) <= 4
        assert f"doc-{NAMES[0]}#u0" in behind.matching() and f"doc-{NAMES[10]}#u0" not in behind.matching()


async def test_a_service_with_tokens_lists_and_finds_what_a_visitor_may_read(large, place, tmp_path, sent):
    """A visitor who may read 10,001 documents, more than one search returns, and one who may read 20; a search is few requests."""
    pytest.importorskip("ragnb.serve")
    from serve_world import client_of, TOKENS

    from ragnb.serve.access import Access, read_tokens
    from ragnb.serve.app import create_app
    rows = [{"name": name, "token": TOKENS[name], "where": where} for name, where in (("clerk", "kind=a"), ("chief", "kind=b"))]
    (tmp_path / "tokens.json").write_text(json.dumps(rows), encoding="utf-8")
    app = create_app(f"{place}/filters-large", access=Access(read_tokens(tmp_path / "tokens.json")))
    clerk, chief = client_of(app, "clerk"), client_of(app, "chief")
    assert (await client_of(app).post("/api/search", json={"query": "leave"})).status_code == 401
    assert (await clerk.get("/api/about")).json()["documents"] == N + 1
    assert len((await chief.get("/api/documents")).json()) == 20

    async def found(client, name, **more):
        reply = await client.post("/api/search", json={"query": f"Which leave does rule {name} set?", **more}, timeout=120)
        assert reply.status_code == 200, reply.text
        return reply.text
    await found(clerk, NAMES[3_219])
    for name, there in ((NAMES[3_219], True), (NAMES[19], True), ("xhh", False)):
        sent.clear()
        assert (f"doc-{name}" in await found(clerk, name)) == there and len(sent) <= 5, sent


@pytest.fixture(scope="module")
def read(place, tmp_path_factory):
    """An index of real documents, and their texts."""
    folder = tmp_path_factory.mktemp("real") / "hr"
    folder.mkdir()
    for file in sorted((SAMPLE / "corpus/hr_labor").glob("*.md"), key=lambda f: f.stat().st_size)[:4]:
        shutil.copy(file, folder)
    index, _ = update_index(folder, f"{place}/filters-read", embed=NgramEmbedding(dims=16), force=True, show_progress=False)
    yield index, "".join(file.read_text(encoding="utf-8") for file in sorted(folder.iterdir()))
    index.store.drop()


@settings(max_examples=4, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.integers(10, 12_000), st.integers(0, 2**20), st.sampled_from(["multi-scale", "bm25", "hybrid"]), st.booleans())
def test_a_question_of_any_length_is_five_requests(read, sent, length, seed, retriever, strange):
    index, text = read
    at = seed % max(1, len(text) - length)
    words = random.Random(seed).sample(range(10**6), length // 6 + 1)
    question = " ".join(f"낱{w:x}" for w in words)[:length] if strange else text[at:at + length]
    pipeline = Pipeline.from_index(index, retriever=retriever)
    pipeline.ask("연차는 며칠인가?")           # opens a point in time
    sent.clear()
    assert pipeline.ask(f"{question} 연차").question
    assert len(sent) <= 5 and sum(own for own, _ in sent) <= 300_000 and sum(map(sum, sent)) <= 400_000, (len(question), sent)
