"""What a file of the benchmark must show after reading: checks on cells, sentences and their order, for any reader.

A check looks at the text that a reader gives, not at its layout. A table may be a pipe table, an HTML table, or lines whose cells stand apart by tabs or two blanks.
"""
from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Make = Callable[[], bytes]


@dataclass(frozen=True)
class Check:
    "One thing that is true of a right reading."
    kind: str
    args: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.kind}({', '.join(map(repr, self.args))})"


@dataclass(frozen=True)
class File:
    "A file, the problem it has, and what a right reading shows."
    name: str                    # With its suffix
    problem: str                 # In a few words
    make: Make                   # Its bytes
    checks: tuple[Check, ...]
    question: str                # Asked of the folder of the half
    gold: tuple[str, ...]        # One quote, or what stands in one line of the answer


def file(name: str, problem: str, make: Make, checks: Sequence[Check], question: str, *gold: str) -> File:
    "Describe a file."
    return File(name, problem, make, tuple(checks), question, gold)


def cell(keys: str | Sequence[str], header: str, value: str | int | float | Sequence[str]) -> Check:
    "In the row with the keys, the column whose header has these words shows the value (one of the values)."
    values = value if isinstance(value, (list, tuple)) else (value,)
    return Check("cell", ((keys,) if isinstance(keys, str) else tuple(keys), tuple(header.split()), tuple(map(str, values))))


def labelled(keys: str | Sequence[str], header: str, value: str | int | float | Sequence[str]) -> Check:
    "As `cell`, or the row has `label: value` pairs, where one group of pairs has the keys and the value: an inner table that is written into the row of its cell."
    return Check("labelled", cell(keys, header, value).args)


def same_width(*words: str) -> Check:
    "Every row of the tables (of the one with these words) has as many cells as its header."
    return Check("same_width", words)


def sentence(text: str) -> Check:
    "The sentence is there, in one piece."
    return Check("sentence", (text,))


def absent(text: str) -> Check:
    "The text is nowhere."
    return Check("absent", (text,))


def before(first: str, second: str) -> Check:
    "Both texts are there, the first one before the second."
    return Check("before", (first, second))


def once(text: str) -> Check:
    "The text is there once."
    return Check("once", (text,))


def near(first: str, second: str, characters: int) -> Check:
    "At most so many characters lie between the two texts."
    return Check("near", (first, second, characters))


def note(*words: str) -> Check:
    "The reader reports a loss in one of these words; asked only of readers that report."
    return Check("note", words)


_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\n]*\)")
_MARK = re.compile(r"\[\^[^\[\]\n]{1,9}\](?!:)|\[\[\d+\]\]\([^()\n]*\)|\[(?:<sup>)?\(?\d{1,3}\)?(?:</sup>)?\]\(#[^()\n]*\)")
_RAISED = re.compile(r"<sup[^<>]*>([^<>]*)</sup>", re.I)
_TAG = re.compile(r"</?(?:sup|sub|u|b|i|s|strong|em|mark|ins|del|span|font)(?:\s[^<>]*)?>", re.I)
_BREAK = re.compile(r"<br\s*/?>|</?p(?:\s[^<>]*)?>", re.I)
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|<>~$])")
_EMPHASIS = re.compile(r"\*\*|__|~~|(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])")


def plain(text: str) -> str:
    "A text without the marks of Markdown, its blanks as one blank each."
    text = unicodedata.normalize("NFC", text).replace("\xa0", " ").replace("\u200b", "").replace("\xad", "")
    text = _MARK.sub("", text)
    text = _LINK.sub(r"\1", text)
    text = _TAG.sub("", _BREAK.sub(" ", _RAISED.sub(r"^\1", text)))
    text = _ESCAPE.sub(r"\1", _EMPHASIS.sub("", html.unescape(text)))
    return " ".join(text.split())


_PIPE = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"\s*:?-+:?\s*")
_GAP = re.compile(r"\t| {2,}")
_HTML_TABLE = re.compile(r"<table.*?</table>", re.S | re.I)


@dataclass(frozen=True)
class Table:
    "A header and rows, as a reader gives them."
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def _pipe_row(line: str) -> list[str] | None:
    line = line.strip()
    if len(line) < 2 or line[0] != "|" or line[-1] != "|":
        return None
    return _PIPE.split(line)[1:-1]


def pipe_tables(text: str) -> list[Table]:
    "Pipe tables: the row above the rule is the header."
    tables: list[Table] = []
    block: list[list[str]] = []
    for line in [*text.split("\n"), ""]:
        row = _pipe_row(line)
        if row is not None:
            block.append(row)
            continue
        rules = [n for n, cells in enumerate(block) if all(_RULE.fullmatch(c) for c in cells)]
        if block and rules and rules[0] > 0:
            header = tuple(map(plain, block[rules[0] - 1]))
            tables.append(Table(header, tuple(tuple(map(plain, r)) for r in block[rules[0] + 1:])))
        elif block:
            tables.append(Table(tuple(map(plain, block[0])), tuple(tuple(map(plain, r)) for r in block[1:])))
        block = []
    return tables


