"""The picture that other sites show for a link to this one: name, sentence, and a part of the demo's figure."""
from __future__ import annotations

import hashlib
import textwrap
from pathlib import Path

from tools import figures

FIGURE, CARD = "nbs/figures/demo.png", "docs/card.png"
MEASURED = "Share of the known answers"     # The first line of the figure that compares ways to read


def fingerprint(
    root: Path,   # The project
) -> str:         # Hexadecimal digits
    "What the figure is now; the card has the one that it was made from."
    return hashlib.sha256((root / FIGURE).read_bytes()).hexdigest()


def draw(
    root: Path,
    told: str,    # The sentence under the name
) -> None:
    "Write the card, 1200 by 630 pixels."
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    picture = plt.imread(root / FIGURE)
    background = picture[4, 4][:3]
    figure = plt.figure(figsize=(12, 6.3), dpi=100, facecolor=background)
    figure.text(.05, .80, "ragnb", size=54, weight="bold", color="white")
    figure.text(.05, .74, "\n".join(textwrap.wrap(told, 66)), size=22, color="#c8d0da", va="top", linespacing=1.4)
    axes = figure.add_axes((.035, .03, .93, .46))
    top, bottom = figures.rows_of(figures.stored(root / FIGURE), MEASURED)
    axes.imshow(picture[top:bottom], interpolation="lanczos")
    axes.axis("off")
    figure.savefig(root / CARD, facecolor=background, metadata={"Source": fingerprint(root)})
    plt.close(figure)
