"""Article boundaries found by ragnb.records against the gold article spans of whole statutes.

A boundary is a start or an end of an article of the main part (본칙), compared as an exact character offset; both sides are
trimmed of white space. An article is exact when both of its boundaries are. The time is that of parsing alone.
"""
from __future__ import annotations

import time

from tqdm.auto import tqdm

from common import DATA, lines
from ragnb.laws.statutes import parse_statute
from ragnb.documents.text import trim_span


def compare(row: dict) -> dict:
    """Count what one statute's parse and its gold spans share, and collect what they do not."""
    text, began = row["text"], time.perf_counter()
    found = [a.span for a in parse_statute(text).articles if a.part == "본칙"]
    seconds = time.perf_counter() - began
    gold = [trim_span(text, a["start"], a["end"]) for a in row["articles"]]
    edges = [{("start", s.start) for s in spans} | {("end", s.end) for s in spans} for spans in (gold, found)]
    return {"name": row["title"], "gold": gold, "found": found, "edges": edges, "seconds": seconds, "text": text}


def scores(both: int, n_found: int, n_gold: int) -> str:
    """Precision and recall as table cells."""
    return f"{both / max(1, n_found):.4f} | {both / max(1, n_gold):.4f}"


def misses(result: dict) -> list[str]:
    """Every boundary that only one side has, with its line."""
    gold, found = result["edges"]
    out = []
    for side, only in (("only in gold", gold - found), ("only found", found - gold)):
        for kind, at in sorted(only, key=lambda x: x[1]):
            text = result["text"]
            shown = text[at - 25:at].replace("\n", "⏎") + "▮" + text[at:at + 45].replace("\n", "⏎")
            out.append(f"- {result['name']}, {kind} at {at}, {side}: `{shown}`")
    return out


def main() -> None:
    """Print the table and the misses."""
    results = [compare(row) for row in tqdm(lines(DATA / "ko_statutes" / "corpus.jsonl"), desc="statutes")]
    print("| statute | articles | found | boundary precision | boundary recall | exact article precision | exact article recall | seconds |\n|---|--:|--:|--:|--:|--:|--:|--:|")
    for r in results:
        gold, found = r["edges"]
        exact = len(set(r["gold"]) & set(r["found"]))
        print(f"| {r['name']} | {len(r['gold'])} | {len(r['found'])} | {scores(len(gold & found), len(found), len(gold))} | "
              f"{scores(exact, len(r['found']), len(r['gold']))} | {r['seconds']:.2f} |")
    print("\n" + "\n".join(line for r in results for line in misses(r)))


if __name__ == "__main__":
    main()
