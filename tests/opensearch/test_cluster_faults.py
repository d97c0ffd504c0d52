"""What goes wrong around an index on a real cluster: many changes, late writers, indexes of other people, settings of a cluster."""
from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from conftest import new_address
from unit_worlds import tokens, written

from ragnb import Index, IndexMismatchError, Pipeline, update_index
from ragnb.machinery.atomic import LockedError
from ragnb.opensearch import cluster_index
from ragnb.opensearch.cluster_store import ClusterStore

pytestmark = pytest.mark.cluster
_number = itertools.count()
ALONE = {"number_of_replicas": 0}


@pytest.fixture
def place(opensearch_url, opensearch_client):
    """The address of an index that is not there yet."""
    yield from new_address(opensearch_url, opensearch_client, f"faults-{next(_number)}")


@pytest.fixture
def store(opensearch_client, request):
    """An empty store of words that are given in a row."""
    made = ClusterStore(client=opensearch_client, name=f"late-{next(_number)}", tokenizer=tokens, settings=ALONE)
    made.drop()
    request.addfinalizer(made.drop)
    return made


def folder_of(folder: Path, n: int, edition: int) -> Path:
    """Small documents, all of which change with the edition."""
    folder.mkdir(exist_ok=True)
    for i in range(n):
        (folder / f"d{i:04}.md").write_text(f"rule {i} takes {edition} days\n")
    return folder


def test_a_run_that_changes_many_documents_counts_in_parts(place, tmp_path, monkeypatch):
    """No state lists more than a part, and after the run no question lists anything; readers of a part see whole documents."""
    monkeypatch.setattr(cluster_index, "PART", 7)
    monkeypatch.setattr("ragnb.indexing.update._batches.__defaults__", (5,))
    states, real = [], ClusterStore.commit

    def commit(self, told=None, sweep=True):
        real(self, told, sweep)
        with self.rows.snapshot() as view:
            states.append(view.state)
    index, _ = update_index(folder_of(tmp_path / "docs", 40, 1), place, show_progress=False)
    reader = Pipeline.from_index(Index.open(place))
    monkeypatch.setattr(ClusterStore, "commit", commit)
    _, report = update_index(folder_of(tmp_path / "docs", 40, 2), place, show_progress=False)
    assert report.changed == 40 and len(states) >= 4 and max(len(s.gone) for s in states) <= 4 * 7
    state = index.store.rows.read_state()
    assert state.gone == [] and "terms" not in json.dumps(state.live())
    assert "2 days" in reader.ask("how many days does rule 7 take?").passages[0].text
    assert update_index(tmp_path / "docs", place, show_progress=False)[1].unchanged == 40
    for file in sorted((tmp_path / "docs").iterdir())[3:]:
        file.unlink()
    states.clear()
    assert update_index(tmp_path / "docs", place, show_progress=False)[1].removed == 37
    assert max(len(s.gone) for s in states) <= 4 * 7 and Index.open(place).doc_ids == [f"d{i:04}.md" for i in range(3)]


def test_a_run_that_was_cut_short_between_two_parts_goes_on(place, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_index, "PART", 7)
    monkeypatch.setattr("ragnb.indexing.update._batches.__defaults__", (5,))
    update_index(folder_of(tmp_path / "docs", 20, 1), place, show_progress=False)
    calls, real = [], ClusterStore.commit

    def commit(self, told=None, sweep=True):
        real(self, told, sweep)
        calls.append(1)
        raise SystemExit
    monkeypatch.setattr(ClusterStore, "commit", commit)
    with pytest.raises(SystemExit):
        update_index(folder_of(tmp_path / "docs", 20, 2), place, show_progress=False)
    monkeypatch.setattr(ClusterStore, "commit", real)
    there = Index.open(place)
    texts = [n.text for n in there.store.get_chunks(there.store.matching()).all().values()]
    assert calls == [1] and len(texts) == 20 and 0 < sum("2 days" in t for t in texts) < 20
    _, report = update_index(tmp_path / "docs", place, show_progress=False)
    assert 0 < report.unchanged < 20 and report.changed == 20 - report.unchanged
    state = there.store.rows.read_state()
    there.store.refresh(state.rows)
    assert there.store.rows.client.count(index=state.rows)["count"] == state.totals["rows"] + state.totals["entries"]


