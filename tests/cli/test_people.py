"""What stood in the way of the people who deploy it: a line each, with what they saw before."""
from __future__ import annotations

import asyncio
import json
import re
import shlex
import shutil
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from conftest import SAMPLE
from llama_index.core import Settings
from llama_index.core.llms import MockLLM

from ragnb import InputError, Pipeline, __version__
from ragnb.cli import main
from ragnb.documents.markup import display_width


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Path:
    """An index of a Korean and an English file name."""
    docs, folder = tmp_path_factory.mktemp("people") / "docs", tmp_path_factory.mktemp("made") / "index"
    docs.mkdir()
    shutil.copy(SAMPLE / "corpus/hr_labor/leave.md", docs / "휴가규정.md")
    (docs / "trip.md").write_text("---\ndoc_type: 규정\n---\nA trip of one day costs 30 euros.\n", encoding="utf-8")
    assert main(["index", str(docs), "--index", str(folder), "--quiet"]) == 0
    return folder


def test_ls_aligns_korean(run, index):
    """A Korean name moved the columns behind it to the right → they stand below each other."""
    lines = run("ls", "--index", index)[1].splitlines()[:3]
    assert {display_width(re.match(r".*?\s+\d+  +[\d,]+  ", line).group()) for line in lines[1:]} == {display_width(lines[0].partition("doc_type")[0])}
    assert len({display_width(re.match(r".*?[\d,]+  +[\d,]+  \S+ +", line).group()) for line in lines[1:]}) == 1


def test_remove_says_that_the_file_comes_back(run, index, tmp_path):
    """`1 removed, 1 left` and nothing more → a line on what the next run of index does."""
    copied = shutil.copytree(index, tmp_path / "index")
    code, out, err = run("remove", "trip.md", "--index", copied)
    assert code == 0 and "1 removed, 1 left" in out and "If you index their folder again, they come back" in err


def test_help_says_what_follows_every_colon(run):
    """`adaptive, doc_type, section, segments, citations, auto-merge` without what N is → each with its argument."""
    from ragnb.expansion.policy import _MAKERS
    told = " ".join(run("ask", "--help")[1].split()).replace("- ", "-")
    with_argument = [name for name, maker in _MAKERS.items() if maker.argument is not None]
    assert [name for name in with_argument if not re.search(rf"\b{name}:(N|X|UNIT)\b", told)] == []


def test_notes_on_other_folders_are_commands_that_can_be_typed(run, tmp_path):
    """`ragnb remove ID --index X`, `--force`, `--index OTHER` → three whole commands."""
    folder = tmp_path / "my index"
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name} one.md").write_text(f"The {name} folder says {name}.\n", encoding="utf-8")
        code, _, err = run("index", tmp_path / name, "--index", folder, "--quiet")
        assert code == 0
    typed = [shlex.split(command) for command in re.findall(r"`(ragnb [^`]+)`", err)]
    assert [words[1] for words in typed] == ["remove", "index", "index"]
    assert run(*typed[0][1:])[0] == 0 and "1 document" in run("info", "--index", folder)[1].replace("documents   1", "1 document")
    assert run(*typed[1][1:], "--quiet")[0] == 0 and run(*typed[2][1:], "--quiet")[0] == 0


def test_an_engine_takes_the_model_of_llama_index(index, monkeypatch):
    """`an engine needs a model: pass llm` although `Settings.llm` was set → that model answers."""
    pipeline = Pipeline.from_index(index)
    monkeypatch.setattr(Settings, "_llm", None)
    with pytest.raises(InputError, match="an engine needs a model"):
        pipeline.query_engine()
    monkeypatch.setattr(Settings, "_llm", MockLLM(max_tokens=5))
    assert str(pipeline.query_engine().query("How much is a trip?"))


def test_the_mcp_server_has_a_version(index):
    """An empty version → that of ragnb."""
    from mcp import Client
    from ragnb.agent.mcp_server import make_mcp_server
    from ragnb.agent.tools import ReadingTools

    async def told() -> str:
        async with Client(make_mcp_server(ReadingTools(index))) as client:
            return client.server_info.version
    assert asyncio.run(told()) == __version__


