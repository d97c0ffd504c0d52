"""`ragnb ask --over` an index of another program, and `ragnb decide` on a folder."""
from __future__ import annotations

import json
from pathlib import Path

import chromadb
import pytest

from conftest import SAMPLE
from ragnb.cli import main

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
])
def test_bad_options_are_one_line(chroma, options, told, capsys):
    assert main(["ask", QUESTION, "--over", chroma, *options]) == 2
    error = capsys.readouterr().err.strip()
    assert told in error and "\n" not in error


@pytest.mark.parametrize("place, told", [
    ("chroma:nowhere", "no chroma.sqlite3"), ("nowhere", "chroma:FOLDER#COLLECTION"), ("llama_index:nowhere", "no folder of a persisted"),
    ("opensearch://localhost:1", "no index name"), ("opensearch://localhost:1/x", "cannot be read"),
])
def test_places_that_are_not_there_are_one_line(place, told, capsys):
    assert main(["ask", QUESTION, "--over", place]) != 0
    error = capsys.readouterr().err.strip()
    assert told in error and "\n" not in error


def test_decide_measures_ragnb_designs_and_peers(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "leave.md").write_text(TEXT, encoding="utf-8")
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
