"""A row of a table is one unit, also with sentences in its cells, and a cut leaves no part of it, or tells it."""
from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from strategies import examples

from ragnb import NgramEmbedding, Passage, Pipeline, Span, update_index
from ragnb.chunking.units import unit_spans
from ragnb.context.builders import Context, RankedContextBuilder
from ragnb.context.compress import compress_passages
from ragnb.documents.files import read_documents
from ragnb.documents.text import readable_cut, sentence_spans, whole_rows
from ragnb.pipeline.answer import numbered_passages

SENTENCES = ["정규직에 한한다.", "수습 기간은 제외한다!", "5만 원", "첫째 주: 월요일, 화요일", "신청서를 제출한다. 다음 달에 지급한다."]
CELLS = st.lists(st.sampled_from(["정규직에 한한다.", "수습 기간은 제외한다!", "5만 원", "Dr. Kim agreed. It holds."]), min_size=1, max_size=2).map(" ".join)
ROWS = st.lists(st.lists(CELLS, min_size=3, max_size=3).map(lambda cells: f"| {' | '.join(cells)} |"), min_size=1, max_size=8)
HEADS = ("항목", "조건", "금액", "비고", "기한")
POLICIES = (None, "none", "neighbors:1", "siblings:2", "section", "segments", "adaptive", "document")


@st.composite
def tables(draw: st.DrawFn, longest: int) -> list[list[str]]:
    """Cells of a header of one or two rows and of named rows, each as Markdown at most so many characters long."""
    n = draw(st.integers(2, 5))
    rows = [[*HEADS[:n]]] + ([["", *["본사"] * (n - 1)]] if draw(st.booleans()) else [])
    for number in range(draw(st.integers(2, 16))):
        cells = [f"수당{number}호", *["-"] * (n - 1)]
        for at, sentence in draw(st.lists(st.tuples(st.integers(1, n - 1), st.sampled_from(SENTENCES)), max_size=longest // 8)):
            if len(" | ".join(cells)) + len(sentence) + 5 <= longest:
                cells[at] = sentence if cells[at] == "-" else f"{cells[at]} {sentence}"
        rows.append(cells)
    return rows


def markdown(rows: list[list[str]]) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in rows]
    text = "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])
    return f"# 수당 규정\n\n이 표는 수당을 정한다. 매월 신청한다.\n\n{text}\n\n표에 없는 수당은 없다.\n"


def torn(text: str, context: Context) -> list[str]:
    """Rows of a document that a context has in part, where nothing tells it."""
    found = []
    for row in re.finditer(r"^\|.*\|$", text, re.M):
        for source in context.sources:
            start, end = max(row.start(), source.passage.span.start), min(row.end(), source.passage.span.end)
            if not text[start:end].strip(" |"):
                continue
            at = source.start - source.passage.span.start
            before, behind = context.text[:at + start], context.text[at + end:]
            if text[row.start():start].strip(" |") and not before.endswith(("…\n", "…: ")):
                found.append(text[start:end])
            if text[end:row.end()].strip(" |") and not behind.startswith((" …", "\n…")):
                found.append(text[start:end])
    return found


@examples(60)
@given(ROWS, st.floats(0, 1))
def test_a_row_is_whole_in_units_and_cuts(rows: list[str], share: float) -> None:
    text = "\n".join(["| 항목 | 조건 | 금액 |", "|---|---|---|", *rows])
    lines = {*text.split("\n")}
    assert all({*span.of(text).split("\n")} <= lines for span in unit_spans(text, size=100, sentences="rule"))
    cut, goes_on = readable_cut(text, 0, int(share * len(text)))
    assert not goes_on and {*cut.of(text).split("\n")} - {""} <= lines


@examples(60)
@given(tables(250), st.integers(40, 1_500))
def test_compression_keeps_whole_rows(rows: list[list[str]], size: int) -> None:
    text = markdown(rows)
    lines = {*text.split("\n")}
    passages = compress_passages([Passage("d", Span(0, len(text)), text, hits=("d#u0",))], "수당1호의 금액은?", size)
    if len(passages) > 1 or passages[0].text in text.split("\n"):      # not one sentence has room: one that is cut
        assert {line for p in passages for line in p.text.split("\n") if "|" in line} <= lines


def read_again(rows: list[list[str]], ending: str, folder: Path) -> str:
    """A table as a file of a kind, read into text."""
    path = folder / f"a.{ending}"
    if ending == "html":
        path.write_text("<table>" + "".join("<tr>" + "".join(f"<td>{cell}" for cell in cells) for cells in rows) + "</table>", encoding="utf-8")
    elif ending == "csv":
        path.write_text("\n".join(",".join(f'"{cell}"' for cell in cells) for cells in rows), encoding="utf-8")
    elif ending == "docx":
        import docx
        document = docx.Document()
        table = document.add_table(len(rows), len(rows[0]))
        for row, cells in zip(table.rows, rows):
            for place, cell in zip(row.cells, cells):
                place.text = cell
        document.save(path)
    elif ending == "xlsx":
        import openpyxl
        book = openpyxl.Workbook()
        for cells in rows:
            book.active.append(cells)
        book.save(path)
    else:
        path.write_text(markdown(rows), encoding="utf-8")
    return next(iter(read_documents(folder, []))).text


def n_cells(line: str) -> int:
    return len(re.findall(r"(?<!\\)\|", line)) - 1


@pytest.mark.shed
@examples(60)
@given(tables(250), st.sampled_from(["md", "html", "csv", "docx", "xlsx"]), st.sampled_from(POLICIES), st.sampled_from(["ranked", "simple", "table", "question"]),
       st.sampled_from([None, "150", "600", "head:80"]), st.integers(300, 4_000))
def test_every_row_of_an_excerpt_is_whole_or_its_cut_is_told(rows, ending, policy, builder, compressor, budget) -> None:
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "in").mkdir()
        text = read_again(rows, ending, Path(place) / "in")
        lines = [line for line in text.split("\n") if line.startswith("|")]
        assert len({n_cells(line) for line in lines}) <= 1
        index = update_index(Path(place) / "in", Path(place) / "index", embed=NgramEmbedding(dims=16), show_progress=False)[0]
        pipeline = Pipeline.from_index(index, budget=budget, policy=policy, builder=builder, compressor=compressor)
        context = pipeline.ask("수당1호의 금액과 조건은?").context
    assert context.sources and not torn(text, context)
    if compressor != "head:80":     # which cuts each chunk
        shown = [line for source in context.sources for line in source.passage.text.split("\n")]
        assert {line for line in shown if "|" in line} <= {*lines}


