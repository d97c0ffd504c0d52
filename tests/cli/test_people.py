"""What stood in the way of the people who deploy it: a line each, with what they saw before."""
from __future__ import annotations

import asyncio
import io
import json
import re
import shlex
import shutil
import threading
import urllib.error
import urllib.request
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from conftest import one_line, SAMPLE, whole_help, write
from llama_index.core import Settings
from llama_index.core.llms import MockLLM

from ragnb import (
    __version__, ExpandPostprocessor, InputError, MemoryStore, Pipeline, SimpleContextBuilder, update_index)
from ragnb.agent.library import Library
from ragnb.agent.tools import make_mcp_server, ReadingTools
from ragnb.cli import main
from ragnb.context.budgets import budget_for
from ragnb.documents.files import suffixes
from ragnb.machinery.markup import display_width
from ragnb.evaluation.strategy import parse_strategy
from ragnb.evaluation.tune import trained_grid, tuning_grid
from ragnb.machinery.registry import parts_of
from ragnb.serve.access import Access, read_tokens
from ragnb.serve.app import create_app, serve_app

PRICES = ["# 단가표", "", "| 품번 | 규격 | 단가 | 납기 |", "|---|---|---|---|", *(
    f"| HS-{k} | 규격 M{k}, 스테인리스 재질이며 방청 처리하고 상자마다 백 개씩 담아 습기 없는 곳에 둔다 | 단가 {k * 37}원, 열 상자 이상은 "
    f"할인하며 운임은 따로 청구한다 | 주문한 날부터 {k % 9 + 2}일이며 휴일은 빼고 센다 |" for k in range(100, 130))]


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


def test_drop_asks_and_leaves_what_ragnb_has_not_made(run, index, tmp_path, monkeypatch):
    """An index was deleted by `rm -r`, with all that was in its folder → a question that names what goes; files of others stay."""
    copied = shutil.copytree(index, tmp_path / "index")
    (copied / "mine.txt").write_text("a note")
    for answer in ("n\n", ""):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        code, out, err = run("drop", "--index", copied)
        assert code == 0 and "nothing was deleted" in out and "2 documents, " in err and "index.db" in err and (copied / "index.db").exists()
    (copied / "index.db").write_bytes(b"damaged" * 99)
    code, out, err = run("drop", "--index", copied, "--yes")
    assert code == 0 and "? documents" in err and [p.name for p in copied.iterdir()] == ["mine.txt"]
    (copied / "index.db").write_bytes(b"of another program")
    code, _, err = run("drop", "--index", copied, "--yes")
    assert code == 2 and "has no writer.lock of ragnb beside it" in err and len(list(copied.iterdir())) == 2


def test_help_says_what_follows_every_colon(run):
    """`adaptive, doc_type, section, segments, citations, auto-merge` without what N is → each with its argument."""
    told = " ".join(whole_help(run, "ask").split()).replace("- ", "-")
    with_argument = [part for part in parts_of("policy") if part.argument]
    assert len(with_argument) > 10
    assert [part.name for part in with_argument if f"{part.name}{part.argument}" not in told] == []


def test_help_names_every_kind_of_file(run):
    told = whole_help(run, "index") + whole_help(run, "--lang", "ko", "index")
    assert [suffix for suffix in suffixes() if told.count(suffix) < 2 and suffix not in (".markdown", ".htm")] == []


def test_notes_on_other_folders_are_commands_that_can_be_typed(run, tmp_path):
    """`ragnb remove ID --index X`, `--force`, `--index OTHER` → three whole commands."""
    folder = tmp_path / "my index"
    for name in ("first", "second"):
        write(tmp_path / name, {f"{name} one.md": f"The {name} folder says {name}.\n"})
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

    async def told() -> str:
        async with Client(make_mcp_server(ReadingTools(index))) as client:
            return client.server_info.version
    assert asyncio.run(told()) == __version__


