"""An index on a real cluster: the same answers as in a folder, one writer at a time, and updates that are cut short."""
from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from zlib import crc32

import pytest
from conftest import new_address, SAMPLE
from llama_index.core.base.embeddings.base import BaseEmbedding

from ragnb import Expander, Index, IndexMismatchError, InputError, neighbors, Pipeline, read_documents, trace, update_index
from ragnb.cli import main
from ragnb.machinery.atomic import LockedError
from ragnb.evaluation.questions import make_questions
from ragnb.opensearch.cluster_index import write_files, WriterLease
from ragnb.indexing.commits import open_or_create
from ragnb.indexing.writing import remove_documents
from ragnb.indexing.update import IndexUpdate
from ragnb.opensearch.cluster_store import ClusterStore
from ragnb.retrieval.missing_words import codes_in
from ragnb.storage.store import outline_to_json

pytestmark = pytest.mark.cluster
_number = itertools.count()
QUESTIONS = ["입사 1년차 직원의 연차는 며칠인가요?", "제60조는 무엇을 정하는가?", "출장비는 언제까지 정산하나?", "CLAIM-2025-019의 원인은?"]


@pytest.fixture
def place(opensearch_url, opensearch_client):
    """The address of an index that is not there yet."""
    yield from new_address(opensearch_url, opensearch_client, f"whole-{next(_number)}")