def test_a_state_with_more_numbers_than_a_clause_takes_locks_nothing(store, opensearch_client):
    """70,000 documents that count no longer: readers, another change, and an index that is made anew go on."""
    store.put(*written({"a": ("", [("sun", ["sun moon"])], False)}))
    state = store.rows.read_state()
    listed = vars(state) | {"gone": list(range(10, 70_010)), "limit": 80_000, "generation": 9}
    opensearch_client.index(index=f"{store.rows.name}-state", id="state", body=listed, refresh=True)
    assert [h.node_id for h in store.search_words(["moon"])] == ["a#u0"]
    store.put(*written({"b": ("", [("sun", ["sun moon"])], False)}))
    assert store.doc_ids() == ["a", "b"] and store.rows.read_state().gone == []


def test_a_writer_that_wakes_up_late_changes_nothing_that_counts(store, opensearch_client):
    """Its numbers are its own: what it still sends is neither read nor in the way of its successor."""
    store.put(*written({"a": ("", [("sun", ["sun moon"])], False)}))
    late = ClusterStore(client=opensearch_client, name=store.rows.name, tokenizer=tokens)
    late.deferred = True
    late.put(*written({"b": ("", [("late", ["late moon"])], False)}))      # suspended before its commit
    sent = late.pending
    store.put(*written({"c": ("", [("sun", ["river moon"])], False)}))
    rows = [{"kind": "u", "doc": n, "pos": n << 20, "id": "b", "tokens": "late moon", "facts": []}
            for n in range(sent.next - 1, sent.next + 3)]
    late.write_rows(rows)
    late.refresh(sent.rows)
    with pytest.raises(LockedError, match="was written by another process meanwhile"):
        late.commit()
    assert store.doc_ids() == ["a", "c"] and {h.node_id for h in store.search_words(["moon"])} == {"a#u0", "c#u0"}
    assert store.search_words(["late"]) == []
    store.put(*written({"d": ("", [("sun", ["stone moon"])], False)}))
    assert store.doc_ids() == ["a", "c", "d"] and len(store.search_words(["moon"])) == 3
    state = store.rows.read_state()
    store.refresh(state.rows)
    assert opensearch_client.count(index=state.rows)["count"] == state.totals["rows"] and len(state.holes) == 1


def test_indexes_of_other_people_stay(store, opensearch_client):
    """Names that begin like ours: an archive, and the index `late-…-rows-old` of somebody else."""
    name = store.rows.name
    others = [f"{name}-rows-2024", f"{name}-rows-archive", f"{name}-rows-0123abcd"]
    for other in others:
        opensearch_client.indices.create(index=other, body={"settings": ALONE})
    neighbor = ClusterStore(client=opensearch_client, name=f"{name}-rows-mine", tokenizer=tokens, settings=ALONE)
    try:
        neighbor.put(*written({"n": ("", [("sun", ["sun moon"])], False)}))
        for edition in ("sun", "moon"):
            store.put(*written({"a": ("", [("sun", [edition])], False)}))
        store.drop()
        left = set(opensearch_client.indices.get_alias(index=f"{name}-*"))
        assert left.issuperset(others) and neighbor.doc_ids() == ["n"] and f"{name}-state" not in left
    finally:
        neighbor.drop()
        for other in others:
            opensearch_client.indices.delete(index=other, ignore_unavailable=True)


def test_a_state_of_a_newer_version_is_one_line(store, opensearch_client):
    store.put(*written({"a": ("", [("sun", ["sun moon"])], False)}))
    body = vars(store.rows.read_state()) | {"colour": "red", "generation": 9}
    opensearch_client.index(index=f"{store.rows.name}-state", id="state", body=body, refresh=True)
    with pytest.raises(IndexMismatchError, match="was made by a newer version of ragnb: its state has 'colour'"):
        store.doc_ids()


@pytest.mark.cluster(alone=True)
def test_names_are_deleted_where_patterns_may_not_be(store, opensearch_client):
    """`destructive_requires_name` refuses to delete by a pattern."""
    setting = "action.destructive_requires_name"
    opensearch_client.cluster.put_settings(body={"transient": {setting: True}})
    try:
        for edition in ("sun", "moon"):
            store.put(*written({"a": ("", [("sun", [edition])], False)}))
        store.drop()
        assert store.doc_ids() == []
    finally:
        opensearch_client.cluster.put_settings(body={"transient": {setting: None}})
