"""A folder and a question in any Unicode form: what is found does not depend on how it was stored or typed."""
from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from helpers_ingest import write

from ragnb.documents.files import read_documents
from ragnb.evaluation.datasets import find_quote
from ragnb.indexing.folder_index import Index
from ragnb.indexing.update import update_index
from ragnb.pipeline.pipeline import Pipeline

FILES = {"인사/휴가규정.md": "---\n부서: 인사 팀\ntitle: 휴가 규정\n---\n# 휴가 규정\n\n" + "".join(
             f"제{i}조({name}) {name}는 {i + 3}일이며, {name} 신청서를 미리 낸다.\n\n"
             for i, name in enumerate("목적 연차휴가 경조휴가 병가 출산휴가 보상휴가 공가".split(), 1)),
         "설비/세정장비.md": "# 세정장비 점검\n\n배기 압력이 기준보다 낮으면 경보가 울린다. TR-7 조정은 분기마다 한다.\n\n진공펌프는 매월 점검한다.\n",
         "설비/냉각기.md": "# 냉각기 점검\n\n냉각수는 매주 갈아 준다.\n"}
PIPELINES: dict[tuple[int, str], Pipeline] = {}
QUESTIONS = ["휴가 규정 제3조", "휴가규정 3조는?", "진공펌프 점검 주기"]


def nfd(text: str) -> str:
    """The form in which macOS writes Hangul."""
    return unicodedata.normalize("NFD", text)


@pytest.fixture(scope="module")
def indexes(tmp_path_factory) -> tuple[Index, Index]:
    """The same folder as it is typed, and as a Mac stores it."""
    base = tmp_path_factory.mktemp("forms")
    write(base / "plain", FILES)
    write(base / "mac", {nfd(name): nfd(text.replace("인사 팀", "인사\xa0팀")) for name, text in FILES.items()})
    return tuple(update_index(base / name, base / f"{name}-index", show_progress=False)[0] for name in ("plain", "mac"))


def found(index: Index, question: str, **options: object) -> list[tuple[str, str]]:
    """Documents and the places that are read, best first, and what the answer notes."""
    key = id(index), str(options)
    pipeline = PIPELINES[key] = PIPELINES.get(key) or Pipeline.from_index(index, **options)
    answer = pipeline.ask(question)
    return [(p.doc_id, unicodedata.normalize("NFC", p.text).replace("\xa0", " ")) for p in answer.passages]


@pytest.mark.heavy
@pytest.mark.parametrize("ask", [str, nfd, lambda q: q.replace(" ", "\xa0"), lambda q: q.replace(" ", " \u200b")])
def test_a_question_finds_the_same_in_every_form(indexes, ask):
    plain, mac = indexes
    for question in QUESTIONS:
        wanted = found(plain, question)
        assert wanted and found(plain, ask(question)) == wanted
        assert found(mac, ask(question))[0][0] == wanted[0][0]


def test_an_article_is_found_by_its_number_in_a_mac_folder(indexes):
    for index in indexes:
        holding, = (h for h in index.catalogue.holdings.values() if h.spans)
        assert holding.names == ["휴가 규정"] and len(holding.titles) == 7
        assert found(index, nfd("휴가규정 제3조"))[0][1].startswith("제3조(경조휴가)")


@pytest.mark.parametrize("where", ["folder=설비", "부서=인사 팀", "doc_id=설비/냉각기.md", "file_name in 설비/냉각기.md,x"])
def test_filters_in_every_form(indexes, where):
    names = [{doc for doc, _ in found(index, "점검 휴가", where=form)}
             for index in indexes for form in (where, nfd(where), where.replace("사 팀", "사\xa0팀"))]
    assert names[0] and all(other == names[0] for other in names)


def test_ids_and_metadata_are_as_they_are_typed(indexes, tmp_path: Path):
    plain, mac = indexes
    assert sorted(plain.catalogue.holdings) == sorted(mac.catalogue.holdings)
    (tmp_path / nfd("규정.md")).write_text(nfd("연차는 15일이다."), encoding="utf-8")
    document, = read_documents(tmp_path, [])
    assert document.id_ == document.metadata["file_name"] == "규정.md"
    assert document.text == "연차는 15일이다."                   # composed, so that a budget and a quote count letters
    assert find_quote(document.text, "15일").of(document.text) == "15일"
