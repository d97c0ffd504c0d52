"""What readers of an index on a cluster meet while it is written, or the server is busy; needs RAGNB_OPENSEARCH."""
from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_N = 12      # Documents


def _write(folder: str, edition: int) -> str:
    docs = Path(folder) / "docs"
    docs.mkdir(exist_ok=True)
    for n in range(_N):
        lines = "".join(f"제{i}조 {edition}판에서 연차는 {i + edition}일이다. 출장은 {i}일이다.\n\n" for i in range(1, 6))
        (docs / f"rule{n}.md").write_text(f"# 규정 {n}\n\n보관 번호{n}는 4{n}7번이다.\n\n{lines}", encoding="utf-8")
    return str(docs)


def _ask(pipeline: object, n: int) -> str:
    try:
        passages = pipeline.ask(f"보관 번호{n}는 몇 번인가?").passages
    except Exception as error:
        return f"error ({type(error).__name__})"
    return "" if any(f"4{n}7번" in p.text for p in passages) else "nothing found"


def _counted(told: list[str]) -> str:
    kinds = {kind: told.count(kind) for kind in dict.fromkeys(told) if kind}
    return f"of {len(told)} questions {sum(kinds.values())} fail" + (f": {kinds}" if kinds else "")


def _on_cluster(probe: Callable[[str, str, str], str]) -> str:
    url = os.environ.get("RAGNB_OPENSEARCH", "")
    if not url:
        return "needs RAGNB_OPENSEARCH"
    url = url.split(",")[0]
    name = f"fault-{random.randrange(10**9)}"
    with tempfile.TemporaryDirectory() as folder:
        try:
            return probe(f"opensearch://{url.partition('://')[2]}/{name}", folder, url)
        finally:
            from opensearchpy import OpenSearch
            OpenSearch([url]).indices.delete(index=f"{name}-*", ignore_unavailable=True)


def _while_written(place: str, folder: str, force: bool) -> str:
    from ragnb.indexing.folder_index import Index
    from ragnb.indexing.update import update_index
    from ragnb.pipeline.pipeline import Pipeline
    update_index(_write(folder, 1), place, show_progress=False)
    pipeline, told, stop = Pipeline.from_index(Index.open(place)), [], threading.Event()

    def ask() -> None:
        while not stop.is_set():
            told.append(_ask(pipeline, len(told) % _N))
    thread = threading.Thread(target=ask)
    thread.start()
    update_index(_write(folder, 2), place, force=force, show_progress=False)
    stop.set()
    thread.join()
    return _counted(told) + "; afterwards " + _counted([_ask(pipeline, n) for n in range(_N)])


def update_of_all_documents() -> str:
    "Questions about unchanged lines while `ragnb index` changes their documents"
    return _on_cluster(lambda place, folder, url: _while_written(place, folder, False))


def index_made_anew() -> str:
    "Questions of an open reader while `ragnb index --force` runs"
    return _on_cluster(lambda place, folder, url: _while_written(place, folder, True))


def writer_that_was_killed() -> str:
    "Questions after an update was killed at its third bulk"
    code = ("import sys, os, signal\n"
            "from opensearchpy import OpenSearch\n"
            "from ragnb.indexing.update import update_index\n"
            "real, calls = OpenSearch.bulk, []\n"
            "def bulk(*args, **options):\n"
            "    answer = real(*args, **options)\n"
            "    calls.append(1)\n"
            "    if len(calls) == 3: os.kill(os.getpid(), signal.SIGKILL)\n"
            "    return answer\n"
            "OpenSearch.bulk = bulk\n"
            "update_index(sys.argv[1], sys.argv[2], show_progress=False)\n")

    def probe(place: str, folder: str, url: str) -> str:
        from ragnb.indexing.folder_index import Index
        from ragnb.indexing.update import update_index
        from ragnb.pipeline.pipeline import Pipeline
        update_index(_write(folder, 1), place, show_progress=False)
        killed = subprocess.run([sys.executable, "-c", code, _write(folder, 2), place], capture_output=True)
        assert killed.returncode == -signal.SIGKILL
        pipeline = Pipeline.from_index(Index.open(place))
        return _counted([_ask(pipeline, n) for n in range(_N)])
    return _on_cluster(probe)


class _Busy(BaseHTTPRequestHandler):
    real, chance = "", random.Random(7)

    def _hand_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if any(kind in self.path for kind in ("_search", "_msearch", "_mget", "_count")) and self.chance.random() < 0.2:
            status, content = 429, b'{"error": {"type": "rejected_execution_exception", "reason": "queue"}}'
        else:
            kept = {name: self.headers[name] for name in ("Content-Type", "Content-Encoding") if self.headers.get(name)}
            asked = urllib.request.Request(self.real + self.path, body or None, method=self.command, headers=kept)
            try:
                with urllib.request.urlopen(asked) as answer:
                    status, content = answer.status, answer.read()
            except urllib.error.HTTPError as error:
                status, content = error.code, error.read()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else content)

    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = _hand_on

    def log_message(self, *args: object) -> None:
        pass


def busy_server() -> str:
    "Questions while a fifth of all searches is answered 429"
    def probe(place: str, folder: str, url: str) -> str:
        from ragnb.indexing.folder_index import Index
        from ragnb.indexing.update import update_index
        from ragnb.pipeline.pipeline import Pipeline
        update_index(_write(folder, 1), place, show_progress=False)
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Busy,), {"real": url}))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        proxy = f"opensearch://127.0.0.1:{server.server_port}/{place.rpartition('/')[2]}"
        for _ in range(20):
            try:
                pipeline = Pipeline.from_index(Index.open(proxy))
                break
            except Exception:
                continue
        return _counted([_ask(pipeline, n) for n in [*range(_N)] * 3])
    return _on_cluster(probe)
