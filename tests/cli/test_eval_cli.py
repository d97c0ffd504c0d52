"""`ragnb eval`: what it prints and writes, real question files, and every mistake in one place."""
from __future__ import annotations

import json
from pathlib import Path

import chromadb
import pytest
from conftest import one_line, SAMPLE, write
from ollama_server import OllamaServer

from ragnb.cli import main

pytestmark = pytest.mark.heavy  # whole runs of evaluation or indexing
CORPUS = [{"doc_id": f"d{i}", "title": f"문서 {i}", "text": f"{i}호 설비의 정격 전압은 {i * 110}V이다. 점검 주기는 {i + 2}개월이다. 담당자는 정비 {i}팀이다."}
          for i in range(1, 6)]
QUESTIONS = [{"query_id": f"q{i}", "query": f"{i}호 설비의 점검 주기는?", "doc_id": f"d{i}", "evidence": [{"text": f"점검 주기는 {i + 2}개월"}]} for i in range(1, 6)]


@pytest.fixture
def run(run, tmp_path, monkeypatch):
    """`ragnb eval` in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return lambda *argv: run("eval", *argv, "--quiet")


def lines(path, records) -> None:
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records), encoding="utf-8")


@pytest.fixture
def files(tmp_path):
    lines(tmp_path / "corpus.jsonl", CORPUS)
    lines(tmp_path / "questions.jsonl", QUESTIONS)
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(f"q{i}\td{i}\t1\n" for i in range(1, 6)), encoding="utf-8")
    return tmp_path


def test_a_corpus_and_questions(run, files):
    code, out, err = run("corpus.jsonl", "questions.jsonl", "--budgets", "20,200", "--out", "o")
    assert (code, err) == (0, "") and "5 documents, 5 questions" in out and "peak memory" in out
    assert "| strategy | delivered@20 | delivered@200 |" in out and "| strategy | spans@20 | spans@200 |" in out
    (strategy,) = json.loads((files / "o/results.json").read_text(encoding="utf-8"))["strategies"].values()
    assert list(strategy["budgets"]) == ["20", "200"]
    assert strategy["budgets"]["200"]["evidence_recall"] == 1 and strategy["budgets"]["20"]["characters"] <= 20
    rows = [json.loads(line) for line in (files / "o/questions.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [r["query_id"] for r in rows] == [f"q{i}" for i in range(1, 6)]
    for row in rows:
        assert sum(p["end"] - p["start"] for p in row["passages"]) == row["budgets"]["200"]["characters"]
    assert (files / "o/recall.png").read_bytes()[:4] == b"\x89PNG" and (files / "o/position.png").exists()


def test_it_says_the_same_twice_and_as_json(run, files):
    asked = ("corpus.jsonl", "questions.jsonl", "--strategy", "chunks", "--strategy", "bm25 name=words", "--out")
    first = run(*asked, "a", "--json")
    assert first[0] == 0 and list(json.loads(first[1])["strategies"]) == ["chunks", "words"] and run(*asked, "b")[0] == 0
    assert (files / "a/questions.jsonl").read_bytes() == (files / "b/questions.jsonl").read_bytes()
    code, out, _ = run("--compare", "a/results.json", "b/results.json")
    assert code == 0 and "chunks: delivered_recall over 5 questions" in out and "| no |" in out and "| yes |" not in out
    code, out, _ = run("--compare", "a", "b", "--json")
    assert code == 0 and json.loads(out)["words"]["500"]["difference"] == 0


def test_qrels_rank_whole_documents(run, files):
    code, out, _ = run("corpus.jsonl", "questions.jsonl", "--qrels", "qrels.tsv", "--out", "o")
    results = json.loads((files / "o/results.json").read_text(encoding="utf-8"))
    (strategy,) = results["strategies"].values()
    assert code == 0 and "nDCG@10" in out and strategy["measures"]["nDCG@10"] > 0.9 and strategy["budgets"] == {}
    assert run("--compare", "o", "o")[1].startswith(next(iter(results["strategies"])) + ": nDCG@10 over 5 questions")


BROKEN = [
    {"query_id": "a", "query": "근거가 없다?"},
    QUESTIONS[0],
    {"query_id": "b", "query": "밖이다?", "doc_id": "d1", "evidence": [{"start": 0, "end": 9_999}]},
    {"query_id": "c", "query": "누구?", "doc_id": "nobody", "evidence": [{"text": "x"}]},
    QUESTIONS[0]]


def test_broken_questions_are_named_line_by_line_and_the_rest_is_measured(run, files):
    lines(files / "questions.jsonl", BROKEN)
    code, out, err = run("corpus.jsonl", "questions.jsonl", "--budgets", "200", "--out", "o")
    told = dict(line.removeprefix("skipped ").split(": ", 1) for line in err.splitlines() if line.startswith("skipped"))
    assert code == 0 and [*told] == [f"questions.jsonl:{n}" for n in (1, 3, 4, 5)]
    for number, word in zip((1, 3, 4, 5), ("evidence", "9999", "nobody", "q1")):
        assert word in told[f"questions.jsonl:{number}"]
    assert "5 documents, 1 question," in out and "(lines that cannot be used, left out: 4)" in out
    results = json.loads((files / "o/results.json").read_text(encoding="utf-8"))
    assert results["n_questions"] == 1 and results["notes"] == ["lines that cannot be used, left out: 4"]


def test_questions_of_which_none_can_be_used_are_refused(run, files):
    lines(files / "questions.jsonl", [{"query_id": "a", "question": "무엇?", "evidence": [{"doc_id": "d1", "quote": "1호"}]},
                                      {"query_id": "b", "query": "무엇?", "evidence": [{"doc_id": "d1", "quote": "1호"}]}] * 15)
    code, out, err = run("corpus.jsonl", "questions.jsonl")
    assert (code, out) == (2, "") and "5 documents and 0 questions that can be used" in err.splitlines()[-1]
    assert "it has 'query_id', 'question', 'evidence'" in err and "evidence needs 'text' (a quote) or 'start' and 'end', it has 'doc_id', 'quote'" in err
    told = [line for line in err.splitlines() if line.startswith("skipped")]
    assert len(told) == 9 and [line for line in told if " 12 more: " in line] == [told[-2], told[-1]], err
    assert told[-2].startswith("skipped questions.jsonl: ") and len(err.splitlines()) == 10


def test_a_folder_with_other_files_is_measured_and_they_are_named(run, files):
    write(files / "corpus", {f"{record['doc_id']}.md": record["text"] for record in CORPUS}
          | {"photo.png": "", "bad.md": "가나다".encode() + b"\xff", "rows.jsonl": "{\n"})
    lines(files / "questions.jsonl", [q | {"doc_id": f"{q['doc_id']}.md"} for q in QUESTIONS])
    (files / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1.md\t1\nq1\tnobody.md\t1\nq2\td2.md\tx\nq3\td3.md\t1\n", encoding="utf-8")
    code, out, err = run("corpus", "questions.jsonl", "--budgets", "200", "--out", "o")
    assert code == 0 and "5 documents, 5 questions" in out and "cannot be read, left out: 3" in out
    assert {line.split(": ")[0] for line in err.splitlines() if line.startswith("skipped")} == {"skipped photo.png", "skipped bad.md", "skipped rows.jsonl:1"}
    code, out, err = run("corpus", "questions.jsonl", "--qrels", "qrels.tsv", "--out", "p", "--json")
    assert code == 0 and json.loads(out)["n_questions"] == 2
    assert "skipped qrels.tsv:3: " in err and "skipped qrels.tsv:4: " in err and json.loads(out)["notes"][1] == "lines that cannot be used, left out: 2"


def test_any_two_strategies_are_compared(run, files):
    three = [x for s in ("bm25", "chunks", "seed") for x in ("--strategy", s)]
    assert run("corpus.jsonl", "questions.jsonl", "--budgets", "20,200", "--out", "mine", *three)[0] == 0
    assert run("corpus.jsonl", "questions.jsonl", "--budgets", "20,200", "--out", "theirs", "--strategy", "vector")[0] == 0

    def heads(*argv):
        code, out, err = run(*argv)
        assert (code, err) == (0, "")
        return [line.split(": ")[0] for line in out.splitlines() if ": delivered_recall over" in line]

    assert heads("--compare", "mine", "theirs") == ["bm25 / vector", "chunks / vector", "seed / vector"]
    assert heads("--compare", "mine::seed", "theirs") == heads("--compare", "mine::seed", "theirs::vector") == ["seed / vector"]
    assert heads("--compare", "mine", "mine") == ["bm25 / chunks", "bm25 / seed", "chunks / seed"]
    assert heads("--compare", "seed", "bm25", "--out", "mine") == heads("--compare", "mine::seed", "mine::bm25") == ["seed / bm25"]
    assert heads("--compare", "mine::seed", "mine") == ["seed / bm25", "seed / chunks"]
    assert heads("--compare", "mine::seed", "mine::seed") == ["seed"]
    code, _, err = run("--compare", "mine::best", "theirs")
    assert code == 2 and "no strategy 'best' in 'mine': it has bm25, chunks, seed" in err


BOTH = ("corpus.jsonl", "questions.jsonl")


@pytest.mark.parametrize("argv, complaint", [
    ((), "needs a corpus and questions"), (("absent.jsonl", "questions.jsonl"), "absent.jsonl"), (("corpus.jsonl", "absent.jsonl"), "absent.jsonl"), (("nowhere",), "nowhere"),
    (("--compare", "a", "b"), "no results in"), (("corpus.jsonl", "--qrels", "qrels.tsv"), "--qrels"),
    *(((*BOTH, option, value), told) for option, value, told in (
        ("--budgets", "0", "budgets"), ("--budgets", "a,b", "budgets"), ("--limit", "0", "limit"), ("--strategy", "best", "'best'"), ("--embed", "word2vec", "word2vec"),
        ("--workers", "0", "workers"), ("--tokenizer", "nope", "nope"))),
    ((*BOTH, "--strategy", "bm25", "--strategy", "bm25"), "two strategies are called 'bm25'")])
def test_mistakes_are_one_line(run, files, argv, complaint):
    assert complaint in one_line(run(*argv))


@pytest.mark.parametrize("typed", ["chunks retrieve=bm25", "split=parent-child retrieve=bm25 policy=none"])
def test_what_was_typed_names_a_side_of_a_comparison(run, files, typed):
    strategies = "--strategy", "default", "--strategy", "chunks retrieve=bm25", "--budgets", "200", "--out", "o"
    assert run("corpus.jsonl", "questions.jsonl", *strategies)[0] == 0
    for sides in (("o::default", f"o::{typed}"), ("o::multi-scale", f"o::{typed}")):
        code, out, err = run("--compare", *sides)
        assert (code, err) == (0, "") and "multi-scale / split=parent-child retrieve=bm25 policy=none" in out
    code, out, _ = run("--out", "o", "--compare", "default", typed)
    assert code == 0 and "multi-scale / " in out
    code, _, err = run("--compare", "o::default", "o::chunks retrieve=vector")
    assert code == 2 and "no strategy 'chunks retrieve=vector'" in err


# --- the same contexts, one thing changed ----------------------------------------------------------------------------------------------
def test_orders_show_where_the_evidence_is_without_a_model(run, files):
    code, out, _ = run("corpus.jsonl", "questions.jsonl", "--orders", "--budgets", "200", "--json")
    rows = json.loads(out)["evidence"]
    assert code == 0 and len({r["order"] for r in rows}) == 3 and len({(r["pieces"], r["absent"]) for r in rows}) == 1
    code, out, _ = run("corpus.jsonl", "questions.jsonl", "--orders", "--budgets", "200")
    assert code == 0 and out.startswith("| order |") and "best first" in out


def test_prompts_are_answered_and_judged(run, files):
    with OllamaServer(models=("chat",)) as server:
        server.said = lambda messages: "YES" if "YES" in messages[-1]["content"] else "4.0\nfine" if "score" in messages[-1]["content"] else "15일"
        for name in ("a", "b"):
            (files / f"{name}.txt").write_text(name + " {context_str} {query_str}", encoding="utf-8")
        model = ("--llm", "ollama:chat", "--base-url", server.url, "--budgets", "200", "--limit", "2", "--json")
        code, out, _ = run("corpus.jsonl", "questions.jsonl", "--prompts", "a.txt", "b.txt", *model)
        rows = json.loads(out)["answers"]
        assert code == 0 and {(r["a"], r["b"]) for r in rows} == {("a.txt", "b.txt")} and sum(r["n"] for r in rows) > 0
        code, out, _ = run("corpus.jsonl", "questions.jsonl", "--orders", *model)
        assert code == 0 and {r["a"] for r in json.loads(out)["answers"]} == {"best first"}


@pytest.mark.parametrize("more", [("--prompts", "a.txt"), ("--prompts", "missing.txt", "--llm", "ollama:x"), ("--prompts", "a.txt", "--orders", "--llm", "ollama:x")])
def test_prompts_need_a_model_and_a_file(run, files, more):
    (files / "a.txt").write_text("{context_str} {query_str}", encoding="utf-8")
    code, _, err = run("corpus.jsonl", "questions.jsonl", *more)
    assert code == 2 and "prompts" in err


TEXT = (SAMPLE / "corpus/hr_labor/leave.md").read_text(encoding="utf-8")
QUESTION = "입사 1년차 직원의 연차는 며칠인가요?"


@pytest.fixture
def chroma(tmp_path: Path) -> str:
    """A collection with a source in place of a document, and vectors of three numbers."""
    made = chromadb.PersistentClient(str(tmp_path / "db"), chromadb.Settings(anonymized_telemetry=False)).create_collection("rules")
    at = list(range(0, len(TEXT), 200))
    made.add(ids=[f"r{n}" for n in at], documents=[TEXT[n:n + 240] for n in at], embeddings=[[1.0, n, 0.5] for n in at],
             metadatas=[{"source": "leave.md", "start_index": n} for n in at])
    return f"chroma:{tmp_path / 'db'}#rules"


def test_a_collection_of_another_program_is_asked(chroma, capsys):
    assert main(["ask", QUESTION, "--over", chroma, "--field", "doc_id=source", "--budget", "900", "--policy", "neighbors:2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["passages"] and all(p["text"] in TEXT for p in told["passages"]) and len(told["context"]) <= 900
    assert max(len(p["text"]) for p in told["passages"]) > 300
    assert main(["trace", QUESTION, "--over", chroma, "--field", "doc_id=source"]) == 0
    assert "neighbor" in capsys.readouterr().out


def test_rows_that_name_no_document_are_told_of_in_one_line(chroma, capsys):
    assert main(["ask", QUESTION, "--over", chroma]) == 0
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 1 and told[0].startswith("note: no two nodes are of one document") and "--field doc_id=NAME" in told[0]


@pytest.mark.parametrize("options, told", [
    (["--field", "colour=x"], "got 'colour'"), (["--field", "source"], "KEY=VALUE"), (["--cut", "0.3"], "--cut needs an index of ragnb"),
    (["--where", "a=b"], "--where needs"), (["--embed", "ngram"], "fitted to the texts"), (["--retrieve", "vector"], "pass embed_model"),
    (["--policy", "nonsense"], "unknown policy"), (["--retrieve", "multi-scale"], "auto, vector, bm25 or hybrid"),
    (["--over", "chroma:nowhere"], "no chroma.sqlite3"), (["--over", "nowhere"], "chroma:FOLDER#COLLECTION"),
    (["--over", "llama_index:nowhere"], "no folder of a persisted"), (["--over", "opensearch://localhost:1"], "no index name"),
    (["--over", "opensearch://localhost:1/x"], "cannot be read")])
def test_bad_options_and_places_are_one_line(chroma, options, told, capsys):
    place = [] if "--over" in options else ["--over", chroma]
    assert main(["ask", QUESTION, *place, *options]) == 2
    error = capsys.readouterr().err.strip()
    assert told in error and "\n" not in error


def test_decide_measures_ragnb_designs_and_peers(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = write(tmp_path / "docs", {"leave.md": TEXT})
    few = ["--strategy", "default", "--strategy", "hybrid", "--peers", "llamaindex-auto-merging", "--as-documented", "--n", "6", "--quiet"]
    assert main(["decide", str(folder), *few, "--budgets", "300,900"]) == 0
    out = capsys.readouterr().out
    table = [line for line in out.splitlines() if line.startswith("| ")]
    names = [line.split("|")[1].strip() for line in table]
    assert names[2:] == ["ragnb", "ragnb, tuned", "articles-before", "articles-after", "parents-before", "parents-after", "seed",
                         "llamaindex-auto-merging"]
    assert "page: " in out and "ragnb index" in out
    page = (tmp_path / "out/decide/decide.html").read_text(encoding="utf-8")
    assert "other libraries" in page and "<script" not in page and all(name in page for name in names[2:])
    assert main(["decide", str(folder), *few, "--budgets", "300,900", "--json"]) == 0     # from what was kept
    told = json.loads(capsys.readouterr().out)
    lines = {line["line"]: line for line in told["lines"]}
    for name, line in lines.items():
        assert ("p_holm" in line) == (not name.startswith("ragnb")) and line["budgets"]["300"]["delivered_recall"] <= 1
    assert told["tuned"]["winner"] in told["tuned"]["strategies"] and not any("peer" in s for s in told["tuned"]["strategies"])


@pytest.mark.parametrize("options, told", [(["--peers", "langchain"], "not a peer: 'langchain'"), (["--strategy", "x"], "unknown strategy"),
                                           (["--budgets", "0"], "budgets must be"), (["--n", "0"], "n")])
def test_decide_with_bad_options(tmp_path, options, told, capsys):
    (tmp_path / "a.md").write_text(TEXT, encoding="utf-8")
    assert main(["decide", str(tmp_path), *options, "--quiet"]) == 2
    assert told in capsys.readouterr().err


def test_prompts_keep_every_answer_and_an_unreadable_judge_is_no_zero(run, files):
    """A judge that says neither yes nor no: `–` and why in the table, null in JSON, and the reason with each answer."""
    for name in ("a", "b"):
        (files / f"{name}.txt").write_text(name + " {context_str} {query_str}", encoding="utf-8")
    with OllamaServer(models=("chat",)) as server:
        server.said = lambda messages: "15일입니다 [1]." if messages[-1]["content"][0] in "ab" else "흠, 어렵네요"
        model = ("--llm", "ollama:chat", "--base-url", server.url, "--budgets", "200", "--limit", "2", "--out", "out/prompts")
        code, out, err = run("corpus.jsonl", "questions.jsonl", "--prompts", "a.txt", "b.txt", *model)
        rows = json.loads(run("corpus.jsonl", "questions.jsonl", "--prompts", "a.txt", "b.txt", *model, "--json")[1])["answers"]
    scores, judged = out.split("\n\n")
    assert code == 0 and "0.000" not in judged and "| – |" in judged and "neither YES nor NO" in judged
    assert scores.startswith("| variant |") and scores.count("\n") == 3
    assert all((row["n"], row["mean_a"], row["p"]) == (0, None, None) and row["dropped"] == 2 and row["why"] for row in rows)
    records = [json.loads(line) for line in (files / "out/prompts/answers.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [record["variant"] for record in records] == ["a.txt", "a.txt", "b.txt", "b.txt"] and {record["answer"] for record in records} == {"15일입니다 [1]."}
    assert all(record["judged"]["faithfulness"]["score"] is None and "neither YES nor NO" in record["judged"]["faithfulness"]["error"] for record in records)
    assert all(record["checked"]["cites"] and not record["checked"]["repeats"] for record in records)


def test_one_prompt_has_scores_without_a_judge(run, files):
    (files / "a.txt").write_text("Answer briefly from these.\n{context_str}\n{query_str}", encoding="utf-8")
    with OllamaServer(models=("chat",)) as server:
        server.said = lambda messages: "15일. 첫 출근일에 한꺼번에 부여한다. [1]" if "첫" in messages[-1]["content"] else "Answer briefly from these. 모릅니다."
        code, out, _ = run("corpus.jsonl", "questions.jsonl", "--prompts", "a.txt", "--judge", "none", "--llm", "ollama:chat", "--base-url", server.url,
                           "--budgets", "500", "--limit", "2", "--json", "--out", "out/one")
        asked = len(server.asked("/api/chat"))
    tables = json.loads(out)
    assert code == 0 and list(tables) == ["scores"] and asked == 2
    records = [json.loads(line) for line in (files / "out/one/answers.jsonl").read_text(encoding="utf-8").splitlines()]
    [row] = tables["scores"]
    for name in ("recall", "has_gold", "cites", "cites_right", "repeats"):
        assert row[name] == pytest.approx(sum(record["checked"][name] for record in records) / 2, abs=.001)
    assert row["cites"] + row["repeats"] == 1 and row["n"] == 2 and row["failed"] == 0
