"""Question sets: every format read into one shape, every bad line named, what is written reads back the same."""
from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path

import pytest
from conftest import SAMPLE, shared_data
from hypothesis import given, strategies as st
from llama_index.core.schema import Document
from strategies import examples

from ragnb.documents.files import read_documents
from ragnb.documents.problems import Problem
from ragnb.documents.forms import plain_text
from ragnb.documents.span import InputError, Span
from ragnb.evaluation.datasets import (Dataset, Evidence, find_quote, load_autorag, load_beir, load_dataset, load_jsonl,
                                       load_qrels, load_questions, load_squad, Question, quote_places, write_questions)

DOCUMENTS = {"d": "연차는 15일이다. 반차는 4시간이다. 끝.", "e": "다른 문서다."}
GOOD = {"query_id": "1", "query": "연차는?", "evidence": [{"doc_id": "d", "text": "15일"}]}
PLACE = {"doc_id": "d", "start": 4, "end": 7}


def write(path: Path, *records: object) -> Path:
    path.write_text("\n".join(r if isinstance(r, str) else json.dumps(r, ensure_ascii=False) for r in records), encoding="utf-8")
    return path


def evidence(**changes: object) -> dict:
    return GOOD | {"evidence": [PLACE | changes]}


# --- quotes
@pytest.mark.parametrize("text, quote, complaint", [
    ("가나", "다", "not in the document"), ("가나", "", "not in the document"), ("가나가나", "가나", "more than once"),
    ("aaa", "aa", "more than once")])
def test_a_quote_must_have_one_place(text, quote, complaint):
    with pytest.raises(InputError, match=complaint):
        find_quote(text, quote)
    assert find_quote("xx" + text + quote + "끝", quote + "끝").of("xx" + text + quote + "끝") == quote + "끝"


@pytest.mark.parametrize(("text", "quote", "exact", "tolerant"), [
    ("하나 둘  셋\n넷. 다섯.", "둘 셋 넷", [], ["둘  셋\n넷"]), ("하나 둘. 다섯(5)*.", "다섯(5)*", ["다섯(5)*"], ["다섯(5)*"]),
    ("하나 둘.", "셋", [], []), ("하나", "", [], []), ("하나", " \n", [], []),
    ("둘 셋. 둘\n셋.", "둘 셋", ["둘 셋"], ["둘 셋"]),  # an exact place is preferred
    ("aaa", "aa", ["aa", "aa"], ["aa", "aa"])])
def test_every_place_of_a_quote(text, quote, exact, tolerant):
    assert [s.of(text) for s in quote_places(text, quote)] == exact
    assert [s.of(text) for s in quote_places(text, quote, tolerant=True)] == tolerant


@examples(200)
@given(st.text(alphabet="가나 \n\u3000b.", max_size=40), st.data())
def test_a_tolerant_quote_is_its_slice_with_other_white_space(text, data):
    words = text.split()
    if not words:
        return
    first = data.draw(st.integers(0, len(words) - 1))
    quote = data.draw(st.sampled_from([" ", "\n", " \t "])).join(words[first : data.draw(st.integers(first + 1, len(words)))])
    places = quote_places(text, quote, tolerant=True)
    assert places and all(s.of(text).split() == quote.split() for s in places)


