"""A passage of a statute is named by what it is: an article of the act, of its addenda, an annex, a chapter."""
from __future__ import annotations

import json
import re
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import write

from ragnb import Index, Passage, Pipeline, Span, update_index
from ragnb.context.builders import cut_passage, cut_to_sentences
from ragnb.context.labels import passage_article, place_label
from ragnb.documents.markdown import find_tables
from ragnb.laws.provisions import provision_label

ACT = """시험법
[시행 2031. 1. 1.] [법률 제30113호, 2029. 3. 5., 제정]

제1장 총칙

제1조(목적) 이 법은 시험의 공정한 관리에 필요한 사항을 정함을 목적으로 한다.

제2조(정의) 이 법에서 "시험"이란 자격을 정하려고 지식과 기능을 재는 일을 말한다.

제2장 시행

제3조(시행계획) 시험기관은 해마다 1월 31일까지 시행계획을 알려야 한다. 계획에는 별표 1의 과목을 적는다.

부칙 <법률 제30113호, 2029. 3. 5.>

제1조(시행일) 이 법은 공포 후 9개월이 지난 날부터 시행한다.

제2조(시행계획에 관한 경과조치) 이 법 시행 당시의 계획은 제3조에 따른 것으로 본다.

[별표 1] 시험 과목(제3조 관련)

구분 | 과목
1급 | 역학, 재료
2급 | 제도
"""


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory) -> Pipeline:
    folder = tmp_path_factory.mktemp("act")
    write(folder, {"act.txt": ACT, "other.md": "# 출장\n\n출장 일비는 하루 2만원이다. 숙박비는 실비로 준다.\n"})
    target = tmp_path_factory.mktemp("index") / "i"
    update_index(folder, target, show_progress=False)
    return Pipeline.from_index(Index.open(target))


@pytest.mark.parametrize(("question", "label", "text"), [
    ("시험법 제1조", "제1조", "이 법은 시험의 공정한"), ("시험법 부칙 제1조", "부칙 제1조", "공포 후 9개월"), ("제1조", "제1조", "이 법은 시험의 공정한"),
    ("부칙 제2조", "부칙 제2조", "이 법 시행 당시"), ("시험법 별표 1", "[별표 1]", "역학"), ("시험법 제3조", "제3조", "해마다 1월")])
def test_the_first_passage_is_what_was_named_and_says_so(pipeline, question, label, text):
    first = pipeline.ask(question).passages[0]
    assert text in first.text and passage_article(first).split("~")[0] == label and label in place_label(first)


def test_a_hit_is_named_by_the_part_that_it_is_in():
    def at(words: str) -> str:
        start = ACT.index(words)
        return passage_article(Passage("act", Span(0, len(ACT)), ACT, focus=Span(start, start + len(words))))
    words = ("총칙", "공정한", "제2장", "9개월", "과목을 적는다", "부칙 <", "역학", "9개월이 지난 날부터 시행한다.\n\n제2조(")
    assert [at(w) for w in words] == ["제1장 총칙", "제1조", "제2장 시행", "부칙 제1조", "제3조", "부칙", "[별표 1]", "부칙 제1조~제2조"]


@pytest.mark.parametrize(("heading", "label"), [("## 별표 1 여비 지급 기준", "[별표 1]"), ("## [별표 1] 여비", "[별표 1]"), ("### 별표 2의3", "[별표 2의3]"), ("별표 1에 따른다.", "제8조")])
def test_an_annex_below_a_markdown_heading_ends_the_article(heading, label):
    text = f"제8조(위반) 전액을 반환한다.\n\n{heading}\n\n| 등급 | 한도 |\n|---|---|\n| 3급 | 120,000 |\n"
    row = Span(text.index("| 3급"), len(text))
    assert passage_article(Passage("rule", Span(0, len(text)), text, focus=row)) == label
    above = Passage("rule", row, text[row.start:], prefix=f"여비규정 {heading.strip('# ')}")
    assert passage_article(above) == (label if heading.startswith("#") else "")


