"""`ragnb.toml`: what it says is what the options say, in every command that retrieves."""
from __future__ import annotations

import io
import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from conftest import one_line, SAMPLE, whole_help, write

from ragnb import Pipeline, read_settings
from ragnb.agent.library import Library
from ragnb.cli import main
from ragnb.pipeline.settings import SETTINGS, load_settings, write_settings

QUESTION = "반차는 몇 시간인가요?"
CASES = [   # Settings, and the options that say the same
    ({"retrieve": "bm25", "policy": "neighbors:1", "top_k": 3, "budget": 600}, "--retrieve bm25 --policy neighbors:1 --top-k 3 --budget 600"),
    ({"cut": 0.5, "budget": 1500}, "--cut 0.5 --budget 1500"),
    ({"where": "doc_type=labor_qa", "lookup": False, "reorder": False}, "--where doc_type=labor_qa --no-lookup --no-reorder"),
    ({"where": ["folder!=x", "doc_type!=labor_qa"], "context": "table", "compress": 400}, "--where folder!=x --where doc_type!=labor_qa --context table --compress 400"),
    ({"budget_share": 0.3, "model": "gpt-4", "policy": "section", "passage_size": 300}, "--budget-share 0.3 --model gpt-4 --policy section --passage-size 300"),
    ({"retrieve": "hybrid:zscore:2/1", "expand_top_k": 2, "max_chunks": 9, "tokenizer": "cl100k_base", "budget": 300},
     "--retrieve hybrid:zscore:2/1 --expand-top-k 2 --max-chunks 9 --tokenizer cl100k_base --budget 300")]


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """An index of two documents, copied by each test."""
    docs, folder = tmp_path_factory.mktemp("docs"), tmp_path_factory.mktemp("made") / "index"
    for name, end in (("leave.md", "\n## 6"), ("labor_qa.jsonl", "\n")):
        write(docs, {name: (SAMPLE / "corpus/hr_labor" / name).read_text(encoding="utf-8").partition(end)[0]})
    assert main(["index", str(docs), "--index", str(folder), "--quiet"]) == 0
    return folder


@pytest.fixture
def index(made, tmp_path) -> Path:
    return shutil.copytree(made, tmp_path / "index")


@pytest.mark.parametrize("settings, options", CASES)
def test_a_file_answers_as_the_options_do(run, index, settings, options):
    asked = ("ask", QUESTION, "--json", "--index", index)
    typed, plain = run(*asked, *options.split()), run(*asked)
    write_settings(index, settings)
    read = run(*asked)
    assert read == typed != plain and read[0] == 0
    pipeline = Pipeline.from_index(index, **read_settings(index))
    assert pipeline.ask(QUESTION).context.text == json.loads(read[1])["context"]
    assert run(*asked, "--settings", "none") == plain
    assert run(*asked, "--settings", index / "ragnb.toml") == read


def test_what_is_typed_wins_over_the_file(run, index):
    asked = ("ask", QUESTION, "--json", "--index", index)
    typed = run(*asked, "--policy", "section", "--budget", "900")
    write_settings(index, {"policy": "neighbors:1", "budget_share": 0.3, "model": "gpt-4", "cut": 0.5, "lookup": False, "llm": "ollama:x"})
    assert run(*asked, "--policy", "section", "--budget", "900", "--cut", "0", "--lookup", "--llm", "none") == typed


def test_commands_that_retrieve_take_the_same_options(run):
    shared = ["retrieve", "where", "as-of", "cut", "no-lookup", "rerank", "policy", "top-k", "expand-top-k", "max-chunks", "passage-size", "llm", "settings"]
    layout = ["budget", "budget-share", "model", "tokenizer", "context", "compress", "no-reorder"]
    for word in ("ask", "trace", "chat", "serve", "mcp", "eval"):
        told = set(re.findall(r"--([a-z-]+)", whole_help(run, word)))
        assert {*shared, "strategy"} <= told and (word in ("mcp", "eval") or set(layout) <= told), word


