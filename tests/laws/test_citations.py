"""Citations: hand-made cases of every form, and properties on random text."""
from __future__ import annotations

import time

import pytest
from hypothesis import given, strategies as st
from statute_texts import legal
from strategies import documents, examples

from ragnb.laws.citations import find_citations, short_names


def labels(text: str, **options) -> list[str]:
    """Citations of a text, written out."""
    return [r.label for r in find_citations(text, **options)]


@pytest.mark.parametrize(("text", "wanted"), [
    ("제56조", ["제56조"]), ("제43조의2", ["제43조의2"]), ("제 56 조 제 2 항", ["제56조제2항"]), ("제５６조의２ 제１항", ["제56조의2제1항"]),
    ("第56條第2項", ["제56조제2항"]), ("제56조제2항제3호가목", ["제56조제2항제3호가목"]), ("제56조 제2항의 제3호", ["제56조제2항제3호"]),
    ("제2조제1호의2나목", ["제2조제1호의2나목"]), ("제56조 ②항", ["제56조제2항"]), ("제56조(연장근로) 제1항", ["제56조제1항"]),
    ("제56조제1항 각 호 중 제2호", ["제56조제1항제2호"]), ("제56조 1항 2호", ["제56조제1항제2호"]),
    ("제3조, 제5조 및 제7조의2", ["제3조", "제5조", "제7조의2"]), ("제3조ㆍ제5조·제6조", ["제3조", "제5조", "제6조"]),
    ("제1항 및 제2항", ["제1항", "제2항"]), ("제94조제1항제1호ㆍ제2호 및 제4호", ["제94조제1항제1호", "제94조제1항제2호", "제94조제1항제4호"]),
    ("제3조제1항제1호가목 또는 나목", ["제3조제1항제1호가목", "제3조제1항제1호나목"]), ("제3조제1항 본문, 제2항 단서", ["제3조제1항", "제3조제2항"]),
    ("제12조제1, 3항", ["제12조제1항", "제12조제3항"]), ("제1, 2호", ["제1호", "제2호"]), ("제3, 5조", ["제3조", "제5조"]),
    ("제4조부터 제6조까지", ["제4조부터 제6조까지"]), ("제4조 내지 제6조", ["제4조부터 제6조까지"]), ("제4조~제6조", ["제4조부터 제6조까지"]),
    ("제3조제1항부터 제3항까지, 제5항", ["제3조제1항부터 제3항까지", "제3조제5항"]), ("제1호가목부터 다목까지", ["제1호가목부터 다목까지"]),
    ("제52조의2부터 제52조의5까지", ["제52조의2부터 제52조의5까지"]), ("제3조(정의)부터 제5조(적용)까지", ["제3조부터 제5조까지"]),
    ("제5조(제2항은 제외한다) 및 제7조", ["제5조", "제5조제2항", "제7조"]), ("제3조\n및 제4조제2항", ["제3조", "제4조제2항"]),
    ("제3조제1항,\n제2항", ["제3조제1항", "제3조제2항"]), ("전조", ["전조"]), ("전2조의 동의", ["전2조"]), ("전항 및 제3항", ["전항", "제3항"]),
    ("전조제2항", ["전조제2항"]), ("전항제1호", ["전항제1호"]), ("전호나목", ["전호나목"]), ("제1호와 같은 호 가목", ["제1호", "제1호가목"]),
    ("다음 조", ["다음 조"]), ("차조의", ["다음 조"]), ("본조", ["이 조"]), ("이 조에서", ["이 조"]), ("이 항에서", ["이 항"]),
    ("제4조에 따른 경우 같은 조 제2호", ["제4조", "제4조제2호"]), ("제4조제1항제2호, 같은 항 제3호", ["제4조제1항제2호", "제4조제1항제3호"]),
    ("제4조제1항제2호가목과 같은 호 나목", ["제4조제1항제2호가목", "제4조제1항제2호나목"]), ("동조 제3항", ["이 조제3항"]),
    ("제7조는 동조 제3항", ["제7조", "제7조제3항"]), ("이 법 제3조", ["제3조"]),
    ("법 제3조, 영 제4조, 규칙 제5조", ["법 제3조", "시행령 제4조", "시행규칙 제5조"]), ("이 법 시행령 제4조", ["시행령 제4조"]),
    ("이 영 제2조", ["제2조"]), ("별표", ["별표"]), ("별표 1", ["별표 1"]), ("[별표 1의2]", ["별표 1의2"]),
    ("별지 제2호서식", ["별지 제2호서식"]), ("별지 제2호의3서식", ["별지 제2호의3서식"]), ("별표 1 및 별표 2", ["별표 1", "별표 2"]), ("부칙", ["부칙"]),
    ("부칙 제2조제1항", ["부칙 제2조제1항"]), ("부칙 <법률 제30877호, 2030. 6. 11.> 제3조", ["부칙 <제30877호> 제3조"]),
    ("법률 제30877호 부칙 제3조", ["부칙 <제30877호> 제3조"])])
