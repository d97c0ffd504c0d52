"""Servers that answer otherwise than Ollama does: a login before them, replies that are none, silence."""
from __future__ import annotations

import asyncio
import base64
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from ollama_server import OllamaServer

from ragnb.models.embedding import resolve_embedding
from ragnb.models.llm import resolve_llm


class Odd(ThreadingHTTPServer):
    """A server that says the same to everything."""
    daemon_threads = True
    body, asked, silent = b"", None, False


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append(self.path)
        if self.server.silent:
            self.server.gone.wait(20)
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    do_GET = do_POST

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def odd() -> Iterator[Odd]:
    server = Odd(("127.0.0.1", 0), Handler)
    server.asked, server.gone = [], threading.Event()
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield server
    server.gone.set()
    server.shutdown()
    server.server_close()


def address(server: Odd) -> str:
    return f"http://127.0.0.1:{server.server_port}"


BODIES = [b"<html><body>Welcome</body></html>", b"", b"[]", b"17", b'{"models": 3}', b'{"message": "no"}', b'{"mess', b'{"embeddings": "no"}', b"\xff\xfe"]


@pytest.mark.parametrize("body", BODIES, ids=repr)
def test_a_reply_that_is_none_is_named_in_one_line(odd: Odd, body: bytes) -> None:
    odd.body = body
    llm, emb = resolve_llm("ollama:m", address(odd), timeout=5), resolve_embedding("ollama:m", address(odd), timeout=5)
    calls = [lambda: llm.complete("안녕"), lambda: [*llm.stream_complete("안녕")], lambda: asyncio.run(llm.acomplete("안녕")),
             lambda: emb.get_query_embedding("안녕"), lambda: asyncio.run(emb.aget_query_embedding("안녕"))]
    for call in calls:
        with pytest.raises((ConnectionError, TimeoutError)) as caught:
            call()
        assert (str(odd.server_port) in str(caught.value) or "'m'" in str(caught.value)) and "\n" not in str(caught.value) and len(str(caught.value)) < 300


def test_the_login_of_an_address_is_sent_and_shown_nowhere() -> None:
    heads: list[str] = []
    with OllamaServer(models=("m",)) as server:
        host = server.url.removeprefix("http://")
        for made in (resolve_llm("ollama:m", f"http://ann:geheim@{host}"), resolve_embedding("ollama:m", f"http://ann:geheim@{host}")):
            assert "geheim" not in repr(made)
        wire = BaseHTTPRequestHandler.parse_request

        def parse(self: BaseHTTPRequestHandler) -> bool:
            known = wire(self)
            heads.append(self.headers.get("Authorization", "") if known else "")
            return known

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(BaseHTTPRequestHandler, "parse_request", parse)
            llm, emb = resolve_llm("ollama:m", f"http://ann:geheim@{host}"), resolve_embedding("ollama:m", f"http://ann:geheim@{host}")
            llm.complete("안녕")
            asyncio.run(llm.acomplete("안녕"))
            emb.get_query_embedding("안녕")
            asyncio.run(emb.aget_query_embedding("안녕"))
    assert len(heads) >= 4 and set(heads) == {"Basic " + base64.b64encode(b"ann:geheim").decode()}


def test_a_silent_server_is_not_asked_twice(odd: Odd) -> None:
    odd.silent = True
    llm = resolve_llm("ollama:m", address(odd), timeout=1)
    for _ in range(2):
        with pytest.raises(TimeoutError):
            llm.get_context_window()
    assert len(odd.asked) == 1
