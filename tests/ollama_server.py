"""A small server that speaks Ollama's HTTP protocol, for tests without Ollama; a token is a character here.

It behaves as the real ones do. `benchmarks/ollama_protocol.py` compares status, keys, types and the order of events, request by request,
and `benchmarks/real_servers.py` prints what becomes of long prompts. `version` is "0.32" (since 0.30.11, which runs llama.cpp's server)
or "0.24" (which ran its own). They differ in what they do with a prompt that is longer than the window:

| request | 0.24 | 0.32 |
|---|---|---|
| as clients send it | the last `num_ctx` tokens are read | about half of `num_ctx` is read |
| `truncate: false` | 400, without numbers | 400 with `n_prompt_tokens` and `n_ctx` |
| `shift: false` only | the last `num_ctx` tokens are read | 400, without numbers |
"""
from __future__ import annotations

import contextlib
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = dict[str, Any] | Iterator[dict[str, Any]]


class Refused(Exception):
    """An error reply; a function of `server.routes` may raise it."""

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


DETAILS = {"parent_model": "", "format": "gguf", "family": "test", "families": ["test"], "parameter_size": "1M", "quantization_level": "F16"}
WHOLE = {"num_ctx", "num_keep", "num_predict", "seed", "top_k", "num_batch", "num_gpu", "main_gpu", "num_thread", "repeat_last_n"}
REAL = {"temperature", "top_p", "min_p", "typical_p", "repeat_penalty", "presence_penalty", "frequency_penalty"}


def check_options(options: dict[str, Any]) -> None:
    """Refuse an option of another type, as the server does."""
    for name, value in options.items():
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if name in WHOLE | REAL and value is not None and not number:
            raise Refused(500, f'option "{name}" must be of type {"integer" if name in WHOLE else "float32"}')


KINDS = ("object", "array", "string", "number", "integer", "boolean", "null")


def check_format(wanted: Any, version: str) -> None:
    """Refuse a format that is none, and from 0.30.11 on a schema that llama.cpp cannot read."""
    if isinstance(wanted, str) and wanted not in ("", "json"):
        raise Refused(500, f'invalid format: {json.dumps(json.dumps(wanted))}; expected "json" or a valid JSON Schema object')
    if isinstance(wanted, dict) and wanted.get("type", "object") not in KINDS and version == "0.32":
        message = f"Field 'json_schema': \"json_schema\": JSON schema conversion failed:\nUnrecognized schema: {compact(wanted)}"
        raise Refused(400, compact({"error": {"code": 400, "message": message, "type": "invalid_request_error"}}))


def compact(value: Any) -> str:
    """JSON without blanks, as Go and llama.cpp write it."""
    return json.dumps(value, separators=(",", ":"))


def tagged(model: str) -> str:
    """A name with its tag."""
    return model if ":" in model.rpartition("/")[2] else f"{model}:latest"


MODES = ("trickle", "headers", "endless", "redirect")


def misbehave(handler: BaseHTTPRequestHandler, mode: str, elsewhere: str, line: bytes = b"", seconds: float = 5) -> int:
    """Reply as no client should put up with; how many bytes were sent before the client went, or `seconds` had passed.

    "trickle": a line, or a blank, every hundredth of a second; "headers": the same before the body begins;
    "endless": lines without a pause; "redirect": the caller is sent to the same path of another server.
    """
    if mode == "redirect":
        handler.send_response(307)
        handler.send_header("Location", elsewhere + handler.path)
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return 0
    n, end = 0, time.monotonic() + seconds
    handler.close_connection = True
    with contextlib.suppress(OSError):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n" + (b"X-A: b" if mode == "headers" else b"Content-Type: application/json\r\n\r\n"))
        piece = b"b" if mode == "headers" else line or b" " * (1 if mode == "trickle" else 65_536)
        while time.monotonic() < end:
            handler.wfile.write(piece)
            n += len(piece)
            if mode != "endless":
                time.sleep(0.01)
    return n


