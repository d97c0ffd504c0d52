"""The first page of the reference: the names of the front door, and every module by its room."""
from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

from .pages import Site, room, room_title

TOLD = "The names that you import from ragnb, and every module by its folder."


def front_door(
    stub: Path,  # `ragnb/__init__.pyi`
) -> list[tuple[str, list[str]]]:  # (module below the package, names)
    "Read which names `from ragnb import …` offers, by module."
    text = stub.read_text(encoding="utf-8") if stub.is_file() else ""
    blocks = re.findall(r"^from \.([\w.]+) import (\([^)]*\)|.+)$", text, flags=re.M)
    return [(module, re.findall(r"(\w+) as \w+", names)) for module, names in blocks]


def reference_page(site: Site, stub: Path) -> str:
    "The overview of the API, as Markdown."
    summaries = {s.name: s.summary for n in site.notebooks for s in n.symbols}
    parts = ["# Reference",
             f"Names of the front door: `from {site.package} import NAME`. All else is in the modules below.",
             f"한국어: `from {site.package} import 이름`으로 바로 쓰는 이름들입니다. 나머지는 아래 모듈에 있습니다."]
    rows = []
    for module, names in front_door(stub):
        for name in names:
            place = site.places.get(name, "").removeprefix("api/")
            shown = f"[`{name}`]({place})" if place else f"`{name}`"
            rows.append(f"| {shown} | {summaries.get(name, '')} | [`{module}`]({module}.md) |")
    if rows:
        parts.append("## Front door\n\n| name | what it is | module |\n|---|---|---|\n" + "\n".join(rows))
    for name, group in groupby((n for n in site.notebooks if n.module), key=room):
        rows = [f"| [`{n.module}`]({Path(n.api).name}) | {n.gain} | {sum(s.kind != 'value' for s in n.symbols)} |"
                for n in group]
        parts.append("\n".join([f"## {room_title(name)}\n\n| module | what it does | names |\n|---|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"