@pytest.fixture
def corpus(tmp_path):
    """Three small documents."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for n in range(3):
        (folder / f"rule{n}.md").write_text(f"# 규정 {n}\n\n" + "".join(f"제{i}조 연차는 {i + n}일이다. 출장은 {i}일이다.\n\n" for i in range(1, 9)))
    return folder


def counted(store: ClusterStore) -> int:
    """Rows of an index of rows, also those that do not count."""
    name = store.rows.read_state().rows
    store.refresh(name)
    return store.rows.client.count(index=name)["count"]


def answers(index: Index, **options) -> list:
    """What a user sees of an index."""
    pipeline = Pipeline.from_index(index, **options)
    out = []
    for question in QUESTIONS:
        answer = pipeline.ask(question)
        out.append([(p.text, p.hits, p.neighbors, p.pages, round(p.score or 0, 3)) for p in answer.passages])
        assert trace(answer)
        out.append([outline_to_json(answer.expansion.outlines[p.doc_id]) for p in answer.passages])     # those without places read them
    return out


def test_the_same_answers_as_from_a_folder(place, tmp_path):
    folder = tmp_path / "hr"
    folder.mkdir()
    for file in sorted((SAMPLE / "corpus/hr_labor").glob("*.md"), key=lambda f: f.stat().st_size)[:4]:
        shutil.copy(file, folder)
    (folder / "claims.jsonl").write_text('{"doc_id": "CLAIM-2025-019", "title": "곰팡이", "text": "포장기의 온도 편차가 벌어졌다."}\n', encoding="utf-8")
    local, report = update_index(folder, tmp_path / "local", show_progress=False)
    there, again = update_index(folder, place + "?exact=yes", show_progress=False)
    assert asdict(report) == asdict(again) and there.doc_ids == local.doc_ids
    other = Index.open(place + "?exact=yes")       # as another machine would: nothing but the address
    assert other.catalogue.parts["laws"].holdings.keys() == local.catalogue.parts["laws"].holdings.keys()
    rows = other.store.rows
    made = [q.query for q in make_questions(list(read_documents(folder, [])), 40).questions]
    special = "우주비행사의 환매권은 며칠인가?", "E-03과 25A의 연차는?", "제60조와 제61조", "휴가"     # words, codes and articles that are nowhere
    counted_requests(Pipeline.from_index(other), [*QUESTIONS, *special, *made])
    view = rows.look()
    unread = other.manifest.documents, view.notes["words"]
    assert not any(mapping.every.cache_info().currsize for mapping in unread) and not view.whole
    for options in ({}, {"where": {"doc_id": local.doc_ids[1]}}, {"retriever": "bm25"}, {"retriever": "vector"}, {"retriever": "hybrid"},
                    {"retriever": "hierarchical"}, {"policy": "segments"}, {"lookup": False, "cut": 0.4}):
        expected = answers(local, **options)
        assert answers(there, **options) == expected == answers(other, **options), options
    assert other.doc_ids == local.doc_ids
    assert not [p for p in Path(tempfile.gettempdir()).glob("ragnb-*") if place.rpartition("/")[2] in p.name] and not there.folder.is_dir()


def counted_requests(pipeline: Pipeline, questions: list[str]) -> None:
    """Each question is the candidates, the units around them, and the texts; one more reads what the best match cites, or texts that may repeat a better one.

    A question with a code has two more: how the documents write the code, and the names to compare with it."""
    rows = pipeline.expander.store.rows
    pipeline.ask(questions[0])           # opens a point in time
    for question in questions:
        before = rows.requests
        assert pipeline.ask(question).question
        assert rows.requests - before <= 3 + (2 if codes_in(question) else 1), question


@pytest.mark.parametrize("copies, most", [(True, 600), (False, 2_100)])
def test_a_changed_line_sends_the_rows_of_its_document_and_no_vector_that_the_server_has(place, tmp_path, monkeypatch, copies, most):
    """A server that does not copy rows receives all of them, in compressed requests; other documents and the embedding are not sent."""
    from opensearchpy import OpenSearch, TransportError
    from urllib3.connectionpool import HTTPConnectionPool
    sent, real = [], HTTPConnectionPool.urlopen

    def urlopen(self, method, url, body=None, *args, **options):
        sent.append(len(body or b""))
        return real(self, method, url, body, *args, **options)
    words = "연차 출장 병가 숙박 교통 회의 보고 결재 물품 계약 감사 교육 평가 승진 급여 수당 복지 안전 보안 자료".split()
    lines = [f"제{i}조 " + " ".join(f"{words[i * j % 20]} {words[(i + j * j) % 20]}은 {i * j}일 안에 {words[(3 * i + j) % 20]}으로 낸다." for j in range(2, 9))
             for i in range(1, 151)]
    for n in range(3):
        (tmp_path / f"rule{n}.md").write_text(f"# 규정 {n}\n\n" + "\n\n".join(lines[n:]))
    first, _ = update_index(tmp_path, place, show_progress=False)
    before = {tuple(v) for v in first.store.get_vectors([f"rule1.md#u{i}" for i in range(first.store.documents["rule1.md"].levels["u"])]).values()}

    def refused(*args, **options):
        raise TransportError(400, "no handler found", {})
    if not copies:
        monkeypatch.setattr(OpenSearch, "reindex", refused)
    file = tmp_path / "rule1.md"
    file.write_text(file.read_text().replace(lines[70], f"{lines[70]} 하나 더 적는다."))
    monkeypatch.setattr(HTTPConnectionPool, "urlopen", urlopen)
    index, report = update_index(tmp_path, place, show_progress=False)
    n_units = index.store.documents["rule1.md"].levels["u"]
    assert report.changed == 1 and index.store.units.dims == 1_024 and n_units > 250
    assert sum(sent) < most * n_units      # 4,900 with eight decimals a number
    assert index.store.copies is copies
    after = index.store.get_vectors([f"rule1.md#u{i}" for i in range(n_units)])
    assert len(after) == n_units and len({tuple(v) for v in after.values()} - before) <= 4
    words = [f"u{i}" for i in range(n_units) if "하나 더" in index.store.get_chunks([f"rule1.md#u{i}"]).found[f"rule1.md#u{i}"].text]
    assert len(words) == 1
    nearest = index.store.search(after["rule1.md#u9"], 1)[0].node
    assert after[nearest.node_id] == after["rule1.md#u9"]


def test_a_question_to_a_small_index_is_three_requests_or_four(place, corpus):
    """Of at most 200 units, each passage is compared with the words of the question."""
    update_index(corpus, place, show_progress=False)
    index = Index.open(place)
    assert len(index.multiscale) <= 200
    counted_requests(Pipeline.from_index(index), [*QUESTIONS, "연차", "E-03 출장", "우주비행사의 환매권", *(f"규정 {n}의 제{n + 2}조 출장은?" for n in range(3))])


def test_outlines_of_an_answer_are_whole(place, tmp_path):
    """Nothing is asked for them later, also when their documents have changed meanwhile."""
    for n in range(3):
        (tmp_path / f"rule{n}.md").write_text(f"# 규정 {n}\n\n" + "".join(f"출장 {i + n}일의 정산은 {i}일 안에 한다. {'여비의 지급 방법은 따로 정한다. ' * 8}\n\n" for i in range(90)))
    index, _ = update_index(tmp_path, place, show_progress=False)
    rows = index.store.rows
    outlines = Pipeline.from_index(index).ask("출장 7일").expansion.outlines
    whole = {i: outline_to_json(o) for i, o in index.store.get_outlines(index.doc_ids).all().items()}
    for file in tmp_path.iterdir():
        file.write_text(f"{file.read_text()}\n\n끝.\n")
    update_index(tmp_path, place, show_progress=False)
    before = rows.requests
    assert len(outlines) == 3 and {i: outline_to_json(o) for i, o in outlines.items()} == whole and rows.requests == before


class Hashed(BaseEmbedding):
    """Counts of hashed words: an embedding whose vectors are no 1,024 numbers."""

    def _get_text_embedding(self, text: str) -> list[float]:
        out = [0.01] * 32
        for word in text.split():
            out[crc32(word.encode()) % 32] += 1
        return out

    _get_query_embedding = _get_text_embedding

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def test_an_index_of_another_embedding(place, corpus, tmp_path):
    """It is measured what its cosines mean, as in a folder; vectors of lines that stay are used again."""
    model = Hashed(model_name="hashed")
    for file in corpus.iterdir():
        file.write_text(file.read_text() + "".join(f"제{i}조 {file.stem} 여비는 {i}만 원이다. 정산은 {i}일 안에 한다.\n\n" for i in range(9, 60)))
    there, _ = update_index(corpus, place + "?exact=yes", embed=model, show_progress=False)
    local, _ = update_index(corpus, tmp_path / "local", embed=model, show_progress=False)
    assert len(there.multiscale) >= 16 and there.manifest.cosines.keys() == local.manifest.cosines.keys()
    assert all(abs(there.manifest.cosines[key] - value) < 1e-4 for key, value in local.manifest.cosines.items())
    (corpus / "rule1.md").write_text((corpus / "rule1.md").read_text() + "반차는 4시간이다.\n")
    _, report = update_index(corpus, place + "?exact=yes", embed=model, show_progress=False)
    assert (report.changed, report.unchanged) == (1, 2)


def test_only_what_changed_is_done_again(place, corpus):
    index, report = update_index(corpus, place, show_progress=False)
    assert report.added == 3
    first = index.store.rows.read_state()
    _, report = update_index(corpus, place, show_progress=False)
    assert (report.unchanged, report.chunks) == (3, 0) and index.store.rows.read_state() == first
    (corpus / "rule1.md").write_text("# 규정 1\n\n반차는 4시간이다.\n")
    (corpus / "rule2.md").unlink()
    _, report = update_index(corpus, place, show_progress=False)
    assert (report.changed, report.removed, report.unchanged) == (1, 1, 1)
    again = Index.open(place)
    assert again.doc_ids == ["rule0.md", "rule1.md"] == again.store.doc_ids()
    again.remove(["rule1.md"])
    assert again.doc_ids == ["rule0.md"] == Index.open(place).doc_ids
    with pytest.raises(InputError, match="no document 'x'"):
        remove_documents(["x"], place)


def test_nothing_is_left_of_what_was_replaced(place, corpus, opensearch_client):
    index, _ = update_index(corpus, place, show_progress=False)
    store, name = index.store, index.store.rows.name
    opensearch_client.indices.refresh(index=f"{name}-state")
    blobs, rows = opensearch_client.count(index=f"{name}-state")["count"], counted(store)
    for n in range(3):
        (corpus / "rule0.md").write_text(f"# 규정\n\n연차는 {n}일이다.\n")
        update_index(corpus, place, show_progress=False)
    state = store.rows.read_state()
    assert counted(store) == state.totals["rows"] + state.totals["entries"] < rows
    for _ in range(2):                       # the index of rows before goes with the next run
        update_index(corpus, place, force=True, show_progress=False)
    (corpus / "rule0.md").write_text("# 규정\n\n연차는 9일이다.\n")
    update_index(corpus, place, show_progress=False)
    opensearch_client.indices.refresh(index=f"{name}-state")
    assert opensearch_client.count(index=f"{name}-state")["count"] == blobs
    assert list(opensearch_client.indices.get_alias(index=f"{name}-rows-*")) == [store.rows.read_state().rows]
    assert len(index.doc_ids) == 3 and Pipeline.from_index(index).ask("연차는?").passages      # open since the first run


def test_a_writer_reads_the_state_once_and_an_expansion_is_two_requests(place, corpus, monkeypatch):
    from opensearchpy import Urllib3HttpConnection
    update_index(corpus, place, show_progress=False)
    (corpus / "rule0.md").write_text("# 규정\n\n연차는 9일이다. 병가는 3일이다.\n")
    sent, perform = [], Urllib3HttpConnection.perform_request
    monkeypatch.setattr(Urllib3HttpConnection, "perform_request", lambda self, *args, **o: sent.append(args[:2]) or perform(self, *args, **o))
    index, _ = update_index(corpus, place, show_progress=False)
    assert len(sent) <= 40, sent
    hits = Pipeline.from_index(index).retriever.retrieve("연차는?")
    for wanted in (6, 2):                # at first, a point in time is opened
        before = len(sent)
        assert Expander(index.store, neighbors(2)).expand(hits).passages
        assert len(sent) - before <= wanted, sent[before:]


def test_files_of_a_killed_run_go_with_the_next(place, corpus, opensearch_client):
    index, _ = update_index(corpus, place, show_progress=False)
    state = f"{index.store.rows.name}-state"
    opensearch_client.indices.refresh(index=state)
    before = opensearch_client.count(index=state)["count"]
    write_files(index.store.rows, "embedding-9-killed", {"a": b"left behind"})
    opensearch_client.indices.refresh(index=state)
    assert opensearch_client.count(index=state)["count"] == before + 1
    update_index(corpus, place, show_progress=False)
    opensearch_client.indices.refresh(index=state)
    assert opensearch_client.count(index=state)["count"] == before and Index.open(place).doc_ids


def test_a_second_writer_is_told_who_writes(place, corpus):
    index, _ = update_index(corpus, place, show_progress=False)
    lease = WriterLease(index.store.rows, 0)
    with pytest.raises(LockedError, match=rf"is being written by process {os.getpid()} of .*: try again when it is done"):
        update_index(corpus, place, show_progress=False, wait=0.3)
    assert Index.open(place).doc_ids      # readers are not in the way
    lease.release()
    update_index(corpus, place, show_progress=False, wait=0)


def test_who_lost_the_right_to_write_writes_nothing(place, corpus):
    index, _ = update_index(corpus, place, show_progress=False)
    slow, before = open_or_create(place), index.doc_ids
    slow.store.delete(["rule0.md"])
    slow.store.rows.client.delete(index=f"{slow.store.rows.name}-state", id="writer")     # taken for dead
    (corpus / "rule9.md").write_text("# 새 규정\n\n교육은 9시간이다.\n")
    update_index(corpus, place, show_progress=False)
    with pytest.raises(LockedError, match="was written by another process meanwhile"):
        slow.commit()
    slow.release()
    assert Index.open(place).doc_ids == [*before, "rule9.md"] == index.doc_ids


@pytest.mark.parametrize("kind", ["u", "n", "d", "e"])
def test_lost_rows_are_noticed_and_healed_by_the_next_run(place, corpus, kind):
    """A row of one document is gone: the next run writes that document again, and no other."""
    index, _ = update_index(corpus, place, show_progress=False)
    wanted, store = answers(index), index.store
    name = store.rows.read_state().rows
    found = store.rows.client.search(index=name, body={"size": 1, "query": {"term": {"kind": kind}}})["hits"]["hits"]
    store.rows.client.delete(index=name, id=found[0]["_id"], refresh=True)
    _, report = update_index(corpus, place, show_progress=False)
    assert (report.added + report.changed, report.unchanged) == (1, 2)
    state = store.rows.read_state()
    assert counted(store) == state.totals["rows"] + state.totals["entries"]
    assert answers(Index.open(place)) == wanted
    assert update_index(corpus, place, show_progress=False)[1].unchanged == 3


def test_a_first_run_that_was_killed_goes_on_and_is_not_readable_before(place, tmp_path, monkeypatch):
    many = tmp_path / "many"
    many.mkdir()
    for n in range(6):
        (many / f"r{n}.md").write_text(f"# 규정 {n}\n\n" + "".join(f"제{i}조 연차는 {i + n}일이다. 출장은 {i}일이다.\n\n" for i in range(1, 200)))
    calls = []

    def fail(self, told=None, sweep=True, real=ClusterStore.commit):
        real(self, told, sweep)
        calls.append(1)
        raise KeyboardInterrupt
    monkeypatch.setattr(ClusterStore, "commit", fail)
    monkeypatch.setattr(IndexUpdate._in_turn, "__defaults__", (False, 100, 30))
    with pytest.raises(KeyboardInterrupt):
        update_index(many, place, show_progress=False)
    monkeypatch.undo()
    with pytest.raises(InputError, match="has not finished"):
        Index.open(place)
    index, report = update_index(many, place, show_progress=False)
    assert calls and report.unchanged and report.unchanged + report.added == 6 and len(Index.open(place).doc_ids) == 6


@pytest.mark.parametrize("moment", [1, 2, 3])
def test_a_killed_update_is_finished_by_the_next(place, corpus, moment):
    """SIGKILL at the n-th bulk; the same machine sees that the process is gone."""
    code = ("import sys, os, signal\n"
            "from opensearchpy import OpenSearch\n"
            "from ragnb.indexing.update import update_index\n"
            "real, calls = OpenSearch.bulk, []\n"
            "def bulk(*args, **options):\n"
            "    answer = real(*args, **options)\n"
            "    calls.append(1)\n"
            "    if len(calls) == int(sys.argv[3]): os.kill(os.getpid(), signal.SIGKILL)\n"
            "    return answer\n"
            "OpenSearch.bulk = bulk\n"
            "update_index(sys.argv[1], sys.argv[2], show_progress=False)\n")
    update_index(corpus, place, show_progress=False)
    for n in range(3):
        (corpus / f"rule{n}.md").write_text(f"# 규정 {n}\n\n" + "".join(f"제{i}조 병가는 {i + n}일이다.\n\n" for i in range(1, 7)))
    killed = subprocess.run([sys.executable, "-c", code, str(corpus), place, str(moment)], capture_output=True, text=True, timeout=120)
    assert killed.returncode == -signal.SIGKILL, killed.stderr[-2000:]
    Index.open(place)                     # readable in between
    index, _ = update_index(corpus, place, show_progress=False)
    outlines = index.store.get_outlines(index.doc_ids).all()
    nodes = index.store.get_chunks(a for o in outlines.values() for a in o.addresses()).all()
    assert not index.unfinished and len(index.doc_ids) == 3 and all("병가" in n.text or "규정" in n.text for n in nodes.values())
    state = index.store.rows.read_state()
    assert counted(index.store) == state.totals["rows"] + state.totals["entries"] and index.store.doc_ids() == index.doc_ids


def test_what_does_not_fit_is_refused_by_name(place, corpus, opensearch_url):
    with pytest.raises(InputError, match="no index at opensearch://.*: make one with `ragnb index PATH --index opensearch://"):
        Index.open(place)
    update_index(corpus, place, show_progress=False)
    with pytest.raises(IndexMismatchError, match="was made with the embedding ngram"):
        Index.open(place, "ollama:bge-m3")
    with pytest.raises(IndexMismatchError, match="was split by"):
        update_index(corpus, place, parser="parent-child", show_progress=False)
    index, _ = update_index(corpus, place, parser="parent-child", force=True, show_progress=False)
    assert any(level == "p" for own in index.store.documents.values() for level in own.levels)


def test_the_command_line(place, corpus, capsys):
    assert main(["index", str(corpus), "--index", place, "--quiet"]) in (None, 0)
    capsys.readouterr()
    assert main(["ask", "제3조의 연차는 며칠인가?", "--index", place]) in (None, 0)
    assert "규정" in capsys.readouterr().out
    assert main(["ls", "--index", place]) in (None, 0)
    assert "rule2.md" in capsys.readouterr().out
    assert main(["info", "--index", place, "--json"]) in (None, 0)
    assert json.loads(capsys.readouterr().out)["bytes"] == ClusterStore(place).n_bytes() > 0
    began = time.monotonic()
    with pytest.raises(SystemExit):
        sys.exit(main(["ask", "연차?", "--index", "opensearch://127.0.0.1:9/none"]))
    told = capsys.readouterr().err
    assert "no OpenSearch answers at http://127.0.0.1:9/none" in told and len(told.splitlines()) == 1 and time.monotonic() - began < 60
