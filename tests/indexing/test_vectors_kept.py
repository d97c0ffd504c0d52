"""No call to an embedding server is paid twice: counted over HTTP, through Ctrl-C, lost connections and kills."""
from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from conftest import SAMPLE
from ollama_server import OllamaServer
from strategies import SLOW

from ragnb.cli import main
from ragnb.indexing.folder_index import Index
from ragnb.models.vectors import VECTORS
from ragnb.models.ollama import OllamaEmbedding

pytestmark = pytest.mark.heavy  # whole runs of evaluation or indexing


@pytest.fixture
def server():
    with OllamaServer(models=("embedder",)) as server:
        server.dims = 8
        yield server


def corpus(folder: Path, n_documents: int, n_chunks: int) -> Path:
    """Documents with so many chunks each, all of them different."""
    folder.mkdir(parents=True)
    for d in range(n_documents):
        lines = (f"# 제{i}장\n\n{d}번 규정 제{i}장은 {d * 7 + i}번 서식을 쓴다. 담당 부서는 {i}팀이다." for i in range(n_chunks))
        (folder / f"{d:03}.md").write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    return folder


def command(docs: Path, folder: Path, server: OllamaServer, *more: str) -> list[str]:
    return ["index", str(docs), "--index", str(folder), "--embed", "ollama:embedder", "--base-url", server.url, "--quiet",
            "--split", "chunks:60/0", "--embed-option", "retries=0", *more]


def paid_twice(server: OllamaServer) -> int:
    """Texts whose vectors were sent more than once."""
    return sum(n > 1 for n in Counter(server.answered).values())


def finished(docs: Path, folder: Path, server: OllamaServer, *more: str) -> int:
    """Run to the end; the number of searched chunks, all of them with the vector of their text."""
    assert main(command(docs, folder, server, *more)) == 0
    index = Index.open(folder)
    ids = sorted(index.store.matching())
    assert set(index.store.get_vectors(ids)) == set(ids) == set(server_ids(index))
    assert not (folder / VECTORS).exists()
    return len(ids)


def server_ids(index: Index) -> list[str]:
    return [a for o in index.store.get_outlines(index.doc_ids).found.values() for a in map(str, o.addresses()) if a.rpartition("#")[2][0] in "cu"]