# --- broken question files
BAD = {
    "not JSON": ("{not json", "not JSON (Expecting property name"),
    "not an object": ([1], "a JSON object is needed, got list"),
    "nested too deeply": ("[" * 100_000, "not JSON that can be read"),
    "no id": (GOOD | {"query_id": ""}, "needs 'query_id'"),
    "id is a truth value": (GOOD | {"query_id": True}, "needs 'query_id' (text or a whole number), got True"),
    "id is a list": (GOOD | {"query_id": ["1"]}, "needs 'query_id'"),
    "no query": (GOOD | {"query": " "}, "needs 'query'"),
    "query is a number": (GOOD | {"query": 5}, "needs 'query' (a string that is not empty), got 5"),
    "no evidence": ({k: v for k, v in GOOD.items() if k != "evidence"}, "needs 'evidence'"),
    "empty evidence": (GOOD | {"evidence": []}, "needs 'evidence'"),
    "evidence is text": (GOOD | {"evidence": ["15일"]}, "needs 'evidence'"),
    "unknown document": (evidence(doc_id="x"), "a document that is not there: 'x'"),
    "document missing": (GOOD | {"evidence": [{"text": "15일"}]}, "evidence names no document"),
    "quote absent": (GOOD | {"evidence": [{"doc_id": "d", "text": "16일"}]}, "not in the document: '16일'"),
    "quote empty": (GOOD | {"evidence": [{"doc_id": "d"}]}, "evidence needs 'text' (a quote) or 'start' and 'end', it has 'doc_id'"),
    "quote ambiguous": (GOOD | {"evidence": [{"doc_id": "d", "text": "차는"}]}, "more than once, make it longer: '차는'"),
    "quote is a number": (GOOD | {"evidence": [{"doc_id": "d", "text": 15}]}, "evidence 'text' must be a string, got 15"),
    "offsets outside": (evidence(end=99), "offsets 4 to 99 are outside the text of 'd' (24 characters)"),
    "offsets one too far": (evidence(end=25), "offsets 4 to 25 are outside the text of 'd' (24 characters)"),
    "offsets empty": (evidence(start=3, end=3), "offsets 3 to 3 hold nothing"),
    "offsets reversed": (evidence(start=3, end=1), "offsets 3 to 1 are outside"),
    "offsets negative": (evidence(start=-3), "offsets -3 to 7 are outside"),
    "offsets against the quote": (evidence(start=0, end=3, text="15일"), "offsets 0 to 3 of 'd' do not hold '15일' but '연차는'"),
    "no end": ({k: v for k, v in GOOD.items()} | {"evidence": [{"doc_id": "d", "start": 0, "text": "15일"}]}, "need both 'start' and 'end'"),
    "end is null": (evidence(end=None), "need both 'start' and 'end'"),
    "offsets are text": (evidence(start="4", end="7"), "evidence 'start' must be a whole number, got '4'"),
    "offsets are fractions": (evidence(end=7.0), "evidence 'end' must be a whole number, got 7.0"),
    "offsets are truth values": (evidence(start=True), "evidence 'start' must be a whole number, got True"),
    "offsets are NaN": ('{"query_id": "1", "query": "?", "evidence": [{"doc_id": "d", "start": NaN, "end": 3}]}',
                        "evidence 'start' must be a whole number, got nan"),
    "unknown mode": (GOOD | {"evidence_mode": "most"}, "evidence_mode must be 'any' or 'all', got 'most'"),
    "id used twice": (GOOD | {"query_id": "0"}, "the question id '0' was already used in questions.jsonl:1")}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_is_named(tmp_path, name):
    record, complaint = BAD[name]
    path = write(tmp_path / "questions.jsonl", GOOD | {"query_id": "0"}, "", record, GOOD | {"query_id": "9"})
    with pytest.raises(InputError, match=rf"\A1 problem in the data:\nquestions.jsonl:3: .*{re.escape(complaint)}"):
        load_questions(path, DOCUMENTS)
    problems: list[Problem] = []
    assert [q.query_id for q in load_questions(path, DOCUMENTS, problems=problems)] == ["0", "9"]
    assert [p.where for p in problems] == ["questions.jsonl:3"] and complaint in problems[0].what


