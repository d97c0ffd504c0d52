"""Parts of your own by name: with `--import` in a real process, and from an installed package."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import one_line, SAMPLE

from ragnb.cli import main
from ragnb.machinery import registry

MINE = '''
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from ragnb.machinery.registry import register


class Reversed(BaseNodePostprocessor):
    def _postprocess_nodes(self, nodes, query_bundle=None):
        return nodes[::-1]


@register("splitter", "mine")
def splitter(size="300"):
    return SentenceSplitter(chunk_size=int(size), chunk_overlap=0)

@register("embedding", "mine")
def embedding():
    return MockEmbedding(embed_dim=8)

@register("retriever", "mine")
def retriever(index, top_k):
    from ragnb.retrieval.hybrid import WordRetriever
    return WordRetriever(index.store, top_k)

@register("reranker", "mine")
def reranker():
    return Reversed()

@register("policy", "mine")
def policy(n="1"):
    from ragnb import neighbors
    return neighbors(int(n))
'''
QUESTION = "반차는 몇 시간인가요?"


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    """A folder with documents and a file of plugins."""
    folder = tmp_path_factory.mktemp("plugins")
    (folder / "docs").mkdir()
    shutil.copy(SAMPLE / "corpus/hr_labor/leave.md", folder / "docs")
    (folder / "my.py").write_text(MINE, encoding="utf-8")
    (folder / "broken.py").write_text("import nothing_like_this", encoding="utf-8")
    (folder / "q.jsonl").write_text(json.dumps({"query_id": "q1", "query": "입사 1년차 직원의 연차는 며칠인가요?", "evidence": [{"doc_id": "leave.md", "text": "연차는 15일입니다"}]}), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def units(world) -> Path:
    """Its index, with nothing of its own."""
    assert main(["index", str(world / "docs"), "--index", str(world / "units"), "--quiet"]) == 0
    return world / "units"


@pytest.fixture(autouse=True)
def alone(monkeypatch, world):
    """What a test registers is gone after it."""
    monkeypatch.chdir(world)
    monkeypatch.delenv(registry.IMPORTED, raising=False)
    for name in ("_PARTS", "_FUNCTIONS", "_SPECS", "_LOADED"):
        monkeypatch.setattr(registry, name, type(getattr(registry, name))())
    yield
    os.environ.pop(registry.IMPORTED, None)


def answer(run, *argv: object) -> dict:
    code, out, err = run("ask", QUESTION, "--json", *argv)
    assert code == 0, err
    return json.loads(out)


def in_a_process(*argv: object, path: Path | None = None) -> dict:
    """The answer of a command in a process of its own."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, filter(None, [path, os.environ.get("PYTHONPATH")])))}
    done = subprocess.run([sys.executable, "-m", "ragnb", "ask", QUESTION, "--json", *map(str, argv)], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_import_names_five_parts(run):
    mine = ("--import", "my.py")
    assert run("index", "docs", "--index", "own", "--split", "mine:200", "--embed", "mine", "--quiet", *mine)[0] == 0
    asked = answer(run, "--index", "own", "--retrieve", "mine", "--policy", "mine:2", "--rerank", "mine", "--top-k", "4", *mine)
    plain = answer(run, "--index", "own", "--retrieve", "bm25", "--policy", "neighbors:2", "--top-k", "4", *mine)
    own, built_in = ([p["hits"] for p in a["passages"]] for a in (asked, plain))
    assert own != built_in and {h for hits in own for h in hits} == {h for hits in built_in for h in hits}
    registry._PARTS.clear(), registry._FUNCTIONS.clear(), registry._LOADED.clear()
    assert in_a_process("--index", "own", "--retrieve", "mine", "--policy", "mine:2", "--top-k", "4", *mine)["context"] == plain["context"]
    assert "1 unchanged" in run("index", "docs", "--index", "own", "--quiet", *mine)[1]    # splitter and embedding are made again by their names
    Path("own/ragnb.toml").write_text('retrieve = "mine"\npolicy = "mine:2"\ntop_k = 4\n', encoding="utf-8")
    assert answer(run, "--index", "own", *mine)["context"] == plain["context"]


@pytest.mark.parametrize("options, told", [
    (("--policy", "mine"), "unknown policy 'mine'"), (("--retrieve", "mine"), "unknown retriever 'mine'"), (("--rerank", "mine"), "unknown reranker 'mine'"),
    (("--policy", "yours", "--import", "my.py"), "plugins: mine"), (("--retrieve", "yours", "--import", "my.py"), "plugins: mine"),
    (("--import", "broken.py"), "'broken.py' cannot be imported: ModuleNotFoundError: No module named 'nothing_like_this'"),
    (("--import", "nowhere.py"), "'nowhere.py' cannot be imported"), (("--import", "nowhere"), "No module named 'nowhere'")])
def test_a_name_or_a_file_that_is_not_there_is_one_line(run, units, options, told):
    assert told in one_line(run("ask", QUESTION, "--index", units, *options))


@pytest.mark.heavy
def test_strategies_take_plugins_in_every_process(run):
    lines = ["--strategy", "split=mine:200 retrieve=bm25 policy=mine:2 name=own", "--strategy", "split=chunks:200/0 retrieve=bm25 policy=neighbors:2 name=built-in"]
    code, out, err = run("eval", "docs", "q.jsonl", *lines, "--import", "my.py", "--workers", "2", "--budgets", "600", "--quiet", "--json")
    assert code == 0, err
    assert json.loads(out)["strategies"].keys() == {"own", "built-in"}


def test_an_installed_package_needs_no_import(run, units, tmp_path, monkeypatch):
    site = tmp_path / "site"
    info = site / "my_parts-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "my_parts.py").write_text(MINE, encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-parts\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[ragnb.plugins]\nmine = my_parts\n", encoding="utf-8")
    own = in_a_process("--index", units, "--retrieve", "mine", "--policy", "mine:1", path=site)
    assert own["context"] == answer(run, "--index", units, "--retrieve", "bm25", "--policy", "neighbors:1")["context"]
    (site / "my_parts.py").write_text("raise OSError('no disk')", encoding="utf-8")
    monkeypatch.syspath_prepend(site)
    registry._LOADED.discard("installed")      # a process looks for plugins once
    assert "'my_parts' cannot be imported: OSError: no disk" in one_line(run("ask", QUESTION, "--index", units, "--retrieve", "mine"))
    assert run("ask", QUESTION, "--index", units)[0] == 0      # names of ragnb's own import no plugin
