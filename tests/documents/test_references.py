"""Legal references: hand-made cases of every form, properties on random text, the catalogue, and gold of real statutes."""
from __future__ import annotations

import json
import time

import pytest
from conftest import shared_data
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core import Document
from strategies import PIECES, documents, examples

from ragnb.documents.catalogue import Catalogue, cited_spans, provision_label, resolutions, resolve, resolve_question
from ragnb.documents.citations import Citation, find_citations, name_key, short_names
from ragnb.documents.span import IndexMismatchError, InputError, Span

ROBOT, WORKSHOP, RULES = "law_common/care_robot_act.txt", "law_common/shared_workshop_act.txt", "hr_labor/work_rules.md"

DECREE = """정원관리법 시행령
[시행 2031. 1. 1.] [대통령령 제41001호, 2030. 12. 1., 제정]

제1조(목적) 이 영은 「정원관리법」에서 위임된 사항을 정한다.

제2조(나무의 종류) ① 법 제2조제1항에 따른 나무는 별표와 같다.
② 제1항의 나무는 3미터보다 낮아야 한다.

제3조(신고) 법 제3조 및 이 영 제2조에 따라 신고한다.

부칙 <제41001호, 2030. 12. 1.>

이 영은 2031년 1월 1일부터 시행한다.

[별표] 나무의 종류(제2조제1항 관련)

구분 | 높이
소나무 | 2미터
"""
ACT = """정원관리법
[시행 2031. 1. 1.] [법률 제30001호, 2030. 6. 1., 일부개정]

제1조(목적) 이 법은 정원의 관리를 정한다.

제2조(나무) ① 나무는 대통령령으로 정한다.
② 다음 각 호의 나무는 제외한다.
1. 죽은 나무
1의2. 병든 나무
2. 다음 각 목의 나무
가. 2미터보다 높은 나무
나. 이름이 없는 나무
다. 제1호의2의 나무 옆에 선 나무
③ 전항에도 불구하고 제2항제2호가목의 나무는 심을 수 있다.

제3조(신고) 다음 각 호의 사람은 신고한다.
1. 나무를 심은 사람
2. 제1호의 사람을 도운 사람

제4조 삭제 <2030. 6. 1.>

제5조(정비 신고) 전조와 제3조제2호는 적용하지 아니한다. 종전의 제2조는 그러하지 아니하다.
[제6조에서 이동, 종전 제5조는 제6조로 이동 <2030. 6. 1.>]

제5조의2(다른 법률과의 관계) 「꽃밭법」 제2조부터 제4조까지(제3조제1항은 제외한다), 제7조와 「정원관리법」 제1조를 준용한다.

부칙 <제29001호, 2029. 1. 1.>

제1조(시행일) 이 법은 2029년 1월 1일부터 시행한다.

제2조(경과조치) 전조에도 불구하고 제3조에 따른다.

부칙 <제30001호, 2030. 6. 1.>

제1조(시행일) 이 법은 공포한 날부터 시행한다.

제2조(다른 법률의 개정) 꽃밭법 일부를 다음과 같이 개정한다.
제3조 중 "꽃"을 "나무"로 한다.
"""


def labels(text: str, **options) -> list[str]:
    """Citations of a text, written out."""
    return [r.label for r in find_citations(text, **options)]


@pytest.fixture(scope="module")
def garden() -> tuple[Catalogue, dict[str, str]]:
    """An act and its decree."""
    texts = {"act": ACT, "decree": DECREE}
    return Catalogue.from_documents(Document(id_=k, text=v) for k, v in texts.items()), texts


def paths(catalogue: Catalogue, found: list) -> list[str]:
    """document:path of resolved spans."""
    known = {d: {Span(*s): p for p, s in h.spans.items()} for d, h in catalogue.holdings.items()}
    return [f"{d}:{known[d][s]}" for d, s, *_ in found]


def heads(catalogue: Catalogue, text: str, doc: str | None = None, place: str | None = None) -> list[str]:
    """What the citations of a text mean."""
    return [p for r in find_citations(text, catalogue.names) for p in paths(catalogue, resolve(r, catalogue, doc, place))]


# --- every form