def test_forms(text: str, wanted: list[str]) -> None:
    assert labels(text) == wanted


@pytest.mark.parametrize(("text", "wanted"), [
    ("「꽃밭법」 제3조", ["「꽃밭법」 제3조"]), ("『꽃밭법』 제3조", ["「꽃밭법」 제3조"]), ("｢꽃밭법｣ 제3조", ["「꽃밭법」 제3조"]),
    ("‘꽃밭법’ 제3조", ["「꽃밭법」 제3조"]), ("꽃밭법 제3조", ["「꽃밭법」 제3조"]), ("꽃밭법제3조", ["「꽃밭법」 제3조"]),
    ("꽃밭법 3조 2항", ["「꽃밭법」 제3조제2항"]), ("꽃밭법상 제3조", ["「꽃밭법」 제3조"]), ("①꽃밭법 제3조", ["「꽃밭법」 제3조"]),
    ("「꽃밭법」(이하 “법”이라 한다) 제3조와 법 제4조", ["「꽃밭법」 제3조", "「꽃밭법」 제4조"]),
    ("「꽃밭법」 제3조 및 제4조, 제5조에 따라 제6조", ["「꽃밭법」 제3조", "「꽃밭법」 제4조", "「꽃밭법」 제5조", "제6조"]),
    ("「꽃밭법」 또는 「물길법」 제3조", ["「물길법」 제3조"]), ("「꽃밭법」에 따른 것은 같은 법 제3조", ["「꽃밭법」 제3조"]),
    ("꽃밭법 제2조와 동법 시행령 제3조", ["「꽃밭법」 제2조", "「꽃밭법 시행령」 제3조"]),
    ("「꽃밭법」 시행령 제3조 및 같은 영 제4조", ["「꽃밭법 시행령」 제3조", "「꽃밭법 시행령」 제4조"]), ("꽃밭법 시행규칙 제3조", ["「꽃밭법 시행규칙」 제3조"]),
    ("시행령 제3조", ["시행령 제3조"]), ("「꽃밭법」 별표 2", ["「꽃밭법」 별표 2"]), ("꽃밭법 부칙 제2조", ["「꽃밭법」 부칙 제2조"]),
    ("법률 제4995호 꽃밭법개정법률 부칙 제8조", ["「꽃밭법」 부칙 <제4995호> 제8조"]), ("나무와 꽃의 보호에 관한 법률 제3조", ["「나무와 꽃의 보호에 관한 법률」 제3조"]),
    ("취업규칙 제12조", ["「취업규칙」 제12조"]),
    ("「꽃밭법」 제55조부터 제60조까지(제58조제1항은 제외한다), 제62조", ["「꽃밭법」 제55조부터 제60조까지", "「꽃밭법」 제58조제1항", "「꽃밭법」 제62조"]),
    ("그런 방법 제3조", ["제3조"]), ("대통령령 제3조", ["제3조"]), ("공인중개사법 제3조", ["「공인중개사법」 제3조"]), ("난민법 제3조", ["「난민법」 제3조"])])
def test_named_statutes(text: str, wanted: list[str]) -> None:
    assert labels(text, names=["민법"]) == wanted


NO_CITATIONS = ["", "제2호선", "제1항소심", "제3항목", "56조원", "예산 56조 원", "4조 2교대", "4조2교대로", "대통령령 제123호", "법률 제30877호",
                "고시 제12호", "1.2조", "제123456조", "제0조", "제3호실", "전조등", "이 법인", "같은 법원", "본법원", "동항구", "전항공사", "제목", "과목",
                "나목적", "성별표시", "이 호텔", "56조", "2항", "3호", "제12345조"]


def test_not_citations() -> None:
    assert [text for text in NO_CITATIONS if labels(text)] == []


@pytest.mark.parametrize(("text", "wanted"), [
    ("56조는?", ["제56조"]), ("43조의2 1항", ["제43조의2제1항"]), ("2항은?", ["제2항"]), ("예산 56조원", []), ("4조 2교대", []),
    ("제56조 2항", ["제56조제2항"])])
def test_as_people_ask(text: str, wanted: list[str]) -> None:
    assert labels(text, loose=True) == wanted


LIKE_ARTICLES = ("조치 조건 조장 조립 조작 조회 조사 조명 조각 조율 조직 조절 조례 조합 조약 조상 조도 조기 조달 조항 조언 조정 조금 조만간 조류 조경 "
                 "항로 항온 항목 항공 항구 항만 항상 호기 호실 호선 호텔 호출").split()


