"""Evaluation: measures against sets of characters, and question files whose mistakes are named line by line."""
from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from conftest import SAMPLE
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from ragnb.evaluate import Evaluation, Evidence, Question, Score, evaluate, load_questions, resolve_quote, score_passages
from ragnb.ingest import read_documents
from ragnb.span import InputError, Passage, Span

# --- measures -------------------------------------------------------------------------------------------------------------------------

TEXT = "가나다라마바사아자차카타파하" * 3


def passage(doc_id: str, start: int, end: int) -> Passage:
    return Passage(doc_id, Span(start, end), TEXT[start:end])


def question(*places: tuple[str, int, int], mode: str = "any") -> Question:
    return Question("q", "?", tuple(Evidence(d, Span(a, b), TEXT[a:b]) for d, a, b in places), mode)


pairs = st.tuples(st.integers(0, len(TEXT)), st.integers(0, len(TEXT))).map(sorted)
places = st.tuples(st.sampled_from("ab"), pairs).map(lambda p: (p[0], *p[1]))


@examples(300)
@given(st.lists(places, max_size=6), st.lists(places.filter(lambda p: p[1] < p[2]), min_size=1, max_size=4), st.sampled_from(["any", "all"]))
def test_measures_are_those_of_character_sets(context, evidence, mode):
    score = score_passages([passage(*p) for p in context], question(*evidence, mode=mode))
    def characters(spans):
        return {(d, i) for d, a, b in spans for i in range(a, b)}
    have, gold = characters(context), characters(evidence)
    recall = len(have & gold) / len(gold) if mode == "all" else max(len(have & characters([e])) / len(characters([e])) for e in evidence)
    assert score.recall == pytest.approx(recall) and 0 <= score.recall <= 1
    assert score.precision == pytest.approx(len(have & gold) / len(have) if have else 0.0) and 0 <= score.precision <= 1
    assert score.contained == (gold <= have if mode == "all" else any(characters([e]) <= have for e in evidence))
    assert score.characters == len(have)


def test_an_empty_context_scores_zero():
    for mode in ("any", "all"):
        assert score_passages([], question(("a", 0, 5), mode=mode)) == Score("q", 0.0, 0.0, False, 0)
    assert evaluate(lambda q: [], [question(("a", 0, 5))]).mean("recall") == 0


def test_what_stands_twice_counts_once():
    once = [passage("a", 0, 10)]
    assert score_passages(once * 3, question(("a", 5, 15))) == score_passages(once, question(("a", 5, 15)))
    assert score_passages([passage("a", 0, 6), passage("a", 4, 10)], question(("a", 5, 15))) == score_passages(once, question(("a", 5, 15)))


def test_evidence_that_overlaps_is_no_way_to_a_precision_above_one():
    score = score_passages([passage("a", 0, 10)], question(("a", 0, 10), ("a", 5, 10), mode="all"))
    assert (score.recall, score.precision) == (1.0, 1.0)


def test_any_and_all():
    context = [passage("a", 0, 5)]
    assert score_passages(context, question(("a", 0, 5), ("b", 0, 15))).recall == 1
    both = score_passages(context, question(("a", 0, 5), ("b", 0, 15), mode="all"))
    assert (both.recall, both.contained) == (0.25, False)


def test_the_same_offsets_of_another_document_are_another_place():
    assert score_passages([passage("b", 0, 5)], question(("a", 0, 5))).recall == 0


def test_means_and_summary():
    result = Evaluation([Score("1", 1.0, 0.5, True, 100), Score("2", 0.0, 0.0, False, 51)])
    assert result.summary() == {"questions": 2, "recall": 0.5, "precision": 0.25, "contained": 0.5, "characters": 76}
    assert Evaluation().summary() == {"questions": 0, "recall": 0.0, "precision": 0.0, "contained": 0.0, "characters": 0}


def test_every_question_is_asked_once_in_order():
    asked = []
    questions = [Question(str(i), f"질문 {i}", question(("a", 0, 5)).evidence) for i in range(5)]
    result = evaluate(lambda q: asked.append(q) or [passage("a", 0, len(asked))], questions)
    assert asked == [q.query for q in questions]
    assert [(s.query_id, s.recall) for s in result.scores] == [(str(i), (i + 1) / 5) for i in range(5)]


# --- question files -------------------------------------------------------------------------------------------------------------------

DOCUMENTS = {"d": "연차는 15일이다. 반차는 4시간이다. 끝.", "e": "다른 문서다."}
GOOD = {"query_id": "1", "query": "연차는?", "evidence": [{"doc_id": "d", "text": "15일"}]}