@pytest.mark.parametrize(("text", "wanted"), [
    ("제56조", ["제56조"]), ("제43조의2", ["제43조의2"]), ("제 56 조 제 2 항", ["제56조제2항"]), ("제５６조의２ 제１항", ["제56조의2제1항"]), ("第56條第2項", ["제56조제2항"]),
    ("제56조제2항제3호가목", ["제56조제2항제3호가목"]), ("제56조 제2항의 제3호", ["제56조제2항제3호"]), ("제2조제1호의2나목", ["제2조제1호의2나목"]), ("제56조 ②항", ["제56조제2항"]),
    ("제56조(연장근로) 제1항", ["제56조제1항"]), ("제56조제1항 각 호 중 제2호", ["제56조제1항제2호"]), ("제56조 1항 2호", ["제56조제1항제2호"]),
    ("제3조, 제5조 및 제7조의2", ["제3조", "제5조", "제7조의2"]), ("제3조ㆍ제5조·제6조", ["제3조", "제5조", "제6조"]), ("제1항 및 제2항", ["제1항", "제2항"]),
    ("제94조제1항제1호ㆍ제2호 및 제4호", ["제94조제1항제1호", "제94조제1항제2호", "제94조제1항제4호"]), ("제3조제1항제1호가목 또는 나목", ["제3조제1항제1호가목", "제3조제1항제1호나목"]),
    ("제3조제1항 본문, 제2항 단서", ["제3조제1항", "제3조제2항"]), ("제12조제1, 3항", ["제12조제1항", "제12조제3항"]), ("제1, 2호", ["제1호", "제2호"]), ("제3, 5조", ["제3조", "제5조"]),
    ("제4조부터 제6조까지", ["제4조부터 제6조까지"]), ("제4조 내지 제6조", ["제4조부터 제6조까지"]), ("제4조~제6조", ["제4조부터 제6조까지"]), ("제3조제1항부터 제3항까지, 제5항", ["제3조제1항부터 제3항까지", "제3조제5항"]),
    ("제1호가목부터 다목까지", ["제1호가목부터 다목까지"]), ("제52조의2부터 제52조의5까지", ["제52조의2부터 제52조의5까지"]), ("제3조(정의)부터 제5조(적용)까지", ["제3조부터 제5조까지"]),
    ("제5조(제2항은 제외한다) 및 제7조", ["제5조", "제5조제2항", "제7조"]), ("제3조\n및 제4조제2항", ["제3조", "제4조제2항"]), ("제3조제1항,\n제2항", ["제3조제1항", "제3조제2항"]),
    ("전조", ["전조"]), ("전2조의 동의", ["전2조"]), ("전항 및 제3항", ["전항", "제3항"]), ("전조제2항", ["전조제2항"]), ("전항제1호", ["전항제1호"]), ("전호나목", ["전호나목"]), ("제1호와 같은 호 가목", ["제1호", "제1호가목"]), ("다음 조", ["다음 조"]), ("차조의", ["다음 조"]),
    ("본조", ["이 조"]), ("이 조에서", ["이 조"]), ("이 항에서", ["이 항"]), ("제4조에 따른 경우 같은 조 제2호", ["제4조", "제4조제2호"]), ("제4조제1항제2호, 같은 항 제3호", ["제4조제1항제2호", "제4조제1항제3호"]),
    ("제4조제1항제2호가목과 같은 호 나목", ["제4조제1항제2호가목", "제4조제1항제2호나목"]), ("동조 제3항", ["이 조제3항"]), ("제7조는 동조 제3항", ["제7조", "제7조제3항"]),
    ("이 법 제3조", ["제3조"]), ("법 제3조, 영 제4조, 규칙 제5조", ["법 제3조", "시행령 제4조", "시행규칙 제5조"]), ("이 법 시행령 제4조", ["시행령 제4조"]), ("이 영 제2조", ["제2조"]),
    ("별표", ["별표"]), ("별표 1", ["별표 1"]), ("[별표 1의2]", ["별표 1의2"]), ("별지 제2호서식", ["별지 제2호서식"]), ("별지 제2호의3서식", ["별지 제2호의3서식"]), ("별표 1 및 별표 2", ["별표 1", "별표 2"]),
    ("부칙", ["부칙"]), ("부칙 제2조제1항", ["부칙 제2조제1항"]), ("부칙 <법률 제30877호, 2030. 6. 11.> 제3조", ["부칙 <제30877호> 제3조"]), ("법률 제30877호 부칙 제3조", ["부칙 <제30877호> 제3조"]),
])
def test_forms(text: str, wanted: list[str]) -> None:
    assert labels(text) == wanted