def test_a_line_that_is_not_utf8_is_named(tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_bytes(json.dumps(GOOD).encode() + b"\n"
                     + json.dumps(GOOD | {"query_id": "2", "query": "연차"}, ensure_ascii=False).encode("cp949"))
    with pytest.raises(InputError, match=r"q.jsonl:2: not UTF-8 \(byte \d+ of the line\)"):
        load_questions(path, DOCUMENTS)
    path.write_bytes(json.dumps(GOOD).encode("utf-16"))
    with pytest.raises(InputError, match="q.jsonl is UTF-16: save it as UTF-8"):
        load_questions(path, DOCUMENTS)


def test_good_files_however_they_were_saved(tmp_path):
    lines = [json.dumps(GOOD | {"query_id": i}, ensure_ascii=False) for i in (1, 2)]
    expected = None
    for n, data in enumerate(("\n".join(lines).encode(), "\r\n".join(lines).encode() + b"\r\n",
                              b"\xef\xbb\xbf" + "\n\n".join(lines).encode(),
                              json.dumps(GOOD | {"query_id": 1}).encode() + b"\n" + lines[1].encode())):
        (tmp_path / f"{n}.jsonl").write_bytes(data)
        questions = load_questions(tmp_path / f"{n}.jsonl", DOCUMENTS)
        assert [q.query_id for q in questions] == ["1", "2"]
        expected = expected or questions
        assert questions == expected


def test_a_record_in_full(tmp_path):
    record = {
        "query_id": "x", "query": "둘 다?", "doc_id": "d", "answer": "15일, 4시간", "kind": "two-places",
        "evidence_mode": "all",
        "evidence": [{"text": "15일"}, {"start": 15, "end": 18, "text": "4시간"}, {"doc_id": "e", "start": 0, "end": 2}]}
    (q,) = load_questions(write(tmp_path / "q.jsonl", record), DOCUMENTS)
    assert q == Question(
        "x", "둘 다?",
        (Evidence("d", Span(4, 7), "15일"), Evidence("d", Span(15, 18), "4시간"), Evidence("e", Span(0, 2), "다른")),
        "all", "15일, 4시간", "two-places")


@pytest.mark.parametrize("name", ["absent.jsonl", "empty"])
def test_no_question_file(tmp_path, name):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no question file"):
        load_questions(tmp_path / name, DOCUMENTS)


# --- broken corpora
RECORD = {"doc_id": "d", "title": "휴가", "text": DOCUMENTS["d"]}
BAD_DOCUMENT = {
    "not JSON": ("{", "not JSON (Expecting property name"),
    "not an object": ('"d"', "a JSON object is needed, got str"),
    "no id": ({"text": "가"}, "a document needs 'doc_id'"),
    "empty id": ({"doc_id": "", "text": "가"}, "a document needs 'doc_id'"),
    "id is a list": ({"doc_id": [1], "text": "가"}, "the id must be text or a number, got [1]"),
    "id is a truth value": ({"doc_id": True, "text": "가"}, "the id must be text or a number, got True"),
    "no text": ({"doc_id": "x"}, "needs 'text'"), "text is a number": ({"doc_id": "x", "text": 5}, "needs 'text'"),
    "text is a list": ({"doc_id": "x", "text": ["가"]}, "needs 'text'"),
    "title is a number": ({"doc_id": "x", "text": "가", "title": 5}, "'title' must be a string, got 5"),
    "id used twice": ({"doc_id": "d", "text": "가"}, "the document id 'd' was already used in corpus.jsonl:1")}


@pytest.mark.parametrize("name", BAD_DOCUMENT)
def test_a_bad_document_is_named(tmp_path, name):
    record, complaint = BAD_DOCUMENT[name]
    corpus, questions = write(tmp_path / "corpus.jsonl", RECORD, record), write(tmp_path / "q.jsonl", GOOD)
    with pytest.raises(InputError, match=rf"1 problem in the data:\ncorpus.jsonl:2: .*{re.escape(complaint)}"):
        load_jsonl(corpus, questions)
    problems: list[Problem] = []
    assert list(load_jsonl(corpus, questions, problems=problems).documents) == ["d"] and len(problems) == 1


def test_problems_of_all_three_files_come_together(tmp_path):
    corpus = write(tmp_path / "corpus.jsonl", RECORD, "{", RECORD)
    questions = write(tmp_path / "queries.jsonl", {"query_id": 1, "query": "가?"}, {"query_id": 1, "query": "나?"},
                      evidence(start=-1) | {"query_id": 3})
    qrels = tmp_path / "qrels.tsv"
    qrels.write_text("query-id\tcorpus-id\tscore\n1\td\t1\n1\tx\t1\n7\td\t1\n1\td\t2\n1\td\n1\td\t1.5\n1\te\tNaN\n"
                     "1\t\t1\n1\td\tinf\n1\td\t1.0\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_jsonl(corpus, questions, qrels)
    lines = str(caught.value).splitlines()
    assert lines[0] == "12 problems in the data:"
    assert [line.split(": ")[0] for line in lines[1:]] == [
        "corpus.jsonl:2", "corpus.jsonl:3", "queries.jsonl:2", "queries.jsonl:3",
        *(f"qrels.tsv:{n}" for n in range(3, 11))]
    for line, complaint in zip(
        lines[5:],
        ("a document that is not there: 'x'", "a question that is not there: '7'",
         "judged twice for question '1': 1 and 2", "expected a question id, a document id and a score",
         "whole number, got '1.5'", "whole number, got 'NaN'", "expected a question id", "whole number, got 'inf'"),
        strict=True,
    ):
        assert complaint in line
    problems: list[Problem] = []
    assert load_jsonl(corpus, questions, qrels, problems=problems).qrels == {"1": {"d": 1}} and len(problems) == 12


@pytest.mark.parametrize("empty", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
def test_an_empty_or_absent_file_is_no_data_set(tmp_path, empty):
    write(tmp_path / "corpus.jsonl", RECORD), write(tmp_path / "queries.jsonl", GOOD)
    (tmp_path / "qrels.tsv").write_text("1\td\t1\n")
    paths = [tmp_path / n for n in ("corpus.jsonl", "queries.jsonl", "qrels.tsv")]
    assert load_jsonl(*paths).qrels == {"1": {"d": 1}}
    (tmp_path / empty).write_text("\n \r\n" if empty != "qrels.tsv" else "query-id\tcorpus-id\tscore\n")
    for problems in (None, []):
        with pytest.raises(InputError, match=f"{empty}: holds no|has (0|1) documents? and (0|1) questions?"):
            load_jsonl(*paths, problems=problems)
    (tmp_path / empty).unlink()
    with pytest.raises(InputError, match=empty):
        load_jsonl(*paths)


def test_documents_without_text_are_left_out_and_counted(tmp_path):
    corpus = write(tmp_path / "corpus.jsonl", RECORD, {"doc_id": "b", "text": " \n"}, {"doc_id": "c", "text": ""})
    questions, qrels = (write(tmp_path / "q.jsonl", {"query_id": "1", "query": "?"}, {"query_id": "2", "query": "?"}),
                        write(tmp_path / "qrels.tsv", "1\td\t1", "1\tb\t2"))
    data = load_jsonl(corpus, questions, qrels)
    assert list(data.documents) == ["d"] and data.qrels == {"1": {"d": 1, "b": 2}} and [q.query_id for q in data.questions] == ["1"]
    assert data.notes == ("documents without text, left out: 2", "questions without qrels, left out: 1")
    with pytest.raises(InputError, match="outside the text of 'b'"):
        load_jsonl(corpus, write(tmp_path / "r.jsonl", evidence(doc_id="b")))


# --- qrels
@pytest.mark.parametrize("data", [b"query-id\tcorpus-id\tscore\n1\td one\t2\n2\te\t-1\n",
                                  b"\xef\xbb\xbfquery-id\tcorpus-id\tscore\r\n1\td one\t2\r\n2\te\t-1",
                                  b"1\td one\t2.0\n\n1\td one\t2\n2\te\t-1\n", b"1\t0\td one\t2\n2\tQ0\te\t-1\n"])
def test_qrels_however_they_were_saved(tmp_path, data):
    (tmp_path / "qrels.tsv").write_bytes(data)
    assert load_qrels(tmp_path / "qrels.tsv") == {"1": {"d one": 2}, "2": {"e": -1}}


def test_trec_qrels_and_wrong_encodings(tmp_path):
    (tmp_path / "t.qrels").write_bytes("1 0 문서 3\n".encode() + "2 0 문서 1\n".encode("cp949") + b"3 0 x 1\n")
    with pytest.raises(InputError, match=r"1 problem in the data:\nt.qrels:2: not UTF-8"):
        load_qrels(tmp_path / "t.qrels")
    problems: list[Problem] = []
    assert load_qrels(tmp_path / "t.qrels", problems=problems) == {"1": {"문서": 3}, "3": {"x": 1}}


# --- the set itself
words = st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=12)
texts = st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=60).filter(str.strip)


@st.composite
def datasets(draw: st.DrawFn, judged: bool) -> Dataset:
    """Any documents, questions with evidence anywhere in them, and perhaps qrels."""
    ids = draw(st.lists(words.filter(lambda w: w == w.strip() and not set(w) & set("\t\r\n")), min_size=1, max_size=4, unique=True))
    documents = {i: Document(text=draw(texts), id_=i, metadata={"title": plain_text(draw(words))}) for i in ids}
    questions = []
    for query_id in draw(st.lists(
        words.filter(lambda w: w == w.strip() and not set(w) & set("\t\r\n")), min_size=1, max_size=4, unique=True
    )):
        pieces = []
        for i in draw(st.lists(st.sampled_from(ids), min_size=0 if judged else 1, max_size=3)):
            start = draw(st.integers(0, len(documents[i].text) - 1))
            span = Span(start, draw(st.integers(start + 1, len(documents[i].text))))
            pieces.append(Evidence(i, span, span.of(documents[i].text)))
        questions.append(Question(query_id, draw(texts), tuple(pieces), draw(st.sampled_from(["any", "all"])),
                                  draw(st.text(alphabet=st.characters(codec="utf-8"), max_size=5)), draw(words)))
    grades = st.dictionaries(st.sampled_from(ids), st.integers(-1, 3), min_size=1)
    return Dataset("set", documents, questions, {q.query_id: draw(grades) for q in questions} if judged else None)


def saved(data: Dataset, folder: Path) -> Path:
    """A set as files."""
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "corpus.jsonl", *({"doc_id": d.id_, "text": d.text} | d.metadata for d in data.documents.values()))
    write_questions(folder / "queries.jsonl", data.questions)
    if data.qrels is not None:
        rows = [f"{q}\t{d}\t{grade}" for q, judged in data.qrels.items() for d, grade in judged.items()]
        write(folder / "qrels.tsv", "query-id\tcorpus-id\tscore", *rows)
    return folder