def test_mcp_reads_around_a_hit_when_it_is_told_a_policy(index):
    """`mcp --policy` was unrecognized → search also reads the chunks around a hit."""
    library = Library.open(index, policy="neighbors:2")
    alone, around = ReadingTools(library), ReadingTools(library, expand=True)
    alone.search("반차는 몇 시간인가요?", 1), around.search("반차는 몇 시간인가요?", 5)
    assert len(alone.read) == 1 and set(alone.read) < set(around.read)


def test_mcp_returns_the_whole_row_of_a_long_table(tmp_path):
    """`… | 납기는` and nothing more, the header in place of a result → each result is a whole row, below the header."""
    write(tmp_path, {"prices.md": "\n".join(PRICES)})
    for at, split in enumerate(("units", "structure", "parent-child", "chunks:200/40", "fixed:150/0")):
        update_index(tmp_path / "prices.md", tmp_path / str(at), parser=split, show_progress=False)
        tools = ReadingTools(tmp_path / str(at), budget=9_000)
        if at > 1:       # a chunk begins and ends inside a row
            told = [tools.search("HS-107의 단가는 얼마인가요?", 3), tools.get_neighbor_chunks("prices.md", 12, "both", 2)]
            lines = [line for text in told for line in text.splitlines() if " | " in line and "<자료" not in line]
            assert len(lines) > 5 and not [line for line in lines if line.strip() not in PRICES], split
            continue
        for n, k in ((1, 107), (2, 121)):
            told = re.sub(r"\s*</자료>\s*<자료[^>]*>\s*", " ", tools.search(f"HS-{k}의 단가는 얼마인가요?", n)).replace("\n", " ")
            assert PRICES[k - 96] in told and (n == 2 or " ".join(PRICES[2:4]) in told), (split, told)
        cut = [p for p in tools.passages() if p.text.count("|") % 5]
        assert cut == [], split


def test_the_service_says_that_it_lives(index, tmp_path):
    """404 → `/health`, without a token, for any name of the host, over real HTTP."""
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
    write(docs, {name: f"The text of {name}.\n" for name in ("a.md", "old/one.png", "old/two.png", "휴가 사진첩.zip", ".git/config")})
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


def test_what_include_asked_for_once_stays(run, tmp_path):
    """The next `index` without `--include` removed the log again → it stays, a note says why, and `none` forgets."""
    docs, folder = tmp_path / "docs", tmp_path / "index"
    write(docs, {name: f"The text of {name}.\n" for name in ("rule.md", "line.log", "old/rule.md")})

    def ids(*more: str) -> tuple[list[str], str]:
        code, _, err = run("index", docs, "--index", folder, "--quiet", *more)
        assert code == 0
        return sorted(row["id"] for row in json.loads(run("ls", "--json", "--index", folder)[1])["documents"]), err
    assert ids("--include", "*.log", "--exclude", "old/")[0] == ["line.log", "rule.md"]
    kept, told = ids()
    assert kept == ["line.log", "rule.md"] and "--include: '*.log' as before; --include none forgets that" in told and "--exclude: 'old/'" in told
    assert ids() == (kept, told) and ids("--force") == (kept, told)        # told by every run: it explains what is read
    assert told.count("as before") == 2
    assert ids("--exclude", "none")[0] == ["line.log", "old/rule.md", "rule.md"]
    assert ids("--include", "none")[0] == ids()[0] == ["old/rule.md", "rule.md"]
    shutil.copytree(docs, tmp_path / "more")
    assert "as before" not in run("index", tmp_path / "more", "--index", tmp_path / "index2", "--quiet")[2]


