"""Two editions of one statute or rule: which one a name means, and what the others are called."""
from __future__ import annotations

import itertools

import pytest
from llama_index.core import Document
from statute_texts import entered

from ragnb.documents.catalogue import Catalogue
from ragnb.documents.provisions import look_up_question, look_up_title
from ragnb.documents.span import InputError

LAW = "시험법\n{header}\n제1조(목적) 기준을 정한다.\n제2조(기준시간) {hours}시간으로 한다.\n제3조(적용) 모두에게 적용한다.\n"
RULE = "여비규정\n제1조(목적) 여비를 정한다.\n제2조(일비) {hours}만원으로 한다.\n제3조(숙박비용) 실비.\n부칙\n이 규정은 {header}부터 시행한다.\n"
STATED = {
    "header": lambda date: Document(text=LAW.format(header=f"[시행 {date.replace('-', '. ')}.] [법률 제7호]", hours=date[:4]), id_=date),
    "metadata": lambda date: Document(text=LAW.format(header="", hours=date[:4]), id_=date, metadata={"enforcement_date": date}),
    "supplement": lambda date: Document(text=RULE.format(header="{}년 {}월 {}일".format(*date.split("-")), hours=date[:4]), id_=date),
}
DATES = ("2018-07-01", "2021-01-01", "2024-03-01")


@pytest.mark.parametrize("stated", STATED)
@pytest.mark.parametrize("order", list(itertools.permutations(range(3)))[::2])
def test_a_name_means_the_edition_in_force(stated: str, order: tuple[int, ...]) -> None:
    catalogue = Catalogue.from_documents(STATED[stated](DATES[i]) for i in order)
    name = catalogue.holdings[DATES[0]].names[0]
    for as_of, expected in ((None, 2), ("2017-01-01", 0), ("2018-07-01", 0), ("2020. 12. 31.", 0), ("2021-01-01", 1), ("2024-02-29", 1), ("2030-01-01", 2)):
        seen = catalogue if as_of is None else catalogue.at(as_of)
        for question in (f"「{name}」 제2조는?", f"{name} 제2조", "제2조는 무엇인가?"):
            found = {doc_id for doc_id, _ in look_up_question(question, seen)}
            assert found == ({DATES[expected]} if name in question or as_of != "2017-01-01" else set(DATES)), (as_of, question)
        if as_of != "2017-01-01":
            assert [bool(seen.edition(date)) for date in DATES] == [i != expected for i in range(3)]
    assert {d for d, _ in look_up_title("기준시간은 몇 조인가?" if stated != "supplement" else "숙박비용은 몇 조인가?", catalogue)} == {DATES[2]}
    assert catalogue.edition(DATES[0]) == f"개정 전 ({DATES[0]} 시행, 현행 {DATES[2]})"
    assert catalogue.at("2020-01-01").edition(DATES[2]) == f"{DATES[2]} 시행 예정"


@pytest.mark.parametrize("header, metadata, mark", [
    ("[시행 2022. 1. 1.] [법률 제9호, 2021. 12. 30., 폐지]", {}, "폐지 2022-01-01"),
    ("[시행 2022. 1. 1.] [법률 제9호, 2021. 12. 30., 타법폐지]", {}, "폐지 2022-01-01"), ("(폐지)", {}, "폐지"),
    ("폐지일: 2022. 1. 1.", {}, "폐지 2022-01-01"), ("[시행 2018. 7. 1.]", {"repealed": "2022-01-01"}, "폐지 2022-01-01"),
    ("", {"repealed": True}, "폐지"), ("[시행 2018. 7. 1.] [법률 제9호, 폐지제정]", {}, ""),
])
def test_a_repealed_statute_comes_last_and_says_so(header: str, metadata: dict, mark: str) -> None:
    catalogue = Catalogue.from_documents([Document(text=LAW.format(header=header, hours=8), id_="gone", metadata=metadata)])
    assert catalogue.edition("gone") == mark
    assert look_up_question("시험법 제2조", catalogue)      # still found where nothing else is
    if mark:
        catalogue = entered(catalogue, Document(text=LAW.format(header="[시행 2015. 1. 1.]", hours=9), id_="valid"))
        assert {d for d, _ in look_up_question("시험법 제2조", catalogue)} == {"valid"}
        if metadata.get("repealed") == "2022-01-01":
            assert {d for d, _ in look_up_question("시험법 제2조", catalogue.at("2019-01-01"))} == {"gone"}


def test_a_date_that_is_none() -> None:
    for date in ("곧", "", "2024"):
        with pytest.raises(InputError, match="as_of"):
            Catalogue().at(date)
    assert Catalogue().at("today").index.as_of > "2020"


def test_articles_as_rows_are_not_older_than_each_other() -> None:
    rows = [Document(text=f"제{n}조(제목{n}) 정한다.", id_=f"A{n}", metadata={"law_name": "시험법", "effective": date})
            for n, date in ((1, "2020-01-01"), (2, "2024-01-01"))]
    catalogue = Catalogue.from_documents(rows)
    assert [catalogue.edition(row.id_) for row in rows] == ["", ""]