@examples(60)
@given(st.booleans().flatmap(datasets))
def test_what_is_written_reads_back_the_same(tmp_path_factory, data):
    folder = saved(data, tmp_path_factory.mktemp("set"))
    again = load_dataset(folder)
    assert again.questions == data.questions and again.qrels == data.qrels and again.texts == data.texts
    assert again.version == data.version and {i: d.metadata["title"] for i, d in again.documents.items()} == {
        i: d.metadata["title"] for i, d in data.documents.items()}
    assert load_questions(write_questions(folder / "again.jsonl", data.questions), data.texts, needs_evidence=False) == data.questions


def small() -> Dataset:
    documents = {i: Document(text=t, id_=i) for i, t in DOCUMENTS.items()}
    questions = [Question(str(n), f"{n}?", (Evidence("d", Span(4, 7), "15일"),), kind="ab"[n % 2]) for n in range(40)]
    return Dataset("small", documents, questions, {str(n): {"d": 1} for n in range(40)})


def test_the_version_is_of_the_content_and_not_of_the_order():
    from dataclasses import replace

    data = small()
    assert re.fullmatch("[0-9a-f]{12}", data.version)
    assert (replace(data, questions=data.questions[::-1], documents=dict(reversed(data.documents.items())), name="other").version
            == data.version)
    changed = [
        replace(data, questions=data.questions[1:]), replace(data, qrels=None),
        replace(data, qrels=data.qrels | {"0": {"d": 2}}),
        replace(data, documents=data.documents | {"f": Document(text="새", id_="f")}),
        replace(data, questions=[replace(data.questions[0], mode="all"), *data.questions[1:]]),
        replace(data, documents=data.documents | {"e": Document(text=DOCUMENTS["e"], id_="e", metadata={"title": "x"})}),
    ]
    assert len({d.version for d in [data, *changed]}) == 7


