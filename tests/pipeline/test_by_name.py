"""What a question names is the first thing read, whatever retrieves behind it."""
from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import write
from llama_index.core import Document

from ragnb import Index, index_documents, InputError, Pipeline, Span, trace, update_index
from ragnb.cli import main
from ragnb.models.scripted import ScriptedLLM
from ragnb.retrieval.by_name import ByNameRetriever

SUBJECTS = ("신고", "허가", "검사", "과태료", "위탁", "보고", "교육", "등록")
NAMES = ("산림이용법", "공동창고법", "이동식당법")


def statute(name: str) -> tuple[str, dict[str, Span]]:
    """A statute whose articles share their words and cite each other; its text, and where its articles are."""
    text, spans = f"{name}\n\n제1장 총칙\n\n", {}
    for n in range(1, 25):
        start, subject = len(text), SUBJECTS[n % len(SUBJECTS)]
        text += (f"제{n}조({subject}) ① 사용자는 제{n % 24 + 1}조에 따라 {subject}을 하여야 한다.\n"
                 f"② {subject}의 기한은 {n + 3}일로 한다. 다만, 제{(n + 6) % 24 + 1}조의 경우에는 그러하지 아니하다.")
        spans[f"제{n}조"] = Span(start, len(text))
        text += "\n\n"
    return text, spans


STATUTES = {name: statute(name) for name in NAMES}
ASKED = [(f"{name} {article}{words}", name, span) for name, (_, spans) in STATUTES.items()
         for n, (article, span) in enumerate(spans.items())
         for words in [("는 무엇을 정하나요?", "에 따른 기한은?", "를 알려 주세요")[n % 3]]]


@pytest.fixture(scope="module", params=["structure", "parent-child", "units"])
def index(request, tmp_path_factory) -> Index:
    documents = [Document(text=text, id_=name, metadata={"title": name}) for name, (text, _) in STATUTES.items()]
    folder = tmp_path_factory.mktemp("statutes") / request.param
    return index_documents(documents, folder, parser=request.param, show_progress=False)[0]


def pipeline(index: Index, spec: str, **settings: Any) -> Pipeline:
    llm = ScriptedLLM(lambda prompt: "기한은 며칠인가?\n신고는 언제 하나?") if ":" in spec else None
    return Pipeline.from_index(index, retriever=spec, llm=llm, **settings)


@pytest.mark.heavy
@pytest.mark.parametrize("spec", ["bm25", "vector", "hybrid", "hierarchical", "multi-query:hybrid", "hyde:vector",
                                  "multi-query:auto", "auto"])
def test_the_cited_article_is_in_the_first_passage(index, spec):
    """Each article of each statute by name, and a few of them asked without blocking."""
    if spec == "hierarchical" and index.multiscale is None:
        with pytest.raises(InputError, match="hierarchical retrieval needs an index of units"):
            pipeline(index, spec)
        return
    asks = pipeline(index, spec)
    few = ASKED if spec == "bm25" else ASKED[::9]
    for question, name, span in few:
        first = asks.passages(question)[0]
        assert first.doc_id == name and first.span.contains(span), question
    question, name, span = ASKED[30]
    answer = asyncio.run(asks.aask(question))
    assert answer.passages[0].doc_id == name and answer.passages[0].span.contains(span)


@pytest.mark.shed
@pytest.mark.parametrize("spec", ["auto", "hybrid"])
def test_the_page_says_why_what_is_named_stands_first(index, spec):
    """Its passage may score less than the next one; hits that are named have no rank by score."""
    told = trace(pipeline(index, spec).ask("이동식당법 제7조는 무엇을 정하나요?"))
    page = told.page()
    assert page.count("read first: the question names it") == 1 and 'data-k="by name' in page
    named = [row for row in told.rows() if "asked for by name" in row["why"]]
    assert named and all(row["score"] is None and row.get("multi-scale") is None for row in named)
    assert not told.ranks.keys() & {row["chunk"] for row in named} and min(told.ranks.values(), default=1) == 1


