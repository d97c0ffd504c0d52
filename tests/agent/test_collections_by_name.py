"""What is asked for by name comes first, in whichever collection it is: as in one index."""
from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from strategies import SLOW

from ragnb import Agent, read_documents, Span
from ragnb.agent.library import Library, library_pipeline
from ragnb.agent.state import AgentState, Choice
from ragnb.laws.catalogue import StatuteCatalogue
from ragnb.laws.provisions import provision_label
from ragnb.indexing.collections import index_collections

CORPUS = Path(__file__).parents[2] / "data" / "corpus"
TABLE = {"laws_db": ["laws"], "hr_db": ["hr_labor"], "notes_db": ["notes"], "tax_db": ["finance_tax"]}
GARDEN = """정원관리법
[시행 {date}] [법률 제{number}호, {date}, 일부개정]

제1조(목적) 이 법은 정원의 관리를 정한다.

제2조(물) 물은 {days}일마다 준다.

제3조(신고) 제2조에 따라 물을 준 사람은 신고한다.
"""
DECREE = """정원관리법 시행령
[시행 2031. 1. 1.] [대통령령 제41001호, 2030. 12. 1., 제정]

제1조(목적) 이 영은 「정원관리법」에서 위임된 사항을 정한다.

제2조(신고의 방법) 「정원관리법」 제3조에 따른 신고는 서면으로 한다.
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Statutes in three of four collections, one of them in two editions, and documents that cite them."""
    work = tmp_path_factory.mktemp("named") / "corpus"
    for folder in ("laws", "notes", "hr_labor"):
        (work / folder).mkdir(parents=True)
    shutil.copytree(CORPUS / "finance_tax", work / "finance_tax")
    shutil.copy(CORPUS / "hr_labor" / "work_rules.md", work / "hr_labor")
    shutil.copy(CORPUS / "law_common" / "shared_workshop_act.txt", work / "laws")
    shutil.copy(CORPUS / "law_common" / "care_robot_act.txt", work / "notes")
    for name in ("interpretations.jsonl", "rulings.jsonl"):
        shutil.copy(CORPUS / "law_common" / name, work / "notes")
    (work / "laws" / "garden_old.txt").write_text(GARDEN.format(date="2020. 1. 1.", number=30001, days=5), encoding="utf-8")
    (work / "notes" / "garden_new.txt").write_text(GARDEN.format(date="2031. 1. 1.", number=30002, days=3), encoding="utf-8")
    (work / "hr_labor" / "garden_decree.txt").write_text(DECREE, encoding="utf-8")
    return work


@pytest.fixture(scope="module")
def folder(corpus: Path) -> Path:
    index_collections(corpus, corpus.parent / "all", TABLE, show_progress=False)
    return corpus.parent / "all"


@pytest.fixture(scope="module")
def library(folder: Path) -> Library:
    return Library.open(folder, budget=600, top_k=5)


@pytest.fixture(scope="module")
def asked(corpus: Path) -> list[tuple[str, str, Span]]:
    """Every article of every statute: how it is asked for, the file that holds it, where it is."""
    out = []
    documents = [d for d in read_documents(corpus, []) if "old" not in d.id_]
    catalogue = StatuteCatalogue.from_documents(documents)
    for holding in catalogue.holdings.values():
        if len(holding.names) and len(holding.below.get("", ())) > 1:
            out += [(f"{holding.names[0]} {provision_label(path)}", holding.doc_id, Span(*holding.spans[path]))
                    for path in holding.below[""] if path.replace("-", "").isdigit()]
    return out


def shows(read: Span, article: Span) -> bool:
    """The article from its beginning; of one that is longer than the budget, 400 characters or more."""
    return read.start <= article.start < read.end or len(article) > 600 and min(read.end, article.end) - max(read.start, article.start) >= 400


@pytest.mark.parametrize("step", [31, pytest.param(1 if SLOW else 9, marks=pytest.mark.heavy)])
def test_every_named_article_is_in_the_first_passage(library: Library, asked: list[tuple[str, str, Span]], step: int) -> None:
    pipeline, lost = library_pipeline(library, top_k=5), []
    for question, doc_id, span in asked[::step]:
        first = pipeline.ask(question).passages[0]
        if not (first.doc_id.endswith(f"/{doc_id}") and shows(first.span, span)):
            lost.append((question, first.id))
    assert len(asked) > 120 and lost == []