def _html_tables(text: str) -> list[Table]:
    "HTML tables that a reader writes into its text, spans filled; rows of th, or the first row, are the header."
    tables = []
    for found in _HTML_TABLE.findall(text):
        filled: dict[tuple[int, int], str] = {}
        heads: list[int] = []
        for n, row in enumerate(re.findall(r"<tr.*?</tr>", found, re.S | re.I)):
            at = 0
            cells = re.findall(r"<(t[dh])([^>]*)>(.*?)</t[dh]>", row, re.S | re.I)
            if cells and all(tag.lower() == "th" for tag, _, _ in cells):
                heads.append(n)
            for _, attributes, inner in cells:
                spans = {k.lower(): int(v) for k, v in re.findall(r'(rowspan|colspan)="?(\d+)', attributes, re.I)}
                while (n, at) in filled:
                    at += 1
                for down in range(spans.get("rowspan", 1)):
                    for right in range(spans.get("colspan", 1)):
                        filled[n + down, at + right] = plain(re.sub(r"<[^>]*>", " ", inner))
                at += spans.get("colspan", 1)
        if not filled:
            continue
        height = 1 + max(n for n, _ in filled)
        width = 1 + max(at for _, at in filled)
        grid = [tuple(filled.get((n, at), "") for at in range(width)) for n in range(height)]
        top = 1
        while top in heads:
            top += 1
        header = tuple(" ".join(dict.fromkeys(row[at] for row in grid[:top])) for at in range(width))
        tables.append(Table(header, tuple(grid[top:])))
    return tables


def _gap_tables(text: str) -> list[Table]:
    "Lines whose cells stand apart by a tab or two blanks; the first line of a block is its header."
    tables: list[Table] = []
    block: list[tuple[str, ...]] = []
    for line in [*text.split("\n"), ""]:
        cells = tuple(map(plain, _GAP.split(line.strip("\r\n "))))
        if len(cells) > 1 and _pipe_row(line) is None:
            block.append(cells)
            continue
        if len(block) > 1:
            tables.append(Table(block[0], tuple(block[1:])))
        block = []
    return tables


def tables_of(text: str) -> list[Table]:
    "Every table of a text."
    return [*pipe_tables(text), *_html_tables(text), *_gap_tables(text)]


_COMMA = re.compile(r"(?<=\d),(?=\d{3})")


def _value(text: str) -> str:
    "A value for comparing: numbers without their commas and without zeros at the end of decimals."
    text = _COMMA.sub("", plain(text))
    if re.fullmatch(r"-?\d+\.\d+", text):
        text = text.rstrip("0").rstrip(".")
    return text


def _has(text: str, word: str) -> bool:
    "Whether a text has a word that does not go on as a number or a Latin word."
    word = plain(word)
    edge = r"[0-9A-Za-z.]"
    return re.search(rf"(?<!{edge}){re.escape(word)}(?!{edge[:-2]}])", text) is not None


def _cell_is(text: str, keys: Sequence[str], header: Sequence[str], values: Sequence[str]) -> bool:
    right = {_value(v) for v in values}
    for table in tables_of(text):
        columns = [at for at, head in enumerate(table.header) if all(plain(word) in head for word in header)]
        for row in table.rows:
            if len(row) != len(table.header) or not all(any(_has(c, key) for c in row) for key in keys):
                continue
            if any(_value(row[at]) in right for at in columns):
                return True
    return False


_GROUP = re.compile(r"; ")
_PAIR = re.compile(r", (?=[^,:;]+: )")


def _is_labelled(text: str, keys: Sequence[str], header: Sequence[str], values: Sequence[str]) -> bool:
    right = {_value(v) for v in values}
    groups = (group for table in tables_of(text) for row in table.rows if len(row) == len(table.header) for c in row for group in _GROUP.split(c))
    for group in groups:
        pairs = [pair.partition(": ") for pair in _PAIR.split(group)]
        if all(any(_has(shown, key) for _, _, shown in pairs) for key in keys):
            if any(all(plain(word) in label for word in header) and _value(shown) in right for label, _, shown in pairs):
                return True
    return _cell_is(text, keys, header, values)


def _widths_are(text: str, words: Sequence[str]) -> bool:
    tables = [*pipe_tables(text), *_html_tables(text)] or _gap_tables(text)
    chosen = [t for t in tables if all(any(w in c for row in (t.header, *t.rows) for c in row) for w in words)]
    return bool(chosen) and all(t.rows and all(len(row) == len(t.header) for row in t.rows) for t in chosen)


def _distance(text: str, first: str, second: str) -> int:
    "Characters between two texts; a large number where one is missing."
    starts = [[(m.start(), m.end()) for m in re.finditer(re.escape(plain(part)), text)] for part in (first, second)]
    return min((max(b[0] - a[1], a[0] - b[1], 0) for a in starts[0] for b in starts[1]), default=10**9)


def holds(check: Check, text: str, notes: Sequence[str] | None = None) -> bool | None:
    "Whether a check is true of a reading; None for a note asked of a reader that reports nothing."
    if check.kind == "note":
        return None if notes is None else any(word in line for word in check.args for line in notes)
    if check.kind == "cell":
        return _cell_is(text, *check.args)
    if check.kind == "labelled":
        return _is_labelled(text, *check.args)
    if check.kind == "same_width":
        return _widths_are(text, check.args)
    whole = plain(text)
    if not whole:
        return False
    if check.kind == "sentence":
        return plain(check.args[0]) in whole
    if check.kind == "absent":
        return plain(check.args[0]) not in whole
    if check.kind == "once":
        return whole.count(plain(check.args[0])) == 1
    if check.kind == "before":
        places = [whole.find(plain(part)) for part in check.args]
        return -1 not in places and places[0] < places[1]
    if check.kind == "near":
        return _distance(whole, *check.args[:2]) <= check.args[2]
    raise ValueError(f"kind must be one of the checks of this module, got {check.kind!r}")


def answers(gold: Sequence[str], text: str) -> bool:
    "Whether a quote is in a text, or several parts stand in one line of it."
    if len(gold) == 1:
        return plain(gold[0]) in plain(text)
    return any(all(_has(_value(line), _value(part)) for part in gold) for line in text.split("\n"))