@pytest.mark.shed
def test_a_question_that_names_nothing_is_as_before(index):
    asks = pipeline(index, "hybrid", top_k=5)
    assert isinstance(asks.retriever, ByNameRetriever)
    before = index.store.reads
    question = "위탁의 기한은 며칠인가?"
    assert asks.find(question) == asks.retriever.retriever.fuse(question)
    assert index.store.reads - before <= 4, "words and vectors read their hits, twice; nobody reads for a name"
    assert "by name" not in asks.find(question).members


@pytest.mark.shed
def test_a_filter_holds_for_what_is_named(index):
    """A statute outside `where` is not brought in by its name."""
    asks = pipeline(index, "hybrid", where={"title": "공동창고법"}, top_k=5)
    answer = asks.ask("이동식당법 제7조는 무엇을 정하나요?")
    assert answer.passages and {p.doc_id for p in answer.passages} == {"공동창고법"}
    assert asks.ask("공동창고법 제7조는?").passages[0].span.contains(STATUTES["공동창고법"][1]["제7조"])


@pytest.mark.shed
@pytest.mark.parametrize(("at", "policy"), [*enumerate(["none", "neighbors:1", "citations", "document", "section", "adaptive"])])
def test_a_named_article_is_a_passage_of_its_own(index, at, policy):
    """Exactly the article, then exactly what it cites; nothing twice, and what the hits brought is still there."""
    for question, name, span in ASKED[4 * at::25]:   # one of each statute, others for every policy
        for budget in (700, 6_000):
            answer = pipeline(index, "auto", policy=policy, budget=budget).ask(question)
            passages, (text, spans) = answer.passages, STATUTES[name]
            assert (passages[0].doc_id, passages[0].span) == (name, span), question
            assert passages[0].text == text[span.start:span.end] and "by name" in {why.policy for why in passages[0].why.values()}
            cited = [s for article, s in spans.items() if article in passages[0].text and s != span]
            if budget == 6_000:
                assert {p.span for p in passages[1:1 + len(cited)]} == set(cited), question
        held = [(p.doc_id, p.span) for p in passages]
        assert not any(a[0] == b[0] and a[1].overlap(b[1]) for i, a in enumerate(held) for b in held[:i])


def test_hits_are_kept_beside_a_named_article(index):
    """What was found without the name is found with it: only its place in the order changes."""
    asks = pipeline(index, "auto", policy="neighbors:1", budget=None)
    for question, name, span in ASKED[::17]:
        found = asks.find(question)
        apart = asks.expander.expand(found.hits, question, places=found.places).passages
        joined = asks.expander.expand(found.hits, question).passages
        assert {i for p in joined for i in p.hits} == {i for p in apart for i in p.hits}
        for p in joined:
            left = set(range(p.span.start, p.span.end))
            for q in apart:
                left -= set(range(q.span.start, q.span.end)) if q.doc_id == p.doc_id else set()
            whole = {s for i in left if (s := STATUTES[p.doc_id][0][i]).strip()}
            assert not whole, question


@pytest.mark.shed
def test_a_long_named_article_is_whole(tmp_path):
    """Neither the limit of a passage nor the number of hits cuts it."""
    body = "\n".join(f"{n}. 창고의 제{n}호 시설은 매월 점검하고 그 결과를 장부에 적어야 한다." for n in range(1, 120))
    text = f"장부보관법\n\n제1조(목적) 이 법은 장부의 보관을 정한다.\n\n제2조(시설) {body}\n\n제3조(보고) 매년 보고한다."
    documents = [Document(text=text, id_="장부보관법", metadata={"title": "장부보관법"})]
    for parser in ("structure", "units"):
        made = index_documents(documents, tmp_path / parser, parser=parser, show_progress=False)[0]
        for policy in ("none", "neighbors:1"):
            first = Pipeline.from_index(made, policy=policy, budget=9_000).passages("장부보관법 제2조는?")[0]
            assert first.text == text[text.index("제2조"):text.index("\n\n제3조")], (parser, policy)


