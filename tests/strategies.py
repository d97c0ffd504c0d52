"""Random Korean, English and mixed documents for the property tests.

Quick mode (the default) runs the same examples every time. `RAGNB_SLOW=1` draws new ones, many more of them.
"""
from __future__ import annotations

import os
import unicodedata

from hypothesis import HealthCheck, settings, strategies as st

SLOW = os.environ.get("RAGNB_SLOW", "") not in ("", "0")
FEW = os.environ.get("RAGNB_FEW") == "1"   # In a copy of the package that lacks a part: whether it works, not for which texts


def examples(quick: int = 100, slow: int | None = None) -> settings:
    """Settings of a property test: a fifth of `quick` is drawn; with RAGNB_SLOW=1 `slow`, or 20 times `quick`; two with RAGNB_FEW=1."""
    return settings(
        max_examples=2 if FEW else (slow or 20 * quick) if SLOW else max(5, quick // 5), derandomize=not SLOW, database=None,
        deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


KOREAN = ["연차는 15일입니다.", "2년차부터는 16일로 증가합니다.", "반차는 4시간이다.", "세정장비의 배기 압력이 기준보다 낮으면 경보가 울린다",
          "정말입니까?", "그는 “네.”라고 답했다.", "안녕하세요 반갑습니다", "신청서를 제출할 것", "이상 없음", "값은 3.5kg이다", "가", "나다",
          "漢字와 한글을 섞어 쓴다.", "ㅋㅋㅋ 정말 좋다ㅎㅎ!!", "법률사무소에 문의하였음", "제출된서류는반환하지아니하며이를이유로이의를제기할수없다"]
ENGLISH = [
    "Dr. Kim et al. measured 3.5 mm (see Fig. 2).", "The U.S. team did not!", '"Why?" asked J. Lee.', "Leave is 15 days.", "e.g. this",
    "No. 5 is out...", "what", "I", "antidisestablishmentarianism", "See https://example.com/a?b=c.d or mail a.b@c.de.", "It's 10 p.m. now",
]
STATUTE = [
    "제1조(목적)", "제43조의2(연차 유급휴가)", "제3조 삭제 <2018. 3. 20.>", "① 사용자는 다음 각 호를 따른다.", "②이 규정은 〈개정 2018. 3. 20.〉 다음과 같다.",
    "1. 연차", "1의2. 반차", "가. 본인의 결혼", "(1) 세부 사항", "부칙", "제2장 근로시간", "[본조신설 2020. 1. 1.]", "【질의】", "삭제", "제1항제2호에 따라"]
MARKDOWN = [
    "# 휴가규정", "### Leave policy", "- 항목 하나", "* item", "| 구분 | 일수 |", "|---|---|", "| 연차 | 15 |", "> 인용문", "```python\nx = 1  # 주석\n```", "**굵게** _기울임_",
]
ODD = [
    "😀", "👩🏽\u200d💻", "👨\u200d👩\u200d👧\u200d👦", "👍🏿", "❤️", "1️⃣", "🇰🇷", "\u200d", "\u200b", "\ufeff", "\u200f", "\u202e", "שלום עולם.", "\u2069",
    "é", "e\u0301", "e\u0301\u0323\u0308", "Z" + "\u0301\u0327" * 6, "नमस्ते।", "葛\U000e0100", "ᄒ", "ᅡ", "ᆫ", "\u1112\u1161\u11ab", "\x00", "\x01", "\x7f", "\ufffd",
    unicodedata.normalize("NFD", "한글 청크는 15일이다."), unicodedata.normalize("NFD", "제출된서류는반환하지아니한다"), "①", "⑳", "㉑", "ﬁ", "İ", "…", "。", "!?", "<|endoftext|>",
]
BLANKS = [
    " ", " ", " ", "\n", "\n", "\n\n", "\r\n", "\r\n\r\n", "\r", "\t", "\f", "\v", "\u00a0", "\u3000", "\u2028", "\u2029", "\x85", "\x1c", "\x1f", "  ", " \n \n ", "", "",
]
SENTENCES = KOREAN + ENGLISH
PIECES = SENTENCES + STATUTE + MARKDOWN + ODD

_raw = st.text(alphabet=st.characters(codec="utf-8"), max_size=40)
_combining = st.text(alphabet="aé가\u0301\u0323ᄒ\u1161\u11ab\u200d👩🏽️💻 ", max_size=40)


@st.composite
def _mixed(draw: st.DrawFn) -> str:
    """Pieces of one or all kinds, joined by white space of any kind."""
    pool = draw(st.sampled_from([KOREAN, ENGLISH, STATUTE, MARKDOWN + KOREAN, ODD + SENTENCES, PIECES]))
    glue = draw(st.sampled_from([[" "], ["\n"], ["\r\n"], ["\n\n"], [""], BLANKS, BLANKS]))
    parts = draw(st.lists(st.tuples(st.sampled_from(pool), st.sampled_from(glue)), max_size=40))
    return "".join(a + b for a, b in parts)


@st.composite
def _repeated(draw: st.DrawFn) -> str:
    """The same few words over and over, as in statutes and forms."""
    unit = draw(st.sampled_from(PIECES)) + draw(st.sampled_from(BLANKS)) + draw(st.sampled_from(["", "", *SENTENCES]))
    return unit * draw(st.integers(2, 40))


@st.composite
def _one_line(draw: st.DrawFn) -> str:
    """One endless line, often without any white space, longer than the analyser takes in one piece."""
    unit = draw(st.sampled_from(["가", "a", "한글", "abc ", "e\u0301", "👩🏽\u200d💻", unicodedata.normalize("NFD", "한"), unicodedata.normalize("NFD", "나한"), "가\t", "|", "7"]))
    shift = draw(st.integers(0, 5))
    return "x" * shift + unit * (draw(st.integers(4_001, 9_000)) // len(unit))


blank = st.text(alphabet=" \t\r\n\f\v\u00a0\u3000\u2028\x85\x1c", max_size=12)
small = st.one_of(_mixed(), _mixed(), _repeated(), _raw, _combining, blank)
documents = st.one_of(_mixed(), _mixed(), _mixed(), _repeated(), _raw, _combining, blank, st.builds("".join, st.lists(small, max_size=3)))
huge = _one_line()

doc_ids = st.one_of(
    st.sampled_from(["hr/leave.md", "hr/C#교육.md", "a#c1", "#", "#c0", "줄\n바꿈", "a b", "d\u2028e", "👩🏽\u200d💻", unicodedata.normalize("NFD", "문서")]),
    st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=20))


@st.composite
def span_lists(draw: st.DrawFn, length: int = 40) -> list[tuple[int, int]]:
    """Any spans: overlapping, touching, empty, in any order."""
    pairs = draw(st.lists(st.tuples(st.integers(0, length), st.integers(0, length)), max_size=12))
    return [(min(p), max(p)) for p in pairs]


@st.composite
def span_levels(draw: st.DrawFn, length: int = 40) -> list[tuple[int, int]]:
    """Chunks of one level: not empty, starts and ends strictly increasing, with overlaps and gaps."""
    n = draw(st.integers(0, 8))
    starts = sorted(draw(st.lists(st.integers(0, length - 1), min_size=n, max_size=n, unique=True)))
    out: list[tuple[int, int]] = []
    for start in starts:
        low = max(start, out[-1][1] if out else 0) + 1
        out.append((start, draw(st.integers(low, max(low, min(length, low + 12))))))
    return out


def scalar_metadata() -> st.SearchStrategy[dict]:
    """Document metadata: scalars, and values that no store can hold."""
    keys = st.sampled_from(["file_name", "title", "doc_type", "year", "score", "public", "tags", "nested", "nothing", "level", "index"])
    values = st.one_of(st.text(max_size=8), st.integers(-5, 5), st.floats(0, 1), st.booleans(), st.none(), st.lists(st.integers(), max_size=2), st.just({"a": 1}))
    return st.dictionaries(keys, values, max_size=4)


def joins_previous(text: str, at: int) -> bool:
    """True when a reader sees `text[at]` as a part of the character before it (marks, jamo, emoji sequences)."""
    if not 0 < at < len(text) or text[at].isspace() or text[at - 1].isspace():
        return False
    char = text[at]
    return (unicodedata.category(char)[0] == "M" or "HANGUL JUNGSEONG" in unicodedata.name(char, "")
            or "HANGUL JONGSEONG" in unicodedata.name(char, "") or 0x1F3FB <= ord(char) <= 0x1F3FF or char == "\u200d"
            or text[at - 1] == "\u200d")


def cluster_length(text: str, at: int) -> int:
    """Code points of the visible character that `text[at]` belongs to."""
    start, end = at, at + 1
    while joins_previous(text, start):
        start -= 1
    while joins_previous(text, end):
        end += 1
    return end - start