def test_a_number_before_another_word_is_no_article() -> None:
    """TR-7 조정 names a machine, not 제7조."""
    forms = ["E-233 {}", "TR-7 {} 방법", "TR-7{} 방법은", "7 {}", "가동률 7 {}을 확인", "X7 {}"]
    texts = [form.format(word) for form in forms for word in LIKE_ARTICLES]
    assert [text for text in texts if labels(text, loose=True)] == []
    money = ["매출 3조 원", "매출 3조 원은?", "3조원", "2조 5천억", "2조 5,000억 원의 예산", "1조2000억", "예산 3조", "약 3조 규모", "3조 달러"]
    assert [text for text in money if labels(text, loose=True)] == []
    codes = ["E-7조", "A7조는", "모델 X-12조의2", "MK_7조"]
    assert [text for text in codes if labels(text, loose=True)] == []


def test_a_number_with_a_particle_is_an_article() -> None:
    particles = " 는 가 를 의 에 에서 에는 에서는 와 도 만 로 부터 까지 란 라고 및 또는 ? , ) 위반 에_따라 상의 _내용은 _원칙 _원인은".split(" ")
    texts = [f"7조{particle.replace('_', ' ')}" for particle in particles]
    assert [text for text in texts if labels(text, loose=True) != ["제7조"]] == []
    texts = [f"2항{particle.replace('_', ' ')}" for particle in " 은 이 을 의 에 에서 과 으로 이란 ?".split(" ")]
    assert [text for text in texts if labels(text, loose=True) != ["제2항"]] == []
    wanted = {"7조 2항": "제7조제2항", "7조2항3호": "제7조제2항제3호", "7조의2는?": "제7조의2", "4조-6조": "제4조부터 제6조까지",
              "근로기준법 60조": "「근로기준법」 제60조", "근로기준법60조": "「근로기준법」 제60조", "(7조)": "제7조", "7 조는": "제7조"}
    assert {text: "".join(labels(text, loose=True)) for text in wanted} == wanted


@pytest.mark.parametrize(("text", "wanted"), [
    ("제5조의2", "제5조의2"), ("제5조의 2 제1항", "제5조의2제1항"), ("제5조의2배", "제5조"), ("제5조의 2분의 1", "제5조"),
    ("제5조의2분의 1", "제5조"), ("제5조의 3명", "제5조"), ("제3조의1234", "제3조")])
def test_branch_number_or_amount(text: str, wanted: str) -> None:
    assert labels(text) == [wanted]


def test_known_names() -> None:
    names = ["민법", "근로기준법", "나무와 꽃의 보호에 관한 법률", "꽃밭법 시행령"]
    assert labels("난민법 제3조, 민법 제4조", names=names) == ["「난민법」 제3조", "「민법」 제4조"]
    assert labels("근로기준법 시행령 제3조", names=names) == ["「근로기준법 시행령」 제3조"]
    assert labels("그래서 나무와꽃의 보호에 관한 법률 제3조", names=names) == ["「나무와꽃의 보호에 관한 법률」 제3조"]
    assert [r.span.start for r in find_citations("그래서 나무와 꽃의 보호에 관한 법률 제3조", names)] == [4]
    assert labels("꽃밭법 시행령 제3조", names=names) == ["「꽃밭법 시행령」 제3조"]
    assert short_names("「꽃밭법」 시행규칙(이하 '규칙'이라 한다)") == {"규칙": "꽃밭법 시행규칙"}


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
def test_label_and_span_are_read_back(text: str) -> None:
    """Alone, the text of a citation says the same, but for what the words before it gave to it."""
    names = short_names(text)
    for ref in find_citations(text):
        (read,), own = find_citations(ref.label), ref.span.of(text)
        assert all(getattr(read, k) == getattr(ref, k) for k in (*TOLD, "relative", "step")), (ref, ref.label)
        again = find_citations(own, names)
        assert again and again[0].span.start == 0 and max(r.span.end for r in again) == len(own), (own, again)
        if own.startswith(("같은", "동")) and again[0].relative:  # 같은 조: which one, the words before it said
            continue
        deepest = [level for level in ("article", "paragraph", "item", "subitem") if getattr(ref, level)][-1:]
        assert any(all(getattr(r, level) == getattr(ref, level) for level in deepest) and r.part in ("", ref.part)
                   and r.last == ref.last for r in again), (ref, again)


@pytest.mark.parametrize(
    "text",
    ["제" * 20_000, "9" * 50_000, "제" + "9" * 50_000 + "조", "「" * 20_000, " " * 50_000, "제1조 및 " * 3_000,
     "제1조(" * 3_000, "제1, " * 5_000, "제 " * 20_000, "법 " * 20_000, "가나법" * 10_000, "[이동" * 5_000, "(이하 “" * 5_000,
     "①" * 20_000, "같은 조 " * 5_000, "시행령 " * 5_000 + "제3조", "전" + "1" * 1000 + "조"],
    ids=lambda t: t[:6])
def test_hostile_text_is_read_in_linear_time(text: str) -> None:
    def seconds(n: int) -> float:
        began = time.perf_counter()
        find_citations(text[:n], ["민법", "법 법 법"])
        return time.perf_counter() - began

    assert seconds(len(text)) < 40 * max(seconds(len(text) // 4), 0.005)