def write(path: Path, *records: object) -> Path:
    path.write_text("\n".join(r if isinstance(r, str) else json.dumps(r, ensure_ascii=False) for r in records), encoding="utf-8")
    return path


@pytest.mark.parametrize("text, quote, complaint", [
    ("가나", "다", "not in the document"), ("가나", "", "not in the document"), ("가나가나", "가나", "more than once"), ("aaa", "aa", "more than once"),
])
def test_a_quote_must_have_one_place(text, quote, complaint):
    with pytest.raises(InputError, match=complaint):
        resolve_quote(text, quote)
    assert resolve_quote("xx" + text + quote + "끝", quote + "끝").of("xx" + text + quote + "끝") == quote + "끝"


BAD = {
    "not JSON": ("{not json", "Expecting property name"),
    "not an object": ([1], "a question is a JSON object, got list"),
    "no id": (GOOD | {"query_id": ""}, "needs 'query_id'"),
    "no query": (GOOD | {"query": " "}, "needs 'query'"),
    "query is a number": (GOOD | {"query": 5}, "needs 'query'"),
    "no evidence": ({k: v for k, v in GOOD.items() if k != "evidence"}, "needs 'evidence'"),
    "empty evidence": (GOOD | {"evidence": []}, "needs 'evidence'"),
    "evidence is text": (GOOD | {"evidence": ["15일"]}, "needs 'evidence'"),
    "unknown document": (GOOD | {"evidence": [{"doc_id": "x", "text": "15일"}]}, "a document that is not there: 'x'"),
    "document missing": (GOOD | {"evidence": [{"text": "15일"}]}, "a document that is not there: 'None'"),
    "quote absent": (GOOD | {"evidence": [{"doc_id": "d", "text": "16일"}]}, "not in the document: '16일'"),
    "quote empty": (GOOD | {"evidence": [{"doc_id": "d"}]}, "not in the document: ''"),
    "quote ambiguous": (GOOD | {"evidence": [{"doc_id": "d", "text": "차는"}]}, "more than once, make it longer: '차는'"),
    "quote is a number": (GOOD | {"evidence": [{"doc_id": "d", "text": 15}]}, "must be str"),
    "offsets outside": (GOOD | {"evidence": [{"doc_id": "e", "start": 0, "end": 99}]}, "offsets 0 to 99"),
    "offsets empty": (GOOD | {"evidence": [{"doc_id": "e", "start": 3, "end": 3}]}, "offsets 3 to 3"),
    "offsets reversed": (GOOD | {"evidence": [{"doc_id": "e", "start": 3, "end": 1}]}, "start=3, end=1"),
    "offsets negative": (GOOD | {"evidence": [{"doc_id": "e", "start": -3, "end": 1}]}, "start=-3"),
    "offsets against the quote": (GOOD | {"evidence": [{"doc_id": "d", "start": 0, "end": 3, "text": "15일"}]}, "offsets 0 to 3 do not hold '15일' in 'd'"),
    "one offset": (GOOD | {"evidence": [{"doc_id": "d", "start": 0, "text": "15일"}]}, "need both 'start' and 'end'"),
    "offsets are text": (GOOD | {"evidence": [{"doc_id": "d", "start": "0", "end": "3"}]}, "not supported between"),
    "offsets are fractions": (GOOD | {"evidence": [{"doc_id": "d", "start": 0.5, "end": 3.5}]}, "slice indices must be integers"),
    "unknown mode": (GOOD | {"evidence_mode": "most"}, "evidence_mode must be 'any' or 'all', got 'most'"),
    "id used twice": (GOOD | {"query_id": "0"}, "question id '0' is used twice"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_is_named(tmp_path, name):
    record, complaint = BAD[name]
    path = write(tmp_path / "questions.jsonl", GOOD | {"query_id": "0"}, "", record)
    with pytest.raises(InputError, match=f"1 bad question lines:\nquestions.jsonl:3: .*{re.escape(complaint)}"):
        load_questions(path, DOCUMENTS)


def test_all_bad_lines_of_all_files_are_named_at_once(tmp_path):
    write(tmp_path / "a.jsonl", "{", GOOD, GOOD)
    write(tmp_path / "b.jsonl", GOOD | {"query_id": "2"}, GOOD, GOOD | {"query_id": "3", "evidence": None})
    with pytest.raises(InputError) as caught:
        load_questions(tmp_path, DOCUMENTS)
    assert [line.split(": ")[0] for line in str(caught.value).splitlines()] == ["4 bad question lines:", "a.jsonl:1", "a.jsonl:3", "b.jsonl:2", "b.jsonl:3"]


def test_a_line_that_is_not_utf8_is_named(tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_bytes(json.dumps(GOOD).encode() + b"\n" + json.dumps(GOOD | {"query_id": "2", "query": "연차"}, ensure_ascii=False).encode("cp949"))
    with pytest.raises(InputError, match="q.jsonl:2: .*utf-8"):
        load_questions(path, DOCUMENTS)


def test_good_files_however_they_were_saved(tmp_path):
    lines = [json.dumps(GOOD | {"query_id": i}, ensure_ascii=False) for i in (1, 2)]
    expected = None
    for n, data in enumerate(("\n".join(lines).encode(), "\r\n".join(lines).encode() + b"\r\n", b"\xef\xbb\xbf" + "\n\n".join(lines).encode(), json.dumps(GOOD | {"query_id": 1}).encode() + b"\n" + lines[1].encode())):
        (tmp_path / f"{n}.jsonl").write_bytes(data)
        questions = load_questions(tmp_path / f"{n}.jsonl", DOCUMENTS)
        assert [q.query_id for q in questions] == ["1", "2"]
        expected = expected or questions
        assert questions == expected


def test_a_record_in_full(tmp_path):
    record = {"query_id": "x", "query": "둘 다?", "doc_id": "d", "answer": "15일, 4시간", "kind": "two-places", "evidence_mode": "all",
              "evidence": [{"text": "15일"}, {"start": 15, "end": 18, "text": "4시간"}, {"doc_id": "e", "start": 0, "end": 2}]}
    (q,) = load_questions(write(tmp_path / "q.jsonl", record), DOCUMENTS)
    assert q == Question("x", "둘 다?", (Evidence("d", Span(4, 7), "15일"), Evidence("d", Span(15, 18), "4시간"), Evidence("e", Span(0, 2), "다른")), "all", "15일, 4시간", "two-places")


@pytest.mark.parametrize("name", ["absent.jsonl", "empty"])
def test_no_question_file(tmp_path, name):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no question file"):
        load_questions(tmp_path / name, DOCUMENTS)


# --- the sample data ------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def corpus() -> dict[str, str]:
    problems: list = []
    documents = {d.id_: d.text for d in read_documents(SAMPLE / "corpus", problems)}
    assert problems == []
    return documents


def test_every_question_of_the_sample_resolves(corpus):
    questions = load_questions(SAMPLE / "questions", corpus)
    for q in questions:
        assert q.query and q.answer and q.kind and q.evidence
        for e in q.evidence:
            assert corpus[e.doc_id][e.span.start:e.span.end] == e.text and corpus[e.doc_id].count(e.text) == 1
    assert len(questions) == sum(1 for f in (SAMPLE / "questions").glob("*.jsonl") for line in f.read_text(encoding="utf-8").splitlines() if line)


def test_the_numbers_of_the_data_readme_are_true(corpus):
    readme = (SAMPLE / "README.md").read_text(encoding="utf-8")
    characters, documents, n, near, two = re.search(
        r"About ([\d,]+) characters in (\d+) documents, and (\d+) questions\. Of these, (\d+) are of kind `neighbour` .* and (\d+) need two places", readme).groups()
    questions = load_questions(SAMPLE / "questions", corpus)
    assert (int(documents), int(n)) == (len(corpus), len(questions))
    assert abs(sum(map(len, corpus.values())) - int(characters.replace(",", ""))) < 1_000
    assert Counter(q.kind for q in questions)["neighbour"] == int(near)
    assert sum(q.mode == "all" and len(q.evidence) > 1 for q in questions) == int(two)
    named = re.findall(r"├── (\w+)/|└── (\w+)/", readme)
    assert {a or b for a, b in named} - {"corpus", "questions"} == {f.name for f in (SAMPLE / "corpus").iterdir()}


def test_gold_evidence_scores_full_marks(corpus):
    questions = load_questions(SAMPLE / "questions", corpus)
    by_query = {q.query: [Passage(e.doc_id, e.span, e.text) for e in q.evidence] for q in questions}
    result = evaluate(by_query.__getitem__, questions)
    assert len(by_query) == len(questions), "two questions read the same"
    assert (result.mean("recall"), result.mean("precision"), result.mean("contained")) == (1, 1, 1)
