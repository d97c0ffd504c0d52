"""Every command that talks to a model, on a real server: how it ends, what it asks, and how long that takes.

    python benchmarks/real_commands.py --ollama http://127.0.0.1:11434 --model MODEL
    python benchmarks/real_commands.py --openai http://127.0.0.1:8080 --model MODEL
    python benchmarks/real_commands.py --ollama http://127.0.0.1:11434 --model MODEL --embed EMBEDDING   # and the commands that embed

The commands run as processes over the English handbook of the sample data, with small budgets, so that a small model on a slow processor is done in
minutes. They talk to the server through a proxy that counts: requests, those that the server refused, tokens read and written as the server says.
A command that ends with a traceback, or with an exit code other than the one named, makes the script fail. What a model answers is not judged here.
"""
from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import httpx
from common import arguments, ROOT

HANDBOOK = ROOT / "data" / "corpus" / "english"
QUESTION = "How many days of leave does an engineer on posting get?"
READ = re.compile(rb'"(?:prompt_tokens|prompt_eval_count)":\s*(\d+)')
WRITTEN = re.compile(rb'"(?:completion_tokens|eval_count)":\s*(\d+)')


@dataclass
class Proxy:
    """A server that passes every request on, and counts."""
    url: str
    paths: list[str] = field(default_factory=list)
    refused: int = 0
    n_read: int = 0
    n_written: int = 0

    def __enter__(self) -> Proxy:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            """Passes one request on."""

            def do_GET(self) -> None:
                """Pass it on."""
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                with httpx.stream(self.command, proxy.url + self.path, content=body, timeout=600,
                                  headers={"Content-Type": self.headers.get("Content-Type") or "application/json"}) as reply:
                    self.send_response(reply.status_code)
                    self.send_header("Content-Type", reply.headers.get("Content-Type", "application/json"))
                    self.send_header("Connection", "close")
                    self.end_headers()
                    sent = b""
                    for part in reply.iter_bytes():
                        sent += part
                        self.wfile.write(part)
                        self.wfile.flush()
                proxy.count(self.path, reply.status_code, sent)

            do_POST = do_GET

            def log_message(self, format: str, *given: object) -> None:
                """Print nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    @property
    def address(self) -> str:
        """Where commands send their requests."""
        return f"http://127.0.0.1:{self.server.server_port}"

    def count(self, path: str, status: int, sent: bytes) -> None:
        """Count a reply; in a stream, the last number is that of the whole answer."""
        self.paths.append(path)
        self.refused += status >= 400
        self.n_read += sum(map(int, READ.findall(sent)[-1:]))
        self.n_written += sum(map(int, WRITTEN.findall(sent)[-1:]))

    def start_again(self) -> None:
        """Begin to count anew."""
        self.paths, self.refused, self.n_read, self.n_written = [], 0, 0, 0


class Trial(NamedTuple):
    """A command that is tried."""
    name: str
    words: list[str]
    lines: str = ""     # What is typed into it
    ends: int = 0       # Its exit code
    asks: str = ""      # Asked of it over HTTP; it ends by Ctrl-C


def trials(model: str, embedding: str, folder: Path) -> Iterator[Trial]:
    """The commands, in the order in which they run."""
    llm, index = ["--llm", model, "--llm-option", "answer_tokens=48", "--llm-option", "temperature=0"], ["--index", str(folder / "index")]
    ask = ["ask", QUESTION, *index, "--budget", "600", *llm]
    yield Trial("check", ["check", *llm])
    yield Trial("index --contexts", ["index", str(HANDBOOK), "--index", str(folder / "contexts"), "--split", "contexts:chunks:3000/0", "--contexts", model])
    yield Trial("index (no model)", ["index", str(HANDBOOK), *index])
    yield Trial("index parent-child (no model)", ["index", str(HANDBOOK), "--index", str(folder / "chunks"), "--split", "parent-child"])
    yield Trial("ask --llm", ask)
    yield Trial("ask, a question that is not answered there", ["ask", "Who won the chess olympiad of 1972?", *ask[2:]])
    yield Trial("ask --rerank llm", [*ask, "--rerank", "llm:6", "--policy", "none"])
    yield Trial("ask --policy llm:1", ["ask", QUESTION, "--index", str(folder / "chunks"), "--budget", "600", "--policy", "llm:1", "--expand-top-k", "2", *llm])
    yield Trial("ask --compress llm:300", [*ask, "--compress", "llm:300"])
    yield Trial("ask --retrieve multi-query:multi-scale", [*ask, "--retrieve", "multi-query:multi-scale"])
    yield Trial("ask --retrieve hyde:multi-scale", [*ask, "--retrieve", "hyde:multi-scale"])
    yield Trial("ask --history", [*ask, "--history", str(folder / "talk.json")])
    yield Trial("ask --history, again", ["ask", "And in the second year?", *ask[2:], "--history", str(folder / "talk.json")])
    yield Trial("chat", ["chat", *index, "--budget", "600", *llm], f"{QUESTION}\nexit\n")
    steps = ["--step", f"grade={model}", "--step", "route=none", "--step", "plan=none"]
    yield Trial("chat, grades by the model, route and plan by rules", ["chat", *index, "--budget", "600", *llm, *steps], f"{QUESTION}\nexit\n")
    yield Trial("serve --llm, asked with OpenAI's protocol", ["serve", *index, "--budget", "600", "--port", "0", *llm], asks=QUESTION)
    for name, words in PROMPTS.items():
        (folder / name).write_text(words, encoding="utf-8")
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, QUESTIONS)), encoding="utf-8")
    prompts = ["--prompts", *(str(folder / name) for name in PROMPTS)]
    yield Trial("eval --prompts", ["eval", str(HANDBOOK), str(folder / "questions.jsonl"), *prompts, "--budgets", "600", "--out", str(folder / "eval"), *llm])
    if embedding:
        kept = ["--index", str(folder / "vectors"), "--embed", embedding]
        yield Trial("check --embed", ["check", "--embed", embedding])
        yield Trial("index --embed", ["index", str(HANDBOOK), *kept])
        yield Trial("index --embed, again", ["index", str(HANDBOOK), *kept])
        yield Trial("ask over these vectors", ["ask", QUESTION, *kept[:2], "--budget", "600"])
        yield Trial("ask --llm over these vectors", ["ask", QUESTION, *kept[:2], "--budget", "600", *llm])
        yield Trial("index --embed, a model that is not there", ["index", str(HANDBOOK), "--index", str(folder / "none"), "--embed", f"{embedding}-none"], ends=3)
    yield Trial("ask --llm, a model that is not there", [*ask[:-5], f"{model}-none", *llm[2:]], ends=3)


PROMPTS = {"plain.txt": "{context_str}\n\n{query_str}", "cite.txt": "{context_str}\n\nAnswer with the number of the source such as [1].\n{query_str}"}
QUESTIONS = [{"query_id": "q1", "query": "How many consecutive hours of rest does an engineer have?", "answer": "11",
              "evidence": [{"doc_id": "handbook.md", "text": "there must be at least 11 consecutive hours of rest"}]},
             {"query_id": "q2", "query": "For how many nights may a visit last?", "answer": "21 days",
              "evidence": [{"doc_id": "handbook.md", "text": "A short visit lasts up to 21 days."}]}]


class Outcome(NamedTuple):
    """How a command went."""
    code: int
    seconds: float
    out: str
    err: str


def run(trial: Trial, url: str, folder: Path) -> Outcome:
    """Run a command."""
    started = time.perf_counter()
    environment = {**os.environ, "RAGNB_LANG": "en", "OPENAI_API_KEY": "none", "COLUMNS": "160"}
    with_server = [] if "no model" in trial.name else ["--base-url", url]
    if trial.asks:
        return served(trial, with_server, folder, environment)
    done = subprocess.run([sys.executable, "-m", "ragnb", *trial.words, *with_server], cwd=folder, env=environment, input=trial.lines,
                          capture_output=True, text=True, timeout=1800)
    return Outcome(done.returncode, time.perf_counter() - started, done.stdout, done.stderr)


def served(trial: Trial, with_server: list[str], folder: Path, environment: dict[str, str]) -> Outcome:
    """Ask a command over HTTP, whole and as a stream, and end it by Ctrl-C."""
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "ragnb", *trial.words, *with_server], cwd=folder, env=environment, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    address = process.stdout.readline().split()[0].rstrip("/") if process.stdout else ""
    request = {"model": "ragnb", "messages": [{"role": "user", "content": trial.asks}]}
    whole = httpx.post(f"{address}/v1/chat/completions", json=request, timeout=600)
    pieces = httpx.post(f"{address}/v1/chat/completions", json=request | {"stream": True}, timeout=600)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    told = f"{whole.status_code} {whole.text}\n{pieces.text}\nwhole {whole.status_code}, stream {pieces.status_code}, ended by {pieces.text.split()[-1]}"
    return Outcome(process.returncode, time.perf_counter() - started, f"{out}\n{told}", err)


def last_line(outcome: Outcome, hidden: dict[str, str]) -> str:
    """What a user sees last: of an error, else of the answer."""
    text = outcome.err if outcome.code else outcome.out
    for path, name in hidden.items():
        text = text.replace(path, name)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].replace("|", "\\|")[:160] if lines else ""


def main() -> None:
    args = arguments(__doc__, ollama=str, openai=str, model=str, embed=str, only=("", "run one trial alone, by its name"), texts=("", "a folder for what commands print"))
    if not args.model or not (args.ollama or args.openai):
        raise SystemExit("give --model, and --ollama or --openai")
    kind = "ollama" if args.ollama else "openai-like"
    model, embedding = f"{kind}:{args.model}", f"{kind}:{args.embed}" if args.embed else ""
    failed: list[Any] = []
    print("| command | exit | requests | refused | tokens read | written | seconds | last line |\n|---|--:|--:|--:|--:|--:|--:|---|", flush=True)
    with tempfile.TemporaryDirectory() as place, Proxy((args.ollama or args.openai).rstrip("/")) as proxy:
        for number, trial in enumerate(trials(model, embedding, Path(place))):
            if args.only and trial.name != args.only and "no model" not in trial.name:
                continue
            proxy.start_again()
            outcome = run(trial, proxy.address, Path(place))
            if outcome.code != trial.ends or "Traceback" in outcome.err:
                failed.append(trial.name)
            if args.texts:
                Path(args.texts).mkdir(parents=True, exist_ok=True)
                (Path(args.texts) / f"{number:02}.txt").write_text(json.dumps(trial.words) + f"\n{outcome.out}\n--- stderr\n{outcome.err}", encoding="utf-8")
            last = last_line(outcome, {proxy.address: "SERVER", place: "FOLDER"})
            print(f"| {trial.name} | {outcome.code} | {len(proxy.paths)} | {proxy.refused} | {proxy.n_read} | {proxy.n_written} | {outcome.seconds:.0f} | {last} |", flush=True)
    if failed:
        raise SystemExit(f"not as expected: {', '.join(failed)}")


if __name__ == "__main__":
    main()
