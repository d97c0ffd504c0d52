"""A small server that speaks Ollama's HTTP protocol, for tests without Ollama.

    with OllamaServer(models=("bona/bge-m3-korean",)) as server:
        OllamaEmbedding(model_name="bona/bge-m3-korean", base_url=server.url)

To serve another end point, add a function to `server.routes`: it takes the request as a dict and returns a dict
(one JSON reply) or an iterator of dicts (a stream of JSON lines). Raise `Refused(status, message)` for an error.
"""
from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = dict[str, Any] | Iterator[dict[str, Any]]


class Refused(Exception):
    """An error reply."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


def toy_vector(text: str, dims: int = 64) -> list[float]:
    """A vector that is like another's when the texts share pairs of characters; length 1."""
    vector = [0.0] * dims
    for pair in zip(" " + text, text + " "):
        h = int.from_bytes(hashlib.blake2b("".join(pair).encode(), digest_size=4).digest(), "little")
        vector[h % dims] += 1.0
    norm = sum(v * v for v in vector) ** 0.5
    return [v / norm for v in vector]


class OllamaServer:
    """Serve the Ollama protocol on a free port of this machine while the `with` block lasts."""

    def __init__(self, models: tuple[str, ...] = ("bona/bge-m3-korean",)) -> None:
        self.models = models
        self.requests: list[tuple[str, dict[str, Any]]] = []  # (path, body) in order of arrival
        self.routes: dict[str, Callable[[dict[str, Any]], Reply]] = {
            "/api/embed": self.embed,
            "/api/chat": self.chat,
            "/api/show": self.show,
            "/api/tags": self.tags,
            "/api/version": lambda body: {"version": "0.0.0-test"},
        }

    def check_model(self, body: dict[str, Any]) -> str:
        """The model asked for, or Ollama's refusal."""
        model = body.get("model", "")
        if model not in self.models:
            raise Refused(404, f'model "{model}" not found, try pulling it first')
        return model

    def embed(self, body: dict[str, Any]) -> Reply:
        """POST /api/embed: `input` is one text or a list."""
        model, texts = self.check_model(body), body.get("input")
        texts = [texts] if isinstance(texts, str) else texts
        if not isinstance(texts, list):
            raise Refused(400, "invalid input type")
        return {"model": model, "embeddings": [toy_vector(t) for t in texts], "total_duration": 1, "load_duration": 1,
                "prompt_eval_count": sum(map(len, texts))}

    def said(self, messages: list[dict[str, Any]]) -> str:
        """What the chat model answers: a digest of what it was told, so that a test knows that it was read."""
        return "echo " + hashlib.blake2b("\n".join(m["content"] for m in messages).encode(), digest_size=4).hexdigest()

    def chat(self, body: dict[str, Any]) -> Reply:
        """POST /api/chat: `messages`; one reply, or a stream of two."""
        model, text = self.check_model(body), self.said(body.get("messages", []))
        reply = {"model": model, "created_at": "2024-01-01T00:00:00Z", "message": {"role": "assistant", "content": text}, "done": True,
                 "done_reason": "stop", "total_duration": 1, "load_duration": 1, "prompt_eval_count": 1, "eval_count": 1}
        if not body.get("stream", True):
            return reply
        return iter([reply | {"message": {"role": "assistant", "content": part}, "done": last} for part, last in ((text[:5], False), (text[5:], True))])

    def show(self, body: dict[str, Any]) -> Reply:
        """POST /api/show: what is known of a model; LlamaIndex asks for its context length."""
        self.check_model(body)
        return {"model_info": {"general.architecture": "test", "test.context_length": 8192}, "details": {}, "capabilities": ["completion"]}

    def tags(self, body: dict[str, Any]) -> Reply:
        """GET /api/tags: the models there are."""
        return {"models": [{"model": m, "name": m} for m in self.models]}

    @property
    def url(self) -> str:
        """Base URL, for `base_url`."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> OllamaServer:
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def _handler(server: OllamaServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.answer()

        def do_GET(self) -> None:
            self.answer()

        def answer(self) -> None:
            try:
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
                server.requests.append((self.path, body))
                if self.path not in server.routes:
                    raise Refused(404, "404 page not found")
                reply, status = server.routes[self.path](body), 200
            except Refused as e:
                reply, status = {"error": e.message}, e.status
            except ValueError as e:
                reply, status = {"error": str(e)}, 400
            stream = not isinstance(reply, dict)
            lines = [json.dumps(r).encode() + b"\n" for r in reply] if stream else [json.dumps(reply).encode()]
            self.send_response(status)
            self.send_header("Content-Type", "application/x-ndjson" if stream else "application/json")
            self.send_header("Content-Length", str(sum(map(len, lines))))
            self.end_headers()
            for line in lines:
                self.wfile.write(line)

        def log_message(self, format: str, *args: object) -> None:
            """Keep test output clean."""

    return Handler
