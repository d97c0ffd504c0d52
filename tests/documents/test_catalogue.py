"""The catalogue: paths, places, names, and its records."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from llama_index.core.schema import Document
from statute_texts import ACT, entered, garden_catalogue, heads, legal
from strategies import documents, examples

from ragnb.documents.catalogue import Catalogue, catalogue_of, catalogue_records
from ragnb.documents.citations import find_citations
from ragnb.documents.provisions import cited_spans, look_up_question, provision_label
from ragnb.documents.span import Span


@pytest.fixture(scope="module")
def garden() -> tuple[Catalogue, dict[str, str]]:
    """An act and its decree."""
    return garden_catalogue()


def test_paths(garden) -> None:
    spans = garden[0].holdings["act"].spans
    assert list(spans)[:11] == [
        "1", "2", "2/1", "2/2", "2/2/1", "2/2/1-2", "2/2/2", "2/2/2/가", "2/2/2/나", "2/2/2/다", "2/3",
    ]
    assert [p for p in spans if p.startswith("부칙")] == [
        "부칙29001", "부칙29001:1", "부칙29001:2", "부칙30001", "부칙30001:1", "부칙30001:2",
    ]
    assert "별표" in garden[0].holdings["decree"].spans
    assert garden[0].holdings["decree"].titles["2"] == "나무의 종류"


def test_citations_of_a_statute(garden) -> None:
    catalogue, texts = garden

    def cited(doc: str, path: str) -> list[str]:
        return [r.label for r in catalogue.cited_by(doc, Span(*catalogue.holdings[doc].spans[path]))]

    assert cited("act", "2") == ["제1호의2", "전항", "제2항제2호가목"]
    assert cited("act", "5") == ["전조", "제3조제2호"]  # not the former text, not the note
    assert cited("act", "5-2") == ["「꽃밭법」 제2조부터 제4조까지", "「꽃밭법」 제3조제1항", "「꽃밭법」 제7조", "「정원관리법」 제1조"]
    assert cited("act", "부칙30001:2") == []  # what an amendment says of another act
    assert cited("decree", "3") == ["법 제3조", "제2조"]
    for doc, holding in catalogue.holdings.items():
        for start, n, label in holding.citations:
            assert find_citations(label)[0].label == label and texts[doc][start : start + n].strip()


def test_documents_come_and_go(garden) -> None:
    catalogue, texts = Catalogue(), garden[1]
    for name, text in texts.items():
        catalogue = entered(catalogue, Document(id_=name, text=text))
    assert catalogue == garden[0]
    written = json.loads(json.dumps(catalogue_records(catalogue)))
    assert catalogue_of(written.values(), {}, "") == catalogue
    catalogue = entered(catalogue, Document(id_="act", text=ACT.replace("제5조의2", "제6조")))
    assert look_up_question("정원관리법 제5조의2", catalogue) == [] != look_up_question("정원관리법 제6조", catalogue)
    catalogue.remove("act")
    catalogue.remove("act")
    assert look_up_question("정원관리법 제2조", catalogue) == [] == look_up_question("정원관리법 나무", catalogue)
    assert heads(catalogue, "법 제2조", "decree") == []
    catalogue = entered(catalogue, Document(id_="plain", text="오늘은 나무를 심었다."))
    assert list(catalogue.holdings) == ["decree"]
    catalogue.remove("decree")
    assert len(catalogue) == 0 and not (
        catalogue.index.by_name or catalogue.index.by_number or catalogue.index.by_title
    )


def test_names_and_aliases() -> None:
    document = Document(id_="a", text=ACT.replace("정원관리법", "정원의 관리에 관한 법률 (약칭: 정원법)", 1),
                        metadata={"title": "정원의 관리에 관한 법률(법률)(제30001호)(20310101)"})
    catalogue = Catalogue.from_documents([document], aliases={"우리법": "정원법", "남의법": "없는법"})
    assert catalogue.holdings["a"].names == ["정원의 관리에 관한 법률", "정원법"]
    for name in ("정원법", "우리법", "정원의관리에관한법률", "정원의 관리에 관한 법률", "「정원법」"):
        assert len(look_up_question(f"{name} 제2조는?", catalogue)) == 1, name
    assert look_up_question("남의법 제2조", catalogue) == []
    wage = Catalogue.from_documents([Document(id_="w", text=ACT.replace("정원관리법", "근로기준법", 1))])
    assert len(look_up_question("근기법 3조", wage)) == 1


@examples(60)
@given(text=documents, question=legal)
def test_catalogue_of_any_text(text: str, question: str) -> None:
    catalogue = Catalogue.from_documents([Document(id_="x", text=text), Document(id_="act", text=ACT)])
    sizes = {"x": len(text), "act": len(ACT)}
    found = [*look_up_question(question, catalogue),
             *((d, s) for d in sizes for d, s, _ in cited_spans(d, Span(0, sizes[d] // 2), catalogue, depth=2))]
    assert all(0 <= s.start < s.end <= sizes[d] for d, s in found)
    assert all(catalogue.place(d, at) == "" or catalogue.place(d, at) in catalogue.holdings[d].spans for d in sizes
               for at in range(0, sizes[d], 97))


def test_place(garden) -> None:
    catalogue, texts = garden

    def at(quote: str) -> str:
        return catalogue.place("act", ACT.index(quote))

    assert (at("이름이 없는"), at("전항에도"), at("전조와"), at("이동, 종전"), at("[시행"), at("경과조치")) == (
        "2/2/2/나", "2/3", "5", "5", "", "부칙29001:2",
    )
    assert catalogue.place("act", 10**9) == catalogue.place("nobody", 3) == ""
    assert [
        provision_label(p) for p in ("2/2/2/나", "5-2", "3//2", "부칙29001:2", "부칙29001", "별표1-2", "별표", "별지2", "")
    ] == ["제2조제2항제2호나목", "제5조의2", "제3조제2호", "부칙 제2조", "부칙", "별표 1의2", "별표", "별지 제2호서식", ""]
