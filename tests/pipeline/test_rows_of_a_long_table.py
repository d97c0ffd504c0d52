"""A question about one row of a long table brings that row and the header of the table, in a folder that cites laws too."""
from __future__ import annotations

import re
import shutil
from functools import cache
from pathlib import Path

import pytest
from conftest import write

from ragnb import NgramEmbedding, Pipeline, Span, update_index
from ragnb.documents.markdown import find_tables
from ragnb.pipeline.answer import strong_offsets
from ragnb.cli import answer_facts, _colored
from ragnb.pipeline.trace_data import visible

CORPUS = Path(__file__).resolve().parents[2] / "data" / "corpus"


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    for name in ("finance_tax/tax_guide.md", "law_common/care_robot_act.txt"):
        shutil.copy(CORPUS / name, folder)
    return update_index(folder, folder / "index", embed=NgramEmbedding(dims=64), show_progress=False)[0]


@pytest.mark.shed
@pytest.mark.parametrize("budget, step, lost", [(300, 1, 7), (1_000, 4, 0)])
def test_every_row_is_found_with_its_header(index, budget, step, lost):
    text = (CORPUS / "finance_tax/tax_guide.md").read_text(encoding="utf-8")
    table = max(find_tables(text), key=lambda t: len(t.rows))
    rows, column = [row.of(text).strip() for row in table.rows], table.header.of(text).split("|")[2].strip()
    assert len(rows) == 73 and len(index.catalogue)      # what the first hit cites is followed
    pipeline, found = Pipeline.from_index(index, budget=budget), 0
    for row in rows[::step]:
        context = pipeline.ask(f"{row.split('|')[1].strip()}의 {column}은 얼마인가요?").context.text
        found += row in context and column in context
    assert found >= len(rows[::step]) - lost


@pytest.fixture(scope="module")
def prices(tmp_path_factory):
    """A table whose rows do not say what a question asks for, below a sentence that does: an index for each way to split it."""
    folder = tmp_path_factory.mktemp("prices")
    names = ["볼트", "와셔", "너트", "리벳", "오링", "가스켓", "베어링", "벨트", "체인", "풀리", "실린더", "압력계", "퓨즈"]
    rows = "".join(f"| HS-{k} | {name} | M{k} | {k * 37}원 | {k % 9 + 2}일 |\n" for k, name in enumerate(names * 3, 100))
    text = f"# 2031년 부품 단가표\n\n납기는 주문한 날부터 센다.\n\n| 품번 | 품명 | 규격 | 단가 | 납기 |\n|---|---|---|---|---|\n{rows}"
    write(folder, {"prices.md": text, "rule.md": "# 복무 규정\n\n연차는 15일이다. 반차는 4시간이다.\n"})
    return cache(lambda split=None: update_index(
        folder, folder.parent / f"{folder.name}-{split}", parser=split, embed=NgramEmbedding(dims=64), show_progress=False)[0])


HEADER = "| 품번 | 품명 | 규격 | 단가 | 납기 |\n|---|---|---|---|---|\n"


@pytest.mark.parametrize("budget", [200, 300, 450, 700, 1_000, 4_000])
@pytest.mark.parametrize("split", ["units", "structure", "parent-child"])
def test_the_header_stands_above_the_row_at_every_budget(prices, split, budget):
    for number, name in ((117, "오링"), (121, "체인"), (134, "체인")):
        answer = Pipeline.from_index(prices(split), budget=budget).ask(f"HS-{number} {name}의 납기는 며칠인가요?")
        row = f"| HS-{number} | {name} |"
        for text in (answer.context.text, answer.text):
            block = next(part for part in text.split("\n\n[") if row in part)   # one numbered passage
            assert HEADER in block and block.index(HEADER) < block.index(row)
            assert text.count(HEADER) <= sum(part.count(HEADER) > 0 for part in text.split("\n\n["))
        assert answer.context.size <= budget and row in answer.passages[0].text
        for source in answer.context.sources:
            assert answer.context.text[source.start:].startswith(source.passage.text)


def test_a_header_is_one_source_with_its_rows(prices):
    answer = Pipeline.from_index(prices(), budget=220).ask("HS-121 체인의 단가는 얼마인가요?")
    assert [(s.number, s.passage.text == HEADER.strip()) for s in answer.context.sources] == [(1, True), (1, False)]
    assert not answer.context.dropped and [ref["number"] for ref in answer.sources()] == [1]
    assert answer.sources()[0]["text"].startswith("| HS-")


def test_what_matches_strongly_is_coloured_and_nothing_else_changes(prices):
    answer = Pipeline.from_index(prices(), budget=600).ask("HS-121 체인의 납기는 며칠인가요?")
    colored = _colored(answer)
    assert "\x1b[1;32m| HS-121 | 체인 |" in colored and colored.count("\x1b[1;32m") == colored.count("\x1b[0m")
    assert colored.replace("\x1b[1;32m", "").replace("\x1b[0m", "") == visible(answer.text)
    marked = [visible(p["text"][a:b]) for p in answer_facts(answer)["passages"] for a, b in p["strong"]]
    assert marked == re.findall(r"\x1b\[1;32m(.*?)\x1b\[0m", colored, re.S) and marked[0].startswith("| HS-121 | 체인 |")


@pytest.mark.parametrize("length", [60, 200, 500])
def test_the_offsets_of_a_row_do_not_count_the_header_above_it(prices, length):
    answer = Pipeline.from_index(prices(), budget=600).ask("HS-121 체인의 납기는 며칠인가요?")
    source = answer.sources(length)[0]
    passage = next(p for p in answer.passages if p.id == source["id"])
    marked = [source["text"][a:b] for a, b in strong_offsets(answer, passage, Span(source["start"], source["end"]))]
    assert "품번" in passage.prefix and "품번" not in source["text"]
    assert marked[0].startswith("| HS-121 | 체인 |") and marked[0].split("\n")[0].endswith("일 |")
