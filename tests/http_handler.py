"""A small HTTP server for tests: a subclass of `Handler` answers every request."""
from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    """Reads a request and calls `answer` with its body."""
    protocol_version = "HTTP/1.1"

    def _read(self) -> None:
        self.answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = _read

    def tell(self, status: int, told: object, kind: str = "application/json") -> None:
        body = told if isinstance(told, bytes) else json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else body)

    def log_message(self, *args) -> None:
        pass


@contextmanager
def serving(handler: type[Handler], **settings) -> Iterator[tuple[str, type[Handler]]]:
    """Host and port of a server, and its handler with these settings."""
    made = type("Handler", (handler,), settings)
    server = ThreadingHTTPServer(("127.0.0.1", 0), made)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}", made
    finally:
        server.shutdown()
        server.server_close()
