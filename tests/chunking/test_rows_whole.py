"""A row of a table is one unit, also with sentences in its cells, and a cut leaves no part of it."""
from __future__ import annotations

from hypothesis import given, strategies as st
from strategies import examples

from ragnb.chunking.units import unit_spans
from ragnb.documents.text import readable_cut

CELLS = st.lists(st.sampled_from(["정규직에 한한다.", "수습 기간은 제외한다!", "5만 원", "Dr. Kim agreed. It holds."]), min_size=1, max_size=2).map(" ".join)
ROWS = st.lists(st.lists(CELLS, min_size=3, max_size=3).map(lambda cells: f"| {' | '.join(cells)} |"), min_size=1, max_size=8)


@examples(60)
@given(ROWS, st.floats(0, 1))
def test_a_row_is_whole_in_units_and_cuts(rows: list[str], share: float) -> None:
    text = "\n".join(["| 항목 | 조건 | 금액 |", "|---|---|---|", *rows])
    lines = {*text.split("\n")}
    assert all({*span.of(text).split("\n")} <= lines for span in unit_spans(text, size=100, sentences="rule"))
    cut, goes_on = readable_cut(text, 0, int(share * len(text)))
    assert not goes_on and {*cut.of(text).split("\n")} - {""} <= lines