class OllamaServer:
    """On a free port of this machine while the `with` block lasts; what it does otherwise is set on it, also between requests."""

    def __init__(self, models: tuple[str, ...] = ("bona/bge-m3-korean",)) -> None:
        self.models = models
        self.requests: list[tuple[str, dict[str, Any]]] = []  # (path, body) in order of arrival
        self.window, self.dims = 131_072, 64          # The model's maximum (`/api/show`), and num_ctx where a request sets none
        self.version = "0.32"
        self.thinks, self.forever = False, False      # Thoughts go to `thinking`; with `forever` the answer is never begun
        self.thought = "질문을 생각한다. "
        self.deaf = False                             # The model thinks although it was told not to
        self.capabilities: dict[str, tuple[str, ...]] = {}   # Of a model; else `embedding` by its name, or `completion`
        self.windows: dict[str, int] = {}             # Of a model; else `window`
        self.ignores: set[str] = set()                # Fields that are not read, as imitations do: `truncate`, `shift`
        self.digests: dict[str, str] = {}             # Another model was pulled under the tag
        self.changed: dict[str, str] = {}             # The digest of a model with the same files and other parameters
        self.loaded: dict[str, int] = {}              # Model -> num_ctx it runs with
        self.shifts: dict[str, bool] = {}             # Model -> what it was loaded with
        self.loads: list[tuple[str, int]] = []        # Each time a model was loaded
        self.faults: list[int | str] = []             # Of the next requests: a status, "hang", "cut", "half" a reply, "undone" stream
        self.modes: dict[str, str] = {}               # End point -> how every reply of it misbehaves, see `misbehave`
        self.raw: dict[str, str] = {}                 # End point -> the text of every reply
        self.heads: list[Any] = []                     # Headers of each request
        self.elsewhere = ""                           # Where a redirect leads
        self.sent: list[int] = []                     # Bytes of each reply that misbehaved
        self.embed_limit: int | None = None           # Characters of a text; longer ones are cut, or refused with `truncate: false`
        self.embedder: Callable[[list[str]], list[list[float]]] | None = None
        self.on_request: Callable[[str, dict[str, Any]], None] | None = None   # Called with path and body before each reply
        self.answered: list[str] = []                 # Texts whose vectors were sent whole
        self.library: tuple[str, ...] = ()            # Models that can be pulled
        self.stopped = threading.Event()
        self.routes: dict[str, Callable[[dict[str, Any]], Reply]] = {
            "/api/embed": self.embed, "/api/chat": self.chat, "/api/show": self.show, "/api/tags": self.tags, "/api/pull": self.pull,
            "/api/ps": self.ps, "/api/version": lambda body: {"version": f"{self.version}.0"}}

    def asked(self, path: str) -> list[dict[str, Any]]:
        """The requests to one end point."""
        return [body for where, body in self.requests if where == path]

    def check_model(self, body: dict[str, Any], told: str = "model '{}' not found") -> str:
        """The model asked for, or Ollama's refusal, which has other words for each end point."""
        model = body.get("model", "")
        if tagged(model) not in map(tagged, self.models):
            raise Refused(404, told.format(model))
        return model

    def able(self, model: str) -> tuple[str, ...]:
        """What a model can do."""
        embeds = any(word in model for word in ("embed", "bge", "e5", "minilm"))
        known = self.capabilities.get(model, ("embedding",) if embeds else ("completion",))
        return (*known, "thinking") if self.thinks and "completion" in known else known

    def load(self, model: str, options: dict[str, Any] | None, shift: bool = True) -> int:
        """Load a model where it does not run with this window, or not with this way to go on when it is full; the window."""
        check_options(options or {})
        asked = int((options or {}).get("num_ctx") or self.loaded.get(tagged(model)) or 4096)
        window = min(max(asked, 4), self.windows.get(model, self.window))
        shifts = self.shifts.setdefault(tagged(model), shift) if self.version == "0.32" else shift
        if self.loaded.get(tagged(model)) != window or shifts != shift:
            self.loaded[tagged(model)] = window
            self.shifts[tagged(model)] = shift
            self.loads.append((model, window))
        return window

    def unload(self, body: dict[str, Any]) -> None:
        """Unload the model that a request says to keep for no time."""
        if body.get("keep_alive") in (0, "0", "0s"):
            self.loaded.pop(tagged(body["model"]), None)

    def embed(self, body: dict[str, Any]) -> Reply:
        """POST /api/embed: `input` is one text or a list."""
        texts = body.get("input")
        texts = [texts] if isinstance(texts, str) else texts
        if not isinstance(texts, list):
            raise Refused(400, "invalid input type")
        model = self.check_model(body, 'model "{}" not found, try pulling it first')
        if not texts:
            return {"model": model, "embeddings": []}
        check_options(body.get("options") or {})
        if "embedding" not in self.able(model) and self.version == "0.32":
            raise Refused(501, "This server does not support embeddings. Start it with `--embeddings`")
        sent = texts
        if self.embed_limit is not None:
            if body.get("truncate") is False and any(len(t) > self.embed_limit for t in texts):
                raise Refused(400, "the input length exceeds the context length")
            texts = [t[:self.embed_limit] for t in texts]
        vectors = self.embedder(texts) if self.embedder else [toy_vector(t, body.get("dimensions") or self.dims) for t in texts]
        return {"model": model, "embeddings": vectors, "total_duration": 1, "load_duration": 1,
                "prompt_eval_count": sum(map(len, texts)), "_texts": sent}

    def said(self, messages: list[dict[str, Any]]) -> str:
        """What the chat model answers: a digest of what it was told, so that a test knows that it was read."""
        return "echo " + hashlib.blake2b("\n".join(m["content"] for m in messages).encode(), digest_size=4).hexdigest()

    def chat(self, body: dict[str, Any]) -> Reply:
        """POST /api/chat: `messages`; one reply, or a stream of a few."""
        body = {name: value for name, value in body.items() if name not in self.ignores}
        model, messages, options = self.check_model(body), body.get("messages", []), body.get("options") or {}
        check_format(body.get("format"), self.version)
        if body.get("think") and "thinking" not in self.able(model):
            raise Refused(400, f'"{model}" does not support thinking')
        if self.able(model) and "completion" not in self.able(model):      # () is a server that does not say
            raise Refused(400, f'"{model}" does not support chat')
        shift = body.get("shift") is not False
        def reply(content: str = "", thinking: str = "") -> dict[str, Any]:
            message = {"role": "assistant", "content": content} | ({"thinking": thinking} if thinking else {})
            return {"model": model, "created_at": "2024-01-01T00:00:00Z", "message": message, "done": False}
        if not messages and body.get("keep_alive") in (0, "0", "0s"):
            return reply() | {"done": True, "done_reason": "unload"}
        window = self.load(model, options, shift)
        if not messages:
            return reply() | {"done": True, "done_reason": "load"}
        messages = self.fitted(messages, window, body.get("truncate") is not False, shift, int(options.get("num_keep") or 4))
        read = sum(len(m["content"]) for m in messages)
        most = int(options.get("num_predict") or -1)
        room = 10 * window if shift else window - read          # when the window is full, it is shifted, or that is the end
        most = min(most, room) if most >= 0 else room
        thinks = "thinking" in self.able(model) and (self.deaf or body.get("think") is not False)
        whole = self.thought * (most if self.forever else 1) if thinks else ""
        thought = whole[:most]
        answer = "" if thinks and self.forever else self.said(messages)
        text = answer[:most - len(thought)]
        cut = len(thought) + len(text) < len(whole) + len(answer)
        last = {"done": True, "done_reason": "length" if cut else "stop", "total_duration": 1, "load_duration": 1,
                "prompt_eval_count": read, "prompt_eval_duration": 1, "eval_count": len(thought) + len(text), "eval_duration": 1}
        if not body.get("stream", True):
            return reply(text, thought) | last
        pieces = [reply("", thought), reply(text[:5]), reply(text[5:])]
        return iter([*(piece for piece in pieces if piece["message"] != reply()["message"]), reply() | last])

    def fitted(self, messages: list[dict[str, Any]], window: int, truncate: bool, shift: bool, keep: int) -> list[dict[str, Any]]:
        """The messages that the model reads of a prompt, or the server's refusal."""
        text, new = "".join(m["content"] for m in messages), self.version == "0.32"
        if len(text) < window or len(text) == window and not new:
            return messages
        if not truncate and new:
            raise Refused(400, compact({"error": {
                "code": 400, "message": f"request ({len(text)} tokens) exceeds the available context size ({window} tokens), try increasing it",
                "type": "exceed_context_size_error", "n_prompt_tokens": len(text), "n_ctx": window}}))
        if not truncate:
            raise Refused(400, "the input length exceeds the context length")
        if new and not shift:
            raise Refused(400, "the prompt is longer than the context length currently available to the model; shorten the prompt, adjust "
                               "the context length in settings, or use a model with a longer context length")
        keep = min(keep, window - 1)
        limit = window - max((window - keep) // 2, 1) if new else window
        return [{"role": "user", "content": text[:keep] + text[keep + len(text) - limit:]}]

    def show(self, body: dict[str, Any]) -> Reply:
        """POST /api/show: what is known of a model."""
        model = self.check_model(body, f"model '{tagged(body.get('model', ''))}' not found")
        window = self.windows.get(model, self.window)
        return {"model_info": {"general.architecture": "test", "test.context_length": window, "test.embedding_length": self.dims},
                "details": DETAILS, "capabilities": [*self.able(model)], "modelfile": f"# FROM test\nFROM /blobs/sha256-{self.digest(model)}\n"}

    def tags(self, body: dict[str, Any]) -> Reply:
        """GET /api/tags: the models there are."""
        return {"models": [{"model": tagged(m), "name": tagged(m), "digest": self.changed.get(m) or self.digest(m), "size": 1, "details": DETAILS,
                            "modified_at": "2024-01-01T00:00:00Z"} | ({"capabilities": [*self.able(m)]} if self.version == "0.32" else {})
                           for m in self.models]}

    def digest(self, model: str) -> str:
        """The digest of a model's weights."""
        name = model.removesuffix(":latest")
        return self.digests.get(name, hashlib.sha256(name.encode()).hexdigest())

    def ps(self, body: dict[str, Any]) -> Reply:
        """GET /api/ps: the models that are loaded."""
        return {"models": [{"model": m, "name": m, "context_length": window, "digest": self.digest(m), "size": 1, "size_vram": 0,
                            "details": DETAILS, "expires_at": "2124-01-01T00:00:00Z"} for m, window in self.loaded.items()]}

    def pull(self, body: dict[str, Any]) -> Reply:
        """POST /api/pull: what comes of a model that the library has; a stream ends with the error of one that it has not."""
        if tagged(body["model"]) not in map(tagged, self.library):
            return iter([{"status": "pulling manifest"}, {"error": "pull model manifest: file does not exist"}])
        self.models = (*self.models, body["model"])
        layers = [{"status": f"pulling {digest[:12]}", "digest": f"sha256:{digest}", "total": size, "completed": size}
                  for digest, size in ((self.digest(body["model"]), 9), ("0123" * 16, 1))]
        ends = ("verifying sha256 digest", "writing manifest", "success")
        return iter([{"status": "pulling manifest"}, *layers, *({"status": status} for status in ends)])

    def line(self, path: str, body: dict[str, Any]) -> bytes:
        """What is repeated in a stream that never ends; b'' where one JSON value is awaited."""
        if path != "/api/chat" or not body.get("stream", True):
            return b""
        message = {"role": "assistant", "content": "가"}
        padding = "x" * 60_000 if self.modes[path] == "endless" else ""
        return json.dumps({"model": body["model"], "message": message, "done": False, "padding": padding}).encode() + b"\n"

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
        self.stopped.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def _handler(server: OllamaServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        fault: int | str | None = None

        def do_POST(self) -> None:
            self.answer()

        def do_GET(self) -> None:
            self.answer()

        def answer(self) -> None:
            try:
                sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if self.command == "POST" and not sent:
                    raise Refused(400, "missing request body")
                body = json.loads(sent or b"{}")
                server.requests.append((self.path, body))
                server.heads.append(self.headers)
                if self.path in server.raw:
                    self.send_response(200)
                    self.send_header("Content-Length", str(len(server.raw[self.path].encode())))
                    self.end_headers()
                    self.wfile.write(server.raw[self.path].encode())
                    return
                if server.on_request is not None:
                    server.on_request(self.path, body)
                if self.path in server.modes:
                    server.sent.append(misbehave(self, server.modes[self.path], server.elsewhere, server.line(self.path, body)))
                    return
                fault = server.faults.pop(0) if server.faults and self.path in ("/api/embed", "/api/chat") else None
                if fault == "hang":
                    server.stopped.wait(30)
                if fault in ("hang", "cut"):
                    self.close_connection = True
                    return
                if fault not in (None, "half", "undone"):
                    raise Refused(int(fault), "server busy, please try again.  maximum pending requests exceeded")
                if self.path not in server.routes:
                    self.send_response(404)
                    self.send_header("Content-Type", "text/plain")
                    self.send_header("Content-Length", "18")
                    self.end_headers()
                    self.wfile.write(b"404 page not found")
                    return
                reply, status = server.routes[self.path](body), 200
                server.unload(body)
                self.fault = fault
            except Refused as e:
                reply, status = {"error": e.message}, e.status
            except json.JSONDecodeError:
                reply, status = {"error": "unexpected EOF"}, 400
            except ValueError as e:
                reply, status = {"error": str(e)}, 400
            self.send(reply, status)

        def send(self, reply: Reply, status: int) -> None:
            stream = not isinstance(reply, dict)
            texts = [] if stream else reply.pop("_texts", [])
            lines = [json.dumps(r).encode() + b"\n" for r in reply] if stream else [json.dumps(reply).encode()]
            fault, self.fault = self.fault, None
            if fault == "undone":
                lines = lines[:-2]
            try:
                self.send_response(status)
                self.send_header("Content-Type", "application/x-ndjson" if stream else "application/json")
                self.send_header("Content-Length", str(sum(map(len, lines))))
                self.end_headers()
                if fault == "half":
                    self.close_connection, lines = True, [b"".join(lines)[:sum(map(len, lines)) // 2]]
                for line in lines:
                    self.wfile.write(line)
            except (BrokenPipeError, ConnectionResetError):  # the caller was killed, or gave up
                return
            server.answered += texts

        def log_message(self, format: str, *args: object) -> None:
            """Keep test output clean."""

    return Handler
