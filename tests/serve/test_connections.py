"""What a client can do to `ragnb serve` before it has shown a token, over real sockets: floods and odd bodies."""
from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from serve_world import app_of, build, QUESTION, TOKENS

from ragnb.serve.app import MOST_CONNECTIONS, MOST_OF_ADDRESS, serve_app

ASK = f"GET /api/about HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKENS['chief']}\r\n\r\n".encode()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, int]:
    """A service that asks for tokens, on a port of its own."""
    world = build(tmp_path_factory.mktemp("serve") / "world")
    there, address = threading.Event(), []
    app = app_of(Path(world), tokens=True)
    threading.Thread(target=serve_app, args=(app, "127.0.0.1", 0, lambda url: (address.append(url), there.set())), daemon=True).start()
    assert there.wait(30)
    return "127.0.0.1", int(address[0].rstrip("/").rpartition(":")[2])


def status(service: tuple[str, int], sent: bytes = ASK, source: str = "127.0.0.1") -> int:
    """What is answered to a request that is sent at once; 0 for a closed connection."""
    with socket.create_connection(service, 30, (source, 0)) as s:
        s.sendall(sent)
        got = s.recv(100)
        return int(got.split()[1]) if got else 0


HALVES = [b"", b"GET / HTTP/1.1\r\nhost: localhost\r\nx: ", b"POST /api/ask HTTP/1.1\r\nhost: localhost\r\n"
          b"content-type: application/json\r\ncontent-length: 90\r\n\r\n{"]


@pytest.mark.parametrize("half", HALVES, ids=["silent", "headers", "body"])
def test_a_flood_is_refused_and_the_service_answers_afterwards(service, half) -> None:
    with ExitStack() as flood:
        for _ in range(MOST_CONNECTIONS):
            flood.enter_context(socket.create_connection(service, 30)).sendall(half)
        assert status(service) == 503
    end = time.monotonic() + 10
    while status(service) != 200:
        assert time.monotonic() < end, "the flood is over, and nobody is served"
    assert status(service, b"GET / HTTP/1.1\r\nhost: localhost\r\nx: " + b"x" * 70_000) == 400, "headers have a size"


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, int]:
    """A service with a short deadline, on all addresses of this machine."""
    there, address = threading.Event(), []
    app = app_of(Path(build(tmp_path_factory.mktemp("serve") / "world")), tokens=True)
    threading.Thread(target=serve_app, args=(app, "0.0.0.0", 0, lambda url: (address.append(url), there.set()), 0.5), daemon=True).start()
    assert there.wait(30)
    return "127.0.0.1", int(address[0].rstrip("/").rpartition(":")[2])


def test_silent_connections_of_one_address_lock_out_nobody_else(service) -> None:
    """260 connections that send nothing, a part of the headers, or a part of the body; the service has room for 240."""
    with ExitStack() as flood:
        for n in range(260):
            flood.enter_context(socket.create_connection(service, 30)).sendall(HALVES[n % 3])
        assert status(service) == 503 and status(service, source="127.0.0.2") == 200
    assert MOST_OF_ADDRESS < MOST_CONNECTIONS < 260


@pytest.mark.parametrize("half", HALVES, ids=["silent", "headers", "body"])
@pytest.mark.parametrize("first", [b"", ASK], ids=["first request", "later request"])
def test_a_request_that_does_not_come_ends_the_connection(hasty, half, first) -> None:
    with socket.create_connection(hasty, 30) as s:
        if first:
            s.sendall(first)
            assert b" 200 " in s.recv(10_000)
        s.sendall(half)
        received = b"-"
        while received:    # ends when the service closes the connection; the socket's own limit is 30 s
            received = s.recv(10_000)


def test_a_question_may_take_longer_than_a_request(hasty, monkeypatch) -> None:
    """The deadline is for the request: an answer that takes longer arrives."""
    from ragnb.serve.service import Service
    search = Service.agent
    monkeypatch.setattr(Service, "agent", lambda self, visitor: (time.sleep(1.2), search(self, visitor))[1])
    assert status(hasty, ASK.replace(b"/api/about", b"/api/documents")) == 200


