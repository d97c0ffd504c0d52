"""PDF files to read in tests: texts and ruling lines at their places."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

FONT = "HYGothic-Medium"   # Readers of PDF have it


def drawn(path: Path, *pages: Sequence[tuple[Any, ...]], font: str = FONT, size: float = 10, **options: Any) -> Path:
    """A PDF of pages. An entry is (x, y, text), with a size as fourth value and a font as fifth if they differ; x is None where the text before ended.
    An entry of four numbers is a ruling line. `options` go to the canvas."""
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont
    from reportlab.pdfgen import canvas
    pdfmetrics.registerFont(UnicodeCIDFont(FONT))
    out = canvas.Canvas(str(path), invariant=1, **options)
    for page in pages:
        end = 0.0
        for entry in page:
            if len(entry) == 4 and not any(isinstance(value, str) for value in entry):
                out.line(*entry)
                continue
            x, y, text, *own = entry
            start = end if x is None else x
            look = own[1] if len(own) > 1 else font, own[0] if own else size
            out.setFont(*look)
            # PDFium leaves out a text without a width; without fonts, a Korean letter alone has none, but a blank has
            out.drawString(start, y, text if text.isascii() or len(text) > 1 else f"{text} ")
            end = start + pdfmetrics.stringWidth(text, *look)
        out.showPage()
    out.save()
    return path


def column(x: float, y: float, lines: Sequence[str], leading: float = 14) -> list[tuple[float, float, str]]:
    """Lines below each other."""
    return [(x, y - leading * n, line) for n, line in enumerate(lines)]


def rows(places: Sequence[float], y: float, cells: Sequence[Sequence[str]], leading: float = 16) -> list[tuple[float, float, str]]:
    """Cells, row by row."""
    return [(x, y - leading * n, text) for n, row in enumerate(cells) for x, text in zip(places, row) if text]


def net(places: Sequence[float], heights: Sequence[float]) -> list[tuple[float, float, float, float]]:
    """The ruling lines of a table, its edges at these places."""
    level = [(places[0], y, places[-1], y) for y in heights]
    return [*level, *((x, heights[-1], x, heights[0]) for x in places)]
