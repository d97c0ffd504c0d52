"""Run the notebooks from their own folders and store their outputs, cleaned.

A second run changes no byte. Cells marked `#| eval: false`, `#| slow` or `#| notest` keep the outputs they have.
Beside the outputs, `nbs/figures/plots.json` keeps for each picture a fingerprint of what it was drawn from.
"""
from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

# As `make test`: two notebooks at a time share two processors.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

NBS = Path(__file__).resolve().parent.parent / "nbs"
PLOTS = NBS / "figures/plots.json"     # Notebook -> fingerprint of what its pictures were drawn from
RULES = NBS.parent / "ragnb/evaluation/plots.py"    # Draws the pictures of measures


def drawn_from(
    path: Path,      # A notebook
) -> str | None:     # None if no cell has a picture
    "Hash the cells up to the last picture, the results that they read, and the rules of plots."
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    cells = [cell for cell in cells if cell["cell_type"] == "code"]
    pictures = [i for i, cell in enumerate(cells) for one in cell["outputs"] if "image/png" in one.get("data", ())]
    if not pictures:
        return None
    sources = ["".join(cell["source"]).strip() for cell in cells[:pictures[-1] + 1]]
    shown = [source for source in sources if not re.match(r"#\|\s*(export|default_exp)", source)]
    named = sorted({name for source in shown for name in re.findall(r"[\w./]+\.json\b", source)})
    files = [path.parent / name for name in named] + [RULES] * ("plots" in "".join(shown))
    parts = [source.encode() for source in shown] + [file.read_bytes() for file in files if file.is_file()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def keep_plots(
    paths: list[Path],   # Notebooks that were run
) -> None:
    "Write the fingerprints of the pictures of these notebooks; the others keep theirs."
    kept = json.loads(PLOTS.read_text(encoding="utf-8")) if PLOTS.is_file() else {}
    new = {path.relative_to(NBS).as_posix(): drawn_from(path) for path in paths}
    kept = {name: mark for name, mark in sorted({**kept, **new}.items()) if mark}
    PLOTS.write_text(json.dumps(kept, indent=0) + "\n", encoding="utf-8")


def skipped(
    source: str,  # One code cell
    slow: bool,   # Run the cells marked `slow` too
) -> bool:
    "True for a cell whose stored output is kept."
    marks = {"eval: false", "notest"} | (set() if slow else {"slow"})
    found = {re.sub(r"\s+", " ", mark).strip().lower() for mark in re.findall(r"^#\|(.*)$", source, flags=re.M)}
    return bool(marks & found)


def run(
    path: Path,   # The notebook, rewritten in place unless a cell fails
    slow: bool,   # Run the cells marked `slow` too
) -> None:
    "Run one notebook in this process, from its folder."
    from execnb.shell import CaptureShell
    from nbdev.clean import nbdev_clean

    os.chdir(path.parent)
    shell = CaptureShell(path)
    try:
        def kept(cell) -> bool:
            return cell.cell_type == "code" and skipped(cell.source, slow)
        shell.execute(path, path, exc_stop=True, preproc=kept)
    except Exception:
        sys.exit(shell.prettytb(fname=path.name))
    nbdev_clean.__wrapped__(path)


def notebooks(
    names: list[str],  # Stems such as `01_span`, or `span` without the number; empty means all
) -> list[Path]:       # In reading order
    "Find the notebooks to run."
    found = sorted(p for p in NBS.rglob("*.ipynb")
                   if not any(part.startswith((".", "_")) for part in p.relative_to(NBS).parts))
    known = {p: {p.stem, re.sub(r"^\d+_", "", p.stem)} for p in found}
    if unknown := set(names).difference(*known.values()):
        sys.exit(f"no such notebook: {', '.join(sorted(unknown))}")
    return [p for p in found if not names or known[p] & set(names)]


def main() -> None:
    "Run each notebook in a process of its own; stop at the first that fails."
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="stems such as 01_span or span; all when none is given")
    parser.add_argument("--slow", action="store_true", help="run the cells marked slow too")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    for path in notebooks(args.names):
        if args.here:
            run(path, args.slow)
            continue
        before = path.read_bytes()
        command = [sys.executable, __file__, "--here", path.stem] + ["--slow"] * args.slow
        if subprocess.run(command).returncode:
            sys.exit(f"{path.relative_to(NBS)} failed; it was left as it was")
        print(path.relative_to(NBS), "unchanged" if path.read_bytes() == before else "rewritten", flush=True)
        keep_plots([path])


if __name__ == "__main__":
    main()
