"""One numbering from context to sources, and what a source names: its file, its page."""
from __future__ import annotations

import json
import re

import pytest
from conftest import SAMPLE
from llama_index.core import Document

from ragnb.context.labels import place_label, source_name
from ragnb.documents.files import read_documents
from ragnb.indexing.update import index_documents
from ragnb.pipeline.pipeline import Pipeline

QUESTIONS = ("입사 1년차 직원의 연차는 며칠인가요?", "출장 여비는 며칠 안에 정산하나요?", "병가와 경조휴가의 차이는?", "육아휴직")


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources")
    documents = list(read_documents(SAMPLE / "corpus" / "hr_labor", []))
    return index_documents(documents, folder / "i", show_progress=False)[0]


@pytest.mark.parametrize("settings", [
    {}, {"budget": 900}, {"reorder": False}, {"compressor": 500}, {"builder": "table", "compressor": 500},
    {"policy": "section", "top_k": 6, "compressor": 400, "passage_size": None},
    {"retriever": "hybrid", "policy": "neighbors:2+citations", "top_k": 6},
])
def test_a_number_means_the_same_everywhere(index, settings):
    """`[n]` in a text without a model, in the context, and in `sources()`."""
    pipeline = Pipeline.from_index(index, **settings)
    for question in QUESTIONS:
        answer = pipeline.ask(question)
        sources = {s["number"]: s for s in answer.sources()}
        shown = re.findall(r"^\[(\d+)\] \((.*)\)$", answer.text, re.M)
        assert [int(n) for n, _ in shown] == list(sources) == list(range(1, len(sources) + 1))
        for n, label in shown:
            passage = next(s.passage for s in answer.context.sources if s.number == int(n))
            assert sources[int(n)]["doc_id"] == passage.doc_id and source_name(passage) in label
        assert answer.passages[0].rank == 1 and {id(p) for p in answer.passages} == {id(p) for p in answer.context.passages}


def test_the_page_of_a_source_is_that_of_its_best_sentence(tmp_path):
    """A snippet over three short pages names the one with the answer."""
    pages = ["안내. 이 설명서는 점검을 다룬다.", "준비물은 드라이버와 헝겊이다.", "전원을 끄고 10분을 기다린다.",
             "배기 압력이 낮으면 밸브를 교체한다.", "점검표에 서명하고 보관한다."]
    starts = [sum(len(p) + 2 for p in pages[:i]) for i in range(len(pages))]
    manual = Document(text="\n\n".join(pages), id_="m", metadata={"title": "설명서", "page_starts": starts})
    index, _ = index_documents([manual], tmp_path / "i", show_progress=False)
    answer = Pipeline.from_index(index).ask("배기 압력이 낮으면 무엇을 하나?")
    source, = [s for s in answer.sources() if "밸브를 교체한다" in s["text"]]
    assert source["pages"] == [4] and len(source["text"]) > len(pages[3]), "the snippet is longer than the page"
    whole = Pipeline.from_index(index, policy="document:9", top_k=1).ask("배기 압력이 낮으면 무엇을 하나?")
    assert whole.passages[0].pages == (1, 2, 3, 4, 5) and whole.sources()[0]["pages"] == [4]


@pytest.mark.parametrize("record, name", [
    ({"file_name": "manual/gn300.pdf"}, "manual/gn300.pdf"), ({"original_filename": "규정.hwp"}, "규정.hwp"),
    ({"file_name": "", "original_filename": "규정.hwp"}, "규정.hwp"), ({}, "r1"), ({"file_name": 7}, "r1"),
    ({"file_name": "rows.jsonl"}, "r1"),
])
def test_a_records_own_file_is_kept_and_shown(tmp_path, record, name):
    (tmp_path / "in").mkdir()
    row = {"id": "r1", "title": "점검", "text": "배기 압력이 낮으면 밸브를 교체한다.", **record}
    (tmp_path / "in" / "all.jsonl").write_text(json.dumps(row, ensure_ascii=False), encoding="utf-8")
    document, = read_documents(tmp_path / "in", [])
    index, _ = index_documents([document], tmp_path / "i", show_progress=False)
    answer = Pipeline.from_index(index).ask("배기 압력")
    assert place_label(answer.passages[0]) == f"점검, {name}" and answer.context.text.startswith(f"[1] (점검, {name})\n")
    detailed = Pipeline.from_index(index, builder="detailed").ask("배기 압력").context.text
    assert f"\nfile: {name}\n" in detailed
    if name != "r1":
        assert answer.sources()[0]["file"] == name