def test_a_sample_is_the_same_everywhere_and_grows():
    data = small()
    assert [q.query_id for q in data.limit(6).questions] == ["7", "15", "18", "20", "25", "36"]
    ids = [{q.query_id for q in data.limit(n).questions} for n in (5, 10, 39)]
    part = data.limit(5)
    assert ids[0] < ids[1] < ids[2] and set(part.qrels) == ids[0] and part.documents is data.documents
    assert [q for q in data.questions if q in part.questions] == part.questions
    assert data.limit(40) is data and data.limit(None) is data


# --- BEIR
@pytest.fixture
def beir(tmp_path) -> Path:
    folder = tmp_path / "hill"
    (folder / "qrels").mkdir(parents=True)
    write(folder / "corpus.jsonl",
          {"_id": "d1", "title": "Hill", "text": "The hill is 90 m high.", "metadata": {"year": 1990}},
          {"_id": "d2", "title": "", "text": "A mill."}, {"_id": "d3", "title": "Empty", "text": ""},
          {"_id": "d4", "title": "", "text": ""})
    write(folder / "queries.jsonl", {"_id": "q1", "text": "How high?", "metadata": {}}, {"_id": "q2", "text": "Which mill?"})
    write(folder / "qrels" / "test.tsv", "query-id\tcorpus-id\tscore", "q1\td1\t2", "q1\td4\t0")
    write(folder / "qrels" / "train.tsv", "query-id\tcorpus-id\tscore", "q2\td2\t1")
    return folder