def test_a_connection_is_used_again(service) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{service[1]}", headers={"authorization": f"Bearer {TOKENS['chief']}"}) as client:
        for _ in range(3):
            assert client.get("/api/about").status_code == 200
            assert client.post("/api/search", json={"query": QUESTION}).status_code == 200


BODIES = [
    '{"question": "연차\\ud83d"}', '{"question": "\\ud83d", "where": "doc_type=\\ud83d"}', '{"question": "연차", "conversation": "\\ud83d"}',
    '{"question": ["\\ud83d"]}', '{"\\ud83d": 1, "question": "연차"}', '{"question": NaN}', '{"question": "연차", "where": {"a": NaN}}',
    '{"question": "연차", "where": {"\\ud83d": {"\\ude00": -Infinity}}}', '{"question": 1e999}', "NaN", '"\\ud83d"', "[" * 40_000, '{"a":' * 900 + "1" + "}" * 900,
    '{"query": "\\ud83d"}', '{"query": "연차", "top_k": NaN}', '{"query": "연차", "documents": ["\\ud83d"], "collections": null}', '{"query": "\\ud83d\\ud83d", "where": ["\\ud83d=1"]}',
    '{"name": "search", "arguments": {"query": "\\ud83d"}}', '{"name": "search", "arguments": {"\\ud83d": NaN}}', '{"name": "\\ud83d"}',
    '{"name": "get_page", "arguments": {"doc_id": "\\ud83d", "page": 1e400}}', '{"name": "open_section", "arguments": {"doc_id": "\\ud83d", "chunk_index": 0}}',
    '{"name": "get_neighbor_chunks", "arguments": {"doc_id": "leave.md", "chunk_index": 0, "direction": "\\ud83d"}}',
    '{"waiting": "\\ud83d", "text": "\\ud83d", "documents": ["\\ud83d"]}', "{", "", "\\ud83d"]
PATHS = ["/api/ask", "/api/search", "/api/tools", "/api/conversations/x/choice"]


def test_no_body_ends_in_a_traceback(service, caplog) -> None:
    """Every path that takes JSON, with half characters, numbers that no JSON has, and no JSON at all."""
    url, wrong = f"http://127.0.0.1:{service[1]}", {}
    raw = [*(body.encode() for body in BODIES), b'{"question": "\xed\xa0\xbd"}', b"\xff\xfe"]
    with httpx.Client(base_url=url, timeout=60, headers={"content-type": "application/json"}) as client:
        for path in PATHS:
            for body in raw:
                reply = client.post(path, content=body, headers={"authorization": f"Bearer {TOKENS['chief']}"})
                stream = reply.headers["content-type"].startswith("text/event-stream")
                if reply.status_code >= 500 or not stream and json.loads(reply.text) is None or "event: error" in reply.text:
                    wrong[path, body[:60]] = reply.status_code, reply.text[:200]
                without = client.post(path, content=body)
                if without.status_code not in (400, 401) or "ud83d" in without.text:
                    wrong["no token", path, body[:60]] = without.status_code, without.text[:200]
    assert not wrong, wrong
    assert "Traceback" not in caplog.text and not [r for r in caplog.records if r.exc_info]


def test_half_an_emoji_is_found_asked_and_kept(service) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{service[1]}", timeout=60, headers={"authorization": f"Bearer {TOKENS['other']}"}) as client:
        body = b'{"question": "\xec\x97\xb0\xec\xb0\xa8\xeb\x8a\x94 \\ud83d"}'
        reply = client.post("/api/ask", content=body, headers={"content-type": "application/json"})
        assert "event: turn" in reply.text and "연차는 \ufffd" in reply.text
        kept = client.get("/api/conversations").json()
        assert kept[0]["title"] == "연차는 \ufffd"
