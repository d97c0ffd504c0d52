"""The count of what an editor would mend reads cells of tables, and its draws can be made again."""
from __future__ import annotations

from tools import plain_words


def test_each_cell_of_a_table_is_read_by_itself() -> None:
    text = "Before.\n\n| a row of its own | `a \\| b` |\n|---|--:|\n| " + "word " * 25 + "| short |\n\n```\n| code of its own |\n```\n"
    made = plain_words.prose(text)
    assert "a row of its own" in made and "code" not in made
    assert list(plain_words.sentences(made, plain_words.LONG + 1)) == ["word " * 24 + "word"]
    assert list(plain_words.sentences(plain_words.prose("| " + "one " * 20 + "| " + "two " * 20 + "|"), 25)) == []


def test_a_draw_is_the_same_for_a_seed() -> None:
    first, again, other = (plain_words.drawn("cli", seed) for seed in (1, 1, 2))
    assert first == again != other and len(set(first)) == plain_words.DRAWN
    assert all(line.startswith("README.md: ") for line in plain_words.drawn("readme", 1))
    assert all(line.startswith("nbs/") for line in plain_words.drawn("notebooks", 1))
