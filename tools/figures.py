"""Draw what `make demo` prints (`python tools/figures.py`), and its page (`python tools/figures.py trace`).

Both need Chromium. A picture stores as its description what it was made from: the printed text, or a fingerprint of the
templates, the rules and the text of the page. So a test finds a picture that is older than the code.
"""
from __future__ import annotations

import hashlib
import html
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIGURE = ROOT / "nbs/figures/demo.png"
TRACE = ROOT / "nbs/figures/trace.png"
TRACE_SIZE = 760, 1120   # Width and height in pixels of the picture of the demo's page
RULES = [ROOT / "ragnb" / name for name in ("documents/page.html", "pipeline/trace_page.html", "pipeline/trace.html",
                                            "pipeline/trace.css", "pipeline/trace_page.py")]   # Of the demo's page
LINE, MARGIN, WIDTH = 21, 16, 792   # Height of a line, space around the text and width, in pixels
PLAIN, STRONG, AROUND = "#e6e9ee", "#a3d28b", "#808a96"   # Colors of a line, of a strong match, of the text around it


def printed() -> str:
    "Run the demo in an empty folder and return what it prints up to the paths of its files."
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "ragnb", "--lang", "en", "demo"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
        run = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return run.stdout.partition("\nindex: ")[0].rstrip() + "\n"


def stored(
    figure: Path = FIGURE,
) -> str:
    "Read the text that a picture shows."
    from PIL import Image
    with Image.open(figure) as picture:
        return picture.text["Description"]


def rows_of(
    text: str,    # What a picture shows
    first: str,   # Beginning of the first line that is wanted
) -> tuple[int, int]:
    "Find where the lines from one on are in the picture, in pixels from above."
    lines = ["$ make demo", *text.splitlines()]
    start = next(i for i, line in enumerate(lines) if line.startswith(first))
    return MARGIN + start * LINE, MARGIN + len(lines) * LINE


def page(
    text: str,
) -> str:
    "Write the text as a page that looks like a terminal."
    lines = []
    for line in ["$ make demo", *text.splitlines()]:
        indent = len(line) - len(line.lstrip(" "))
        color = STRONG if line[indent:].startswith("▌") else AROUND if indent == 4 else PLAIN
        lines.append(f'<div style="color:{color}">{html.escape(line) or "&nbsp;"}</div>')
    style = (f"margin:0; padding:{MARGIN}px; width:{WIDTH - 2 * MARGIN}px; background:#20242c; "
             f"white-space:pre; overflow:hidden; "
             f"font:14px/{LINE}px 'Noto Sans Mono CJK KR', 'NanumGothicCoding', monospace")
    return f'<!doctype html><meta charset="utf-8"><body style="{style}">{"".join(lines)}</body>'


def fingerprint() -> str:
    "Hash the templates and rules of the demo's page, and the text that the demo prints."
    rules = b"".join(path.read_bytes() for path in RULES)
    return hashlib.sha256(rules + stored().encode()).hexdigest()[:16]


def shot(
    source: str,              # A page as HTML
    size: tuple[int, int],    # Width and height in pixels
    figure: Path,
    about: str,               # Description of the picture
) -> None:
    "Write a picture of a page, with a description."
    from PIL import Image, PngImagePlugin
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("RAGNB_CHROMIUM") or shutil.which("chromium")
    if not chromium:
        sys.exit("no Chromium: install it, or set RAGNB_CHROMIUM to one")
    with sync_playwright() as p, tempfile.TemporaryDirectory() as folder:
        browser = p.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        view = browser.new_page(viewport={"width": size[0], "height": size[1]})
        view.set_content(source)
        view.screenshot(path=f"{folder}/shot.png")
        browser.close()
        described = PngImagePlugin.PngInfo()
        described.add_itxt("Description", about)
        with Image.open(f"{folder}/shot.png") as picture:
            picture.convert("RGB").quantize(64).save(figure, pnginfo=described, optimize=True)


def draw(
    text: str,
    figure: Path = FIGURE,
) -> None:
    "Write the picture, with its text as the description."
    shot(page(text), (WIDTH, 2 * MARGIN + LINE * (len(text.splitlines()) + 1)), figure, text)


def draw_trace() -> None:
    "Write the picture of the page that the demo writes."
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
        command = [sys.executable, "-m", "ragnb", "--lang", "en", "demo", "--json"]
        subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)
        shot((Path(folder) / "out/demo.html").read_text(encoding="utf-8"), TRACE_SIZE, TRACE, fingerprint())


if __name__ == "__main__":
    draw_trace() if sys.argv[1:] == ["trace"] else draw(printed())
