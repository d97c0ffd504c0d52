"""Units on a real cluster: the same candidates, scores and passages as from a file, and a document that changes in one step."""
from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from unit_worlds import agree, answers, BruteUnits, by_address, many, question, same, tokens, vector, world, written

from ragnb.opensearch.cluster_store import ClusterStore
from ragnb.retrieval.missing_words import spelled_alike
from ragnb.retrieval.scoring import score_units
from ragnb.retrieval.unit_source import SHIFT

pytestmark = pytest.mark.cluster
_number = itertools.count()


@pytest.fixture
def new_store(opensearch_client, request):
    """Makes an empty store that compares every vector."""
    def make(exact: bool = True, **options) -> ClusterStore:
        name = f"units-{next(_number)}"
        store = ClusterStore(client=opensearch_client, name=name, exact=exact, tokenizer=tokens,
                             settings={"number_of_replicas": 0, "number_of_shards": 2}, **options)
        store.drop()
        request.addfinalizer(store.drop)
        return store
    return make


def held(store: ClusterStore, documents, dense: bool = True):
    """The units of a store with these documents, written in two batches."""
    ids = list(documents)
    for own in (ids[:2], ids[2:]):
        store.put(*written({i: documents[i] for i in own}, dense))
    return store.units


SOME = settings(max_examples=8, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate], suppress_health_check=list(HealthCheck))


@SOME
@given(world, question)
def test_a_cluster_gives_what_looking_at_every_unit_gives(new_store, documents, terms):
    source = held(new_store(), documents)
    agree(source, BruteUnits(documents), terms, True, 2)
    same(answers(source, terms, True, None), answers(BruteUnits(documents), terms, True, None))


def test_documents_of_many_units(new_store):
    """A cluster sends no characters of units that are only near the scored ones."""
    documents = many()
    source, brute = held(new_store(), documents), BruteUnits(documents)
    for terms in (["sun", "moon"], ["river", "river", "stone"], ["rain"], ["unknown"]):
        agree(source, brute, terms, True, 5)
        placed = score_units(source, terms, vector(" ".join(terms)).astype(np.float32), 5).units
        assert (placed.ends > placed.starts).all()       # only those with characters are left


def test_what_came_and_went_leaves_no_trace(new_store):
    documents, store = many(5), new_store()
    source = held(store, documents)
    for n, doc_id in enumerate(list(documents) * 2):
        documents[doc_id] = many(9)[f"d{n % 9:02}"]
        store.put(*written({doc_id: documents[doc_id]}))
    store.delete(["d03"])
    del documents["d03"]
    agree(source, BruteUnits(documents), ["sun", "moon"], True, 5)
    state = store.rows.look().state
    store.refresh(state.rows)
    assert store.rows.client.count(index=state.rows)["count"] == state.totals["rows"] and state.totals["titles"] == 4


def test_what_may_not_be_found_is_not_found(new_store):
    documents = many(4)
    source, brute = held(new_store(), documents), BruteUnits(documents)
    def keys(s):
        numbers = {i: n for n, i in s.ids.items()}
        return np.sort(np.concatenate([np.arange(5, 40) + (numbers[i] << SHIFT) for i in ("d01", "d02")]))
    found, wanted = (answers(s, ["sun", "moon"], True, 3, keys(s)) for s in (source, brute))
    assert {i for i, _ in found} <= {"d01", "d02"}
    same(found, wanted)


def test_of_a_question_of_many_words_the_beginning_and_the_end_are_searched(new_store):
    """A server refuses a query of more than 1,024 clauses; what is searched is scored as ever."""
    documents, store = many(6), new_store()
    source, brute = held(store, documents), BruteUnits(documents)
    terms = ["river", *(f"unknown{n}" for n in range(2_600)), "stone", *(f"missing{n}" for n in range(90)), "sun", "river"]
    agree(source, brute, terms, True, 5)
    wanted = brute.best_by_words(terms, 5, brute.counts(terms))
    assert [h.node.node_id for h in sorted(store.search_words(terms, 5), key=lambda h: h.node.node_id)] == [
        f"{i}#u{n}" for i, n in by_address(brute, wanted)]


def test_a_question_is_few_requests(new_store):
    store = new_store()
    source = held(store, many(30))       # every second document of records that begin or end more than three units away
    asked = ["sun", "moon"], vector("sun moon").astype(np.float32), 5
    for wanted in (3, 2):                # the state, the candidates, the units around them; then the state with the candidates
        before = source.rows.requests
        store.in_one_state(lambda: score_units(source, *asked))
        assert source.rows.requests - before <= wanted + 3 * (wanted == 3)     # at first, a point in time is opened, too


def test_words_like_one_that_is_nowhere(new_store):
    """The server finds the words that looking at all of them finds."""
    store = new_store()
    names = ["handbook", "policies", "v2.0", "환매권자", "재산목록", "재산", "a.b*c"]
    store.put(*written({f"{n}.md": ("", [(name, [name])], False) for n, name in enumerate(names)}))
    every = list(store.units.vocabulary())
    assert set(every) == set(names)
    for word in ("handbok", "policy", "환매권", "재산목룍", "재산목록제시", "v2", "a.b", ".*", "xyzzy"):
        found = list(store.units.words_like(word))
        assert any(word in other for other in found) == any(word in other for other in every), word
        assert spelled_alike(word, found) == spelled_alike(word, every), word
    assert store.units.words_like("xyzzy") == {} and list(store.units.words_like("환매권")) == ["환매권자"]
