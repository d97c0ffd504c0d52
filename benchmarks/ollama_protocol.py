"""What a real Ollama server answers to the requests that ragnb sends, compared with the stand-in of the tests: status, keys, types, order of events.

    python benchmarks/ollama_protocol.py --url http://127.0.0.1:11434 --model CHAT --embed EMBEDDING   # nbs/studies/results/ollama_protocol.json
    python benchmarks/ollama_protocol.py --url http://127.0.0.1:11434 --model CHAT --embed EMBEDDING --show   # print, store nothing

Any small chat model without thoughts and any embedding model do: their names, and all numbers, are left out of what is stored. A registry on this
machine, with one model of 200 kB, answers the pull. The file has the rows of one server for each version; `tests/models/test_ollama_protocol.py`
sends the same requests to the stand-in, and fails if it answers otherwise.
"""
from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import groupby
from threading import Thread
from typing import Any, NamedTuple

import httpx
from common import arguments, ROOT, store

STORED = ROOT / "nbs" / "studies" / "results" / "ollama_protocol.json"
WORDS = "The winter rota starts at six, and the night shift hands over the keys at the north gate. "
LISTED = re.compile(r"\.(context_length|embedding_length)$|^general\.architecture$")
VALUES = ("done", "done_reason", "error", "status")   # Keys whose values are compared, not only their types
Event = dict[str, str]                                # Path of a key -> type, or value


class Request(NamedTuple):
    """A request, by what it is about."""
    name: str
    path: str
    body: Any = None          # None: GET; CHAT, EMBED and MISSING are names of models; text is sent as it is
    hang_up: bool = False     # The client goes after the first event


def chat(text: str = "Hello", **fields: Any) -> dict[str, Any]:
    """A request as ragnb sends it."""
    options = {"temperature": 0, "num_ctx": 256, "num_predict": 4, **fields.pop("options", {})}
    return {"model": "CHAT", "stream": False, "options": options, "messages": [{"role": "user", "content": text}], "tools": [],
            "truncate": False, "shift": False, **fields}


def embed(*texts: str, **fields: Any) -> dict[str, Any]:
    """A request as ragnb sends it."""
    return {"model": "EMBED", "input": [*texts], "truncate": False, "options": {}, **fields}


SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
REQUESTS = (
    Request("the server's version", "/api/version"),
    Request("the models it has", "/api/tags"),
    Request("a chat model", "/api/show", {"model": "CHAT"}),
    Request("an embedding model", "/api/show", {"model": "EMBED"}),
    Request("a model it does not have", "/api/show", {"model": "MISSING"}),
    Request("chat, whole", "/api/chat", chat()),
    Request("chat, stream", "/api/chat", chat(stream=True, options={"num_predict": 12})),
    Request("chat, by schema", "/api/chat", chat(format=SCHEMA, options={"num_predict": 64})),
    Request("chat, by a schema that is none", "/api/chat", chat(format={"type": "nonsense"})),
    Request("chat, by a format that is none", "/api/chat", chat(format="nonsense")),
    Request("chat, no thoughts", "/api/chat", chat(think=False)),
    Request("chat, thoughts of a model that has none", "/api/chat", chat(think=True)),
    Request("the models that are loaded", "/api/ps"),
    Request("chat, a stream that the client leaves", "/api/chat", chat("Count to one hundred.", stream=True, options={"num_predict": 200}), hang_up=True),
    Request("chat, after that", "/api/chat", chat()),
    Request("chat, a prompt that is too long", "/api/chat", chat(WORDS * 20)),
    Request("chat, a stream with a prompt that is too long", "/api/chat", chat(WORDS * 20, stream=True)),
    Request("chat, a prompt that may be cut", "/api/chat", chat(WORDS * 20, truncate=True)),
    Request("chat, a model it does not have", "/api/chat", chat(model="MISSING")),
    Request("chat, a stream of a model it does not have", "/api/chat", chat(model="MISSING", stream=True)),
    Request("chat, an embedding model", "/api/chat", chat(model="EMBED")),
    Request("chat, an option of another type", "/api/chat", chat(options={"num_ctx": "many"})),
    Request("chat, no messages: load", "/api/chat", chat(messages=[])),
    Request("chat, unload", "/api/chat", chat(messages=[], keep_alive=0)),
    Request("embed, one text", "/api/embed", embed("Hello", input="Hello")),
    Request("embed, a batch", "/api/embed", embed("Hello", "Goodbye", options={"num_ctx": 256})),
    Request("embed, no text", "/api/embed", embed()),
    Request("embed, shorter vectors", "/api/embed", embed("Hello", dimensions=16)),
    Request("embed, a text that is too long", "/api/embed", embed(WORDS * 60)),
    Request("embed, a text that may be cut", "/api/embed", embed(WORDS * 60, truncate=True)),
    Request("embed, a model it does not have", "/api/embed", embed("Hello", model="MISSING")),
    Request("embed, a chat model", "/api/embed", embed("Hello", model="CHAT")),
    Request("embed, an option of another type", "/api/embed", embed("Hello", options={"num_ctx": "many"})),
    Request("embed, an input of another type", "/api/embed", embed(input=7)),
    Request("pull", "/api/pull", {"model": "TINY", "stream": True, "insecure": True}),
    Request("pull, a model that the registry does not have", "/api/pull", {"model": "NONE", "stream": True, "insecure": True}),
    Request("not JSON", "/api/chat", "{"),
    Request("an empty body", "/api/chat", ""),
    Request("a path that is none", "/api/nonsense", {"model": "CHAT"}),
    Request("a path with /v1 before it", "/v1/api/chat", chat()),
)