def test_every_command_reads_the_files_that_were_indexed(run, tmp_path, monkeypatch):
    """`decide` measured 25 documents, the index had 27 → `tune`, `decide`, `eval` and `questions` read what `--include` added."""
    monkeypatch.chdir(tmp_path)
    log = "".join(f"## Fault {n}\n\nPump {n} of hall {n} lost {n + 2} litres of oil, and the valve was closed.\n\n" for n in range(1, 9))
    write(tmp_path / "docs", {"line.log": log, "rule.md": "# Rule\n\nA trip of one day costs 30 euros.\n", "old/rule.md": "# Old\n\nA trip costs 20 marks.\n"})
    ask = '{"query_id": "q", "query": "oil of pump 3?", "evidence": [{"doc_id": "line.log", "text": "Pump 3 of hall 3 lost 5 litres of oil"}]}\n'
    (tmp_path / "own.jsonl").write_text(ask + ask.replace('"q"', '"q2"').replace("3", "4").replace("5 litres", "6 litres"), encoding="utf-8")
    assert run("index", "docs", "--include", "*.log", "--exclude", "old/", "--quiet")[0] == 0
    few = ("--strategy", "bm25", "--strategy", "multi-scale", "--budgets", "300")
    for command in (("tune", "docs", "own.jsonl", *few), ("eval", "docs", "own.jsonl", *few), ("decide", "docs", "own.jsonl", *few, "--peers", "none", "--save")):
        code, out, err = run(*command)
        assert code == 0 and ("docs: 2 documents" in out or "2 documents, 2 questions" in out), (command, out, err)
        assert "note: --include *.log, as the folder was indexed" in err and "note: --exclude old/" in err
    printed = shlex.split(next(line for line in out.splitlines() if "ragnb index" in line))
    assert printed == ["ragnb", "index", "docs", "--include=*.log", "--exclude=old/"]       # the index that it prints reads them too
    assert {json.loads(line)["evidence"][0]["doc_id"] for line in run("questions", "docs", "--n", "9")[1].splitlines()} >= {"line.log"}
    for line in printed[1:], ["index", "docs"]:
        assert "2 documents" in run(*line)[1]


def test_a_copy_is_named_by_the_place_that_the_filter_allows(run, tmp_path):
    """`--where folder=copies` printed `rules/a.md` → `copies/a.md`, in every way to search, in JSON too."""
    write(tmp_path / "docs", {name: f"A small purchase costs less than 800 euros. {name[-4:]}\n"
                              for name in ("rules/a.md", "copies/a.md", "rules/b.md")})
    assert run("index", tmp_path / "docs", "--index", tmp_path / "index", "--quiet")[0] == 0
    asked = ("ask", "What is a small purchase?", "--index", tmp_path / "index")
    for more in ((), ("--retrieve", "bm25"), ("--retrieve", "vector", "--policy", "document:9")):
        told = [run(*asked, *more, "--where", f"folder={folder}")[1] for folder in ("rules", "copies")]
        assert "rules/a.md" in told[0] and "copies/" not in told[0] and "copies/a.md" in told[1] and "rules/" not in told[1], more
    source, = json.loads(run(*asked, "--json", "--where", "folder=copies")[1])["sources"]
    assert source["file"] == "copies/a.md" and source["label"].endswith("copies/a.md")


def test_a_warning_names_the_line_that_asked(index):
    """`filtered.py:148: UserWarning` → the line of the caller, also through LlamaIndex."""
    pipeline = Pipeline.from_index(index, where="doc_type=none")
    calls = [lambda: pipeline.ask("How much is a trip?"), lambda: list(pipeline.stream("How much is a trip?")), lambda: budget_for(window=10, share=0.9),
             lambda: SimpleContextBuilder(1).build(Pipeline.from_index(index).ask("trip").passages),
             lambda: ExpandPostprocessor(store=MemoryStore()).postprocess_nodes(Pipeline.from_index(index).find("trip").hits)]
    for call in calls:
        with pytest.warns(UserWarning) as caught:
            call()
        assert {w.filename for w in caught} == {__file__}


@pytest.fixture(scope="module")
def decided(tmp_path_factory) -> Path:
    """A folder that was decided on, with identical copies and a few questions."""
    text = (SAMPLE / "corpus/hr_labor/leave.md").read_text(encoding="utf-8").partition("\n## 6")[0]
    work = write(tmp_path_factory.mktemp("decided"), dict.fromkeys(("docs/leave.md", "docs/old/leave.md", "docs/old/leave copy.md"), text))
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as told:
        patch.chdir(work)
        assert main(["decide", "docs", "--n", "8", "--peers", "none", "--strategy", "multi-scale", "--strategy", "hybrid size=400 policy=none",
                     "--budgets", "300,900", "--quiet"]) == 0
    return write(work, {"told.txt": told.getvalue()})