@pytest.mark.parametrize(("text", "wanted"), [
    ("「꽃밭법」 제3조", ["「꽃밭법」 제3조"]), ("『꽃밭법』 제3조", ["「꽃밭법」 제3조"]), ("｢꽃밭법｣ 제3조", ["「꽃밭법」 제3조"]), ("‘꽃밭법’ 제3조", ["「꽃밭법」 제3조"]), ("꽃밭법 제3조", ["「꽃밭법」 제3조"]),
    ("꽃밭법제3조", ["「꽃밭법」 제3조"]), ("꽃밭법 3조 2항", ["「꽃밭법」 제3조제2항"]), ("꽃밭법상 제3조", ["「꽃밭법」 제3조"]), ("①꽃밭법 제3조", ["「꽃밭법」 제3조"]), ("「꽃밭법」(이하 “법”이라 한다) 제3조와 법 제4조", ["「꽃밭법」 제3조", "「꽃밭법」 제4조"]),
    ("「꽃밭법」 제3조 및 제4조, 제5조에 따라 제6조", ["「꽃밭법」 제3조", "「꽃밭법」 제4조", "「꽃밭법」 제5조", "제6조"]), ("「꽃밭법」 또는 「물길법」 제3조", ["「물길법」 제3조"]),
    ("「꽃밭법」에 따른 것은 같은 법 제3조", ["「꽃밭법」 제3조"]), ("꽃밭법 제2조와 동법 시행령 제3조", ["「꽃밭법」 제2조", "「꽃밭법 시행령」 제3조"]), ("「꽃밭법」 시행령 제3조 및 같은 영 제4조", ["「꽃밭법 시행령」 제3조", "「꽃밭법 시행령」 제4조"]),
    ("꽃밭법 시행규칙 제3조", ["「꽃밭법 시행규칙」 제3조"]), ("시행령 제3조", ["시행령 제3조"]), ("「꽃밭법」 별표 2", ["「꽃밭법」 별표 2"]), ("꽃밭법 부칙 제2조", ["「꽃밭법」 부칙 제2조"]),
    ("법률 제4995호 꽃밭법개정법률 부칙 제8조", ["「꽃밭법」 부칙 <제4995호> 제8조"]), ("나무와 꽃의 보호에 관한 법률 제3조", ["「나무와 꽃의 보호에 관한 법률」 제3조"]), ("취업규칙 제12조", ["「취업규칙」 제12조"]),
    ("「꽃밭법」 제55조부터 제60조까지(제58조제1항은 제외한다), 제62조", ["「꽃밭법」 제55조부터 제60조까지", "「꽃밭법」 제58조제1항", "「꽃밭법」 제62조"]),
    ("그런 방법 제3조", ["제3조"]), ("대통령령 제3조", ["제3조"]), ("공인중개사법 제3조", ["「공인중개사법」 제3조"]), ("난민법 제3조", ["「난민법」 제3조"]),
])
def test_statutes(text: str, wanted: list[str]) -> None:
    assert labels(text, names=["민법"]) == wanted


@pytest.mark.parametrize("text", [
    "", "제2호선", "제1항소심", "제3항목", "56조원", "예산 56조 원", "4조 2교대", "4조2교대로", "대통령령 제123호", "법률 제30877호", "고시 제12호", "1.2조", "제123456조", "제0조", "제3호실", "전조등", "이 법인", "같은 법원",
    "본법원", "동항구", "전항공사", "제목", "과목", "나목적", "성별표시", "이 호텔", "56조", "2항", "3호",
])
def test_not_citations(text: str) -> None:
    assert labels(text) == []


@pytest.mark.parametrize(("text", "wanted"), [("56조는?", ["제56조"]), ("43조의2 1항", ["제43조의2제1항"]), ("2항은?", ["제2항"]), ("예산 56조원", []), ("4조 2교대", []), ("제56조 2항", ["제56조제2항"])])
def test_as_people_ask(text: str, wanted: list[str]) -> None:
    assert labels(text, loose=True) == wanted


@pytest.mark.parametrize(("text", "wanted"), [("제5조의2", "제5조의2"), ("제5조의 2 제1항", "제5조의2제1항"), ("제5조의2배", "제5조"), ("제5조의 2분의 1", "제5조"), ("제5조의2분의 1", "제5조"), ("제5조의 3명", "제5조")])
def test_branch_number_or_amount(text: str, wanted: str) -> None:
    assert labels(text) == [wanted]