def paths(value: Any, here: str = "") -> Iterator[tuple[str, str]]:
    """The paths of the keys of a reply, each with the type of its value."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if here == "model_info":
                key = f"ARCH{key[key.rindex('.'):]}" if LISTED.search(key) and "architecture" not in key else key
                if not LISTED.search(key):
                    continue
            yield from paths(inner, f"{here}.{key}" if here else key)
    elif isinstance(value, list):
        yield from paths(value[0], f"{here}[]") if value else [(f"{here}[]", "nothing")]
    elif here.rpartition(".")[2] in VALUES and value != "":
        yield here, json.dumps(value) if isinstance(value, bool) else str(value)
    else:
        kinds = {bool: "bool", int: "number", float: "number", str: "text" if value else "empty text", type(None): "null"}
        yield here, kinds[type(value)]


def neutral(text: str, names: Mapping[str, str]) -> str:
    """A value without names and numbers."""
    for real, name in sorted(((real, name) for name, real in names.items()), key=lambda pair: -len(pair[0])):
        text = text.replace(real, name)
    return re.sub(r"\b[0-9a-f]{12,64}\b|\d+", "N", text.replace("CHAT:latest", "CHAT").replace("EMBED:latest", "EMBED"))


def events(lines: list[Any], names: Mapping[str, str]) -> list[Event]:
    """What comes, line after line; equal ones that follow each other are one."""
    found = [{path: neutral(kind, names) for path, kind in sorted(paths(line))} for line in lines]
    return [event for event, _ in groupby(found)]


class Reply(NamedTuple):
    """What is compared of a reply."""
    status: int
    kind: str               # Its content type
    events: list[Event]


def send(url: str, request: Request, names: Mapping[str, str]) -> Reply:
    """Send a request."""
    body = json.dumps(request.body) if not isinstance(request.body, str) else request.body
    for name, real in names.items():
        body = body.replace(name, real)
    how = {} if request.body is None else {"content": body, "headers": {"Content-Type": "application/json"}}
    with httpx.stream("GET" if request.body is None else "POST", url + request.path, timeout=600, **how) as reply:
        lines = []
        for line in reply.iter_lines():
            lines += [line] if line.strip() else []
            if request.hang_up:
                break
    kind = reply.headers.get("Content-Type", "").partition(";")[0]
    return Reply(reply.status_code, kind, events([json.loads(line) if "json" in kind else {"text": line} for line in lines], names))


@contextmanager
def registry() -> Iterator[str]:
    """A registry with one model, of which the server can pull; its address."""
    blobs = {f"sha256:{hashlib.sha256(data).hexdigest()}": data for data in (b'{"model_format":"gguf"}', os.urandom(200_000))}
    parts = [{"mediaType": f"application/vnd.{kind}", "digest": digest, "size": len(data)}
             for kind, (digest, data) in zip(("docker.container.image.v1+json", "ollama.image.model"), blobs.items())]
    manifest = {"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json", "config": parts[0], "layers": parts[1:]}

    class Handler(BaseHTTPRequestHandler):
        """Answers for manifests and blobs."""

        def do_GET(self) -> None:
            """Send one, or a part of it."""
            digest = self.path.rpartition("/")[2]
            if "/blobs/" in self.path and digest in blobs and self.command == "GET":
                self.send_response(307)        # Ollama reads a blob only from another host, to which it is sent
                self.send_header("Location", f"http://localhost:{self.server.server_address[1]}/data/{digest}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            data = json.dumps(manifest).encode() if self.path.endswith("/tiny/manifests/latest") else blobs.get(digest)
            part = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or "")
            sent = (data or b"")[int(part[1]):int(part[2]) + 1] if part else data or b""
            self.send_response(404 if data is None else 206 if part else 200)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            if self.command == "GET":
                for start in range(0, len(sent), 50_000):
                    self.wfile.write(sent[start:start + 50_000])
                    time.sleep(0.2 if data is not None and part else 0)    # else it is over before Ollama tells of it

        do_HEAD = do_GET

        def log_message(self, format: str, *given: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def rows(url: str, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """The replies of a server, a row for each request, in their order."""
    return [{"request": request.name, "path": request.path, **send(url, request, names)._asdict()} for request in REQUESTS]


def real_rows(url: str, model: str, embedding: str) -> list[dict[str, Any]]:
    """The replies of a real server."""
    with registry() as address:
        tiny = f"{address}/library/tiny:latest"
        names = {"CHAT": model, "EMBED": embedding, "MISSING": "no-such-model", "TINY": tiny, "NONE": f"{address}/library/none:latest"}
        found = rows(url, names)
        httpx.request("DELETE", f"{url}/api/delete", json={"model": tiny}, timeout=60)
    return found


def stand_in_rows(version: str, kind: Any) -> list[dict[str, Any]]:
    """The replies of the stand-in, `tests/ollama_server.py`."""
    with kind(models=("toy-llm", "toy-embedder")) as server:
        server.version, server.library, server.embed_limit = version, ("tiny",), 2_000
        return rows(server.url, {"CHAT": "toy-llm", "EMBED": "toy-embedder", "MISSING": "no-such-model", "TINY": "tiny", "NONE": "none"})


def differences(real: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """What the stand-in answers otherwise, and the keys that it leaves out."""
    wrong = [f"{key}: {ours[key]} for {real[key]}" for key in ("status", "kind") if real[key] != ours[key]]
    wrong += [f"{len(ours['events'])} events for {len(real['events'])}"] if len(ours["events"]) != len(real["events"]) else []
    left_out = set()
    for a, b in zip(real["events"], ours["events"]):
        wrong += [f"{path}: {b[path]} for {a.get(path, 'no such key')}" for path in b if b[path] != a.get(path)]
        left_out |= a.keys() - b.keys()
    return {"wrong": wrong, "left_out": sorted(left_out)}


def main() -> None:
    args = arguments(__doc__, url=str, model=str, embed=str, show=False, out=STORED)
    if not (args.url and args.model and args.embed):
        raise SystemExit("give --url, --model and --embed")
    url = args.url.rstrip("/")
    version = ".".join(httpx.get(f"{url}/api/version", timeout=20).json()["version"].split(".")[:2])
    sys.path.append(str(ROOT / "tests"))
    from ollama_server import OllamaServer
    real, ours = real_rows(url, args.model, args.embed), stand_in_rows(version, OllamaServer)
    wrong = 0
    for a, b in zip(real, ours):
        told = differences(a, b)
        a["left_out"] = told["left_out"]
        wrong += bool(told["wrong"])
        if args.show or told["wrong"]:
            print(json.dumps(a, ensure_ascii=False), *told["wrong"], "", sep="\n")
    if not args.show:
        stored = json.loads(args.out.read_text(encoding="utf-8")) if args.out.exists() else {}
        store(args.out, stored | {f"Ollama {version}": real})
    print(f"{len(real)} requests; the stand-in answers {wrong} of them otherwise")


if __name__ == "__main__":
    main()