def test_before_and_after_of_articles_by_one_command(run, decided, monkeypatch):
    """`no strategy 'articles-before' in 'out/decide'` → the command that `decide` prints compares them."""
    monkeypatch.chdir(decided)
    code, out, _ = run("eval", "--compare", "articles-before", "articles-after", "--out", "out/decide")
    assert code == 0 and "articles-before / articles-after" in out
    told = (decided / "told.txt").read_text(encoding="utf-8")
    assert "which differences are significant: ragnb eval --compare articles-before articles-after --out out/decide" in told
    code, _, err = run("eval", "--compare", "articles-before", "articles-after")
    assert code == 2 and "no results in 'out/eval': --out names the folder" in err


def test_copies_count_once_in_every_command(run, decided, monkeypatch):
    """`index` counted 21 documents, `tune` and `eval` 24 → the same number; evidence may name a copy."""
    monkeypatch.chdir(decided)
    (decided / "own.jsonl").write_text('{"query_id": "q", "query": "연차는?", "evidence": [{"doc_id": "old/leave copy.md", "text": "연차는 15일입니다"}]}\n', encoding="utf-8")
    assert "1 document," in run("index", "docs", "--quiet")[1]
    code, out, err = run("eval", "docs", "own.jsonl", "--strategy", "bm25", "--budgets", "300", "--quiet")
    assert code == 0 and "docs: 1 document, 1 question" in out and "the same file as leave.md, read once" in err
    assert "docs: 1 document, " in run("tune", "docs", "--n", "5", "--strategy", "bm25", "--strategy", "multi-scale", "--budgets", "300", "--quiet")[1]
    evidence = [json.loads(line)["evidence"][0]["doc_id"] for line in run("questions", "docs", "--n", "5")[1].splitlines()]
    assert set(evidence) == {"leave.md"}


def test_rows_of_results_are_not_read_as_questions(run, decided, monkeypatch):
    """Thirty lines on missing evidence, or both files of the folder → one line with the file that has the questions."""
    monkeypatch.chdir(decided)
    for place in ("out/decide/questions.jsonl", "out/decide"):
        told = "holds results of ragnb, not questions; the questions are in 'out/decide/made.jsonl'"
        assert told in one_line(run("eval", "docs", place, "--quiet"))


def test_a_strategy_is_asked_as_it_is_printed(run, decided, monkeypatch):
    """`--strategy` was unrecognized in `ask`, and `hybrid 400 none` no strategy → each printed line can be asked."""
    monkeypatch.chdir(decided)
    assert [parse_strategy(s.name).spec for s in tuning_grid()] == [s.spec for s in tuning_grid()] and trained_grid("ollama:x") == []
    asked = ("ask", "연차는 며칠인가요?", "--json")
    assert run("index", "docs", "--quiet")[0] == 0
    for line in json.loads((decided / "out/decide/results.json").read_text(encoding="utf-8"))["strategies"]:
        split = parse_strategy(line).split
        assert run("index", "docs", "--strategy", line, "--index", "asked", "--force", "--quiet")[0] == 0
        found = run(*asked, "--index", "asked", "--strategy", line)
        assert found[0] == 0 and json.loads(found[1])["passages"], found
        if split != "units":
            code, _, err = run(*asked, "--strategy", line)
            command, = re.findall(r"`ragnb ([^`]+)`", err)
            assert code == 2 and shlex.split(command) == ["index", "PATH", "--index", ".ragnb-2", "--split", split]
    assert run(*asked, "--strategy", "bm25 split=units policy=siblings:1") == run(*asked, "--retrieve", "bm25", "--policy", "siblings:1")
    assert run(*asked, "--strategy", "multi-scale", "--policy", "siblings:1") == run(*asked, "--policy", "siblings:1")     # what is typed wins
    assert "is another library" in run(*asked, "--strategy", "peer:llamaindex-fusion")[2]
    assert "made with the embedding" in run(*asked, "--strategy", "multi-scale embed=ollama:x")[2]