def test_mcp_reads_around_a_hit_when_it_is_told_a_policy(index):
    """`mcp --policy` was unrecognized → search also reads the chunks around a hit."""
    from ragnb.agent.library import Library
    from ragnb.agent.tools import ReadingTools
    library = Library.open(index, policy="neighbors:2")
    alone, around = ReadingTools(library), ReadingTools(library, expand=True)
    alone.search("반차는 몇 시간인가요?", 1), around.search("반차는 몇 시간인가요?", 5)
    assert len(alone.read) == 1 and set(alone.read) < set(around.read)


def test_the_service_says_that_it_lives(index, tmp_path):
    """404 → `/health`, without a token, for any name of the host, over real HTTP."""
    from ragnb.serve.access import Access, read_tokens
    from ragnb.serve.app import create_app, serve_app
    ready, found = threading.Event(), []
    (tmp_path / "tokens.json").write_text('[{"name": "clerk", "token": "clerk-0123456789abcdef", "where": null}]', encoding="utf-8")
    app = create_app(index, access=Access(read_tokens(tmp_path / "tokens.json")))
    threading.Thread(target=serve_app, args=(app, "127.0.0.1", 0, lambda address: (found.append(address), ready.set())), daemon=True).start()
    assert ready.wait(60)
    asked = urllib.request.Request(f"{found[0]}health", headers={"host": "10.0.0.7"})
    with urllib.request.urlopen(asked, timeout=30) as reply:
        assert json.load(reply) == {"status": "ok", "version": __version__}
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(urllib.request.Request(f"{found[0]}api/about", headers={"host": "10.0.0.7"}), timeout=30)
    assert refused.value.code == 421


def test_skipped_files_are_named_once(run, tmp_path):
    """Every run of index named every picture again → once, then a count and the command that lists them."""
    docs, folder = tmp_path / "docs", tmp_path / "index"
    for name in ("a.md", "old/one.png", "old/two.png", "휴가 사진첩.zip", ".git/config"):
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text(f"The text of {name}.\n", encoding="utf-8")
    indexed = ("index", docs, "--index", folder, "--quiet")
    first, again = run(*indexed), run(*indexed)
    assert all(told in first[2] for told in ("*.png", "휴가 사진첩.zip", "hidden folders are not read", "old/one.png"))
    command = re.search(r"^skipped as before: 3 \(`(ragnb [^`]+)` lists them\)\n$", again[2])[1]
    assert "3 skipped" in first[1] and "3 skipped" in again[1] and not json.loads(run(*indexed, "--json")[1])["problems"] == []
    listed = run(*shlex.split(command)[1:])[1]
    assert str(docs) in listed and "old/one.png" in listed and "휴가 사진첩.zip" in listed and ".git" in listed
    assert [p["n"] for p in json.loads(run("info", "--skipped", "--json", "--index", folder)[1])[str(docs)]] == [0, 2, 1]
    (docs / "new.bin").write_bytes(b"\0")
    told = run(*indexed)[2]
    assert "skipped new.bin" in told and "skipped as before: 3" in told and "png" not in told
    for name in ("new.bin", "old/one.png", "old/two.png", "휴가 사진첩.zip"):
        (docs / name).unlink()
    assert run(*indexed)[2] == "" and "휴가" not in run("info", "--skipped", "--index", folder)[1]
    (docs / ".git/config").unlink(), (docs / ".git").rmdir()
    assert run(*indexed)[0] == 0 and run("info", "--skipped", "--index", folder)[1] == "nothing was skipped\n"
    assert run("info", "--skipped", "--index", tmp_path / "other")[0] == 2


def test_ask_says_that_the_file_it_is_asked_for_was_skipped(run, tmp_path):
    """Passages of other files and no word about it → a note with the reason, in JSON too."""
    for name in ("a.md", "계약서 사본.png", "one.png"):
        (tmp_path / name).write_text("The text of a contract.\n", encoding="utf-8")
    assert run("index", tmp_path, "--index", tmp_path / ".ragnb", "--quiet")[0] == 0
    asked = {q: run("ask", q, "--index", tmp_path / ".ragnb") for q in ("계약서 사본에는 무엇이 있나요?", "What is in ONE.png?", "The text of one contract?")}
    told = [[line for line in err.splitlines() if "was not indexed" in line] for _, _, err in asked.values()]
    assert [len(lines) for lines in told] == [1, 1, 0] and "계약서 사본.png was not indexed: a kind of file that is not read" in told[0][0]
    assert "one.png was not indexed" in json.loads(run("ask", "What is in one.png?", "--json", "--index", tmp_path / ".ragnb")[1])["note"]