def test_beir(beir):
    data = load_dataset(beir)
    assert data.name == "hill" and data.texts == {"d1": "Hill\n\nThe hill is 90 m high.", "d2": "A mill.", "d3": "Empty"}
    assert data.questions == [Question("q1", "How high?", ())] and data.qrels == {"q1": {"d1": 2, "d4": 0}}
    assert data.notes == ("documents without text, left out: 1", "questions without qrels, left out: 1")
    assert data.documents["d1"].metadata["title"] == "Hill" and data.documents["d1"].metadata["year"] == 1990
    assert [q.query_id for q in load_dataset(beir, split="train").questions] == ["q2"]
    with pytest.raises(InputError, match="split 'dev' is not in .*; it has: test, train"):
        load_beir(beir, "dev")


def test_a_beir_folder_with_mistakes(beir):
    with (beir / "corpus.jsonl").open("a") as f:
        f.write('\n{"title": "no id", "text": "x"}\n')
    with (beir / "queries.jsonl").open("a") as f:
        f.write('\n{"_id": "q3"}\n{"_id": "q1", "text": "again"}')
    with (beir / "qrels" / "test.tsv").open("a") as f:
        f.write("\nq3\td1\t1\nq2\td9\t1")
    problems: list[Problem] = []
    assert len(load_beir(beir, problems=problems).questions) == 1
    assert [p.where for p in problems] == ["corpus.jsonl:5", "queries.jsonl:3", "queries.jsonl:4", "test.tsv:4", "test.tsv:5"]
    with pytest.raises(InputError, match="5 problems"):
        load_beir(beir)


# --- SQuAD and KorQuAD
ONE, TWO = "물푸레다리는 1402년에 놓였다. 길이는 31미터다.", "등불은 열두 개다. 😀 등불지기는 둘이다."


def answer(context: str, text: str, shift: int = 0) -> dict:
    return {"text": text, "answer_start": context.index(text) + shift}


def squad(**changes: object) -> dict:
    return {"version": "v2.0", "data": [
        {"title": "다리", "paragraphs": [
            {"context": ONE, "qas": [{"id": "a", "question": "언제?",
                                      "answers": [answer(ONE, "1402년"), answer(ONE, "1402년에"), answer(ONE, "1402년")]}]},
            {"context": TWO, "qas": [
                {"id": "b", "question": "몇 사람?", "answers": [answer(TWO, "둘")], "is_impossible": False},
                {"id": "c", "question": "누가?", "answers": [], "is_impossible": True, "plausible_answers": [answer(TWO, "등불지기")]},
            ]}]},
        {"title": "다리", "paragraphs": [{"context": "다른 다리.", "qas": [
            {"id": "d", "question": "무슨 다리?", "answers": [{"text": "다른", "answer_start": 0}], **changes}]}]}]}


def test_squad(tmp_path):
    path = write(tmp_path / "bridges.json", squad())
    data = load_dataset(path)
    assert data.name == "bridges" and data.texts == {"다리": f"{ONE}\n\n{TWO}", "다리-2": "다른 다리."}
    assert [(q.query_id, q.answer, q.mode, [e.text for e in q.evidence]) for q in data.questions] == [
        ("a", "1402년", "any", ["1402년", "1402년에"]), ("b", "둘", "any", ["둘"]), ("d", "다른", "any", ["다른"])]
    assert all(e.span.of(data.texts[e.doc_id]) == e.text for q in data.questions for e in q.evidence)
    assert data.notes == ("questions without an answer, left out: 1",) and data.documents["다리-2"].metadata["title"] == "다리"


