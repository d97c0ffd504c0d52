"""What is said of a passage is true of it: words that it contains stand in it, in the demo, the trace and its page."""
from __future__ import annotations

import re
from pathlib import Path

import pytest

from ragnb import index_documents, Index, Pipeline
from ragnb.machinery.messages import say
from ragnb.pipeline.trace_data import trace

QUESTION = "입사 1년차 직원의 연차는 며칠인가요?"
TEXT = ("# 휴가 규정\n\n## 전환\n\n입사한 지 1년이 되면 다른 직원과 같은 날에 연차는 다시 센다. 남은 날은 해마다 두 차례 알린다.\n\n"
        "## 연차와 반차\n\n하루, 반나절, 두 시간으로 나눈다.\n\n## 식당\n\n점심은 무료다.\n")


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    from llama_index.core.schema import Document
    folder = tmp_path_factory.mktemp("reasons")
    index_documents([Document(text=TEXT, id_="leave.md", metadata={"title": "휴가 규정"})], folder / "i", show_progress=False)
    return Pipeline.from_index(Index.open(folder / "i"))


def test_words_that_a_passage_is_said_to_contain_stand_in_it(pipeline: Pipeline) -> None:
    traced = trace(pipeline, QUESTION)
    lines = dict(zip((p.id for p in traced.passages), traced.reasons()))
    told = say("contains {words}", words="")
    named = [(p, line.split(";")[0].removeprefix(told).split(", ")) for p in traced.passages if (line := lines[p.id]).startswith(told)]
    assert named and all(word in p.text for p, words in named for word in words)
    assert any("직원" in words for _, words in named) and not any("1년차" in words for _, words in named), "직원과, and 1년 apart from 차"


def test_the_page_and_the_command_say_it_too(pipeline: Pipeline, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    traced = trace(pipeline, QUESTION)
    page = re.sub("<[^>]+>", "", traced.page())
    assert all(say("why: {parts}", parts=line) in page for line in traced.reasons()) and traced.legend in page
    assert "vector" in traced.legend and "multi-scale" in traced.legend and len(traced.legend) < 200


def test_the_trace_command_prints_a_legend_and_a_reason_for_each_passage(pipeline: Pipeline, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    from llama_index.core.schema import Document

    from ragnb.cli import main
    index_documents([Document(text=TEXT, id_="leave.md")], tmp_path / "i", show_progress=False)
    assert main(["trace", QUESTION, "--index", str(tmp_path / "i")]) == 0
    printed = capsys.readouterr().out
    table, _, context = printed.partition("\n\n")
    numbers = dict.fromkeys(re.findall(r"^\[(\d+)\]", context, re.M))
    assert "rank 3, with a score of 10.3" in table and set(numbers) <= set(re.findall(r"^\[(\d+)\] why: contains", table, re.M))
