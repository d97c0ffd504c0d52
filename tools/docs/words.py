"""Korean in the search index: compounds are found by their parts, and inflected words by their stems.

An index finds the beginning of a word. "휴가" is not the beginning of "연차휴가를"; so each part of a word, as
kiwipiepy cuts it, becomes a word of its own for the index, behind a mark that no reader sees (U+200B).
A particle gets another mark (U+200C): a page that has only "휴가는" is found by "휴가를" too.
"""
from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

MARK, PARTICLE = "\u200b", "\u200c"
KOREAN = re.compile(r"[가-힣]{3,}")


def splitter() -> Callable[[str], str]:
    "Make a function that puts marks between the parts of a Korean word; each word is analysed once."
    from kiwipiepy import Kiwi

    kiwi, memo = Kiwi(load_multi_dict=False), {}

    def split(word: str) -> str:
        if word not in memo:
            starts = {t.start: PARTICLE if t.tag[0] == "J" else MARK
                      for t in kiwi.tokenize(word) if t.tag[0] == "J" or t.tag[0] in "NXSV" and t.start}
            memo[word] = "".join(starts.get(i, "") + letter for i, letter in enumerate(word))
        return memo[word]

    return split


def marked(text: str, split: Callable[[str], str]) -> str:
    "Mark the parts of every Korean word of a text."
    return KOREAN.sub(lambda m: split(m[0]), text)


def korean_index(
    path: Path,                                  # `search.json` of a built site; rewritten
    split: Callable[[str], str] | None = None,   # Default: `splitter()`
) -> int:                                        # Sections
    "Rewrite the search index of a fresh build; an index that is done already stays as it is."
    index = json.loads(path.read_text(encoding="utf-8"))
    if MARK in index["config"]["separator"]:
        return len(index["items"])
    split = split or splitter()
    for item in index["items"]:
        for key in ("title", "text"):
            item[key] = marked(item.get(key) or "", split)
    index["config"]["separator"] += f"|[{MARK}{PARTICLE}]+"
    path.write_text(json.dumps(index, ensure_ascii=False), encoding="utf-8")
    return len(index["items"])