@pytest.mark.parametrize("changes, complaint", [
    ({"answers": [{"text": "다른", "answer_start": 1}]}, "do not hold '다른' but '른 '"),
    ({"answers": [{"text": "다른", "answer_start": "0"}]}, "whole number, got '0'"),
    ({"answers": [{"text": "다른"}]}, "need both"), ({"answers": "다른"}, "needs 'evidence'"),
    ({"answers": None}, "needs 'evidence'"), ({"question": ""}, "needs 'query'"),
    ({"id": "a"}, r"the question id 'a' was already used in bridges.json: \$.data\[0\].paragraphs\[0\].qas\[0\]")])
def test_a_bad_squad_question_has_its_place(tmp_path, changes, complaint):
    path = write(tmp_path / "bridges.json", squad(**changes))
    with pytest.raises(
        InputError,
        match=rf"1 problem in the data:\nbridges.json: \$\.data\[1\]\.paragraphs\[0\]\.qas\[0\]: .*({complaint})",
    ):
        load_squad(path)
    assert [q.query_id for q in load_squad(path, problems=[]).questions] == ["a", "b"]


@pytest.mark.parametrize("data, complaint", [
    ("", "b.json: not JSON"), ('{"data": [\n{]}', "b.json: not JSON .* at line 2, column 2"),
    ("[]", "b.json: a JSON object is needed, got list"), ("{}", r"b.json: \$: needs 'data' \(a list\)"),
    ({"data": [5]}, r"\$.data\[0\]: must be an object, got int"),
    ({"data": [{"title": "x"}]}, r"\$.data\[0\]: needs 'paragraphs'"),
    ({"data": [{"paragraphs": [{"context": 5}]}]}, r"\$.data\[0\].paragraphs\[0\]: needs 'context'"),
    ({"data": [{"paragraphs": [{"context": "가"}]}]}, r"paragraphs\[0\]: needs 'qas'")])
def test_a_file_that_is_not_squad(tmp_path, data, complaint):
    with pytest.raises(InputError, match="b.json"):   # absent
        load_squad(tmp_path / "b.json")
    with pytest.raises(InputError, match=complaint):
        load_squad(write(tmp_path / "b.json", data))


# --- AutoRAG
def parquet(folder: Path, corpus: list[dict], qa: list[dict]) -> Path:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder.mkdir()
    for name, rows in (("corpus", corpus), ("qa", qa)):
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")
    return folder


CORPUS = [{"doc_id": f"p{n}", "contents": f"{n}번 단락이다.", "metadata": {"page": n, "prev_id": None}} for n in range(4)]


def test_autorag(tmp_path):
    def qa(qid: str, gold: list[list[str]]) -> dict:
        return {"qid": qid, "query": f"{qid}?", "retrieval_gt": gold, "generation_gt": [f"답 {qid}", "다른 답"]}

    folder = parquet(tmp_path / "rag", CORPUS, [
        qa("one", [["p0"]]), qa("or", [["p0", "p1"]]), qa("and", [["p2"], ["p3"]]),
        qa("both", [["p0", "p1"], ["p3"]]), qa("none", [[]])])
    data = load_dataset(folder)
    assert [(q.query_id, q.mode, [e.doc_id for e in q.evidence]) for q in data.questions] == [
        ("one", "any", ["p0"]), ("or", "any", ["p0", "p1"]), ("and", "all", ["p2", "p3"]),
        ("both", "all", ["p0", "p3"])]
    assert data.qrels == {"one": {"p0": 1}, "or": {"p0": 1, "p1": 1}, "and": {"p2": 1, "p3": 1}, "both": {"p0": 1, "p1": 1, "p3": 1}}
    assert (data.questions[0].answer == "답 one" and data.questions[0].evidence[0].text == data.texts["p0"]
            and data.documents["p3"].metadata["page"] == 3)
    assert data.notes == ("questions without gold passages, left out: 1", "questions of which the first alternatives are the evidence: 1")


