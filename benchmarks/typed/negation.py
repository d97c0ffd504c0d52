"""Pairs of sentences that share the words of a question and differ in negation or a bound: which one comes first?

    python benchmarks/typed/negation.py                                  # the open half, with the package that is here
    python benchmarks/typed/negation.py --before ba5707d1 --show         # also at that commit, and which pairs are wrong
    python benchmarks/typed/negation.py --half held --before ba5707d1    # once, when a change is finished

All sentences of a half are in one index, each in a document of its own, whose id says nothing. A pair is right if its passage with
the question's polarity is ahead of the other one, and in the first place if it is ahead of all.
"""
from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(1, str(HERE))

from common import arguments, lines, ROOT, store  # noqa: E402
from run import unpack  # noqa: E402

EMBEDDINGS = ("ngram", "e5")


def pairs_of(half: str) -> list[dict[str, str]]:
    """The pairs of a half."""
    return [pair for pair in lines(HERE / "negation.jsonl") if pair["half"] == half]


def name_of(sentence: str) -> str:
    """An id that does not give away which sentence is right."""
    return hashlib.sha256(sentence.encode()).hexdigest()[:10]


def answer_all(half: str, embed: str) -> None:
    """Print a line for each pair: whether the right sentence is ahead of the wrong one, and of all."""
    from ragnb import Pipeline, update_index
    os.environ["TQDM_DISABLE"] = "1"
    pairs = pairs_of(half)
    sentences = sorted({pair[side] for pair in pairs for side in ("right", "wrong")}, key=name_of)
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder, "corpus.jsonl")
        corpus.write_text("".join(json.dumps({"doc_id": name_of(s), "text": s}, ensure_ascii=False) + "\n" for s in sentences), encoding="utf-8")
        index, _ = update_index(corpus, Path(folder, "index"), embed=embed, show_progress=False)
        pipeline = Pipeline.from_index(index, budget=4_000)
        for pair in pairs:
            order = [passage.doc_id for passage in pipeline.ask(pair["question"]).passages]
            places = {side: order.index(name_of(pair[side])) if name_of(pair[side]) in order else len(order) for side in ("right", "wrong")}
            print(json.dumps({"ahead": places["right"] < places["wrong"], "first": places["right"] == 0}), flush=True)


def rows_of(checkout: Path, half: str, embed: str) -> list[dict[str, bool]]:
    """What the package of a folder answers."""
    words = [sys.executable, str(HERE / "negation.py"), "--answer", embed, "--half", half]
    run = subprocess.run(words, env=os.environ | {"PYTHONPATH": str(checkout)}, cwd=checkout, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def main() -> None:
    args = arguments(__doc__, half=("open", "open or held"), before=("", "a commit to compare with"), embeddings=([*EMBEDDINGS], "those to ask with"),
                     show=(False, "print the pairs that are wrong: the open half only"), answer=("", "used by this script"), out=(Path, "JSON with the numbers; those of other embeddings and halves stay in it"))
    if args.answer:
        answer_all(args.half, args.answer)
        return
    pairs, results = pairs_of(args.half), dict[str, Any]()
    with tempfile.TemporaryDirectory() as folder:
        checkouts = ({args.before: unpack(args.before, Path(folder, args.before))} if args.before else {}) | {"now": ROOT}
        for embed in args.embeddings or EMBEDDINGS:
            for name, checkout in checkouts.items():
                rows = rows_of(checkout, args.half, embed)
                ahead, first = (sum(row[kind] for row in rows) for kind in ("ahead", "first"))
                results[f"{args.half} {embed} {name}"] = {"pairs": len(rows), "ahead": ahead, "first": first}
                print(f"{args.half} {embed} {name}: {ahead} of {len(rows)} ahead of the other, {first} ahead of all", flush=True)
                if args.show and args.half == "open":
                    print(*(f"  {pair['question']}" for pair, row in zip(pairs, rows) if not row["ahead"]), sep="\n")
    if args.out:
        stored = json.loads(args.out.read_text(encoding="utf-8")) if args.out.exists() else {}
        store(args.out, stored | results)


if __name__ == "__main__":
    main()
