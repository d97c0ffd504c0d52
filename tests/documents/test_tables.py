"""Tables of Markdown are found wherever they stand, and a kind of document by its name."""
from __future__ import annotations

import pytest
from llama_index.core.schema import Document

from ragnb.documents.kinds import detect_kind, kind_named, records_of
from ragnb.documents.markdown import find_tables
from ragnb.documents.span import InputError

TABLE = ["| 이름 | 내선 |", "|---|---|", "| 가람 | 101 |", "| 나리 | 102 |"]


@pytest.mark.parametrize("mark", ["", "> ", "> > "])
def test_a_table_in_a_quotation_is_a_table(mark):
    text = "앞의 글이다.\n\n" + "\n".join(mark + line for line in TABLE) + "\n\n뒤의 글이다.\n"
    table, = find_tables(text)
    assert [row.of(text).removeprefix(mark) for row in table.rows] == TABLE[2:]
    assert all(line in table.header.of(text) for line in TABLE[:2]) and "글이다" not in table.span.of(text)


def test_lines_without_bars_are_no_table():
    assert find_tables("하나\n---\n둘\n") == []


def test_a_kind_is_found_by_its_name():
    assert kind_named("qa").name == "qa"
    with pytest.raises(InputError, match="kind must be one of .*qa.*, got 'nothing'"):
        kind_named("nothing")


def test_questions_with_answers_are_a_kind_and_have_records():
    text = "질의: 연차가 이월되나요?\n회시: 다음 해 삼월까지 쓸 수 있습니다.\n\n질의: 반차는 몇 시간인가요?\n회시: 네 시간입니다.\n"
    document, other = Document(text=text, id_="qa.txt"), Document(text="Gates close at nine.", id_="gates.txt")
    assert (detect_kind(text), detect_kind(other.text)) == ("qa", None)
    found = records_of(document)
    assert [record.span.of(text).split()[1] for record in found] == ["연차가", "반차는"] and records_of(other) == []
