"""A node that takes a write and dies before it says so: the client asks again, and finds its own write."""
from __future__ import annotations

import gzip
import json
import time
from urllib.parse import parse_qs, urlsplit

import pytest
from http_handler import Handler, serving

from ragnb.machinery.atomic import LockedError
from ragnb.opensearch.cluster_index import WriterLease
from ragnb.opensearch.cluster_rows import ClusterState
from ragnb.opensearch.cluster_store import ClusterStore, FORMAT, replace_state


class Forgetful(Handler):
    """Documents of an index, replaced by compare-and-set; `lose` writes are done, and never answered."""
    held: dict[str, tuple[int, dict]]
    lose = 0

    @classmethod
    def taken(cls, head: str, row: str) -> dict:
        """A row of a bulk."""
        cls.held[json.loads(head)["index"]["_id"]] = 0, json.loads(row)
        return {"index": {"status": 200}}

    def answer(self, body: bytes) -> None:
        kind, own = urlsplit(self.path).path.split("/")[2:], type(self)
        body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
        if self.path.startswith("/_bulk"):
            return self.tell(200, {"errors": False, "items": list(map(own.taken, *[iter(body.decode().splitlines())] * 2))})
        if kind[:1] == ["_mapping"] or not kind:
            return self.tell(200, {"x": {"mappings": {"_meta": {"ragnb": FORMAT}}}})
        if self.path.startswith("/_cat/health"):
            return self.tell(200, [{"epoch": "1000"}])
        if kind[:1] == ["_mget"]:
            return self.tell(200, {"docs": [{"_id": i, "found": i in own.held, "_source": own.held.get(i, (0, 0))[1]} for i in
                                             (d["_id"] for d in json.loads(body)["docs"])]})
        name = kind[1]
        seen, row = own.held.get(name, (-1, None))
        told = {"_id": name, "_seq_no": seen, "_primary_term": 1, "_source": row}
        if self.command == "GET":
            return self.tell(200 if row is not None else 404, told | {"found": row is not None})
        asked = parse_qs(urlsplit(self.path).query)
        if ("if_seq_no" in asked and int(asked["if_seq_no"][0]) != seen) or "create" in (kind[0].strip("_"), asked.get("op_type", [""])[0]) and row:
            return self.tell(409, {"error": {"type": "version_conflict_engine_exception", "reason": "another"}})
        if self.command == "DELETE":
            del own.held[name]
        else:
            own.held[name] = seen + 1, json.loads(body)
        if own.lose:
            own.lose -= 1
            self.close_connection = True
            return self.connection.close()
        self.tell(200, told | {"_seq_no": seen + 1})


@pytest.fixture
def forgetful():
    """The handler, and an address."""
    with serving(Forgetful, held={}) as (host, handler):
        yield handler, f"opensearch://{host}/x"


def test_a_commit_whose_answer_was_lost_is_a_commit(forgetful):
    handler, place = forgetful
    rows, before = ClusterStore(place).rows, ClusterState()
    for n in (1, 2):                     # the first state is made, the second replaces it
        state = ClusterState(n, limit=n)
        handler.lose = 1
        replace_state(rows, before, state)
        assert handler.lose == 0 and rows.read_state() == state
        before = state


def test_the_right_to_write_is_taken_when_the_answer_was_lost(forgetful):
    handler, place = forgetful
    handler.lose = 1
    lease = WriterLease(ClusterStore(place).rows, 0)
    assert handler.lose == 0 and "writer" in handler.held
    with pytest.raises(LockedError, match="is being written by process"):
        WriterLease(ClusterStore(place).rows, 0)
    lease.release()
    assert "writer" not in handler.held


def test_the_write_of_another_is_not_taken_for_ones_own(forgetful):
    handler, place = forgetful
    rows = ClusterStore(place).rows
    handler.held["state"] = 5, vars(ClusterState(7))
    with pytest.raises(LockedError, match="was written by another process meanwhile"):
        replace_state(rows, ClusterState(6), ClusterState(7, limit=9))
    assert rows.read_state() == ClusterState(7)


def test_the_lease_ends_by_the_clock_of_the_cluster_or_is_renewed(forgetful):
    """Another machine's clock, and another machine's process ids, say nothing."""
    handler, place = forgetful
    rows = ClusterStore(place).rows
    other = {"pid": 2**22 + 1, "host": "h", "user": "u", "machine": "another", "since": "09:00:00", "key": "k"}
    handler.held["writer"] = 1, other | {"until": 1010}      # by that clock it is 1000
    with pytest.raises(LockedError, match="is being written by process 4194305 of u on h"):
        WriterLease(rows, 0)
    handler.held["writer"] = 1, other | {"until": 990}
    lease = WriterLease(rows, 0, seconds=0.3)
    before = lease.renewed
    for _ in range(100):
        time.sleep(0.02)
        if lease.renewed > before:
            break
    assert lease.renewed > before and handler.held["writer"][1]["until"] == 1000.3
    handler.held["writer"] = 99, other                       # taken by another
    with pytest.raises(LockedError, match="was lost"):
        for _ in range(200):
            time.sleep(0.02)
            lease.check()
    lease.release()
    assert "writer" in handler.held
