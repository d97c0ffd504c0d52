"""Questions that ask for a kind of text: penalties of a statute, interpretations, rulings."""
from __future__ import annotations

import pytest
from conftest import SAMPLE

from ragnb.documents.files import read_documents
from ragnb.documents.kinds import Catalogue, document_kind
from ragnb.evaluation.datasets import Dataset
from ragnb.evaluation.strategy import build_system, IndexCache, resolve_strategies

ACT = "law_common/shared_workshop_act.txt"


@pytest.fixture(scope="module")
def documents():
    """The statutes, rulings, interpretations and rules of the sample."""
    corpus = SAMPLE / "corpus"
    return {d.id_: d for d in read_documents(corpus, []) if str(d.metadata["file_name"]).startswith(("law_", "hr_"))}


@pytest.fixture(scope="module")
def catalogue(documents):
    """The places that questions name in them."""
    return Catalogue.from_documents(documents.values())


@pytest.fixture(scope="module")
def system(documents, tmp_path_factory):
    """The default settings over them."""
    cache = IndexCache(tmp_path_factory.mktemp("asked"))
    return build_system(resolve_strategies(["multi-scale"])[0], Dataset("asked", documents, []), cache, embed="ngram", fill=4_000)


@pytest.mark.parametrize("question, titles", [
    ("{law} 위반 시 처벌", "벌칙 벌칙 양벌규정 과태료"), ("{law}을 위반하면 어떤 처벌을 받나요?", "벌칙 벌칙 양벌규정 과태료"),
    ("{law} 위반 시 벌금은 얼마인가요?", "벌칙 벌칙 양벌규정 과태료"), ("{law} 처벌 규정", "벌칙 벌칙 양벌규정 과태료"),
    ("{law} 위반 시 과태료", "과태료"), ("{law} 과태료 기준", "과태료"), ("{law} 벌칙", "벌칙 벌칙"),
    ("{law}상 기록을 보존하지 않으면 처벌은?", ""), ("{law} 위반 사례 처벌 판례", ""), ("{law} 위반 시 조치", ""), ("{law}의 목적", "목적"),
])
@pytest.mark.parametrize("law, doc_id", [("공유작업장법", ACT), ("돌봄로봇법", "law_common/care_robot_act.txt")])
def test_penalties_of_a_statute(documents, catalogue, question: str, titles: str, law: str, doc_id: str) -> None:
    found = catalogue.named(question.format(law=law))
    texts = [span.of(documents[doc_id].text) for _, span in found]
    assert {i for i, _ in found} <= {doc_id}
    assert [text.partition("(")[2].partition(")")[0] for text in texts] == titles.split()


@pytest.mark.parametrize("question, kinds", [
    ("연차유급휴가 해석례", "qa interpretation"), ("연차휴가 질의회시", "qa interpretation"), ("안전관리자 겸임 법령해석", "interpretation"),
    ("공유작업장 등록취소 판례", "ruling"), ("돌봄로봇 손해배상 판결", "ruling"), ("안전교육 임금 행정해석 있나요?", "qa interpretation"),
    ("연차휴가 사용 사례", ""),
])
def test_kind_of_text_that_is_asked_for(documents, system, question: str, kinds: str) -> None:
    first = system.deliver(question, 4_000, {})[0].passages[0]
    assert not kinds or document_kind(documents[first.doc_id]) in kinds.split()


def test_no_document_of_the_kind_matches(documents, system) -> None:
    """A ruling on something else does not come before the rule that was asked for."""
    first = system.deliver("장기근속휴가 일수 판례", 4_000, {})[0].passages[0]
    assert first.doc_id == "hr_labor/leave.md"