@pytest.mark.parametrize("text, told", [
    ("kut = 0.2", "unknown key 'kut': use split, embed, retrieve"), ('top_k = "many"', "top_k must be a whole number, got 'many'"),
    ("top_k = 0", "top_k = 0: top_k must be >= 1"), ('policy = "neighbours"', "policy = 'neighbours': unknown policy 'neighbours': use"),
    ('retrieve = "nearest"', "use multi-scale, bm25"), ('context = "tabel"', "use simple, ranked"), ('compress = "x"', "use a number of characters, llm:N, head:N"),
    ('rerank = "best"', "use none, llm[:POOL], onnx:FOLDER"), ("cut = 2", "cut = 2: cut must be at least 0 and less than 1"), ("lookup = 1", "lookup must be True or False, got 1"),
    ("policy = neighbors", "cannot be read"), ("where = 3", "where must be"), ('split = "words"', "unknown splitter 'words'"),
])
def test_a_bad_file_is_one_line_that_names_it(run, index, text, told):
    (index / "ragnb.toml").write_text(text, encoding="utf-8")
    for argv in (("ask", QUESTION), ("trace", QUESTION), ("chat",), ("serve",), ("mcp",)):
        line = one_line(run(*argv, "--index", index))
        assert told in line and str(index / "ragnb.toml") in line
    assert told in one_line(run("ask", QUESTION, "--settings", index / "ragnb.toml", "--index", "nowhere"))


def test_an_error_of_what_is_typed_with_the_file_names_both(run, index):
    write_settings(index, {"cut": 0.3})
    line = one_line(run("ask", QUESTION, "--retrieve", "bm25", "--index", index))
    assert "cut=0.3 and 'bm25'" in line and f"({index / 'ragnb.toml'} sets cut)" in line
    assert "sets" not in one_line(run("ask", " ", "--index", index))
    assert "cannot be read" in one_line(run("ask", QUESTION, "--settings", "nowhere.toml", "--index", index))


