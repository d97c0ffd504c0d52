"""A small server with OpenAI's protocol, for tests without vLLM or llama.cpp; a token is a character here."""
from __future__ import annotations

import json

from http_handler import Handler, serving
from ollama_server import misbehave, toy_vector


class OpenAIServer:
    """Speaks enough of the protocol; `busy` requests are refused first. A token is a character here."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict]] = []
        self.said, self.busy = "60일입니다 [1].", 0
        self.mode, self.elsewhere = "", ""
        self.window, self.kind = 100_000, "llama.cpp"   # A "vllm" also refuses where prompt and max_tokens do not fit together
        self.says_window = False                        # In the list of models

    def answer(self, path: str, body: dict) -> tuple[int, dict | list[dict]]:
        self.requests.append((path, body))
        if self.busy:
            self.busy -= 1
            return 503, {"error": {"message": "loading"}}
        if path == "/v1/embeddings":
            texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
            return 200, {"object": "list", "model": body["model"], "usage": {"prompt_tokens": 1, "total_tokens": 1},
                         "data": [{"object": "embedding", "index": i, "embedding": toy_vector(t)} for i, t in enumerate(texts)]}
        if path == "/v1/models":
            facts = {"meta": {"n_ctx": self.window}} if self.kind == "llama.cpp" else {"max_model_len": self.window}
            entry = {"id": "chat", "object": "model", "created": 1, "owned_by": "me"} | (facts if self.says_window else {})
            return 200, {"object": "list", "data": [entry]}
        if path != "/v1/chat/completions" or body["model"] != "chat":
            return 404, {"error": {"message": f"The model `{body.get('model')}` does not exist."}}
        tokens, most = sum(len(m["content"]) for m in body["messages"]), body.get("max_tokens") or self.window
        if tokens >= self.window and self.kind == "llama.cpp":
            told = f"request ({tokens} tokens) exceeds the available context size ({self.window} tokens), try increasing it"
            return 400, {"error": {"code": 400, "message": told, "type": "exceed_context_size_error", "n_prompt_tokens": tokens, "n_ctx": self.window}}
        if self.kind == "vllm" and body.get("max_tokens") and tokens + most > self.window:
            told = (f"This model's maximum context length is {self.window} tokens. However, you requested {tokens + most} tokens ({tokens} in the "
                    f"messages, {most} in the completion). Please reduce the length of the messages or completion.")
            return 400, {"error": {"message": told, "type": "BadRequestError", "code": 400}}
        said, why = self.said[:most], "length" if len(self.said) > most else "stop"
        base = {"id": "1", "created": 1, "model": "chat"}
        if not body.get("stream"):
            message = {"role": "assistant", "content": said}
            return 200, base | {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": why}]}
        parts = [{"delta": {"role": "assistant", "content": said[:4]}}, {"delta": {"content": said[4:]}}, {"delta": {}, "finish_reason": why}]
        return 200, [base | {"object": "chat.completion.chunk", "choices": [{"index": 0, **p}]} for p in parts]

    def line(self, body: dict) -> bytes:
        """What is repeated in a stream that never ends."""
        if not body.get("stream"):
            return b""
        choice = {"index": 0, "delta": {"role": "assistant", "content": "가"}}
        padding = "x" * 60_000 if self.mode == "endless" else ""
        return b"data: " + json.dumps({"id": "1", "created": 1, "model": "chat", "object": "chat.completion.chunk",
                                       "choices": [choice], "padding": padding}).encode() + b"\n\n"

    def __enter__(self) -> OpenAIServer:
        self.serving = serving(Answering, told_by=self)
        self.url = f"http://{self.serving.__enter__()[0]}"
        return self

    def __exit__(self, *error: object) -> None:
        self.serving.__exit__(*error)


class Answering(Handler):
    """Answers, or does not, as its server is set."""
    protocol_version = "HTTP/1.0"     # the client asks from another event loop each time
    told_by: OpenAIServer

    def answer(self, body: bytes) -> None:
        server, read = self.told_by, json.loads(body or b"{}")
        if server.mode:
            server.requests.append((self.path, read))
            misbehave(self, server.mode, server.elsewhere, server.line(read))
            return
        status, reply = server.answer(self.path, read)
        if isinstance(reply, list):
            self.tell(status, b"".join(b"data: " + json.dumps(r).encode() + b"\n\n" for r in reply) + b"data: [DONE]\n\n", "text/event-stream")
        else:
            self.tell(status, reply)
