"""The store on a cluster beside its contract: addresses, filters as facts, bulks, refusals; and ranking like in a file."""
from __future__ import annotations

import base64
import hashlib
import json
import sys
import time
from contextlib import ExitStack
from types import SimpleNamespace

import pytest
from http_handler import Handler, serving
from hypothesis import given, strategies as st
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.schema import Document
from opensearchpy import NotFoundError, OpenSearch
from strategies import examples

from ragnb import IndexMismatchError, InputError, NgramEmbedding, ParentChildNodeParser, RagnbError, VectorRetriever
from ragnb.documents.text import word_tokens
from ragnb.opensearch.cluster_index import _cached, _keep, embedding_name, model_folder
from ragnb.opensearch.cluster_rows import ClusterRows, ClusterState
from ragnb.opensearch.cluster_store import ClusterStore
from ragnb.retrieval.sqlite_store import SqliteStore
from ragnb.storage.filters import Condition, Group
from ragnb.opensearch.client import cluster_place, facts_of, open_client, send_bulk, server_where, ServerError

_numbers = st.one_of(st.integers(-3, 3), st.integers(), st.floats(allow_nan=False, allow_infinity=False),
                     st.sampled_from([2**53, 2**53 + 1, -2**70, 0.1, -0.0, 5e-324, 1e308]))
_values = st.one_of(st.text(max_size=3), st.sampled_from(["1", "가", "가" * 5_000, "가" * 4_999]), _numbers, st.booleans())
_keys = st.sampled_from(["a", "a.b", "", "1:a", "한 글", "$x"])
_short = st.one_of(st.text(max_size=3), _numbers)


_named = st.sampled_from(["a", "a.b", "1:a", "한 글", "$x"])
_conditions = st.one_of(
    st.builds(Condition, _named, st.sampled_from(["==", "!="]), _values),
    st.builds(Condition, _named, st.sampled_from(["in", "nin"]), st.lists(_values, min_size=1, max_size=3).map(tuple)),
    st.builds(Condition, _named, st.sampled_from(["<", "<=", ">", ">="]), _short))
_filters = st.recursive(_conditions, lambda inner: st.builds(
    Group, st.sampled_from(["and", "or", "not"]), st.lists(inner, min_size=1, max_size=3).map(tuple)), max_leaves=5)


def answers(query: dict, facts: list[str]) -> bool:
    """What a search server says of a chunk: terms are compared as bytes."""
    (kind, said), = query.items()
    if kind == "terms":
        return bool(set(said["facts"]) & set(facts))
    if kind == "range":
        signs = {"lt": bytes.__lt__, "lte": bytes.__le__, "gt": bytes.__gt__, "gte": bytes.__ge__}
        return any(all(signs[s](f.encode(), v.encode()) for s, v in said["facts"].items()) for f in facts)
    return (all(answers(q, facts) for q in said.get("filter", [])) and not any(answers(q, facts) for q in said.get("must_not", []))
            and (not said.get("should") or any(answers(q, facts) for q in said["should"])))


@examples(300)
@given(_filters, st.dictionaries(_keys, st.one_of(_values, st.none(), st.lists(st.text(max_size=2), max_size=2)), max_size=4))
def test_a_server_answers_a_filter_as_memory_does(where, metadata):
    assert answers(server_where(where), facts_of(metadata)) == where.holds(metadata)


class Refusing(Handler):
    """A server that answers everything with one status."""
    status, told = 401, {}
    calls, busy = 0, 0    # The first so many requests are answered 429

    def answer(self, body: bytes) -> None:
        type(self).calls += 1
        self.tell(429 if self.calls <= self.busy else self.status, self.told)


@pytest.fixture
def refusing():
    """Starts such a server; its address without a scheme."""
    with ExitStack() as servers:
        yield lambda status, told, busy=0: servers.enter_context(serving(Refusing, status=status, told=told, busy=busy))[0]


