"""The catalogue: paths, places, names, and its records."""
from __future__ import annotations

import json

import pytest
from conftest import shared_data
from hypothesis import given
from llama_index.core.schema import Document
from statute_texts import ACT, entered, garden_catalogue, heads, legal, paths
from strategies import documents, examples

from ragnb.laws.catalogue import StatuteCatalogue
from ragnb.laws.citations import find_citations
from ragnb.laws.provisions import cited_spans, look_up, look_up_question, look_ups, provision_label
from ragnb.documents.span import Span


@pytest.fixture(scope="module")
def garden() -> tuple[StatuteCatalogue, dict[str, str]]:
    """An act and its decree."""
    return garden_catalogue()


def test_paths(garden) -> None:
    spans = garden[0].holdings["act"].spans
    assert list(spans)[:11] == [
        "1", "2", "2/1", "2/2", "2/2/1", "2/2/1-2", "2/2/2", "2/2/2/가", "2/2/2/나", "2/2/2/다", "2/3"]
    assert [p for p in spans if p.startswith("부칙")] == [
        "부칙29001", "부칙29001:1", "부칙29001:2", "부칙30001", "부칙30001:1", "부칙30001:2"]
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
    catalogue, texts = StatuteCatalogue(), garden[1]
    for name, text in texts.items():
        catalogue = entered(catalogue, Document(id_=name, text=text))
    assert catalogue == garden[0]
    written = json.loads(json.dumps(catalogue.records()))
    assert StatuteCatalogue.restored(written, {}) == catalogue
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
        catalogue.index.by_name or catalogue.index.by_number or catalogue.index.by_title)


def test_names_and_aliases() -> None:
    document = Document(id_="a", text=ACT.replace("정원관리법", "정원의 관리에 관한 법률 (약칭: 정원법)", 1),
                        metadata={"title": "정원의 관리에 관한 법률(법률)(제30001호)(20310101)"})
    catalogue = StatuteCatalogue.from_documents([document], aliases={"우리법": "정원법", "남의법": "없는법"})
    assert catalogue.holdings["a"].names == ["정원의 관리에 관한 법률", "정원법"]
    for name in ("정원법", "우리법", "정원의관리에관한법률", "정원의 관리에 관한 법률", "「정원법」"):
        assert len(look_up_question(f"{name} 제2조는?", catalogue)) == 1, name
    assert look_up_question("남의법 제2조", catalogue) == []
    wage = StatuteCatalogue.from_documents([Document(id_="w", text=ACT.replace("정원관리법", "근로기준법", 1))])
    assert len(look_up_question("근기법 3조", wage)) == 1


@examples(60)
@given(text=documents, question=legal)
def test_catalogue_of_any_text(text: str, question: str) -> None:
    catalogue = StatuteCatalogue.from_documents([Document(id_="x", text=text), Document(id_="act", text=ACT)])
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
        "2/2/2/나", "2/3", "5", "5", "", "부칙29001:2")
    assert catalogue.place("act", 10**9) == catalogue.place("nobody", 3) == ""
    assert [
        provision_label(p) for p in ("2/2/2/나", "5-2", "3//2", "부칙29001:2", "부칙29001", "별표1-2", "별표", "별지2", "")
    ] == ["제2조제2항제2호나목", "제5조의2", "제3조제2호", "부칙 제2조", "부칙", "별표 1의2", "별표", "별지 제2호서식", ""]


ROBOT, WORKSHOP, RULES = "law_common/care_robot_act.txt", "law_common/shared_workshop_act.txt", "hr_labor/work_rules.md"