def test_spans_are_the_citation() -> None:
    text = "① 「꽃밭법」 제3조제1항 및 제2항에 따라, 법률 제4995호 부칙 제8조와 제4조부터 제6조까지는"
    assert [r.span.of(text) for r in find_citations(text)] == ["「꽃밭법」 제3조제1항", "제2항", "법률 제4995호 부칙 제8조", "제4조부터 제6조까지"]


def test_known_names() -> None:
    names = ["민법", "근로기준법", "나무와 꽃의 보호에 관한 법률", "꽃밭법 시행령"]
    assert labels("난민법 제3조, 민법 제4조", names=names) == ["「난민법」 제3조", "「민법」 제4조"]
    assert labels("근로기준법 시행령 제3조", names=names) == ["「근로기준법 시행령」 제3조"]
    assert labels("그래서 나무와꽃의 보호에 관한 법률 제3조", names=names) == ["「나무와꽃의 보호에 관한 법률」 제3조"]
    assert [r.span.start for r in find_citations("그래서 나무와 꽃의 보호에 관한 법률 제3조", names)] == [4]
    assert labels("꽃밭법 시행령 제3조", names=names) == ["「꽃밭법 시행령」 제3조"]
    assert name_key("나무ㆍ꽃 보호법") == "나무꽃보호법"
    assert short_names("「꽃밭법」 시행규칙(이하 '규칙'이라 한다)") == {"규칙": "꽃밭법 시행규칙"}


# --- any text


LEGAL = ["제3조", "제43조의2", "제1항", "제2호", "제1호의2", "가목", "나목", "「꽃밭법」", "꽃밭법", "같은 법", "이 법", "같은 조", "같은 항", "전조", "전2항", "다음 조", "시행령", "법", "영", "별표 1", "별지 제2호서식",
         "부칙", "법률 제30877호", "<제30877호>", "부터", "까지", "내지", "및", ",", "ㆍ", "(", ")", "각 호", "단서", "제1, 2항", "(이하 “법”이라 한다)", "제", "조", "항", "9999", "①", "①항", "３", "에 관한 법률", "\n", " "]
legal = st.lists(st.tuples(st.sampled_from(LEGAL + PIECES), st.sampled_from(["", "", " ", "\n"])), max_size=30).map(lambda parts: "".join(a + b for a, b in parts))
TOLD = ("law", "tier", "part", "key", "article", "paragraph", "item", "subitem", "last")


@examples(400)
@given(text=st.one_of(legal, legal, documents), loose=st.booleans())
def test_any_text(text: str, loose: bool) -> None:
    found = find_citations(text, ["꽃밭법", "나무와 꽃의 보호에 관한 법률"], loose)
    for ref in found:
        assert 0 <= ref.span.start < ref.span.end <= len(text)
        assert ref.span.of(text) == ref.span.of(text).strip()
        assert ref.article or ref.paragraph or ref.item or ref.subitem or ref.relative or ref.part
    assert [r.span.start for r in found] == sorted(r.span.start for r in found)


@examples(400)
@given(text=legal)
def test_label_is_read_back(text: str) -> None:
    for ref in find_citations(text):
        again = find_citations(ref.label)
        assert len(again) == 1, (ref, ref.label)
        assert {k: getattr(again[0], k) for k in (*TOLD, "relative", "step")} == {k: getattr(ref, k) for k in (*TOLD, "relative", "step")}


@examples(400)
@given(text=legal)
def test_span_is_read_back(text: str) -> None:
    """Alone, the text of a citation says the same, but for what the words before it gave to it."""
    names = short_names(text)
    for ref in find_citations(text):
        own = ref.span.of(text)
        again = find_citations(own, names)
        assert again and again[0].span.start == 0 and max(r.span.end for r in again) == len(own), (own, again)
        if own.startswith(("같은", "동")) and again[0].relative:    # 같은 조: which one, the words before it said
            continue
        deepest = [level for level in ("article", "paragraph", "item", "subitem") if getattr(ref, level)][-1:]
        assert any(all(getattr(r, level) == getattr(ref, level) for level in deepest) and r.part in ("", ref.part) and r.last == ref.last for r in again), (ref, again)