@pytest.mark.parametrize("status, told, message", [
    (401, {}, "refuses the user or the password .401.: put them in the address, or in RAGNB_OPENSEARCH_USER"),
    (403, {"error": {"root_cause": [{"type": "security_exception", "reason": "no permissions"}]}}, "does not allow this .403."),
    (500, {"error": {"root_cause": [{"type": "boom", "reason": "x\ny"}]}}, "answers 500")])
def test_a_refusal_is_one_line_without_the_password(refusing, status, told, message):
    place = refusing(status, told)
    with pytest.raises(ServerError, match=message) as error:
        ClusterStore(f"opensearch://ann:geheim@{place}/docs").doc_ids()
    assert "\n" not in str(error.value) and "geheim" not in str(error.value) and place in str(error.value)
    assert isinstance(error.value, (RagnbError, ConnectionError))


class Reading(Refusing):
    """It keeps the headers and the bodies of all requests, and refuses them."""
    seen: list

    def answer(self, body: bytes) -> None:
        self.seen.append(({name.lower(): value for name, value in self.headers.items()}, body))
        super().answer(body)


@pytest.mark.parametrize("key, header", [("c2VjcmV0", "ApiKey c2VjcmV0"), ("Bearer c2VjcmV0", "Bearer c2VjcmV0")])
def test_an_api_key_is_sent_and_not_told(monkeypatch, key, header):
    monkeypatch.setenv("RAGNB_OPENSEARCH_API_KEY", key)
    for status, told, message in ((401, {}, "an API key in RAGNB_OPENSEARCH_API_KEY$"),
                                  (403, {"message": "the request signature is wrong"}, "allow this .403.: the request signature is wrong")):
        with serving(Reading, status=status, told=told, seen=[]) as (host, handler):
            with pytest.raises(ServerError, match=message) as error:
                ClusterStore(f"opensearch://{host}/docs").doc_ids()
            assert {headers["authorization"] for headers, _ in handler.seen} == {header}
            assert "c2VjcmV0" not in f"{error.value}{cluster_place(f'opensearch://{host}/docs')!r}"
            assert "http_auth" in cluster_place(f"opensearch://ann:b@{host}/docs").options     # the address wins
    monkeypatch.setenv("RAGNB_OPENSEARCH_USER", "ann")
    with pytest.raises(InputError, match="set RAGNB_OPENSEARCH_USER or RAGNB_OPENSEARCH_API_KEY, not both"):
        cluster_place("opensearch://localhost/docs")


def test_requests_to_aws_are_signed_as_they_are_sent(monkeypatch):
    """The client's class signs: with the region, the service of the host, and the hash of the compressed body."""
    class Failed(Exception):
        pass

    class Signed:
        def __init__(self, credentials, service, region):
            self.said = f"{credentials.access_key}/{region}/{service}"

        def payload(self, request):
            return hashlib.sha256(request.data or b"").hexdigest()

        def add_auth(self, request):
            request.headers["Authorization"] = f"AWS4-HMAC-SHA256 Credential={self.said}"
    found: list = [SimpleNamespace(access_key="AK", secret_key="geheim", token=None)]
    request = type("AWSRequest", (), {"__init__": lambda self, method, url, data, headers: vars(self).update(data=data, headers=dict(headers))})
    for name, held in {"botocore": {}, "botocore.auth": {"SigV4Auth": Signed}, "botocore.awsrequest": {"AWSRequest": request},
                       "botocore.exceptions": {"BotoCoreError": Failed},
                       "botocore.session": {"Session": lambda: SimpleNamespace(get_credentials=lambda: found[0])}}.items():
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(**held))
    with serving(Reading, status=404, seen=[]) as (host, handler):
        client = open_client(cluster_place(f"opensearch://{host}/docs?aws=eu-west-1"))
        with pytest.raises(NotFoundError):
            client.search(index="docs", body={"query": {"match_all": {}}})
        (headers, body), = handler.seen
    assert headers["authorization"] == "AWS4-HMAC-SHA256 Credential=AK/eu-west-1/es" and body[:2] == b"\x1f\x8b"
    assert headers["x-amz-content-sha256"] == hashlib.sha256(body).hexdigest()
    serverless = open_client(cluster_place("opensearchs://x.eu-west-1.aoss.amazonaws.com/docs?aws=eu-west-1"))
    assert serverless.transport.kwargs["http_auth"].service == "aoss"
    found[0] = None
    with pytest.raises(InputError, match="no credentials of AWS: set AWS_PROFILE, or AWS_ACCESS_KEY_ID"):
        open_client(cluster_place("opensearch://localhost/docs?aws=eu-west-1"))
    with pytest.raises(InputError, match="aws must be a region, in an address without a user, got 'eu-west-1'"):
        cluster_place("opensearch://ann:b@localhost/docs?aws=eu-west-1")
    monkeypatch.setitem(sys.modules, "botocore.exceptions", None)
    with pytest.raises(RagnbError, match="signing for AWS needs the package botocore: pip install "):
        open_client(cluster_place("opensearch://localhost/docs?aws=eu-west-1"))


