"""What the benchmarks share: where data and models are, the command line, and rows that are kept in a file."""
from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("RAGNB_DATA", ROOT.parent / "shared" / "data"))
MODELS = Path(os.environ.get("RAGNB_MODELS", ROOT.parent / "shared" / "models"))
MINILM = f"onnx:{MODELS / 'minilm'}"


def arguments(
    doc: str,         # Of the script, for --help
    what: Sequence[str] = (),  # The parts it has, one of which is named first; "" for none
    needs: Mapping[str, Any] = {},  # What is named without a dash -> its type; list: any number of words
    **options: Any,   # Name -> default, or its type where there is none; with a help text as a pair. False is a switch
) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    if what:
        parser.add_argument("what", choices=what, nargs="?" if "" in what else None, default="")
    for name, kind in needs.items():
        parser.add_argument(name, **({"nargs": "*"} if kind is list else {"type": kind}))
    for name, given in options.items():
        default, told = given if isinstance(given, tuple) else (given, None)
        kind: dict[str, Any] = {"type": type(default), "default": default}
        if default is False:
            kind = {"action": "store_true"}
        elif isinstance(default, type):
            kind = {"type": default}
        elif isinstance(default, list):
            of = default[0] if default else str
            kind = {"nargs": "*", "type": of if isinstance(of, type) else type(of), "default": [] if isinstance(of, type) else default}
        parser.add_argument(f"--{name.replace('_', '-')}", help=told, **kind)
    return parser.parse_args()


def lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSONL file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def sample_or_set(name: str) -> Any:
    """A data set by name; `sample` is that of this repository."""
    from ragnb.evaluation.datasets import load_dataset
    return load_dataset(ROOT / "data" if name == "sample" else name)


def by_hash(name: str) -> bytes:
    """A place in a mixed order that is the same everywhere."""
    return hashlib.sha256(name.encode()).digest()


def alone(work: Callable[..., Any], *given: Any) -> Any:
    """The result of some work in a process of its own, so that peaks of memory do not add up."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(work, *given).result()


def resident() -> float:
    """Resident memory of this process now, in MiB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def store(path: Path, facts: Mapping[str, Any], digits: int = 4) -> None:
    """Write facts as JSON with rounded numbers: a key on a line, and each row of a list of rows."""
    short = json.loads(json.dumps(facts), parse_float=lambda x: round(float(x), digits))
    path.parent.mkdir(parents=True, exist_ok=True)

    def body(value: Any, is_whole: bool = False) -> str:
        text = json.dumps(value, ensure_ascii=False)
        if "[{" not in text and not is_whole:
            return text
        if isinstance(value, list):
            return "[\n" + ",\n".join(map(body, value)) + "\n]"
        return "{" + ",\n".join(f"{json.dumps(k)}: {body(v)}" for k, v in value.items()) + "}"
    path.write_text(body(short, True) + "\n", encoding="utf-8")


def keep_row(path: Path, row: dict[str, Any], keys: Sequence[str]) -> None:
    """Put a row into a file of rows, in place of the one with the same values of some keys."""
    held = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    held = [*(r for r in held if any(r[k] != row[k] for k in keys)), row]
    rows = sorted(held, key=lambda r: [r[k] for k in keys])
    path.write_text("[\n" + ",\n".join(json.dumps(r, ensure_ascii=False) for r in rows) + "\n]\n", encoding="utf-8")


def server() -> str:
    """Host and port of the server that `make opensearch` has started, or that RAGNB_OPENSEARCH names."""
    url = os.environ.get("RAGNB_OPENSEARCH") or subprocess.run([sys.executable, str(ROOT / "tools/opensearch.py"), "url"],
                                                               capture_output=True, text=True).stdout.strip()
    if not url:
        sys.exit("no server: make opensearch, or RAGNB_OPENSEARCH=http://host:port")
    return url.split(",")[0].partition("://")[2]


def cpu_of(client: Any, ask: Callable[[Any], Any], questions: Sequence[Any]) -> tuple[float, float]:
    """CPU milliseconds a question, of the server behind a client (if any) and of this process: what a busy machine changes less."""
    def used() -> tuple[float, float]:
        time.sleep(1.1)     # the server looks once a second
        nodes = client.nodes.stats(metric="process")["nodes"].values() if client else ()
        return sum(node["process"]["cpu"]["total_in_millis"] for node in nodes), 1_000 * time.process_time()

    before = used()
    for question in questions:
        ask(question)
    server_ms, own_ms = ((b - a) / len(questions) for a, b in zip(before, used()))
    return server_ms, own_ms