def test_eval_takes_the_options_of_ask(run, decided, monkeypatch):
    """`eval --policy` was unrecognized → a strategy of the options, and options on top of named strategies."""
    monkeypatch.chdir(decided)
    measured = ("eval", "docs", "out/decide/made.jsonl", "--budgets", "300", "--json", "--quiet")
    typed = json.loads(run(*measured, "--retrieve", "bm25", "--policy", "siblings:1", "--no-lookup")[1])["strategies"]
    assert list(typed) == ["split=units retrieve=bm25 policy=siblings:1 lookup=off"]
    both = json.loads(run(*measured, "--strategy", "hybrid", "--strategy", "bm25", "--policy", "parent")[1])["strategies"]
    assert [run["spec"] for run in both.values()] == [f"split=parent-child retrieve={name} policy=parent" for name in ("hybrid", "bm25")]
    told = run("eval", "docs", "out/decide/made.jsonl", "--budgets", "300", "--quiet", "--strategy", "hybrid", "--strategy", "bm25")[1]
    command, = re.findall("which differences are significant: ragnb (.*)", told)
    assert run(*shlex.split(command))[0] == 0


def test_a_settings_file_that_is_not_read_is_named(run, decided, monkeypatch):
    """`ragnb.toml` in the current folder was silently not read → a line with the option that reads it."""
    monkeypatch.chdir(decided)
    assert run("index", "docs", "--quiet")[0] == 0
    plain = run("ask", "연차는?")
    (decided / "ragnb.toml").write_text('policy = "siblings:1"\n', encoding="utf-8")
    try:
        code, out, err = run("ask", "연차는?")
        assert (code, out) == plain[:2] and "note: ragnb.toml in the current folder is not read" in err and "--settings ragnb.toml reads it" in err
        read = run("ask", "연차는?", "--settings", "ragnb.toml")
        assert read[1] != out and "is not read" not in read[2] + run("ask", "연차는?", "--settings", "none")[2]
    finally:
        (decided / "ragnb.toml").unlink()


def test_an_index_is_opened_once(run, index, tmp_path, monkeypatch):
    """With `split` or `embed` in the settings each question opened the index twice → once, in every command."""
    from ragnb.indexing.folder_index import Index
    opened, open_index = [], Index.open.__func__
    monkeypatch.setattr(Index, "open", classmethod(lambda cls, *args, **more: opened.append(args) or open_index(cls, *args, **more)))
    (tmp_path / "tuned.toml").write_text('split = "units"\nembed = "ngram"\npolicy = "siblings:1"\n', encoding="utf-8")
    asked = ("--index", index, "--settings", tmp_path / "tuned.toml")
    for words in (("ask", "How much is a trip?", *asked), ("ask", "trip", "--index", index, "--strategy", "multi-scale embed=ngram"),
                  ("chat", *asked)):
        opened.clear()
        monkeypatch.setattr("sys.stdin", io.StringIO())
        assert run(*words)[0] == 0 and len(opened) == 1, words
    (tmp_path / "other.toml").write_text('split = "structure"\n', encoding="utf-8")
    for words in (("ask", "trip"), ("trace", "trip"), ("chat",), ("serve",), ("mcp",)):
        code, _, err = run(*words, "--index", index, "--settings", tmp_path / "other.toml")
        assert code == 2 and "was made with another splitter: `ragnb index PATH" in err, words


def test_one_strategy_is_not_read_letter_by_letter():
    """`unknown strategy 'm'` → one line is one strategy, wherever strategies are taken."""
    from ragnb.evaluation.strategy import resolve_strategies
    assert resolve_strategies("multi-scale") == resolve_strategies(["multi-scale"]) == resolve_strategies([])