def test_an_autorag_folder_with_mistakes(tmp_path):
    rows = [{"qid": "a", "query": "?", "retrieval_gt": [["p0"]], "generation_gt": ["x"]},
            {"qid": "a", "query": "?", "retrieval_gt": [["p1"]], "generation_gt": ["x"]},
            {"qid": "b", "query": "?", "retrieval_gt": [["p9"]], "generation_gt": None}]
    folder = parquet(tmp_path / "rag", [*CORPUS, CORPUS[0]], rows)
    with pytest.raises(InputError) as caught:
        load_autorag(folder)
    assert [line.split(": ")[0] for line in str(caught.value).splitlines()[1:]] == ["corpus.parquet:5", "qa.parquet:2", "qa.parquet:3"]
    (folder / "qa.parquet").write_bytes(b"no parquet")
    with pytest.raises(InputError, match="cannot read qa.parquet"):
        load_autorag(folder)


def test_without_pyarrow_autorag_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    for name in ("corpus", "qa"):
        (tmp_path / f"{name}.parquet").write_bytes(b"")
    with pytest.raises(InputError, match=r"reading parquet needs pyarrow: pip install .*\[parquet\]'"):
        load_dataset(tmp_path)


# --- finding a set
def test_a_set_by_name(tmp_path, monkeypatch):
    saved(small(), tmp_path / "sets" / "hill")
    monkeypatch.setenv("RAGNB_DATA", str(tmp_path / "sets"))
    assert load_dataset("hill").version == small().version
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hill").mkdir()  # an unrelated folder of the same name does not hide it
    assert load_dataset("hill").version == small().version
    with pytest.raises(InputError, match=r"data set 'dale' is not there; sets by name, below RAGNB_DATA .*: hill$"):
        load_dataset("dale")
    with pytest.raises(InputError, match="is there, but in no format that is known"):
        load_dataset(tmp_path)


# --- the sample data and the evaluation sets
@pytest.fixture(scope="module")
def corpus() -> dict[str, str]:
    problems: list = []
    documents = {d.id_: d.text for d in read_documents(SAMPLE / "corpus", problems)}
    assert problems == []
    return documents


def test_the_numbers_of_the_data_readme_are_true(corpus):
    readme = (SAMPLE / "README.md").read_text(encoding="utf-8")
    characters, documents, n, near, two = re.search(
        r"About ([\d,]+) characters in (\d+) documents, and (\d+) questions\. "
        r"Of these, (\d+) are of kind `neighbor` .* and (\d+) need two places", readme).groups()
    questions = load_questions(SAMPLE / "questions", corpus)
    assert (int(documents), int(n)) == (len(corpus), len(questions))
    assert abs(sum(map(len, corpus.values())) - int(characters.replace(",", ""))) < 1_000
    assert Counter(q.kind for q in questions)["neighbor"] == int(near)
    assert sum(q.mode == "all" and len(q.evidence) > 1 for q in questions) == int(two)
    named = re.findall(r"├── (\w+)/|└── (\w+)/", readme)
    assert {a or b for a, b in named} - {"corpus", "questions"} == {f.name for f in (SAMPLE / "corpus").iterdir()}


SETS = {"korquad": (84, 3_926), "tydiqa_ko": (636, 1_134), "ko_statutes": (7, 915), "ko_tax_tables": (1, 80),
        "ko_rulings_sample": (2, 3), "squad2": (10, 1_726), "covidqa": (59, 770), "chroma_chunking": (3, 317),
        "anthropic_codebases": (60, 167), "cranfield": (1_398, 135), "vaswani_npl": (11_429, 56)}


@pytest.mark.parametrize("name", SETS)
def test_the_evaluation_sets_load(name):
    data = load_dataset(shared_data(name))
    assert (len(data.documents), len(data.questions)) == SETS[name]
    for q in data.questions:
        assert bool(q.evidence) != bool(data.qrels)
        for e in q.evidence:
            assert data.texts[e.doc_id][e.span.start : e.span.end] == e.text
    if name == "cranfield":
        assert data.notes == ("documents without text, left out: 2",)
    else:
        assert data.notes == ()
