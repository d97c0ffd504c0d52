"""How many functions of the package one question enters, counted by `sys.setprofile`.

    python benchmarks/ask_functions.py               # the sample's HR rules; an error above --most, as `make check` asks
    python benchmarks/ask_functions.py --list        # the functions, by module

The index is made in a temporary folder and opened; what opening enters is not counted. A function counts once, however often it is called;
comprehensions and lambdas count to the function that they are in. Of the 298, kinds of documents
are 33 (their protocol 9, laws 24), checksums of rows 15, repeats and editions 8, values and names with signs 4.
"""
from __future__ import annotations

import sys
import tempfile
from collections import Counter
from types import FrameType
from typing import Any

from common import arguments, ROOT
from ragnb.indexing.folder_index import Index
from ragnb.indexing.update import update_index
from ragnb.pipeline.pipeline import Pipeline

QUESTION = "연차휴가는 며칠인가요?"


def entered(call: Any) -> set[tuple[str, str]]:
    """Module and name of the functions of the package that a call enters."""
    found: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and (module := frame.f_globals.get("__name__", "")).startswith("ragnb.") and not code.co_name.startswith("<"):
            found.add((module, getattr(code, "co_qualname", f"{code.co_name}:{code.co_firstlineno}")))
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def main() -> int:
    """Count, and say whether there are too many."""
    args = arguments(__doc__, most=298, list=False)
    with tempfile.TemporaryDirectory() as folder:
        update_index(ROOT / "data" / "corpus" / "hr_labor", folder, show_progress=False)
        pipeline = Pipeline.from_index(Index.open(folder))
        found = entered(lambda: pipeline.ask(QUESTION))
    for module, n in sorted(Counter(module for module, _ in found).items()) if args.list else ():
        print(f"{n:4} {module}: {', '.join(sorted(name for m, name in found if m == module))}")
    modules = len({module for module, _ in found})
    print(f"one question enters {len(found)} functions in {modules} modules (at most {args.most})")
    return int(len(found) > args.most)


if __name__ == "__main__":
    sys.exit(main())