def test_results_never_replace_a_file_of_yours(run, decided, tmp_path, monkeypatch):
    """`eval --out .` overwrote `questions.jsonl` → refused before any work; results of an earlier run are replaced."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(decided / "docs", "docs")
    own = (decided / "out/decide/made.jsonl").read_text(encoding="utf-8")
    Path("questions.jsonl").write_text(own, encoding="utf-8")
    (tmp_path / "mine").mkdir()
    Path("mine/ragnb.toml").write_text('policy = "siblings:1"\n', encoding="utf-8")
    few = ("--strategy", "bm25", "--budgets", "300", "--quiet")
    for words, file in ((("eval", "docs", "questions.jsonl", "--out", "."), "questions.jsonl"), (("tune", "docs", "--n", "5", "--out", "mine"), "mine/ragnb.toml")):
        before = sorted(tmp_path.rglob("*"))
        code, _, err = run(*words, *few)
        assert code == 2 and f"{file}' is not from an earlier run" in err and sorted(tmp_path.rglob("*")) == before
    assert Path("questions.jsonl").read_text(encoding="utf-8") == own
    for _ in range(2):
        assert run("eval", "docs", "questions.jsonl", "--out", "out", *few)[0] == 0
    assert "no other file" in " ".join(whole_help(run, "eval").split())


def test_no_table_row_is_shown_in_part(run, tmp_path):
    """`주문한 날부터 8일이며 … |` below the header, as if it were a product → rows of a passage are whole, at every budget with room for one."""
    write(tmp_path, {"prices.md": "\n".join(PRICES)})
    assert run("index", tmp_path / "prices.md", "--index", tmp_path / "index", "--quiet")[0] == 0
    for budget in (200, 300, 500, 800, 1_500):
        pipeline = Pipeline.from_index(tmp_path / "index", budget=budget)
        for k in (100, 107, 121):
            answer = pipeline.ask(f"HS-{k}의 단가는 얼마인가요?")
            assert PRICES[k - 96] in min(answer.passages, key=lambda p: p.rank).text and answer.expansion.stats.reads <= 2
            assert [line for p in answer.passages for line in p.text.splitlines() if line not in PRICES] == [], (budget, k)


def test_a_rule_without_a_heading_is_read_as_a_whole_paragraph(run, tmp_path):
    """At small budgets the paragraph of the rule was cut, and others filled the rest → it is whole, in the first passage."""
    rules = {"자가용으로 출장을 가면 얼마를 주나요?": "자기 차를 이용하여 출장을 가는 경우에는 1킬로미터에 250원을 지급하며, 통행료와 주차료는 영수증에 적힌 금액을 그대로 지급합니다. "
             "다만 하루 왕복 거리가 30킬로미터보다 짧으면 지급하지 않습니다. 과태료와 범칙금은 어떤 경우에도 회사가 부담하지 않습니다.",
             "법인 카드를 쓸 수 없는 곳은 어디인가요?": "법인 카드는 출장 기간에 업무를 위하여서만 쓸 수 있습니다. 주류 판매가 주된 업종인 곳과 유흥업소, 귀금속점에서는 쓸 수 없으며, "
             "심야인 밤 11시부터 아침 6시까지 쓴 금액은 사유를 적어야 합니다. 개인 용도로 쓴 금액은 다음 달 급여에서 뺍니다.",
             "해외 출장은 며칠 전에 신청해야 하나요?": "해외 출장은 부서장의 승인에 더하여 본부장의 승인을 받아야 합니다. 출발 14일 전까지 신청하는 것을 원칙으로 하며, 여행 경보 3단계 "
             "이상인 나라로는 출장을 보내지 않습니다. 다만 대표이사가 특별히 허가한 경우에는 안전 대책을 첨부하여 예외로 할 수 있습니다."}
    others = ["국내 출장의 교통편은 철도를 먼저 이용합니다. 철도로 두 시간 안에 닿을 수 없는 곳은 항공편을 이용할 수 있으며, 등급은 일반석으로 합니다.",
              "출장을 가려는 직원은 출발하기 사흘 전까지 출장 신청서를 작성하여 소속 부서장의 승인을 받아야 합니다. 신청서에는 목적지와 기간, 예상 경비를 적습니다.",
              "숙박비는 국내의 경우 1박에 9만 원까지 실비로 지급합니다. 서울과 부산, 제주는 12만 원까지 인정합니다."]
    (tmp_path / "policy.txt").write_text("\n\n".join([*others, *rules.values(), *others[::-1]]) + "\n", encoding="utf-8")
    assert run("index", tmp_path / "policy.txt", "--index", tmp_path / "index", "--quiet")[0] == 0
    for question, rule in rules.items():
        for budget in (350, 500, 4_000):
            found = json.loads(run("ask", question, "--budget", budget, "--json", "--index", tmp_path / "index")[1])["passages"]
            assert rule in min(found, key=lambda p: p["rank"])["text"], budget


def test_a_sentence_window_is_named_as_ragnb_names_it(run, index, tmp_path, monkeypatch):
    """A list of other names for what a LlamaIndex user types → how ragnb writes it; for `eval --split` too."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "docs", {"a.md": "One sentence. And another.\n"})
    for argv in (("index", "docs", "--split", "sentence-window"), ("ask", "?", "--index", index, "--policy", "sentence_window:3"),
                 ("ask", "?", "--index", index, "--retrieve", "sentence-window"), ("tune", "docs", "--strategy", "sentence-window")):
        code, _, err = run(*argv)
        assert code == 2 and "a sentence window is the splitter sentence with the policy window:5" in err, (argv, err)
    assert run("index", "docs", "--index", "s", "--split", "sentence", "--quiet")[0] == 0 == run("ask", "sentence", "--index", "s", "--policy", "window:5")[0]
    for command in ("eval", "tune", "decide"):
        assert "--strategy 'split=fixed:300'" in run(command, "docs", "--split", "fixed:300")[2]