@pytest.mark.parametrize(("text", "wanted"), [
    ("정원관리법 제2조제2항제2호가목", ["act:2/2/2/가", "act:2"]), ("정원관리법 제3조제1호", ["act:3//1", "act:3"]),
    ("정원관리법 제2조제2항제1호의2", ["act:2/2/1-2", "act:2"]),
    ("정원관리법 제2조제2항제1호부터 제2호까지", ["act:2/2/1", "act:2/2/1-2", "act:2/2/2", "act:2"]),
    ("정원관리법 제2조제2항제2호가목부터 나목까지", ["act:2/2/2/가", "act:2/2/2/나", "act:2"]),
    ("정원관리법 제3조부터 제5조까지", ["act:3", "act:4", "act:5"]),
    ("정원관리법 제3조부터 제5조의2까지", ["act:3", "act:4", "act:5", "act:5-2"]), ("정원관리법 시행령 별표", ["decree:별표"]),
    ("정원관리법 제4조", ["act:4"]), ("정원관리법 제3조제1항제1호", ["act:3"]), ("정원관리법 제2조제9항", ["act:2"]),
    ("정원관리법 부칙 제1조", ["act:부칙30001:1", "act:부칙29001:1"]), ("정원관리법 부칙 <제29001호> 제1조", ["act:부칙29001:1"]),
    ("정원관리법 제9조부터 제12조까지", []), ("정원관리법 제2조제3항부터 제1항까지", ["act:2/3", "act:2"])])
def test_look_up(garden, text: str, wanted: list[str]) -> None:
    assert heads(garden[0], text) == wanted


@pytest.mark.parametrize(("text", "place", "wanted"), [
    ("제2조", "", ["2"]), ("전항", "2/3", ["2/2", "2"]), ("전2항", "2/3", ["2/1", "2/2", "2"]),
    ("다음 항", "2/1", ["2/2", "2"]), ("제1호의2", "2/2/2/다", ["2/2/1-2", "2"]), ("나목", "2/2/2/다", ["2/2/2/나", "2"]),
    ("제1호", "3//2", ["3//1", "3"]), ("전호", "3//2", ["3//1", "3"]), ("전조", "5", ["4"]), ("전2조", "5", ["3", "4"]),
    ("전조", "부칙29001:2", ["부칙29001:1"]), ("다음 조", "5", ["5-2"]), ("이 조", "5", ["5"]), ("이 항", "2/3", ["2/3", "2"]),
    ("부칙 제1조", "부칙29001:2", ["부칙29001:1"]), ("부칙 제1조", "3", ["부칙30001:1", "부칙29001:1"]),
    ("제2항", "2", ["2/2", "2"]), ("전조제1항", "3", ["2/1", "2"]), ("다음 2조", "2", ["3", "4"]),
    ("전호나목", "2/2/2", ["2/2/1-2", "2"]), ("전조", "1", []), ("전항", "2/1", []), ("전항", "3", []), ("전호", "2/2", []),
    ("다음 조", "5-2", [])])
def test_look_up_from_a_place(garden, text: str, place: str, wanted: list[str]) -> None:
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
    for text in (
        "꽃밭법 제2조", "「꽃밭법」 제2조", "새정원관리법 제2조", "정원관리법 시행규칙 제2조", "정원관리법 제99조", "정원관리법 별표 9", "그 밖의 정원에 관한 법률 제2조",
    ):
        assert heads(garden[0], text, "act", "2/1") == [], text


def test_cited_spans(garden) -> None:
    catalogue, texts = garden

    def reach(doc: str, path: str, **options) -> list[str]:
        return paths(catalogue, cited_spans(doc, Span(*catalogue.holdings[doc].spans[path]), catalogue, **options))

    assert reach("decree", "3") == ["act:3", "decree:2"]
    assert reach("decree", "3", depth=2) == ["act:3", "decree:2", "act:2", "decree:별표"]
    assert reach("decree", "3", depth=9) == reach("decree", "3", depth=2)
    assert reach("decree", "3", limit=1) == ["act:3"]
    assert reach("act", "2") == []  # cites only itself
    assert reach("act", "2/3") == ["act:2/2"]  # a clause brings the missing clause; 가목 lies in it
    assert reach("decree", "2/2") == ["decree:2/1"]
    assert reach("decree", "2/1", whole=False) == ["act:2/1", "decree:별표"]
    assert reach("act", "5", whole=False) == ["act:4", "act:3//2"]
    assert [why for *_, why in cited_spans("decree", Span(*catalogue.holdings["decree"].spans["2"]), catalogue)][
        0] == "법 제2조제1항, cited in 제2조제1항"
    assert cited_spans("nobody", Span(0, 5), catalogue) == [] == cited_spans("act", Span(0, 0), catalogue)


