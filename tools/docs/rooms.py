"""A page for each folder of notebooks: the road through it, drawn from the notebooks' own names, titles and imports."""
from __future__ import annotations

import html
import posixpath
import re
from itertools import groupby

from .pages import Notebook, Site, room, room_title

ROW, LEFT, TOP = 30, 96, 20     # Height of a stop, room for the arcs, and the middle of the first stop, in pixels
LETTER = 8.6                    # Width of a letter of a module's name, in pixels


def rooms(
    site: Site,
) -> dict[str, list[Notebook]]:  # Folder -> its notebooks, in the order of learning
    "The folders that have a page of their own."
    return {name: list(group) for name, group in groupby(filter(room, site.notebooks), key=room)}


def name_of(notebook: Notebook) -> str:
    "The name of a stop: the notebook's file without its number."
    return re.sub(r"^\d+_", "", posixpath.basename(notebook.path).removesuffix(".ipynb"))


def arcs(
    stops: list[Notebook],
) -> list[tuple[int, int]]:  # (a stop, an earlier or later one that its module imports), from 0
    "Find which module of a folder imports which."
    places = {n.module: i for i, n in enumerate(stops) if n.module}
    pairs = ((i, places[used]) for i, n in enumerate(stops) for used in sorted(n.uses & places.keys()))
    return [(start, end) for start, end in pairs if start != end]


def arc(start: int, end: int) -> str:
    "One arc, left of the road; the farther it reaches, the wider it is."
    above, below = (TOP + ROW * i for i in sorted((start, end)))
    x = LEFT - 11
    far = round(x - 1.3 * min(LEFT - 24, 14 + 4.2 * abs(start - end)))
    return f'<path class="arc" d="M{x} {below} C{far} {below} {far} {above} {x} {above}"/>'


def stop(
    place: int,      # From 0
    notebook: Notebook,
) -> str:
    "One stop: its number on the road, and its name, which leads to its page."
    y, page = TOP + ROW * place, posixpath.basename(notebook.page).removesuffix(".md") + ".html"
    title, name = html.escape(notebook.title), html.escape(name_of(notebook))
    return (f'<a href="{page}"><title>{title}</title><circle cx="{LEFT}" cy="{y}" r="11"/>'
            f'<text class="number" x="{LEFT}" y="{y + 4}">{place + 1}</text>'
            f'<text x="{LEFT + 20}" y="{y + 5}">{name}</text></a>')


def road(
    stops: list[Notebook],
) -> str:  # SVG in one line
    "Draw the road: a line with the stops, and an arc from each module to those that it imports."
    width = LEFT + 32 + round(LETTER * max(len(name_of(n)) for n in stops))
    height = TOP + ROW * (len(stops) - 1) + TOP
    line = f'<path class="line" d="M{LEFT} {TOP}V{height - TOP}"/>'
    drawn = "".join([line, *(arc(*pair) for pair in arcs(stops)), *(stop(i, n) for i, n in enumerate(stops))])
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img" aria-label="The road through this folder">{drawn}</svg>')


def gain(stops: list[Notebook], folder: str) -> str:
    "The sentence under the title."
    arcs_told = " An arc joins a module and one that it imports." if arcs(stops) else ""
    if len(stops) == 1:
        return f"The notebook of `{folder}`."
    return f"The {len(stops)} notebooks of `{folder}`, in the order of learning.{arcs_told}"


def room_page(folder: str, stops: list[Notebook]) -> str:
    "The page of a folder: the road, and a sentence about each stop."
    arcs_told = " 곡선은 모듈과 그 모듈이 가져다 쓰는 모듈을 잇습니다." if arcs(stops) else ""
    korean = "노트북 하나입니다." if len(stops) == 1 else f"배우는 순서로 놓은 노트북 {len(stops)}개입니다.{arcs_told}"
    told = [f"# {room_title(folder)}", f"> {gain(stops, folder)}", f"한국어 요약: {korean}"]
    rows = [f"{i}. **[{n.title}]({posixpath.basename(n.page)})**<br>{n.gain}" for i, n in enumerate(stops, 1)]
    lab = f"Open one in JupyterLab: `make lab NB={stops[0].path}`."
    return "\n\n".join([*told, '<div class="road" markdown="1">\n\n' + f'<div class="drawn">{road(stops)}</div>',
                        "\n".join(rows), "</div>", lab]) + "\n"