def test_the_page_explains_its_numbers(run, index, tmp_path):
    """`10 hits`, `words 7 2.00` and a column `read` without a word on them → a sentence each."""
    for lang, told in (("en", ("A hit is a piece of text that the search found", "words 7: how far", "read: the text is in the context")),
                       ("ko", ("적중은 검색이 찾은 글 조각", "단어 7은", "문맥에 있다는 뜻"))):
        assert run("--lang", lang, "ask", "반차는 몇 시간인가요?", "--index", index, "--html", tmp_path / "why.html")[0] == 0
        page = (tmp_path / "why.html").read_text(encoding="utf-8")
        assert all(text in page for text in told), lang


def test_a_title_is_no_sentence_and_an_email_has_its_subject(run, tmp_path):
    """A whole sentence, or `보낸사람: …`, as the title of a file → the file's name, and the subject."""
    write(tmp_path / "docs", {"복지.txt": "복지 포인트는 매년 1월 2일에 120만 포인트를 준다. 남은 것은 없어진다.\n\n동호회는 10명부터다.\n",
                              "mail.txt": "From: Kim <kim@a.example>\nDate: 2025-10-02\nSubject: Delivery moves\n\nHello, the delivery moves to November.\n",
                              "9.txt": "9월 29일 제품 회의. 참석: 박서연, 최도윤.\n\n가격을 정했다.\n"})
    assert run("index", tmp_path / "docs", "--index", tmp_path / "i", "--quiet")[0] == 0
    titles = {row["id"]: row["title"] for row in json.loads(run("ls", "--json", "--index", tmp_path / "i")[1])["documents"]}
    assert titles == {"복지.txt": "복지", "mail.txt": "Delivery moves", "9.txt": "9월 29일 제품 회의"}


def test_a_size_without_an_overlap_has_none(run, index):
    """`--split fixed:300` was refused, and nothing said why → an overlap of 0; an unknown splitter names --import."""
    from ragnb.chunking.parsers import describe_parser, resolve_parser
    for name in ("fixed", "chunks", "recursive"):
        assert describe_parser(resolve_parser(f"{name}:300")) == describe_parser(resolve_parser(f"{name}:300/0"))
    assert "--import FILE registers your own" in run("index", "x", "--split", "paras:100")[2] or "no such file" in run("index", "x", "--split", "paras:100")[2]
    assert "fixed:500/0, exactly so many characters" in " ".join(whole_help(run, "index").split())


