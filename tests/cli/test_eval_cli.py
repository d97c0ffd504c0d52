"""`ragnb eval`: what it prints and writes, real question files, and every mistake in one place."""
from __future__ import annotations

import json

import pytest
from conftest import SAMPLE

from ragnb.cli import main
from ragnb.evaluation.datasets import load_dataset

CORPUS = [
    {
        "doc_id": f"d{i}",
        "title": f"문서 {i}",
        "text": f"{i}호 설비의 정격 전압은 {i * 110}V이다. 점검 주기는 {i + 2}개월이다. 담당자는 정비 {i}팀이다.",
    }
    for i in range(1, 6)
]
QUESTIONS = [
    {
        "query_id": f"q{i}",
        "query": f"{i}호 설비의 점검 주기는?",
        "doc_id": f"d{i}",
        "evidence": [{"text": f"점검 주기는 {i + 2}개월"}],
    }
    for i in range(1, 6)
]


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*argv: object) -> tuple[int, str, str]:
        capsys.readouterr()
        try:
            code = main(["eval", *map(str, argv), "--quiet"])
        except SystemExit as end:
            code = end.code
        return (code, *capsys.readouterr())
    return run


def lines(path, records) -> None:
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records), encoding="utf-8")


@pytest.fixture
def files(tmp_path):
    lines(tmp_path / "corpus.jsonl", CORPUS)
    lines(tmp_path / "questions.jsonl", QUESTIONS)
    (tmp_path / "qrels.tsv").write_text(
        "query-id\tcorpus-id\tscore\n" + "".join(f"q{i}\td{i}\t1\n" for i in range(1, 6)), encoding="utf-8"
    )
    return tmp_path


def test_a_corpus_and_questions(run, files):
    code, out, err = run("corpus.jsonl", "questions.jsonl", "--budgets", "20,200", "--out", "o")
    assert (
        (code, err) == (0, "")
        and "5 documents, 5 questions" in out
        and "peak memory" in out
        and "| strategy | recall@20 | recall@200 |" in out
    )
    results = json.loads((files / "o/results.json").read_text(encoding="utf-8"))
    (strategy,) = results["strategies"].values()
    assert (
        list(strategy["budgets"]) == ["20", "200"]
        and strategy["budgets"]["200"]["evidence_recall"] == 1
        and strategy["budgets"]["20"]["characters"] <= 20
    )
    rows = [json.loads(line) for line in (files / "o/questions.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [r["query_id"] for r in rows] == [f"q{i}" for i in range(1, 6)]
    for row in rows:
        assert sum(p["end"] - p["start"] for p in row["passages"]) == row["budgets"]["200"]["characters"]
    assert (files / "o/recall.png").read_bytes()[:4] == b"\x89PNG" and (files / "o/position.png").exists()


def test_it_says_the_same_twice_and_as_json(run, files):
    first = run(
        "corpus.jsonl",
        "questions.jsonl",
        "--out",
        "a",
        "--strategy",
        "chunks",
        "--strategy",
        "bm25 name=words",
        "--json",
    )
    assert first[0] == 0 and list(json.loads(first[1])["strategies"]) == ["chunks", "words"]
    assert (
        run("corpus.jsonl", "questions.jsonl", "--out", "b", "--strategy", "chunks", "--strategy", "bm25 name=words")[0]
        == 0
    )
    assert (files / "a/questions.jsonl").read_bytes() == (files / "b/questions.jsonl").read_bytes()
    code, out, _ = run("--compare", "a/results.json", "b/results.json")
    assert code == 0 and "chunks: evidence_recall over 5 questions" in out and "| no |" in out and "| yes |" not in out
    code, out, _ = run("--compare", "a", "b", "--json")
    assert code == 0 and json.loads(out)["words"]["500"]["difference"] == 0


def test_qrels_rank_whole_documents(run, files):
    code, out, _ = run("corpus.jsonl", "questions.jsonl", "--qrels", "qrels.tsv", "--out", "o")
    results = json.loads((files / "o/results.json").read_text(encoding="utf-8"))
    (strategy,) = results["strategies"].values()
    assert code == 0 and "nDCG@10" in out and strategy["measures"]["nDCG@10"] > 0.9 and strategy["budgets"] == {}
    assert run("--compare", "o", "o")[1].startswith(next(iter(results["strategies"])) + ": nDCG@10 over 5 questions")


def test_a_limit_takes_the_same_questions_every_time(run, files):
    asked = []
    for out in ("a", "b"):
        assert run("corpus.jsonl", "questions.jsonl", "--limit", 3, "--out", out)[0] == 0
        asked.append(
            [
                json.loads(line)["query_id"]
                for line in (files / out / "questions.jsonl").read_text(encoding="utf-8").splitlines()
            ]
        )
    assert asked[0] == asked[1] and len(asked[0]) == 3


def test_a_data_set_by_its_folder(run):
    code, out, _ = run(SAMPLE, "--limit", 3, "--strategy", "bm25")
    assert code == 0 and f"{len(load_dataset(SAMPLE).documents)} documents, 3 questions" in out


BROKEN = [
    {"query_id": "a", "query": "근거가 없다?"},
    QUESTIONS[0],
    {"query_id": "b", "query": "밖이다?", "doc_id": "d1", "evidence": [{"start": 0, "end": 9_999}]},
    {"query_id": "c", "query": "누구?", "doc_id": "nobody", "evidence": [{"text": "x"}]},
    QUESTIONS[0],
]


def test_broken_questions_are_named_line_by_line(run, files):
    lines(files / "questions.jsonl", BROKEN)
    code, out, err = run("corpus.jsonl", "questions.jsonl")
    told = [line.split(": ")[0] for line in err.splitlines()[1:]]
    assert (code, out) == (2, "") and told == [f"questions.jsonl:{n}" for n in (1, 3, 4, 5)]
    for number, word in zip((1, 3, 4, 5), ("evidence", "9999", "nobody", "q1")):
        assert word in next(line for line in err.splitlines() if line.startswith(f"questions.jsonl:{number}:"))


@pytest.mark.parametrize(
    "argv, complaint",
    [
        ([], "needs a corpus and questions"),
        (["corpus.jsonl", "questions.jsonl", "--budgets", "0"], "budgets must be"),
        (["corpus.jsonl", "questions.jsonl", "--budgets", "a,b"], "budgets must be"),
        (["corpus.jsonl", "questions.jsonl", "--limit", "0"], "limit must be >= 1"),
        (["corpus.jsonl", "questions.jsonl", "--strategy", "best"], "unknown strategy 'best'"),
        (
            ["corpus.jsonl", "questions.jsonl", "--strategy", "bm25", "--strategy", "bm25"],
            "two strategies are called 'bm25'",
        ),
        (["absent.jsonl", "questions.jsonl"], "absent.jsonl"),
        (["corpus.jsonl", "absent.jsonl"], "absent.jsonl"),
        (["nowhere"], "nowhere"),
        (["--compare", "a", "b"], "no results at"),
        (["corpus.jsonl", "questions.jsonl", "--embed", "word2vec"], "word2vec"),
        (["corpus.jsonl", "questions.jsonl", "--workers", "0"], "workers must be >= 1"),
        (["corpus.jsonl", "--qrels", "qrels.tsv"], "--qrels goes with"),
        (["corpus.jsonl", "questions.jsonl", "--tokenizer", "nope"], "nope"),
    ],
)
def test_mistakes_are_one_line(run, files, argv, complaint):
    code, out, err = run(*argv)
    assert (code, out) == (2, "") and complaint in err and len(err.splitlines()) == 1