LAW = "출장여비법\n[시행 {date}.] [법률 제{no}호]\n\n제1조(목적) 이 법은 출장 여비를 정한다.\n\n제2조(일비) 일비는 하루 {no}만원으로 한다.\n\n제3조(숙박) 숙박비는 실비로 한다.\n"
QUESTION = "출장여비법 제2조의 일비는 얼마인가?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    docs = tmp_path_factory.mktemp("laws")
    for name, date, no in (("a_old", "2018. 7. 1", 2), ("b_new", "2024. 3. 1", 5)):
        (docs / f"{name}.txt").write_text(LAW.format(date=date, no=no), encoding="utf-8")
    update_index(docs, docs / "index", show_progress=False)
    return docs / "index"


@pytest.mark.shed
@pytest.mark.parametrize("as_of, first, marked", [
    (None, "b_new.txt", "개정 전 (2018-07-01 시행, 현행 2024-03-01)"), ("2020-01-01", "a_old.txt", "2024-03-01 시행 예정"),
    ("today", "b_new.txt", "개정 전 (2018-07-01 시행, 현행 2024-03-01)")])
def test_the_edition_in_force_comes_first_and_the_other_is_marked(folder: Path, as_of: str | None, first: str, marked: str) -> None:
    answer = Pipeline.from_index(Index.open(folder), as_of=as_of).ask(QUESTION)
    ranked = sorted(answer.passages, key=lambda p: p.rank)
    assert ranked[0].doc_id == first and "edition" not in ranked[0].metadata
    assert {p.metadata.get("edition") for p in answer.passages if p.doc_id != first} == {marked}
    headers = [line for line in answer.context.text.splitlines() if line.startswith("[") and (".txt" in line)]
    own = [line.split(", also in ")[0] for line in headers]   # A sentence of both editions is read once and names the other
    assert all((marked in line) == (first not in name) for line, name in zip(headers, own)) and len(headers) >= 2
    assert marked in trace(answer).table()


@pytest.mark.shed
@pytest.mark.parametrize("as_of, wanted, split", [
    (date, wanted, split) for split in ("units", "parent-child") for date, wanted in (
        ("2025-06-30", "15일"), ("2025-07-01", "17일"), ("2022-01-01", ""))])
def test_an_edition_that_is_not_in_force_on_the_date_is_read_last(tmp_path, as_of, wanted, split):
    rule = "취업규칙\n\n시행 {}\n\n제14조(연차휴가) ① 1년간 출근한 사원에게 {}일의 연차를 준다.\n\n제24조(휴직) 휴직은 {}개월까지 한다.\n"
    write(tmp_path, {"docs/old.md": rule.format("2023. 3. 1.", 15, 6), "docs/new.md": rule.format("2025. 7. 1.", 17, 8),
                     "docs/tea.md": "# 다과\n\n다과는 총무팀이 준비한다.\n"})
    index = update_index(tmp_path / "docs", tmp_path / "index", parser=split, show_progress=False)[0]
    passages = sorted(Pipeline.from_index(index, as_of=as_of).ask("연차는 며칠인가요?").passages, key=lambda p: p.rank)
    late = ["edition" in p.metadata for p in passages]
    assert any(late) and late == sorted(late) and wanted in passages[0].text


def test_the_command_line_and_its_mistake(folder: Path, capsys) -> None:
    assert main(["ask", QUESTION, "--index", str(folder), "--as-of", "2020-01-01", "--json"]) == 0
    passages = json.loads(capsys.readouterr().out)["passages"]
    assert min(passages, key=lambda p: p["rank"])["id"].startswith("a_old.txt")
    assert main(["ask", QUESTION, "--index", str(folder), "--as-of", "언젠가"]) == 2
    assert "as_of must be a date" in capsys.readouterr().err
    with pytest.raises(InputError, match="as_of"):
        Pipeline.from_index(folder, as_of="soon")