def test_the_agent_reads_a_named_article_first(library: Library, asked: list[tuple[str, str, Span]]) -> None:
    agent, lost = Agent(library, None, {"grade": None}, top_k=5), []
    for question, doc_id, span in asked[4::30]:
        state = agent.ask(f"{question}는 무엇을 정하나요?")
        first = agent.read(AgentState.from_json(state.to_json())).passages[0]
        if not (first.doc_id.endswith(f"/{doc_id}") and shows(first.span, span)):
            lost.append((question, first.id))
    assert lost == []


def test_what_a_named_article_cites_comes_along_from_another_collection(library: Library) -> None:
    found = library_pipeline(library, top_k=5).ask("정원관리법 시행령 제2조는 무엇을 정하나요?")
    first, second, *_ = found.passages
    assert first.doc_id.startswith("hr_db/") and "서면으로" in first.text
    assert second.doc_id == "notes_db/notes/garden_new.txt" and "신고한다" in second.text
    assert any(why.role == "cited" for why in second.why.values())


def test_a_name_means_the_edition_in_force_wherever_it_is(library: Library, folder: Path) -> None:
    passages = library_pipeline(library, top_k=5).ask("정원관리법 제2조").passages
    assert passages[0].doc_id == "notes_db/notes/garden_new.txt" and "3일마다" in passages[0].text
    old = [p for p in passages if p.doc_id == "laws_db/laws/garden_old.txt"]
    assert all(p.metadata["edition"].startswith("개정 전") for p in old)
    dated = library_pipeline(Library.open(folder, budget=600, top_k=5, as_of="2025-01-01"), top_k=5).ask("정원관리법 제2조").passages
    assert dated[0].doc_id == "laws_db/laws/garden_old.txt" and "5일마다" in dated[0].text


def test_a_number_alone_brings_the_article_of_every_collection_that_has_it(library: Library) -> None:
    """Several statutes may be meant: all of them come before anything else."""
    found = library_pipeline(library, top_k=20).find("제35조")
    first = [h.node.ref_doc_id.partition("/")[0] for h in found.hits if h.node_id in found.reasons]
    assert {"laws_db", "hr_db"} & set(first) and [h.node_id in found.reasons for h in found.hits][:len(first)] == [True] * len(first)


def test_an_article_that_no_collection_holds_is_noted(library: Library) -> None:
    assert "정원관리법 제99조" in library_pipeline(library, top_k=5).ask("정원관리법 제99조는 무엇을 정하나요?").note
    assert "no document" not in library_pipeline(library, top_k=5).ask("정원관리법 제3조").note


def test_a_filter_hides_what_is_named(folder: Path) -> None:
    """Neither the hidden article nor what it cites comes first, and a note tells nothing of it."""
    narrow = Library.open(folder, budget=600, top_k=5, where="doc_id != hr_labor/garden_decree.txt")
    found = library_pipeline(narrow, top_k=5).ask("정원관리법 시행령 제2조는 무엇을 정하나요?")
    assert not any("garden_decree" in p.doc_id for p in found.passages)
    assert not any(why.role == "cited" for p in found.passages for why in p.why.values())
    assert "제2조" not in found.note


async def test_a_search_within_documents_or_collections_is_not_widened_by_a_name(library: Library) -> None:
    ask = ["정원관리법 시행령 제2조"]
    for own in ({"collections": ["laws_db"]}, {"documents": ["laws_db/laws/garden_old.txt"]}, {"where": "doc_id=laws/garden_old.txt"}):
        hits = (await library.search(ask, 5, **own)).hits
        assert hits and {h.node.ref_doc_id.partition("/")[0] for h in hits} == {"laws_db"}, own


def test_what_a_person_adds_may_name_an_article_of_the_question(library: Library) -> None:
    agent = Agent(library, None, {"grade": None}, ask_user=True)
    state = agent.ask("정원관리법의 물과 휴가 신청")
    assert state.status == "waiting"
    done = agent.resume(state, Choice(text="제3조를 보세요"))
    first = agent.read(done).passages[0]
    assert first.doc_id == "notes_db/notes/garden_new.txt" and "신고한다" in first.text
