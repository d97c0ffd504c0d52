"""Half characters, clients that hold a connection, and model servers that never end."""
from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_RAGNB = [sys.executable, "-c", "import sys; from ragnb.cli import main; sys.exit(main(sys.argv[1:]))"]


def _index(folder: str, text: str = "# 휴가\n\n연차는 15일이다.\n") -> str:
    "An index of one file; its folder."
    (Path(folder) / "docs").mkdir()
    (Path(folder) / "docs/a.md").write_text(text, encoding="utf-8")
    subprocess.run([*_RAGNB, "index", f"{folder}/docs", "--index", f"{folder}/i", "--quiet"], check=True, capture_output=True)
    return f"{folder}/i"


@contextmanager
def _model_server(kind: str) -> Iterator[str]:
    "A server with Ollama's protocol whose chat never ends, or redirects."
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.path != "/api/chat":
                self.answer({"model_info": {}, "capabilities": [], "models": []})
            elif kind == "redirect" and not self.headers["Host"].startswith("localhost"):
                self.send_response(307)
                self.send_header("Location", f"http://localhost:{self.server.server_address[1]}/api/chat")
                self.end_headers()
            elif kind in ("redirect", "half"):
                said = "다른 곳의 답 [1]." if kind == "redirect" else "15일 \ud83d [1]."
                self.answer({"model": "m", "message": {"role": "assistant", "content": said}, "done": True, "done_reason": "stop"})
            else:
                self.send_response(200)
                self.end_headers()
                while True:   # until the client has gone
                    self.wfile.write(b" ")
                    threading.Event().wait(0.05)

        def answer(self, value: object) -> None:
            data = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST

        def log_message(self, *args: object) -> None:
            pass

        def handle(self) -> None:
            try:
                super().handle()
            except OSError:
                pass
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"


def _asked(kind: str, *more: str) -> str:
    "What `ragnb ask` says with such a model server."
    with tempfile.TemporaryDirectory() as folder, _model_server(kind) as url:
        call = [*_RAGNB, "ask", "연차는?", "--index", _index(folder), "--llm", "ollama:m", "--base-url", url, *more]
        try:
            done = subprocess.run(call, capture_output=True, text=True, timeout=150, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return "still waiting after 150 s"
        return f"exit {done.returncode}: {(done.stdout or done.stderr).strip().splitlines()[0][:120]}; {done.stderr.strip()[-160:]}"


def trickling_model_server() -> str:
    "`ragnb ask --timeout 2` with a model server that sends a blank now and then"
    return _asked("trickle", "--timeout", "2")


def redirecting_model_server() -> str:
    "`ragnb ask` with a model server that redirects to another host"
    return _asked("redirect", "--timeout", "9")


def half_an_emoji_from_a_model() -> str:
    "`ragnb ask --history FILE` when the model answers with half an emoji"
    with tempfile.TemporaryDirectory() as folder:
        history = Path(folder) / "talk.jsonl"
        said = _asked("half", "--history", str(history))
        return f"{said}; {len(history.read_text(encoding='utf-8').splitlines()) - 1 if history.exists() else 0} turn kept"


def half_an_emoji_in_a_file() -> str:
    "A JSONL line whose text has half an emoji"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.jsonl").write_text('{"id": "a", "text": "연차는 15일 \\ud83d"}\n{"id": "b", "text": "병가"}\n', encoding="utf-8")
        done = subprocess.run([*_RAGNB, "index", folder, "--index", f"{folder}/i"], capture_output=True, text=True)
        return f"exit {done.returncode}: {' '.join((done.stdout + done.stderr).split())[-160:]}"


def half_an_emoji_in_a_question() -> str:
    "A question of Python with half an emoji, kept as a state of the agent and as a conversation"
    from ragnb.agent.state import AgentState
    from ragnb.context.conversation import Conversation
    kept = []
    for name, keep in (("state", lambda: AgentState.ask("연차 \ud83d").to_json()),
                       ("conversation", lambda: [h := Conversation(), h.add("연차 \ud83d", "15일"), h.to_jsonl().encode()])):
        try:
            keep()
            kept.append(f"{name} kept")
        except Exception as error:
            kept.append(f"{name} lost ({type(error).__name__})")
    return ", ".join(kept)


@contextmanager
def _service(folder: str) -> Iterator[tuple[str, int]]:
    "`ragnb serve` on a free port."
    call = [*_RAGNB, "serve", "--index", _index(folder), "--port", "0"]
    process = subprocess.Popen(call, stdout=subprocess.PIPE, stderr=open(f"{folder}/log", "w"), text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"})
    try:
        yield "127.0.0.1", int(process.stdout.readline().split()[0].rstrip("/").rpartition(":")[2])
    finally:
        process.kill()
        process.wait()


def _status(place: tuple[str, int], sent: bytes) -> str:
    "The first line of the reply."
    with socket.create_connection(place, 20) as s:
        s.sendall(sent)
        return s.recv(200).split(b"\r\n")[0].decode() or "closed"


def half_open_connections() -> str:
    "`ragnb serve` with 260 connections that send no request"
    with tempfile.TemporaryDirectory() as folder, _service(folder) as place:
        kept = [socket.create_connection(place, 20) for _ in range(260)]
        said = _status(place, b"GET /api/about HTTP/1.1\r\nhost: localhost\r\n\r\n")
        for s in kept:
            s.close()
        return f"a 261st client gets {said}"


def headers_that_never_end() -> str:
    "`ragnb serve` and a client that has sent half of its headers"
    with tempfile.TemporaryDirectory() as folder, _service(folder) as place, socket.create_connection(place, 20) as s:
        s.sendall(b"GET / HTTP/1.1\r\nhost: loc")
        try:
            return f"{s.recv(100).split(b' ')[1:2]} and closed"
        except socket.timeout:
            return "the connection is still open after 20 s"


def bodies_that_are_no_json() -> str:
    "Bodies for `ragnb serve` with half characters and NaN"
    bodies = [r'{"question": "\ud83d"}', '{"question": NaN}', r'{"\ud83d": 1}', '{"question": "a", "where": {"a": NaN}}', r'{"question": ["\ud83d"]}',
              '{"query": "a", "top_k": NaN}', r'{"query": "\ud83d"}', r'{"name": "search", "arguments": {"query": "\ud83d"}}']
    with tempfile.TemporaryDirectory() as folder, _service(folder) as place:
        replies = []
        for path in ("ask", "search", "tools"):
            for body in bodies:
                head = f"POST /api/{path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
                replies.append(_status(place, (head + body).encode()).split()[1])
        tracebacks = Path(f"{folder}/log").read_text(encoding="utf-8").count("Traceback")
        return f"{sum(r == '500' for r in replies)} of {len(replies)} replies are 500, {tracebacks} tracebacks in the log"
