"""What goes wrong around an index on a real cluster: many changes, late writers, indexes of other people, settings of a cluster."""
from __future__ import annotations

import gc
import io
import itertools
import json
from pathlib import Path

import pytest
from conftest import new_address
from unit_worlds import tokens, written

from ragnb import Index, IndexMismatchError, InputError, Pipeline, update_index
from ragnb.cli import main
from ragnb.indexing.writing import drop_index
from ragnb.machinery.atomic import LockedError
from ragnb.opensearch import cluster_index
from ragnb.opensearch.client import ServerError
from ragnb.opensearch.cluster_store import ClusterStore
from ragnb.opensearch.commands import move_alias

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


def open_contexts(client) -> int:
    """Points in time that the cluster keeps."""
    return len(client.get_all_pits().get("pits", []))


@pytest.mark.cluster(alone=True)
def test_a_reader_that_ends_closes_its_point_in_time(store, opensearch_client):
    """Also when the state has changed, and when the object is forgotten without `close`."""
    store.put(*written({"a": ("", [("sun", ["sun moon"])], False)}))
    before = open_contexts(opensearch_client)
    reader = ClusterStore(client=opensearch_client, name=store.rows.name, tokenizer=tokens)
    assert reader.search_words(["moon"]) and open_contexts(opensearch_client) == before + 1
    store.put(*written({"b": ("", [("sun", ["river moon"])], False)}))
    assert len(reader.search_words(["moon"])) == 2 and len(reader.rows.pits) == 1
    own = len(store.rows.pits)
    del reader
    gc.collect()
    assert open_contexts(opensearch_client) <= before + own


@pytest.mark.cluster(alone=True)
def test_settings_of_a_careful_cluster_are_one_line(store, opensearch_url, opensearch_client, monkeypatch):
    """At the limit of points in time; where expensive queries are forbidden, questions work, and exact comparison is refused."""
    nodes, outlines = written({"a": ("", [("sun", ["sun moon"])], False)})
    store.put([n.model_copy(update={"embedding": [1.0, 0.0]}) for n in nodes], outlines)
    monkeypatch.setattr("ragnb.opensearch.client.PATIENCE", 0.2)
    address = f"{opensearch_url.split(',')[0]}/{store.rows.name}"
    settings = opensearch_client.cluster.put_settings
    try:
        settings(body={"transient": {"search.max_open_pit_context": 0}})
        with pytest.raises(ServerError, match="as many points in time as it keeps: end some readers, or raise .*max_open_pit_context$"):
            ClusterStore(address, tokenizer=tokens).search_words(["moon"])
        settings(body={"transient": {"search.max_open_pit_context": None, "search.allow_expensive_queries": False}})
        reader = ClusterStore(address, tokenizer=tokens)
        assert reader.search_words(["moon"]) and reader.search([1.0, 0.0]) and reader.get_vectors(["a#u0"]).keys() == {"a#u0"}
        with pytest.raises(InputError, match="does not take this: .*allow_expensive_queries"):
            ClusterStore(f"{address}?exact=yes", tokenizer=tokens).search([1.0, 0.0])
    finally:
        settings(body={"transient": {"search.max_open_pit_context": None, "search.allow_expensive_queries": None}})


def test_a_reader_refuses_an_index_of_an_older_version(place, tmp_path, opensearch_client):
    update_index(folder_of(tmp_path / "docs", 1, 1), place, show_progress=False)
    name = place.rpartition("/")[2]
    opensearch_client.indices.put_mapping(index=f"{name}-state", body={"_meta": {"ragnb": 3}})
    for use in (lambda: Index.open(place), lambda: update_index(tmp_path / "docs", place, show_progress=False)):
        with pytest.raises(IndexMismatchError, match="was made by another version of ragnb: index the folder again under another name"):
            use()
    assert drop_index(place).documents == 1 and not opensearch_client.indices.get_alias(index=f"{name}-*")


def test_drop_deletes_an_index_and_nothing_else(place, tmp_path, opensearch_client, capsys, monkeypatch):
    """It asks; says what goes; leaves indexes that look alike, and an index on a full disk can go as well."""
    update_index(folder_of(tmp_path / "docs", 2, 1), place, show_progress=False)
    name = place.rpartition("/")[2]
    others = [f"{name}-rows-0123abcd", f"{name}-rows-old", f"{name}-state-2"]
    for other in others:
        opensearch_client.indices.create(index=other, body={"settings": ALONE})
    for answer, deleted in (("n\n", False), ("", False), ("네\n", True)):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        if deleted:
            opensearch_client.indices.put_settings(index=f"{name}-state", body={"index.blocks.read_only_allow_delete": True})
        assert main(["drop", "--index", place]) == 0
        out, err = capsys.readouterr()
        assert "2 documents, " in err and f"{name}-state" in err and ("is deleted" in out) is deleted
    assert sorted(opensearch_client.indices.get_alias(index=f"{name}*")) == others
    assert main(["drop", "--index", place, "--yes"]) == 2 and "no index at" in capsys.readouterr().err


def test_an_alias_is_read_written_moved_and_dropped(place, tmp_path, opensearch_client):
    """Open readers follow a move at their next question, also to an index of another embedding's numbers."""
    base = place.rpartition("/")[0]
    names = [f"{place.rpartition('/')[2]}-{n}" for n in (1, 2)]
    for edition, name in enumerate(names, 1):
        update_index(folder_of(tmp_path / "docs", 3, edition), f"{base}/{name}", show_progress=False)
    alias = f"{names[0]}-alias"
    assert move_alias(alias, f"{base}/{names[0]}") == ""
    reader = Pipeline.from_index(Index.open(f"{base}/{alias}"))
    question = "how many days does rule 2 take?"
    assert "1 days" in reader.ask(question).passages[0].text
    assert move_alias(alias, f"{base}/{names[1]}") == names[0]
    assert "2 days" in reader.ask(question).passages[0].text
    _, report = update_index(folder_of(tmp_path / "docs", 3, 5), f"{base}/{alias}", show_progress=False)
    assert report.changed == 3 and "5 days" in reader.ask(question).passages[0].text
    assert "5 days" in Pipeline.from_index(Index.open(f"{base}/{names[1]}")).ask(question).passages[0].text
    opensearch_client.indices.update_aliases(body={"actions": [
        {"remove": {"index": f"{names[1]}-state", "alias": alias}}, {"add": {"index": f"{names[0]}-state", "alias": alias}}]})
    assert "1 days" in reader.ask(question).passages[0].text
    with pytest.raises(InputError, match="is an index, not an alias"):
        move_alias(names[1], f"{base}/{names[0]}")
    opensearch_client.indices.put_alias(index=f"{names[1]}-state", name=alias)
    with pytest.raises(InputError, match="names 2 indexes"):
        update_index(tmp_path / "docs", f"{base}/{alias}", show_progress=False)
    opensearch_client.indices.delete_alias(index=f"{names[1]}-state", name=alias)
    dropped = drop_index(f"{base}/{alias}")
    assert dropped.names == [alias] and dropped.documents is None and len(Index.open(f"{base}/{names[0]}").doc_ids) == 3
