"""Statutes and fragments that several test files read."""
from __future__ import annotations

from functools import cache

from hypothesis import strategies as st
from llama_index.core.schema import Document
from strategies import PIECES

from ragnb.laws.catalogue import holding_of, StatuteCatalogue
from ragnb.laws.citations import find_citations
from ragnb.laws.provisions import look_up
from ragnb.documents.span import Span
from ragnb.laws.statutes import parse_statute, Statute
from ragnb.documents.text import trim_span

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


FRAGMENTS = st.sampled_from([
    "제1조(목적) 이 법은 정한다.", "제2조(정의) ① 뜻은 다음과 같다.", "1. 정비", "1의2. 점검", "가. 바퀴", "나. 덮개", "② 같다.", "제3조에 따른 것",
    "제2조의2(특례) 특례다.", "제5조 삭제 <2020. 1. 1.>", "제1장 총칙", "제2절 등록 <개정 2020. 1. 1.>", "부칙 <제7호,2020. 1. 1.>", "부칙",
    "[별표 1] 기준(제2조 관련)", "가 | 나 | 다", "[시행일: 2027. 1. 1.] 제2조", "“제9조(인용) 인용한다.", "”", "가온법", "긴 문장 " * 60,
    "질의 : 되나요?", "[질의]", "【회시】", "회답：", "재질의", "종전 질의회시 : 455", "질의요지", "2. 회답", "이유", "이유:\n" + "까닭이다. " * 60,
    "【판시사항】", "【판결요지】", "【판례내용】", "【이유】", "주문", "\ufeff", "\x85", "제 7 조 (가", "<개정", "---", "a"])


TEXTS = st.lists(
    st.tuples(FRAGMENTS, st.sampled_from(["\n", "\n\n", " ", "", "\r\n", "\n  ", "\u3000", "\f"])), max_size=25
).map(lambda x: "".join(a + b for a, b in x))


LEGAL = ["제3조", "제43조의2", "제1항", "제2호", "제1호의2", "가목", "나목", "「꽃밭법」", "꽃밭법", "같은 법", "이 법", "같은 조", "같은 항", "전조", "전2항",
         "다음 조", "시행령", "법", "영", "별표 1", "별지 제2호서식", "부칙", "법률 제30877호", "<제30877호>", "부터", "까지", "내지", "및", ",", "ㆍ",
         "(", ")", "각 호", "단서", "제1, 2항", "(이하 “법”이라 한다)", "제", "조", "항", "9999", "①", "①항", "３", "에 관한 법률", "\n", " "]


legal = st.lists(st.tuples(st.sampled_from(LEGAL + PIECES), st.sampled_from(["", "", " ", "\n"])), max_size=30).map(
    lambda parts: "".join(a + b for a, b in parts))


def check(text: str, records: list) -> None:
    """Records are disjoint, in order, trimmed, uniquely named, and hold every character that is not white space."""
    assert len({r.id for r in records}) == len(records)
    assert all(a.span.end <= b.span.start for a, b in zip(records, records[1:]))
    assert all(r.span and r.span == trim_span(text, r.span.start, r.span.end) for r in records)
    assert "".join("".join(r.span.of(text).split()) for r in records) == "".join(text.split())


def numbers(text: str, part: str = "본칙") -> list[str]:
    """Numbers of the articles of one part."""
    return [a.number for a in parse_statute(text).articles if a.part == part]


@cache
def garden_catalogue() -> tuple[StatuteCatalogue, dict[str, str]]:
    """A catalogue of an act and its decree, with their texts."""
    texts = {"act": ACT, "decree": DECREE}
    return StatuteCatalogue.from_documents(Document(id_=k, text=v) for k, v in texts.items()), texts


def paths(catalogue: StatuteCatalogue, found: list) -> list[str]:
    """document:path of resolved spans."""
    known = {d: {Span(*s): p for p, s in h.spans.items()} for d, h in catalogue.holdings.items()}
    return [f"{d}:{known[d][s]}" for d, s, *_ in found]


def heads(catalogue: StatuteCatalogue, text: str, doc: str | None = None, place: str | None = None) -> list[str]:
    """What the citations of a text mean."""
    return [
        p for r in find_citations(text, catalogue.index.names) for p in paths(catalogue, look_up(r, catalogue, doc, place))
    ]


def clause(statute: Statute, number: str, *labels: str, key: str = "") -> Span:
    """The span of an article, or of a clause by the labels that lead to it."""
    article = next(a for a in statute.articles if (a.number, a.key) == (number, key))
    found, below = article.span, article.clauses
    for label in labels:
        found, below = next((c.span, c.children) for c in below if c.label == label)
    return found


def entered(catalogue: StatuteCatalogue, document: Document) -> StatuteCatalogue:
    """The catalogue with one more document, or a changed one."""
    return catalogue.updated([document], {document.node_id: holding_of(document)}, {})
