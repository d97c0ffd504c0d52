"""Names, titles, values and questions that would act on a terminal are shown, and do nothing; JSON keeps their value."""
from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
EVIL = "\x1b[2J\x9b31m\u202e\x07\x7f"
NAME = f"연차{EVIL}.md"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose files have such names, titles and values."""
    folder = tmp_path_factory.mktemp("evil") / f"d{EVIL}"
    folder.mkdir()
    (folder / NAME).write_text(f"---\ndoc_type: kind{EVIL[1:2]}\n---\n# 휴가{EVIL}\n\n연차는 15일이다.{EVIL}\n", encoding="utf-8")
    records = [{"id": f"r{EVIL}", "text": f"병가는 60일이다.{EVIL}", "title": f"병가{EVIL}", f"key{EVIL}": f"v{EVIL}"}, {"id": f"x{EVIL}"}]
    (folder / f"b{EVIL}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    for name in (f"c{EVIL}.docx", f"p{EVIL}.png", "two\nskipped lines.docx"):
        (folder / name).write_bytes(b"x")
    return folder


def test_nothing_that_is_printed_acts(run, place: Path, tmp_path: Path) -> None:
    index, question = tmp_path / f"i{EVIL}", f"연차는 며칠{EVIL}"
    asked = [("index", place, "--index", index, "--quiet"), ("index", place, "--index", index, "--quiet", "--json"),
             *((word, "--index", index, *more) for word in ("ls", "info") for more in ((), ("--json",))),
             *((word, question, "--index", index, *more) for word in ("ask", "trace") for more in ((), ("--json",), ("--where", f"a{EVIL}=b"))),
             ("ask", "연차", "--index", index, f"--{EVIL}"), ("ask", "연차", "--index", tmp_path / f"no{EVIL}"), (f"w{EVIL}",),
             ("records", place, "--out", tmp_path / f"r{EVIL}"), ("records", place, "--out", tmp_path / "r", "--kind", f"k{EVIL}"),
             ("questions", place, "--n", 5), ("remove", f"none{EVIL}", "--index", index), ("remove", f"r{EVIL}", "--index", index)]
    acting, values = [], {}
    for argv in asked:
        code, out, err = run(*argv)
        acting += [(argv[0], found[0], code) for found in [ACTS.search(out + err)] if found]
        if "--json" in argv:
            values[argv[0]] = json.loads(out)
        if argv[0] == "index" and "--json" not in argv:
            assert code == 0 and sum(line.startswith(("skipped ", "note: ")) for line in err.splitlines()) == len(err.splitlines())
    assert not acting
    assert NAME in {row["id"] for row in values["ls"]["documents"]} and values["ask"]["question"] == question
