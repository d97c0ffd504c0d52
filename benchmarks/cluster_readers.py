"""Readers of an index on a cluster beside a writer: questions about what never changes, while everything else does.

    make opensearch                                       # prints the address; NODES=3 for three nodes
    RAGNB_OPENSEARCH=ADDRESS python benchmarks/cluster_readers.py [--questions 1000] [--out FILE]

Two readers keep an index open, a third opens it for every question. Meanwhile a writer changes half of the documents, renames one, builds the index again with `force`, and is
killed at a random moment of a change (SIGKILL; stored seed). `--out` replaces the row of as many nodes. A question fails when the line that never changes is not in the passages, or when there is an error.
"""
from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from common import arguments, keep_row, ROOT

sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "opensearch")]

from test_cluster_readers import N, lost, readers, write   # noqa: E402

from ragnb.indexing.folder_index import Index   # noqa: E402
from ragnb.indexing.update import update_index   # noqa: E402
from ragnb.pipeline.pipeline import Pipeline   # noqa: E402

WRITER = "import sys; from ragnb.indexing.update import update_index; update_index(sys.argv[1], sys.argv[2], show_progress=False)"


def change(docs: Path, place: str, edition: int, draw: random.Random) -> str:
    """Make one change of a kind that is drawn; its name."""
    kind = draw.choice(["half", "half", "force", "rename", "kill"])
    write(docs, edition)
    for file in (docs / f"rule{n}.md" for n in range(0, N, 2) if kind == "half"):
        file.write_text(file.read_text(encoding="utf-8").replace(f"{edition}판", f"{edition - 1}판"), encoding="utf-8")
    if kind == "rename":
        extra = docs / "extra.md"
        extra.rename(docs / "other.md") if extra.exists() else extra.write_text("# 별지\n\n덧붙임이다.", encoding="utf-8")
    if kind == "kill":
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(docs), place], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(draw.uniform(2, 8))
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    update_index(docs, place, force=kind == "force", show_progress=False)
    return kind


def main() -> None:
    args = arguments(__doc__, questions=1_000, seed=29, out=Path)
    hosts = [url.partition("://")[2] for url in os.environ["RAGNB_OPENSEARCH"].split(",")]
    place, draw, kinds = f"opensearch://{','.join(hosts)}/readers", random.Random(args.seed), Counter()
    with tempfile.TemporaryDirectory() as folder:
        docs = Path(folder) / "docs"
        update_index(write(docs, 1), place, force=True, show_progress=False)
        opened = [Pipeline.from_index(Index.open(place)) for _ in range(2)]
        started = time.perf_counter()
        with readers(*(lambda p=p: p for p in opened), lambda: Pipeline.from_index(Index.open(place))) as (wrong, asked):
            while sum(asked) < args.questions:
                kinds[change(docs, place, 2 + sum(kinds.values()), draw)] += 1
        facts = {"nodes": len(hosts), "questions": sum(asked), "failed": len(wrong), "changes": dict(kinds), "seconds": round(time.perf_counter() - started), "seed": args.seed,
                 "after": sum(bool(lost(opened[0], n)) for n in range(N))}
    print(json.dumps(facts, ensure_ascii=False), *wrong[:5], sep="\n")
    if args.out:
        keep_row(args.out, facts, ("nodes",))


if __name__ == "__main__":
    main()