def test_a_busy_server_is_asked_again(refusing):
    """Whatever is asked: the state of the index, in the first place."""
    assert ClusterStore(f"opensearch://{refusing(404, {}, busy=2)}/docs").doc_ids() == []


class Dying(Refusing):
    """Two requests find a node that has just died; one gets no answer in time, unless it is to be answered without other nodes."""

    def answer(self, body: bytes) -> None:
        type(self).calls += 1
        cause = {"type": "node_not_connected_exception", "reason": "[node-2] Node not connected"}
        if self.calls <= 2:
            return self.tell(500, {"error": {"root_cause": [cause], "type": "exception"}, "status": 500})
        if "/_doc/" in self.path and "preference=_local" not in self.path:
            time.sleep(1)
        self.tell(404, {})


def test_a_node_that_dies_or_stops_costs_another_try(monkeypatch):
    """The server answers 500 with the cause inside; a node that waits for a stopped one is asked for its own copy."""
    monkeypatch.setattr("ragnb.opensearch.client._ANSWER", 0.3)
    monkeypatch.setattr("ragnb.opensearch.client.HASTY", 0.1)
    with serving(Dying) as (host, handler):
        assert ClusterStore(f"opensearch://{host}/docs").doc_ids() == []
        assert handler.calls == 5


def test_an_embedding_is_fetched_once_and_checked(tmp_path, monkeypatch):
    """Its name is the fingerprint of its files: a changed copy is fetched again, and old ones are removed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    fetched, own = [], tmp_path / "own"
    own.mkdir()
    (own / "axes").write_bytes(b"123")
    name = embedding_name(own)

    def read_files(rows, group, files, folder):
        fetched.append(group)
        (folder / "axes").write_bytes(b"123")
    monkeypatch.setattr("ragnb.opensearch.cluster_index.read_files", read_files)
    state = ClusterState(1, "n-rows-1", 3, told={"manifest": {"embedding_folder": name}, "files": {}})
    for tampered in (False, False, True, False):
        if tampered:
            (tmp_path / "cache/ragnb" / name / "axes").write_bytes(b"124")
        with model_folder(SimpleNamespace(rows=None), state) as folder:
            assert (folder / "axes").read_bytes() == b"123"
    assert fetched == [name] * 2
    for n in range(25):
        (own / "axes").write_text(str(n))
        _keep(own, _cached(embedding_name(own)))
    assert len(list((tmp_path / "cache/ragnb").iterdir())) == 20


def test_a_key_file_and_a_password_of_any_letters_reach_the_client():
    """Messages mask what looks like a key; the client gets what was given."""
    place = cluster_place("opensearchs://ann:a@one/docs?client_key=/keys/my.pem&client_cert=/keys/my.crt")
    assert (place.options["client_key"], place.options["client_cert"]) == ("/keys/my.pem", "/keys/my.crt") and "my.pem" not in repr(place)
    client = open_client(cluster_place("opensearch://%EA%B0%80:비밀번호@127.0.0.1:9/docs"))
    header = client.transport.connection_pool.connections[0].headers["authorization"]
    assert base64.b64decode(header.split()[1]).decode() == "가:비밀번호"


def test_another_node_is_asked_first_and_at_once(refusing, monkeypatch):
    """Of two nodes one refuses connections: no question waits for it."""
    pauses = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    place = refusing(404, {})
    for _ in range(4):
        assert ClusterStore(f"opensearch://127.0.0.1:9,{place}/docs").doc_ids() == []
    assert pauses == []


def test_a_block_is_told_at_once(refusing, monkeypatch):
    """A full disk answers 429 like a busy server."""
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("asked again"))
    cause = {"type": "cluster_block_exception", "reason": "index [docs-state] blocked by: [TOO_MANY_REQUESTS/12/disk usage exceeded]"}
    with pytest.raises(ServerError, match="is read-only: cluster_block_exception: index .docs-state. blocked by"):
        ClusterStore(f"opensearch://{refusing(429, {'error': {'root_cause': [cause], **cause}, 'status': 429})}/docs").doc_ids()


def test_searches_that_a_busy_server_refused_are_asked_again_with_the_first(monkeypatch):
    """`msearch` answers 200, and 429 for some of its searches."""
    monkeypatch.setattr("ragnb.opensearch.cluster_rows._PAUSES", (0, 0))
    asked, opened = [], []

    def msearch(body, params):
        asked.append([json.loads(line)["n"] for line in body.splitlines()[1::2]])
        busy = {"status": 429, "error": {"type": "rejected_execution_exception", "reason": "queue"}}
        return {"responses": [busy if len(asked) < 3 and n else {"status": 200, "n": n} for n in asked[-1]]}

    def create_pit(index, params):
        opened.append(index)
        return {"pit_id": f"pit{len(opened)}"}

    state = {"_source": vars(ClusterState(1, "n-rows-1", 3)), "_seq_no": 0, "_primary_term": 1}
    rows = ClusterRows(SimpleNamespace(msearch=msearch, create_pit=create_pit, get=lambda **_: state, delete_pit=lambda **_: None), "n", "here")
    with rows.snapshot():
        assert [a["n"] for a in rows.ask(*({"n": n} for n in range(3)))] == [0, 1, 2] and asked == [[0, 1, 2]] * 3
        assert [a["n"] for a in rows.ask({"n": 1}, {"n": 7})] == [1, 7] and asked[3:] == [[7]]      # asked once in a snapshot
    assert opened == ["n-rows-1"]
    monkeypatch.setattr("ragnb.opensearch.cluster_rows._PAUSES", ())
    asked.clear()
    with pytest.raises(ServerError, match="here rejected_execution_exception: queue"):
        rows.ask({"n": 3})


def test_a_point_in_time_that_is_lost_is_opened_again_while_its_state_is_in_force(monkeypatch):
    monkeypatch.setattr("ragnb.opensearch.cluster_rows._PAUSES", (0, 0))
    state, opened, closed = ClusterState(1, "n-rows-1", 3), [], []

    def msearch(body, params):
        pit = json.loads(body.splitlines()[1])["pit"]["id"]
        gone = {"status": 404, "error": {"type": "search_context_missing_exception", "reason": "gone"}}
        return {"responses": [gone if pit == "pit1" else {"status": 200, "pit": pit}]}

    def create_pit(index, params):
        opened.append(index)
        return {"pit_id": f"pit{len(opened)}"}

    client = SimpleNamespace(msearch=msearch, create_pit=create_pit, get=lambda **_: {"_source": vars(state), "_seq_no": 0, "_primary_term": 1},
                             delete_pit=lambda body, params: closed.append(body["pit_id"][0]))
    rows = ClusterRows(client, "n", "here")
    assert rows.ask({"n": 1})[0]["pit"] == "pit2" and closed == ["pit1"]
    with rows.snapshot():
        state = ClusterState(2, "n-rows-1", 4)
        assert rows.ask({"n": 2})[0]["pit"] == "pit2"       # the old state, as it was
        rows.close()
        with pytest.raises(ServerError, match="was changed while it was read: ask again"):
            rows.ask({"n": 3})
    opened.clear()
    opened += ["", ""]
    assert rows.ask({"n": 4})[0]["pit"] == "pit3" and rows.look().state == state
    calls = []

    def question():
        nonlocal state
        if not calls:       # another writer commits, and the point in time is lost
            state = ClusterState(3, "n-rows-1", 5)
            rows.close()
        calls.append(1)
        return rows.ask({"n": 5})[0]["pit"]
    assert rows.in_one_state(question) == f"pit{len(opened)}" and len(calls) == 2 and rows.look().state == state


@pytest.mark.parametrize("url, error, message", [
    ("opensearch://127.0.0.1:9/docs", ServerError, "no OpenSearch answers at http://127.0.0.1:9/docs: "),
    ("opensearch://ann:geheim@127.0.0.1:9", InputError, "opensearch://127.0.0.1:9/NAME"),
    ("opensearch://127.0.0.1:9/Docs", InputError, "opensearch://host:9200/NAME"),
    ("localhost:9200/docs", InputError, "opensearch://host:9200/NAME"),
    ("opensearch://h/docs?cert=x", InputError, "takes ca_certs, client_cert, client_key, exact, settings, shards, replicas, aws and verify, got 'cert'"),
])
def test_an_address_that_is_none(url, error, message):
    with pytest.raises(error, match=message):
        ClusterStore(url).doc_ids()


class Answers(OpenSearch):
    """A client whose bulk answers as it is told, request by request."""

    def __init__(self, *statuses: list) -> None:
        super().__init__()
        self.statuses, self.bodies = list(statuses), []

    def bulk(self, body: str) -> dict:
        self.bodies.append(body)
        now = self.statuses.pop(0)
        return {"items": [{"index": {"_id": f"r{n}", "status": s, **({} if s < 300 else {"error": {"type": t, "reason": f"because\n{t}"}})}}
                          for n, (s, t) in enumerate(now)]}


def test_only_what_a_busy_server_refused_is_sent_again(monkeypatch):
    client, pauses = Answers([(200, ""), (429, "busy"), (200, ""), (429, "busy")], [(429, "busy"), (201, "")], [(200, "")]), []
    monkeypatch.setattr(time, "sleep", pauses.append)
    send_bulk(client, [({"index": {}}, {"n": n}) for n in range(4)], "here")
    assert pauses == [0.1, 0.2] and [body.count('"n"') for body in client.bodies] == [4, 2, 1] and '{"n":1}' in client.bodies[2]


def test_a_server_that_stays_busy_is_asked_for_a_minute(monkeypatch):
    client, pauses = Answers(*[[(429, "busy")]] * 20), []
    monkeypatch.setattr(time, "sleep", pauses.append)
    with pytest.raises(ServerError, match=r"too busy \(429\)"):
        send_bulk(client, [({"index": {}}, {})], "here")
    assert 60 <= sum(pauses) < 70 and max(pauses) == 10


@pytest.mark.parametrize("status, kind, error, message", [
    (400, "mapper_parsing_exception", InputError, "here does not take 'r0': mapper_parsing_exception: because mapper_parsing_exception"),
    (403, "cluster_block_exception", ServerError, "here is read-only: cluster_block_exception"),
    (503, "unavailable_shards_exception", ServerError, "here does not take 'r0': unavailable_shards_exception")])
def test_a_row_that_is_refused_ends_the_put(status, kind, error, message):
    with pytest.raises(error, match=message) as told:
        send_bulk(Answers([(status, kind)]), [({"index": {}}, {})], "here")
    assert "\n" not in str(told.value)


def test_rows_go_in_requests_of_a_size_a_server_likes():
    client = Answers(*([[(200, "")] * 500] * 9))
    send_bulk(client, (({"index": {}}, {"n": n}) for n in range(1_200)), "here")
    assert len(client.bodies) == 3
    send_bulk(client, (({"index": {}}, {"n": "x" * 3_000_000}) for _ in range(4)), "here")
    assert len(client.bodies) == 7


@pytest.mark.parametrize("lacking", [{"_shards": {"failed": 1}}, {"timed_out": True, "_shards": {"failed": 0}}])
def test_an_answer_without_a_shard_is_asked_again(lacking, monkeypatch):
    """A cluster that loses a node answers in part, for some seconds."""
    monkeypatch.setattr("ragnb.opensearch.cluster_rows._PAUSES", (0, 0))
    left, asked = [lacking] * 2, []

    def msearch(body, params):
        asked.append(body)
        return {"responses": [{"status": 200, **(left.pop() if left else {"_shards": {"failed": 0}, "hits": {"hits": [{"_id": "a"}]}})}]}

    state = {"_source": vars(ClusterState(1, "n-rows-1", 3)), "_seq_no": 0, "_primary_term": 1}
    client = SimpleNamespace(msearch=msearch, create_pit=lambda **_: {"pit_id": "p"}, get=lambda **_: state, delete_pit=lambda **_: None)
    assert ClusterRows(client, "n", "here").ask({"n": 1})[0]["hits"]["hits"] == [{"_id": "a"}] and len(asked) == 3
    left += [lacking] * 3
    with pytest.raises(ServerError, match="here answered in part only: [01] shards failed"):
        ClusterRows(client, "n", "here").ask({"n": 1})


TEXTS = {f"rule{i}.md": f"{w} 규정 제{i}조이다. {w}는 {i}일까지 쓴다. 프란츠 카프카는 {w}를 냈다.\n\n{w}는 진단서를 낸다. 반차는 {i}시간이다."
         for i, w in enumerate(("연차", "병가", "휴직", "출장", "교육", "연차 휴가"), 1)}


ALONE = {"number_of_replicas": 0}


@pytest.fixture(scope="module")
def filled(opensearch_client, tmp_path_factory):
    """The same documents on the cluster and in a file."""
    there = ClusterStore(client=opensearch_client, name="ranked", exact=True, settings=ALONE)
    there.drop()
    local = SqliteStore(tmp_path_factory.mktemp("ranked") / "store.db")
    documents = [Document(text=t, id_=i, metadata={"kind": "a" if n % 2 else "b"}) for n, (i, t) in enumerate(TEXTS.items())]
    model = NgramEmbedding(dims=32)
    model.fit([d.text for d in documents])
    parser = ParentChildNodeParser(parent_size=60, parent_overlap=0, child_size=30, child_overlap=0)
    for store in (there, local):
        store.add_documents(documents, parser, model)
    yield there, local, model
    there.drop()


def scores(hits) -> dict:
    """Found chunks, and what they are worth."""
    return {h.node_id: pytest.approx(h.score, rel=1e-4) for h in hits}


@pytest.mark.cluster
@pytest.mark.parametrize("question, found", [("연차는 며칠까지 쓰나?", True), ("프란츠 카프카", True), ("진단서 진단서를 낸다", True), ("없는낱말", False)])
@pytest.mark.parametrize("where", [None, {"kind": "a"}, "kind!=a"])
def test_words_rank_on_the_server_as_in_a_file(filled, question, found, where):
    there, local, _ = filled
    hits = there.search_words(word_tokens(question), 30, where)
    assert scores(local.search_words(word_tokens(question), 30, where)) == {h.node_id: h.score for h in hits}
    assert not found or hits


@pytest.mark.cluster
def test_vectors_rank_on_the_server_as_in_a_file(filled):
    there, local, model = filled
    hits = {name: VectorRetriever(store, model, 20, {"kind": "a"}).retrieve("병가는 며칠인가?") for name, store in (("there", there), ("local", local))}
    assert scores(hits["local"]) == {h.node_id: h.score for h in hits["there"]} and {h.node.metadata["kind"] for h in hits["there"]} == {"a"}


@pytest.mark.cluster
def test_tokens_with_a_space_in_them_are_found(opensearch_client):
    store = ClusterStore(client=opensearch_client, name="spaces", settings=ALONE, tokenizer=lambda texts: [["프란츠 카프카", "a\tb"] for _ in texts])
    store.drop()
    nodes = store.add_documents([Document(text="글이다.", id_="a")], ParentChildNodeParser(), MockEmbedding(embed_dim=2))
    assert nodes and [h.node_id for h in store.search_words(["프란츠 카프카"])] == ["a#c0"] == [h.node_id for h in store.search_words(["a\tb"])]
    assert store.search_words(["프란츠"]) == [] and store.search_words([]) == []
    store.drop()


@pytest.mark.cluster
def test_an_index_of_another_program_is_refused(opensearch_client):
    opensearch_client.indices.delete(index="theirs-*", ignore_unavailable=True)
    opensearch_client.indices.create(index="theirs-state", body={"mappings": {"properties": {"text": {"type": "text"}}}})
    store = ClusterStore(client=opensearch_client, name="theirs", settings=ALONE)
    with pytest.raises(IndexMismatchError, match="'theirs' at theirs was not made by this package"):
        store.add_documents([Document(text="글이다.", id_="a")], ParentChildNodeParser(), MockEmbedding(embed_dim=2))
    opensearch_client.indices.delete(index="theirs-*", ignore_unavailable=True)


@pytest.mark.cluster(alone=True)
def test_read_only_and_vectors_of_other_lengths(opensearch_client, opensearch_url):
    store = ClusterStore(f"{opensearch_url.split(',')[0]}/trouble", settings=ALONE)
    store.drop()
    documents = [Document(text="글이다. " * 5, id_=i) for i in "abc"]
    parser = ParentChildNodeParser(parent_size=20, parent_overlap=0, child_size=10, child_overlap=0)
    store.add_documents(documents[:2], parser, MockEmbedding(embed_dim=2))
    with pytest.raises(InputError, match="must be 2 finite numbers, got 3"):
        ClusterStore(f"{opensearch_url.split(',')[0]}/trouble").add_documents(documents, parser, MockEmbedding(embed_dim=3))
    opensearch_client.indices.put_settings(index="trouble-*", body={"index.blocks.write": True})
    for change in (lambda: store.add_documents(documents[:1], parser, MockEmbedding(embed_dim=2)), lambda: store.delete(["a"])):
        with pytest.raises(ServerError, match="trouble is read-only: cluster_block_exception") as error:
            change()
        assert "\n" not in str(error.value) and store.doc_ids() == ["a", "b"]
    opensearch_client.indices.put_settings(index="trouble-*", body={"index.blocks.write": None})
    store.add_documents(documents[2:], parser, MockEmbedding(embed_dim=2))      # what was refused has no effect later
    assert store.doc_ids() == ["a", "b", "c"] and len(store.search([1, 1], 50)) == sum(len(o.levels["c"]) for o in store.get_outlines(list("abc")).all().values())
    store.drop()
    assert store.doc_ids() == [] and store.search([1, 1]) == []


@pytest.mark.cluster(alone=True)
def test_a_busy_server_is_waited_for(opensearch_client, monkeypatch):
    """The server's own memory guard answers 429; it is lifted while the put is waiting."""
    opensearch_client.indices.delete(index="busy-*", ignore_unavailable=True)
    opensearch_client.indices.create(index="busy-rows", body={"settings": ALONE})
    limit = "network.breaker.inflight_requests.limit"
    from opensearchpy.exceptions import TransportError
    opensearch_client.cluster.put_settings(body={"transient": {limit: "1kb"}})
    try:
        actions = [({"index": {"_index": "busy-rows", "_id": f"x{n}"}}, {"text": "x" * 400}) for n in range(5)]
        pauses = []

        def lift(seconds: float) -> None:
            pauses.append(seconds)
            opensearch_client.cluster.put_settings(body={"transient": {limit: None}})

        monkeypatch.setattr(time, "sleep", lift)
        send_bulk(opensearch_client, actions, "here")
        assert pauses == [0.1]
    except TransportError as error:
        pytest.fail(str(error))
    finally:
        opensearch_client.cluster.put_settings(body={"transient": {limit: None}})
    opensearch_client.indices.delete(index="busy-*")