def test_versions_newest_first() -> None:
    old, new = ACT.replace("2031. 1. 1.", "2020. 1. 1."), ACT.replace("제5조의2", "제6조")
    for order in (("old", "new"), ("new", "old")):
        catalogue = StatuteCatalogue.from_documents(Document(id_=d, text={"old": old, "new": new}[d]) for d in order)
        assert [d for d, _ in look_up_question("정원관리법 제2조", catalogue)] == ["new"]
        assert [d for d, _ in look_up_question("정원관리법 제5조의2", catalogue)] == ["old"]
        assert [d for d, _ in look_up(find_citations("정원관리법 제2조")[0], catalogue, "old")] == ["old"]


def test_questions(garden) -> None:
    catalogue, texts = garden

    def ask(question: str, **options) -> list[str]:
        return paths(catalogue, look_up_question(question, catalogue, **options))

    assert ask("정원관리법 제2조제3항은 무엇인가?") == ["act:2/3", "act:2"]
    assert ask("정원관리법에서 나무를 심으려면 제3조에 따라야 하나?") == ["act:3"]
    assert ask("제3조를 보면 정원관리법은 누가 신고하나?") == ["act:3"]
    assert ask("정원관리법 시행령 2조와 정원관리법 3조") == ["decree:2", "act:3"]
    assert ask("정원관리법 제2조에서 제3항은?") == ["act:2", "act:2/3"]
    assert ask("제5조의2는?") == ["act:5-2"]  # only one statute holds it
    assert ask("제3조는?") == ["act:3", "decree:3"]  # two do
    assert ask("제3조는?", candidates=1) == []
    assert ask("제2조 나무의 종류") == ["decree:2"]  # the title tells which
    assert ask("제2조제2항제2호") == ["act:2/2/2", "act:2"]  # the clause tells which
    assert ask("정원관리법 나무") == ["act:2"]
    assert ask("정원관리법의 정비 신고는 어떻게 하나?") == ["act:5"]
    assert ask("다른 법률과의 관계는 몇 조인가?") == ["act:5-2"] and ask("다른 법률과의 관계는?") == []
    assert ask("꽃밭법 제3조") == ask("민법 나무") == ask("") == ask("안녕하세요") == ask("정원관리법") == []


def test_unresolved_are_reported(garden) -> None:
    found = look_ups("정원관리법 제2조와 꽃밭법 제3조", garden[0])
    assert [(r.citation.label, bool(r.targets)) for r in found] == [("「정원관리법」 제2조", True), ("「꽃밭법」 제3조", False)]


def test_sample_data(sample) -> None:
    texts = {name: (sample / "corpus" / name).read_text(encoding="utf-8") for name in (ROBOT, WORKSHOP, RULES)}
    catalogue = StatuteCatalogue.from_documents(Document(id_=k, text=v) for k, v in texts.items())
    cited = {row["query_id"]: row
             for row in map(json.loads, (sample / "questions" / "law.jsonl").read_text(encoding="utf-8").splitlines())}
    for row in cited.values():
        found = look_up_question(row["query"], catalogue)
        if found:
            assert any(e["text"] in s.of(texts[d]) for e in row["evidence"] for d, s in found if d == e["doc_id"]), row[
                "query"]
    assert all(look_up(r, catalogue, WORKSHOP, catalogue.place(WORKSHOP, r.span.start))
               for r in catalogue.cited_by(WORKSHOP, Span(0, len(texts[WORKSHOP]))) if r.law not in ("형법",))


@pytest.mark.heavy
def test_gold_of_real_statutes() -> None:
    folder = shared_data("ko_statutes")
    rows = [json.loads(line) for line in (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()]
    catalogue = StatuteCatalogue.from_documents(
        Document(id_=r["doc_id"], text=r["text"], metadata={"title": r["title"]}) for r in rows)
    right, n = 0, 0
    for row in map(json.loads, (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()):
        found, gold = look_up_question(row["query"], catalogue), row["evidence"][0]
        n += 1
        right += (bool(found) and found[0][0] == row["doc_id"] and abs(found[0][1].start - gold["start"]) < 3
                  and abs(found[0][1].end - gold["end"]) < 3)
    assert right / n > 0.99