@pytest.mark.shed
@examples(40)
@given(tables(700), st.integers(120, 1_500), st.sampled_from(POLICIES))
def test_the_cut_of_a_row_without_room_is_told(rows, budget, policy) -> None:
    """Rows longer than two units are cut between cells, or at a sentence of a cell."""
    text = markdown(rows)
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "in").mkdir()
        (Path(place) / "in/a.md").write_text(text, encoding="utf-8")
        index = update_index(Path(place) / "in", Path(place) / "index", embed=NgramEmbedding(dims=16), show_progress=False)[0]
        context = Pipeline.from_index(index, budget=budget, policy=policy).ask("수당1호의 금액과 조건은?").context
    assert context.sources and not torn(text, context)


@examples(60)
@given(tables(700), st.integers(40, 300))
def test_a_row_without_room_is_cut_between_cells_or_sentences(rows: list[list[str]], most: int) -> None:
    text = markdown(rows)
    sentences = sentence_spans(text, "rule")
    found = whole_rows(text, sentences, lambda start, end: end - start <= most)
    ends = {span.end for span in sentences}
    assert "".join("".join(span.of(text).split()) for span in found) == "".join(text.split())
    assert all(span.end in ends or text[span.end - 1] == "|" for span in found)
    for row in re.finditer(r"^\|.*\|$", text, re.M):
        inside = [span for span in found if span.overlap(Span(*row.span()))]
        assert len(row[0]) > most or len(inside) == 1
        cells = [cell.span() for cell in re.finditer(r"(?:^\|)?[^|]*\|", row[0])]
        for start, end in cells:
            cell = Span(row.start() + start, row.start() + end)
            assert len(cell) > most or sum(span.overlap(cell) > 0 for span in inside) == 1


def test_a_part_of_a_row_begins_below_its_header_with_an_ellipsis() -> None:
    text, header = "배우자는 사만 원이다. | 자녀는", "| 항목 | 금액 | 비고 |\n|---|---|---|"
    part = Passage("a.md", Span(90, 90 + len(text)), text, hits=("a.md#u3",), prefix=header)
    told = f"{header}\n…\n{text} …"
    assert told in RankedContextBuilder().build([part]).text and told in numbered_passages([part])
    context = RankedContextBuilder().build([part])
    assert context.text[context.sources[0].start:].startswith(text)