DATA = Path(__file__).resolve().parents[2] / "data"
QUESTIONS = [json.loads(line)["query"] for name in ("hr", "law") for line in (DATA / "questions" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
CUTS = (cut_passage, cut_to_sentences)


@pytest.fixture(scope="module", params=["units", "structure"])
def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Index:
    parser = None if request.param == "units" else request.param
    folder = tmp_path_factory.mktemp(request.param)
    for name in ("hr_labor/leave.md", "law_common/interpretations.jsonl", "law_common/shared_workshop_act.txt", "law_common/care_robot_act.txt"):
        target = folder / "corpus" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(DATA / "corpus" / name, target)
    return update_index(folder / "corpus", folder / "index", parser=parser, show_progress=False)[0]


@pytest.fixture(scope="module")
def passages(index: Index) -> list[Passage]:
    """What a reader sees of every tenth question at three budgets, and the same cut further."""
    out = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")   # small budgets
        for budget in (150, 400, 1_500):
            pipe = Pipeline.from_index(index, budget=budget)
            out += [p for question in QUESTIONS[::10] for p in pipe.ask(question).context.passages]
    return [*out, *(cut(p, size) for p in out for cut in CUTS for size in (40, 90, 200))]


def lines(passage: Passage) -> Iterator[str]:
    return (line for line in passage.prefix.split("\n") if line and not line.startswith("|"))


def test_no_other_section_is_named(index: Index, passages: list[Passage]) -> None:
    seen = 0
    for p in passages:
        sections = index.store.get_outlines([p.doc_id]).found[p.doc_id].sections
        here = [name for name, span in sections if span.start <= p.span.start < span.end]
        others = {name for name, _ in sections if not any(h.startswith(name) for h in here)}
        seen += bool(here and p.prefix)
        wrong = [line for line in lines(p) if here and any(line.endswith(name) for name in others)]
        assert not wrong, (p.doc_id, p.span, here, wrong)
    assert seen > 100


def test_the_article_is_the_one_the_hit_is_in(index: Index, passages: list[Passage]) -> None:
    seen = 0
    for p in passages:
        focus, holding = p.focus or p.span, index.catalogue.parts["laws"].holdings.get(p.doc_id)
        if holding is None or not holding.spans or not (place := index.catalogue.parts["laws"].place(p.doc_id, focus.start)):
            continue
        article, named = provision_label(place.partition("/")[0]), passage_article(p)
        if named.startswith("["):      # an annex is named as it is printed
            continue
        seen += 1
        assert re.match(re.escape(article) + r"(?!의\d)", named), (p.doc_id, p.span, p.focus, article, named, p.prefix)
    assert seen > 50


@pytest.mark.parametrize("parser", ["recursive:300/50", "parent-child:400/0,120/20", "sentence", "fixed:150/0"])
def test_the_article_is_the_one_the_hit_is_in_with_any_splitter(tmp_path, parser: str) -> None:
    for name in ("shared_workshop_act.txt", "care_robot_act.txt"):
        shutil.copy(DATA / "corpus" / "law_common" / name, tmp_path)
    index = update_index(tmp_path, tmp_path / "index", parser=parser, show_progress=False)[0]
    seen = dict.fromkeys(("본칙", "부칙", "별표"), 0)
    pipe = Pipeline.from_index(index, budget=200, policy="none", top_k=8)
    for question in (*QUESTIONS[::25], "시행일은 언제인가?", "경과조치", "다른 법률의 개정", "별표의 기준", "과태료의 부과기준", "수수료"):
        for p in pipe.ask(question).context.passages:
            if place := index.catalogue.parts["laws"].place(p.doc_id, (p.focus or p.span).start):
                article, named = provision_label(place.partition("/")[0]), passage_article(p)
                seen["별표" if article.startswith("별") else "부칙" if article.startswith("부칙") else "본칙"] += 1
                assert named.strip("[").startswith(article), (p.doc_id, p.span, article, named)
    assert all(seen.values()), seen


def test_a_header_stands_above_its_rows_only(passages: list[Passage]) -> None:
    for p in passages:
        assert "\n|" not in f"\n{p.prefix}" or p.text.lstrip().startswith("|"), (p.doc_id, p.span)
        for part in (cut(p, len(p.text) - 1) for cut in CUTS if len(p.text) > 1):
            headers = [t.header for t in find_tables(part.text) if t.header and not part.text[t.header.end:].strip()]
            for header in headers:   # it was found, or the text ended with it
                at = Span(part.span.start + header.start, part.span.start + header.end)
                assert part.focus and part.focus.overlap(at) or part.span.end >= p.span.end, (p.doc_id, p.span)