@pytest.mark.parametrize("text", ["제" * 20_000, "9" * 50_000, "제" + "9" * 50_000 + "조", "「" * 20_000, " " * 50_000, "제1조 및 " * 3_000, "제1조(" * 3_000, "제1, " * 5_000, "제 " * 20_000, "법 " * 20_000, "가나법" * 10_000,
                                  "[이동" * 5_000, "(이하 “" * 5_000, "①" * 20_000, "같은 조 " * 5_000, "시행령 " * 5_000 + "제3조", "전" + "1" * 1000 + "조"], ids=lambda t: t[:6])
def test_hostile_text_is_read_in_linear_time(text: str) -> None:
    def seconds(n: int) -> float:
        began = time.perf_counter()
        find_citations(text[:n], ["민법", "법 법 법"])
        return time.perf_counter() - began
    assert seconds(len(text)) < 40 * max(seconds(len(text) // 4), 0.005)


def test_numbers_too_long_are_no_numbers() -> None:
    assert labels("제12345조 제1234항제12호") == ["제12호"] or labels("제12345조") == []
    assert labels("제3조의1234") in (["제3조"], [])


# --- the catalogue


def test_paths(garden) -> None:
    spans = garden[0].holdings["act"].spans
    assert list(spans)[:11] == ["1", "2", "2/1", "2/2", "2/2/1", "2/2/1-2", "2/2/2", "2/2/2/가", "2/2/2/나", "2/2/2/다", "2/3"]
    assert [p for p in spans if p.startswith("부칙")] == ["부칙29001", "부칙29001:1", "부칙29001:2", "부칙30001", "부칙30001:1", "부칙30001:2"]
    assert "별표" in garden[0].holdings["decree"].spans
    assert garden[0].holdings["decree"].titles["2"] == "나무의 종류"


@pytest.mark.parametrize(("text", "wanted"), [
    ("정원관리법 제2조제2항제2호가목", ["act:2/2/2/가", "act:2"]), ("정원관리법 제3조제1호", ["act:3//1", "act:3"]), ("정원관리법 제2조제2항제1호의2", ["act:2/2/1-2", "act:2"]),
    ("정원관리법 제2조제2항제1호부터 제2호까지", ["act:2/2/1", "act:2/2/1-2", "act:2/2/2", "act:2"]), ("정원관리법 제2조제2항제2호가목부터 나목까지", ["act:2/2/2/가", "act:2/2/2/나", "act:2"]),
    ("정원관리법 제3조부터 제5조까지", ["act:3", "act:4", "act:5"]), ("정원관리법 제3조부터 제5조의2까지", ["act:3", "act:4", "act:5", "act:5-2"]), ("정원관리법 시행령 별표", ["decree:별표"]), ("정원관리법 제4조", ["act:4"]),
    ("정원관리법 제3조제1항제1호", ["act:3"]), ("정원관리법 제2조제9항", ["act:2"]), ("정원관리법 부칙 제1조", ["act:부칙30001:1", "act:부칙29001:1"]), ("정원관리법 부칙 <제29001호> 제1조", ["act:부칙29001:1"]),
    ("정원관리법 제9조부터 제12조까지", []), ("정원관리법 제2조제3항부터 제1항까지", ["act:2/3", "act:2"]),
])
def test_resolve(garden, text: str, wanted: list[str]) -> None:
    assert heads(garden[0], text) == wanted


@pytest.mark.parametrize(("text", "place", "wanted"), [
    ("제2조", "", ["2"]), ("전항", "2/3", ["2/2", "2"]), ("전2항", "2/3", ["2/1", "2/2", "2"]), ("다음 항", "2/1", ["2/2", "2"]), ("제1호의2", "2/2/2/다", ["2/2/1-2", "2"]), ("나목", "2/2/2/다", ["2/2/2/나", "2"]),
    ("제1호", "3//2", ["3//1", "3"]), ("전호", "3//2", ["3//1", "3"]), ("전조", "5", ["4"]), ("전2조", "5", ["3", "4"]), ("전조", "부칙29001:2", ["부칙29001:1"]), ("다음 조", "5", ["5-2"]), ("이 조", "5", ["5"]), ("이 항", "2/3", ["2/3", "2"]),
    ("부칙 제1조", "부칙29001:2", ["부칙29001:1"]), ("부칙 제1조", "3", ["부칙30001:1", "부칙29001:1"]), ("제2항", "2", ["2/2", "2"]), ("전조제1항", "3", ["2/1", "2"]), ("다음 2조", "2", ["3", "4"]), ("전호나목", "2/2/2", ["2/2/1-2", "2"]),
    ("전조", "1", []), ("전항", "2/1", []), ("전항", "3", []), ("전호", "2/2", []), ("다음 조", "5-2", []),
])
def test_resolve_from_a_place(garden, text: str, place: str, wanted: list[str]) -> None:
    assert heads(garden[0], text, "act", place) == [f"act:{p}" for p in wanted]


def test_nowhere_at_hand(garden) -> None:
    for text in ("제1항", "전조", "이 법 제2조", "제2조", "법 제2조", "별표 1"):
        assert heads(garden[0], text) == [], text


def test_act_and_decree(garden) -> None:
    assert heads(garden[0], "법 제2조제1항", "decree") == ["act:2/1", "act:2"]
    assert heads(garden[0], "이 법 시행령 제3조", "act") == heads(garden[0], "영 제3조", "act") == ["decree:3"]
    assert heads(garden[0], "시행규칙 제3조", "act") == []
    assert heads(garden[0], "별표", "decree") == ["decree:별표"]


def test_unknown_is_not_guessed(garden) -> None:
    for text in ("꽃밭법 제2조", "「꽃밭법」 제2조", "새정원관리법 제2조", "정원관리법 시행규칙 제2조", "정원관리법 제99조", "정원관리법 별표 9", "그 밖의 정원에 관한 법률 제2조"):
        assert heads(garden[0], text, "act", "2/1") == [], text


def test_citations_of_a_statute(garden) -> None:
    catalogue, texts = garden
    def cited(doc: str, path: str) -> list[str]:
        return [r.label for r in catalogue.cited_by(doc, Span(*catalogue.holdings[doc].spans[path]))]
    assert cited("act", "2") == ["제1호의2", "전항", "제2항제2호가목"]
    assert cited("act", "5") == ["전조", "제3조제2호"]      # not the former text, not the note
    assert cited("act", "5-2") == ["「꽃밭법」 제2조부터 제4조까지", "「꽃밭법」 제3조제1항", "「꽃밭법」 제7조", "「정원관리법」 제1조"]
    assert cited("act", "부칙30001:2") == []                # what an amendment says of another act
    assert cited("decree", "3") == ["법 제3조", "제2조"]
    for doc, holding in catalogue.holdings.items():
        for start, n, label in holding.citations:
            assert find_citations(label)[0].label == label and texts[doc][start:start + n].strip()


def test_cited_spans(garden) -> None:
    catalogue, texts = garden
    def reach(doc: str, path: str, **options) -> list[str]:
        return paths(catalogue, cited_spans(doc, Span(*catalogue.holdings[doc].spans[path]), catalogue, **options))
    assert reach("decree", "3") == ["act:3", "decree:2"]
    assert reach("decree", "3", depth=2) == ["act:3", "decree:2", "act:2", "decree:별표"]
    assert reach("decree", "3", depth=9) == reach("decree", "3", depth=2)
    assert reach("decree", "3", limit=1) == ["act:3"]
    assert reach("act", "2") == []                                          # cites only itself
    assert reach("act", "2/3") == ["act:2/2"]                            # a clause brings the missing clause; 가목 lies in it
    assert reach("decree", "2/2") == ["decree:2/1"]
    assert reach("decree", "2/1", whole=False) == ["act:2/1", "decree:별표"]
    assert reach("act", "5", whole=False) == ["act:4", "act:3//2"]
    assert [why for *_, why in cited_spans("decree", Span(*catalogue.holdings["decree"].spans["2"]), catalogue)][0] == "법 제2조제1항, cited in 제2조제1항"
    assert cited_spans("nobody", Span(0, 5), catalogue) == [] == cited_spans("act", Span(0, 0), catalogue)


def test_documents_come_and_go(garden, tmp_path) -> None:
    catalogue, texts = Catalogue(), garden[1]
    for name, text in texts.items():
        catalogue.add(Document(id_=name, text=text))
    assert catalogue == garden[0]
    catalogue.save(tmp_path / "c.json")
    assert Catalogue.load(tmp_path / "c.json") == catalogue
    catalogue.add(Document(id_="act", text=ACT.replace("제5조의2", "제6조")))
    assert resolve_question("정원관리법 제5조의2", catalogue) == [] != resolve_question("정원관리법 제6조", catalogue)
    catalogue.remove("act")
    catalogue.remove("act")
    assert resolve_question("정원관리법 제2조", catalogue) == [] == resolve_question("정원관리법 나무", catalogue)
    assert heads(catalogue, "법 제2조", "decree") == []
    catalogue.add(Document(id_="plain", text="오늘은 나무를 심었다."))
    assert list(catalogue.holdings) == ["decree"]
    catalogue.remove("decree")
    assert len(catalogue) == 0 and not (catalogue._ids or catalogue._tops or catalogue._titles)


def test_versions_newest_first() -> None:
    old, new = ACT.replace("2031. 1. 1.", "2020. 1. 1."), ACT.replace("제5조의2", "제6조")
    for order in (("old", "new"), ("new", "old")):
        catalogue = Catalogue.from_documents(Document(id_=d, text={"old": old, "new": new}[d]) for d in order)
        assert [d for d, _ in resolve_question("정원관리법 제2조", catalogue)] == ["new"]
        assert [d for d, _ in resolve_question("정원관리법 제5조의2", catalogue)] == ["old"]
        assert [d for d, _ in resolve(find_citations("정원관리법 제2조")[0], catalogue, "old")] == ["old"]


def test_names_and_aliases() -> None:
    document = Document(id_="a", text=ACT.replace("정원관리법", "정원의 관리에 관한 법률 (약칭: 정원법)", 1), metadata={"title": "정원의 관리에 관한 법률(법률)(제30001호)(20310101)"})
    catalogue = Catalogue.from_documents([document], aliases={"우리법": "정원법", "남의법": "없는법"})
    assert catalogue.holdings["a"].names == ["정원의 관리에 관한 법률", "정원법"]
    for name in ("정원법", "우리법", "정원의관리에관한법률", "정원의 관리에 관한 법률", "「정원법」"):
        assert len(resolve_question(f"{name} 제2조는?", catalogue)) == 1, name
    assert resolve_question("남의법 제2조", catalogue) == []
    wage = Catalogue.from_documents([Document(id_="w", text=ACT.replace("정원관리법", "근로기준법", 1))])
    assert len(resolve_question("근기법 3조", wage)) == 1


@pytest.mark.parametrize("content", ["", "{", "[]", "3", '{"format": 1}', '{"format": 1, "aliases": {}, "holdings": [{"doc_id": "a", "what": 1}]}', '{"format": 1, "aliases": {}, "holdings": [{"doc_id": "a", "spans": {"1": [5, 2]}, "citations": []}]}',
                                     '{"format": 1, "aliases": {}, "holdings": [{"doc_id": "a", "spans": {"1": ["x", 2]}, "citations": []}]}', "\x00"])
def test_damaged_catalogue(tmp_path, content: str) -> None:
    (tmp_path / "c.json").write_text(content)
    with pytest.raises(InputError):
        Catalogue.load(tmp_path / "c.json")


def test_other_format(tmp_path) -> None:
    (tmp_path / "c.json").write_text('{"format": 99, "aliases": {}, "holdings": []}')
    with pytest.raises(IndexMismatchError):
        Catalogue.load(tmp_path / "c.json")
    with pytest.raises(FileNotFoundError):
        Catalogue.load(tmp_path / "absent.json")


@examples(60)
@given(text=documents, question=legal)
def test_catalogue_of_any_text(text: str, question: str) -> None:
    catalogue = Catalogue.from_documents([Document(id_="x", text=text), Document(id_="act", text=ACT)])
    sizes = {"x": len(text), "act": len(ACT)}
    found = [*resolve_question(question, catalogue), *((d, s) for d in sizes for d, s, _ in cited_spans(d, Span(0, sizes[d] // 2), catalogue, depth=2))]
    assert all(0 <= s.start < s.end <= sizes[d] for d, s in found)
    assert all(catalogue.place(d, at) == "" or catalogue.place(d, at) in catalogue.holdings[d].spans for d in sizes for at in range(0, sizes[d], 97))


def test_place(garden) -> None:
    catalogue, texts = garden
    def at(quote: str) -> str:
        return catalogue.place("act", ACT.index(quote))
    assert (at("이름이 없는"), at("전항에도"), at("전조와"), at("이동, 종전"), at("[시행"), at("경과조치")) == ("2/2/2/나", "2/3", "5", "5", "", "부칙29001:2")
    assert catalogue.place("act", 10**9) == catalogue.place("nobody", 3) == ""
    assert [provision_label(p) for p in ("2/2/2/나", "5-2", "3//2", "부칙29001:2", "부칙29001", "별표1-2", "별표", "별지2", "")] == [
        "제2조제2항제2호나목", "제5조의2", "제3조제2호", "부칙 제2조", "부칙", "별표 1의2", "별표", "별지 제2호서식", ""]


# --- questions


def test_questions(garden) -> None:
    catalogue, texts = garden
    def ask(question: str, **options) -> list[str]:
        return paths(catalogue, resolve_question(question, catalogue, **options))
    assert ask("정원관리법 제2조제3항은 무엇인가?") == ["act:2/3", "act:2"]
    assert ask("정원관리법에서 나무를 심으려면 제3조에 따라야 하나?") == ["act:3"]
    assert ask("제3조를 보면 정원관리법은 누가 신고하나?") == ["act:3"]
    assert ask("정원관리법 시행령 2조와 정원관리법 3조") == ["decree:2", "act:3"]
    assert ask("정원관리법 제2조에서 제3항은?") == ["act:2", "act:2/3"]
    assert ask("제5조의2는?") == ["act:5-2"]                    # only one statute holds it
    assert ask("제3조는?") == ["act:3", "decree:3"]  # two do
    assert ask("제3조는?", candidates=1) == []
    assert ask("제2조 나무의 종류") == ["decree:2"]          # the title tells which
    assert ask("제2조제2항제2호") == ["act:2/2/2", "act:2"]   # the clause tells which
    assert ask("정원관리법 나무") == ["act:2"] and ask("정원관리법 나무", titles=False) == []
    assert ask("정원관리법의 정비 신고는 어떻게 하나?") == ["act:5"]
    assert ask("다른 법률과의 관계는 몇 조인가?") == ["act:5-2"] and ask("다른 법률과의 관계는?") == []
    assert ask("꽃밭법 제3조") == ask("민법 나무") == ask("") == ask("안녕하세요") == ask("정원관리법") == []


def test_unresolved_are_reported(garden) -> None:
    found = resolutions("정원관리법 제2조와 꽃밭법 제3조", garden[0])
    assert [(r.reference.label, bool(r.targets)) for r in found] == [("「정원관리법」 제2조", True), ("「꽃밭법」 제3조", False)]


def test_sample_data(sample) -> None:
    texts = {name: (sample / "corpus" / name).read_text(encoding="utf-8") for name in (ROBOT, WORKSHOP, RULES)}
    catalogue = Catalogue.from_documents(Document(id_=k, text=v) for k, v in texts.items())
    cited = {row["query_id"]: row for row in map(json.loads, (sample / "questions" / "law.jsonl").read_text(encoding="utf-8").splitlines())}
    for row in cited.values():
        found = resolve_question(row["query"], catalogue)
        if found:
            assert any(e["text"] in s.of(texts[d]) for e in row["evidence"] for d, s in found if d == e["doc_id"]), row["query"]
    assert all(resolve(r, catalogue, WORKSHOP, catalogue.place(WORKSHOP, r.span.start)) for r in catalogue.cited_by(WORKSHOP, Span(0, len(texts[WORKSHOP]))) if r.law not in ("형법",))


def test_gold_of_real_statutes() -> None:
    folder = shared_data("ko_statutes")
    rows = [json.loads(line) for line in (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()]
    catalogue = Catalogue.from_documents(Document(id_=r["doc_id"], text=r["text"], metadata={"title": r["title"]}) for r in rows)
    right, n = 0, 0
    for row in map(json.loads, (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()):
        found, gold = resolve_question(row["query"], catalogue), row["evidence"][0]
        n += 1
        right += bool(found) and found[0][0] == row["doc_id"] and abs(found[0][1].start - gold["start"]) < 3 and abs(found[0][1].end - gold["end"]) < 3
    assert right / n > 0.99


def test_reference_is_a_value() -> None:
    assert Citation(Span(0, 1), article="3") == Citation(Span(0, 1), article="3") and hash(Citation(Span(0, 1)))