def test_wrong_arguments_of_a_tool_are_told_in_one_line(index):
    """Several lines of pydantic with an address → one line that names the argument."""
    from mcp import Client

    async def told(name: str, **arguments: object) -> str:
        async with Client(make_mcp_server(ReadingTools(index))) as client:
            found = await client.call_tool(name, arguments)
            return found.content[0].text if found.is_error else ""
    assert asyncio.run(told("search")) == "search: query: Field required"
    assert asyncio.run(told("get_page", doc_id="trip.md", page=[1])).count("\n") == 0


def test_a_choice_in_chat_takes_commands(index):
    """`/why` in place of a number was sent as an answer → a command; `/quit` ends; the prompt is in the reader's language."""
    from ragnb.agent.chat import _choice_of
    from ragnb.agent.state import AgentState, FoundChunk
    from ragnb.machinery.messages import use_language
    state = AgentState(question="?", options=[FoundChunk(id="a.md#u0", doc_id="a.md")])
    said, done, prompts = iter(["/why", "1"]), [], []
    assert _choice_of(state, lambda p: prompts.append(p) or next(said), print, lambda line: done.append(line) is None).documents == ("a.md",)
    assert done == ["/why"] and "an empty line for all" in prompts[0]
    with pytest.raises(EOFError):
        _choice_of(state, lambda prompt: "/quit", print, lambda line: False)
    use_language("ko")
    _choice_of(state, lambda p: prompts.append(p) or "", print)
    use_language("")
    assert prompts[-1].startswith("번호")


def test_a_question_that_goes_on_is_asked_with_the_one_before(tmp_path):
    """`한도는요?` by itself found the limits of anything → a question that begins with 그럼 is searched with its topic alone."""
    from ragnb import update_index
    from ragnb.agent.flow import Agent
    from ragnb.agent.state import AgentState
    from ragnb.context.conversation import Conversation
    rules = {"노트북": "노트북을 잃어버리면 한 시간 안에 보안팀에 신고한다.", "경비": "미리 받은 출장 경비는 돌아온 날부터 열흘 안에 정산한다.",
             "보고서": "출장 보고서는 닷새 안에 제출하며 신고 기한을 넘기면 사유를 적는다.", "여권": "여권을 분실하면 기한 없이 외교부에 신고한다."}
    for name, rule in rules.items():
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\n{rule}\n", encoding="utf-8")
    update_index(tmp_path, tmp_path / ".ragnb", show_progress=False)
    agent, talk = Agent(tmp_path / ".ragnb", None, {"grade": None}, ask_user=False), Conversation()

    def asked(question: str) -> AgentState:
        async def run() -> AgentState:
            state = AgentState.ask(question, talk)
            async for _ in agent.stream(state):
                pass
            return state
        state = asyncio.run(run())
        agent.remember(talk, state)
        return state
    first = asked("노트북을 잃어버리면 어떻게 하나요?")
    for question in ("그럼 기한은요?", "그럼 어디에 하나요?"):
        state = asked(question)
        (query,) = state.queries            # the topic, or its rare nouns, and the question
        assert query.endswith(f" {question}") and first.question.startswith(query.split()[0][:3]) and state.hits[0].doc_id == "노트북.md"
    assert asked("여권을 분실하면요?").queries[0] == "여권을 분실하면요?"


def test_records_never_replace_a_file_that_they_read(run, tmp_path):
    """`records interpretations.jsonl --out .` replaced its own input → refused before anything is written."""
    from ragnb.laws.kinds import FILES
    file = tmp_path / FILES["qa"]
    file.write_text(json.dumps({"title": "휴가", "text": "질문: 연차는 며칠입니까?\n답변: 15일입니다.\n\n질문: 반차는 몇 시간입니까?\n답변: 4시간입니다."}, ensure_ascii=False) + "\n", encoding="utf-8")
    before = file.read_text(encoding="utf-8")
    code, _, err = run("records", file, "--kind", "qa", "--out", tmp_path)
    assert code == 2 and "would be replaced: name another folder" in err and file.read_text(encoding="utf-8") == before
    assert run("records", file, "--kind", "qa", "--out", tmp_path / "out")[0] == 0
