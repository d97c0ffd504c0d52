"""CPU and peak memory of one question on the command line, whole processes from start to end, beside what it cannot do without.

    python benchmarks/cold_ask.py INDEX "QUESTION" [--before FOLDER] [--rounds 3]

`--before` is a checkout of another version: its command is run in turn with this one's, on the same index, and must say the same.
The parts: Python with NumPy, the classes of LlamaIndex with all that its package imports, kiwipiepy with one question.
"""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from common import arguments, ROOT

PARTS = {
    "Python and NumPy": "import numpy",
    "LlamaIndex, imported": "import llama_index.core.schema",
    "chromadb, imported": "import chromadb",
    "kiwipiepy, one question": "from kiwipiepy import Kiwi; Kiwi(load_multi_dict=False).tokenize('연차는 며칠인가요?')",
}
MAIN = "import sys; from ragnb.cli import main; sys.exit(main(sys.argv[1:]))"


def run(command: list[str], checkout: Path) -> tuple[float, float, str]:
    """CPU seconds, peak of memory in MB, and what was said by a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    process = subprocess.Popen([sys.executable, "-c", *command], env=environment, cwd=checkout, stdout=subprocess.PIPE, text=True)
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command[0]!r} failed")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1_000, said


def main() -> None:
    args = arguments(__doc__, needs={"index": Path, "question": str}, before=Path, rounds=3)
    ask = [MAIN, "ask", args.question, "--index", str(args.index.resolve())]
    commands = {"ragnb ask": (ask, ROOT)} | ({"ragnb ask, before": (ask, args.before.resolve())} if args.before else {})
    commands |= {name: ([program], ROOT) for name, program in PARTS.items()}
    found = {name: [] for name in commands}
    for _ in range(args.rounds):
        for name, (command, checkout) in commands.items():
            found[name].append(run(command, checkout))
    if args.before and found["ragnb ask"][0][2] != found["ragnb ask, before"][0][2]:
        raise SystemExit("the two versions do not say the same")
    print("| process | CPU s, best | CPU s, middle | peak MB |\n|---|--:|--:|--:|")
    for name, runs in found.items():
        seconds = sorted(s for s, _, _ in runs)
        print(f"| {name} | {seconds[0]:.2f} | {seconds[len(seconds) // 2]:.2f} | {max(m for _, m, _ in runs):.0f} |")


if __name__ == "__main__":
    main()