def said(run, monkeypatch, *argv) -> dict:
    """The turn of `chat --json` for one question."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(QUESTION + "\n"))
    code, out, err = run("chat", "--json", *argv)
    assert code == 0, err
    return json.loads(out)


@pytest.mark.parametrize("settings, options", [CASES[0], CASES[3], ({"policy": "none", "cut": 0.3}, "--policy none --cut 0.3"), ({"top_k": 2}, "--top-k 2")])
def test_chat_reads_the_file(run, index, monkeypatch, settings, options):
    typed, plain = said(run, monkeypatch, "--index", index, *options.split()), said(run, monkeypatch, "--index", index)
    write_settings(index, settings)
    assert said(run, monkeypatch, "--index", index)["answer"] == typed["answer"] != plain["answer"]


def test_index_makes_what_the_file_says_and_a_question_checks_it(run, index, tmp_path):
    folder = tmp_path / "new"
    write_settings(folder, {"split": "chunks:300/0", "policy": "neighbors:1"})
    leave = SAMPLE / "corpus/hr_labor/leave.md"
    assert run("index", leave, "--index", folder, "--quiet")[0] == 0
    facts = json.loads(run("info", "--json", "--index", folder)[1])
    assert facts["splitter"]["child_size"] == 300 and facts["settings"] == {"split": "chunks:300/0", "policy": "neighbors:1"}
    assert run("ask", QUESTION, "--index", folder)[0] == 0
    write_settings(folder, {"split": "units"})
    for word in (("ask", QUESTION), ("chat",), ("serve",)):
        assert f"`ragnb index PATH --index {folder} --force` makes one for it" in one_line(run(*word, "--index", folder))
    assert run("index", leave, "--index", folder, "--quiet")[0] == 2
    assert run("index", leave, "--index", folder, "--quiet", "--force")[0] == 0 and load_settings(folder) == {"split": "units"}
    assert run("ask", QUESTION, "--index", folder)[0] == 0


def test_a_folder_of_collections_has_one_file(run, tmp_path):
    corpus = tmp_path / "corpus"
    for name in ("one", "two"):
        (corpus / name).mkdir(parents=True)
        shutil.copy(SAMPLE / "corpus/hr_labor" / ("leave.md" if name == "one" else "travel.md"), corpus / name)
    (tmp_path / "two.json").write_text('{"one": ["one"], "two": ["two"]}', encoding="utf-8")
    where = ("--index", tmp_path / "all")
    assert run("index", corpus, "--all", "--collections", tmp_path / "two.json", *where, "--quiet")[0] == 0
    typed = run("ask", QUESTION, "--json", *where, "--policy", "neighbors:1", "--budget", "500")
    write_settings(tmp_path / "all", {"policy": "neighbors:1", "budget": 500})
    assert run("ask", QUESTION, "--json", *where) == typed
    assert 'settings: policy neighbors:1; budget 500\n' in run("info", *where)[1]
    library = Library.open(tmp_path / "all", **read_settings(tmp_path / "all"))
    assert library.reader.builder.budget == 500 and library.reader.expander.policy.name == "neighbors:1"


def test_what_was_tuned_is_indexed_asked_and_measured(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "docs", {"leave.md": (SAMPLE / "corpus/hr_labor/leave.md").read_text(encoding="utf-8").partition("\n## 6")[0]})
    few = ("--n", "6", "--strategy", "hybrid split=chunks:400/0 top_k=7", "--budgets", "300", "--quiet")
    code, out, err = run("tune", "docs", *few, "--save")
    assert code == 0, err
    assert load_settings(".ragnb-tuned") == load_settings("out/tune") == {
        "split": "chunks:400/0", "retrieve": "hybrid", "policy": "neighbors:1", "top_k": 7}
    words = [line.split() for line in out.splitlines() if line.startswith("    ragnb ")]
    assert [w[1] for w in words] == ["index", "ask", "serve"] and all(w[-1] == ".ragnb-tuned" for w in words)
    assert run(*words[0][1:], "--quiet")[0] == 0
    read = run("ask", QUESTION, "--json", "--index", ".ragnb-tuned")
    assert read == run("ask", QUESTION, "--json", "--index", ".ragnb-tuned", "--settings", "none", "--retrieve", "hybrid", "--policy", "neighbors:1", "--top-k", "7")
    tuned = json.loads(run("tune", "docs", *few, "--json")[1])
    assert tuned["saved"] is None and tuned["settings"] == load_settings(".ragnb-tuned")
    for given in (("--settings", ".ragnb-tuned"), ("--strategy", ".ragnb-tuned/ragnb.toml")):
        code, out, err = run("eval", "docs", "out/tune/made.jsonl", *given, "--budgets", "300", "--quiet", "--json")
        assert code == 0, err
        assert list(json.loads(out)["strategies"].values())[0]["budgets"]["300"] == list(tuned["strategies"].values())[0]["budgets"]["300"]
    for more, found in (({"split": "units", "cut": 0.9, "context": "table"}, True), ({"where": ["doc_id=leave.md", "folder!=x"], "as_of": "2024-01-01"}, True), ({"where": "doc_id=none.md"}, False)):
        write_settings(".ragnb-tuned", more)
        code, out, err = run("eval", "docs", "out/tune/made.jsonl", "--settings", ".ragnb-tuned", "--budgets", "300", "--quiet", "--json")
        assert code == 0, err
        measured = list(json.loads(out)["strategies"].values())[0]
        assert (measured["budgets"]["300"]["delivered_recall"] > 0) is found and all(f"{key}=" in measured["spec"] for key in more)


def test_every_key_is_an_option_of_ask_or_index(run):
    told = whole_help(run, "ask") + whole_help(run, "index")
    assert [key for key in SETTINGS if f"--{key.replace('_', '-')} " not in told.replace("/", " ")] == []
