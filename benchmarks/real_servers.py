"""What real model servers do with a prompt that is too long and with an answer that does not end, and what ragnb makes of it.

    python benchmarks/real_servers.py --ollama http://127.0.0.1:11434 --model MODEL
    python benchmarks/real_servers.py --openai http://127.0.0.1:8080 --model MODEL

The first half of the table is the plain protocol, the second ragnb's classes. `--ollama` asks a server of Ollama with a window of 256 tokens;
`--openai` asks one with OpenAI's protocol as it was started (a small window makes the calls short: `llama-server -c 256`). Any small chat model
does: nothing here depends on what it answers. The stand-in of the tests, `tests/ollama_server.py`, claims only what this table shows.
"""
from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
from common import arguments

from ragnb import resolve_llm
from ragnb.models.limits import ModelCall, VERDICT_TOKENS
from ragnb.models.ollama import Ollama

WINDOW = 256
TEXTS = {"English": "The winter rota starts at six, and the night shift hands over the keys at the north gate. " * 20,
         "Korean": "겨울철 근무표는 여섯 시에 시작하며 야간조는 북문에서 열쇠를 넘겨준다. " * 9}
WAYS: dict[str, dict[str, bool]] = {"as clients send it": {}, "shift: false": {"shift": False}, "truncate: false": {"truncate": False},
                                    "both false": {"truncate": False, "shift": False}}
Row = tuple[str, str, str]   # What is asked, of what, and what comes


def one_line(value: object, most: int = 150) -> str:
    "A reply in a cell of the table."
    return " ".join(str(value).split()).replace("|", "\\|")[:most]


def told(call: Callable[[], Any]) -> str:
    "A value, or the error in its place."
    try:
        return one_line(call())
    except Exception as error:
        return one_line(f"{type(error).__name__}: {error}", 220)


def ollama_protocol(url: str, model: str) -> Iterator[Row]:
    "The plain protocol of Ollama."
    def post(path: str, **body: Any) -> httpx.Response:
        return httpx.post(url + path, json={"model": model, "stream": False, **body}, timeout=600)

    def chat(text: str, **body: Any) -> str:
        options = {"num_ctx": WINDOW, "num_predict": 4, "temperature": 0, **body.pop("options", {})}
        reply = post("/api/chat", messages=[{"role": "user", "content": text}], options=options, **body)
        said = reply.json()
        if reply.status_code != 200:
            return f"{reply.status_code} {said['error']}"
        return f"200, {said['prompt_eval_count']} tokens read, {said['eval_count']} written, done_reason {said['done_reason']}"

    yield "version", "", httpx.get(f"{url}/api/version", timeout=20).json()["version"]
    for language, text in TEXTS.items():
        for way, fields in WAYS.items():
            yield f"a long prompt, num_ctx {WINDOW}, {way}", language, one_line(chat(text, **fields), 220)
    yield "num_predict 4", "", chat("Count to ten.")
    yield "an option of another type", "", chat("Hello", options={"num_ctx": "many"})
    reply = post("/api/embed", input="hello")
    yield "embedding with a chat model", "", one_line(f"{reply.status_code} {reply.json().get('error', 'vectors')}")
    chat("Hello", keep_alive=0)
    time.sleep(2)
    yield "loaded after keep_alive: 0", "", str([m["model"] for m in httpx.get(f"{url}/api/ps", timeout=20).json()["models"]])


class SmallSteps(Ollama):
    "Windows in steps of 256 tokens, so that the larger window of the second request is read soon."
    step = WINDOW


def ragnb_ollama(url: str, model: str) -> Iterator[Row]:
    "What ragnb makes of it."
    for language, text in TEXTS.items():
        llm = SmallSteps(model, url, context_window=WINDOW, answer_tokens=8)
        yield f"ragnb, num_ctx {WINDOW}", language, told(lambda llm=llm, text=text: llm.complete(text))
        llm = SmallSteps(model, url, answer_tokens=8, temperature=0)
        llm._window = WINDOW                     # as after a short question
        estimated = llm.count_tokens(text)
        raw = told(lambda llm=llm, text=text: llm.complete(text).raw["prompt_eval_count"])
        yield "ragnb, the window is chosen", language, f"estimated {estimated} tokens, read {raw} in a window of {llm._window}"
    for name, call in (("an answer of 8 tokens", ModelCall()), ("a step", ModelCall(VERDICT_TOKENS))):
        llm = SmallSteps(model, url, context_window=WINDOW, answer_tokens=8)
        with call:
            written = llm.complete("List all months of the year, and all days of the week.").raw["eval_count"]
        yield f"ragnb, {name}", "", f"{written} tokens written, ended by length: {call.by_length}"
    call = ModelCall()
    with call:
        parts = llm.stream_complete("Count to one hundred.")
    n = sum(1 for _ in call.pieces(parts))
    yield "ragnb, a stream of 8 tokens", "", f"{n} pieces, ended by length: {call.by_length}"


def openai_protocol(url: str, model: str) -> Iterator[Row]:
    "The plain protocol of OpenAI."
    def chat(text: str, **body: Any) -> str:
        messages = [{"role": "user", "content": text}]
        reply = httpx.post(f"{url}/v1/chat/completions", json={"model": model, "messages": messages, **body}, timeout=600)
        said = reply.json()
        if reply.status_code != 200:
            return f"{reply.status_code} {json.dumps(said['error'])}"
        return f"200, {said['usage']['prompt_tokens']} tokens read, finish_reason {said['choices'][0]['finish_reason']}"
    for language, text in TEXTS.items():
        yield "a long prompt", language, one_line(chat(text, max_tokens=4), 260)
    yield "max_tokens 4", "", chat("Count to ten.", max_tokens=4)


def ragnb_openai(url: str, model: str) -> Iterator[Row]:
    "What ragnb makes of it."
    llm = resolve_llm(f"openai-like:{model}", url, answer_tokens=8)
    yield "ragnb, window as the server says", "", told(lambda: llm.window)
    for language, text in TEXTS.items():
        yield "ragnb, a long prompt", language, told(lambda text=text: llm.complete(text)).replace(url, "SERVER")
    call = ModelCall()
    with call:
        written = llm.complete("List all months of the year.").raw.usage.completion_tokens
    yield "ragnb, an answer of 8 tokens", "", f"{written} tokens written, ended by length: {call.by_length}"
    call = ModelCall()
    with call:
        parts = llm.stream_complete("Count to one hundred.")
    n = sum(1 for part in call.pieces(parts) if part.delta)
    yield "ragnb, a stream of 8 tokens", "", f"{n} pieces, ended by length: {call.by_length}"


def main() -> None:
    args = arguments(__doc__, ollama=str, openai=str, model=str)
    if not args.model or not (args.ollama or args.openai):
        raise SystemExit("give --model, and --ollama or --openai")
    print("| request | prompt | what comes |\n|---|---|---|", flush=True)
    for url, parts in ((args.ollama, (ollama_protocol, ragnb_ollama)), (args.openai, (openai_protocol, ragnb_openai))):
        for part in parts if url else ():
            for row in part(url.rstrip("/"), args.model):
                print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