@pytest.mark.parametrize("documents", [(100, 10), (1, 1000)])
def test_a_thousand_chunks_are_four_calls(tmp_path, server, documents):
    n = finished(corpus(tmp_path / "docs", *documents), tmp_path / "i", server)
    calls = [len(body["input"]) for body in server.asked("/api/embed")]
    assert n >= 1000 and len(calls) == -(-len(set(server.answered)) // 256) <= 5 + (n > 1280) and paid_twice(server) == 0, (n, calls)


def test_batch_size_and_workers_are_settable_and_stored(tmp_path, server):
    import threading
    docs, lock = corpus(tmp_path / "docs", 4, 10), threading.Barrier(2)
    waited = []

    def side_by_side(path, body):
        if path == "/api/embed" and len(waited) < 2:
            waited.append(1)
            lock.wait(10)      # returns only when two requests are here at once
    server.on_request = side_by_side
    finished(docs, tmp_path / "i", server, "--embed-option", "embed_batch_size=10", "--embed-option", "num_workers=2")
    assert len(waited) == 2 and max(len(body["input"]) for body in server.asked("/api/embed")) == 10
    model = Index.open(tmp_path / "i").embed_model
    assert (model.embed_batch_size, model.num_workers) == (10, 2)


@pytest.mark.parametrize("documents", [(1, 120), (12, 10)])
@pytest.mark.parametrize("fault", ["cut", 500, "ctrl-c"])
def test_what_was_paid_for_is_not_asked_again(tmp_path, server, monkeypatch, documents, fault):
    docs, small = corpus(tmp_path / "docs", *documents), ("--embed-option", "embed_batch_size=16")
    for stop in (2, 3, 2):
        if fault == "ctrl-c":
            ask, calls = OllamaEmbedding._get_text_embeddings, [0]

            def interrupted(self, texts, ask=ask, calls=calls, stop=stop):
                calls[0] += 1
                if calls[0] == stop:
                    raise KeyboardInterrupt
                return ask(self, texts)
            with monkeypatch.context() as patched:
                patched.setattr(OllamaEmbedding, "_get_text_embeddings", interrupted)
                assert main(command(docs, tmp_path / "i", server, *small)) == 130
        else:
            before = len(server.asked("/api/embed"))
            server.on_request = lambda path, body, at=before + stop: server.faults.append(fault) if len(server.asked("/api/embed")) == at and path == "/api/embed" else None
            assert main(command(docs, tmp_path / "i", server, *small)) == 3
            server.on_request, server.faults = None, []
        assert (tmp_path / "i").is_dir() and paid_twice(server) == 0
    finished(docs, tmp_path / "i", server, *small)
    assert paid_twice(server) == 0


def test_an_update_that_is_interrupted_loses_nothing_either(tmp_path, server, capsys):
    docs, small = corpus(tmp_path / "docs", 6, 10), ("--embed-option", "embed_batch_size=16")
    finished(docs, tmp_path / "i", server, *small)
    (docs / "new.md").write_text("\n\n".join(f"# 새 {i}장\n\n새 규정 {i}이다. 시행은 {i}월이다." for i in range(80)), encoding="utf-8")
    n = len(server.asked("/api/embed"))
    server.on_request = lambda path, body: server.faults.append("cut") if len(server.asked("/api/embed")) == n + 3 and path == "/api/embed" else None
    assert main(command(docs, tmp_path / "i", server, *small)) == 3
    kept = re.search(r"32 of (\d+) vectors are kept for the next run; ", capsys.readouterr().err)
    assert len(Index.open(tmp_path / "i").doc_ids) == 6, "readers see the index as it was"
    server.on_request, server.faults = None, []
    finished(docs, tmp_path / "i", server, *small)
    new = [i for i in Index.open(tmp_path / "i").store.matching() if i.startswith("new.md#")]
    assert paid_twice(server) == 0 and kept and int(kept[1]) == len(new)


def test_how_many_are_kept_of_all_is_estimated_before_all_documents_are_split(tmp_path, server, capsys):
    """'16 vectors are kept' did not say how much was left."""
    docs, small = corpus(tmp_path / "docs", 40, 30), ("--embed-option", "embed_batch_size=16")
    server.on_request = lambda path, body: server.faults.append("cut") if len(server.asked("/api/embed")) == 3 and path == "/api/embed" else None
    assert main(command(docs, tmp_path / "i", server, *small)) == 3
    kept, about = map(int, re.search(r"(\d+) of about ([\d,]+) vectors are kept", capsys.readouterr().err.replace(",", "")).groups())
    server.on_request, server.faults = None, []
    n = finished(docs, tmp_path / "i", server, *small)
    assert 0 < kept < 64 and abs(about - n) < n / 10, (kept, about, n)


def test_a_chunk_too_long_is_named(tmp_path, server, capsys):
    server.embed_limit = 45
    docs = corpus(tmp_path / "docs", 2, 3)
    (docs / "long.md").write_text("가나다라마바사 " * 7, encoding="utf-8")
    assert main(command(docs, tmp_path / "i", server)) == 2
    err = capsys.readouterr().err
    assert "chunk 'long.md#c0'" in err and "too long for the model 'embedder'" in err and "truncate" in err
    assert main(command(docs, tmp_path / "i", server, "--embed-option", "truncate=true")) == 0


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_kills_repeat_no_call(tmp_path, server):
    docs, small = corpus(tmp_path / "docs", 14, 12), ("--embed-option", "embed_batch_size=8")
    code = "import sys; from ragnb.cli import main; sys.exit(main())"
    process: subprocess.Popen | None = None
    unpaid: Counter[str] = Counter()   # Of requests that were under way when their process was killed

    def kill_at(n: int):
        def kill(path, body):
            if path == "/api/embed" and len(server.asked(path)) == n:
                unpaid.update(body["input"])
                os.kill(process.pid, signal.SIGKILL)
        return kill
    for moment in range(10 if SLOW else 4):
        server.on_request = kill_at(len(server.asked("/api/embed")) + 1 + moment % 3)
        process = subprocess.Popen([sys.executable, "-c", code, *command(docs, tmp_path / "i", server, *small)],
                                   env={**os.environ, "PYTHONPATH": str(SAMPLE.parent)})
        assert process.wait(timeout=120) == -signal.SIGKILL
    server.on_request = None
    finished(docs, tmp_path / "i", server, *small)
    paid = Counter(t for body in server.asked("/api/embed") for t in body["input"]) - unpaid
    assert set(paid.values()) == {1}
