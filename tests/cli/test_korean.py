"""A Korean user meets no English sentence: commands, their pages and their errors, run with `--lang ko`."""
from __future__ import annotations

import html
import re
import shlex
from pathlib import Path

import pytest

from conftest import SAMPLE, write
from ragnb.cli import main
from ragnb.machinery.messages import use_language
from ragnb.machinery.registry import parts_of

SENTENCE = re.compile(r"(?:\b[a-z]{2,} ){2}[a-z]{2,}\b")    # three English words in a row
COMMANDS = ["index docs --split parent-child", "index docs", "index more", "ls", "info", "info --skipped",
            "eval docs made.jsonl --quiet --budgets 300,900 --strategy multi-scale --strategy bm25", "eval --compare multi-scale bm25",
            "tune docs --quiet --n 6 --strategy multi-scale --strategy bm25 --budgets 300,900",
            "tune docs made.jsonl --quiet --strategy bm25 --strategy multi-scale --budgets 500 --save",
            "decide docs --quiet --n 6 --peers none --strategy multi-scale --strategy bm25 --budgets 300,900",
            "questions docs --n 6 --out made2.jsonl", "records docs/law.txt --out records", "remove leave.md", "trace 연차"]
MISTAKES = ["ask", "aks", "ask 연차 --polcy x", "ask 연차 --policy foo", "ask 연차 --retrieve foo", "ask 연차 --rerank foo", "ask 연차 --top-k 0",
            "ask 연차 --where bad", "ask 연차 --cut 7", "ask 연차 --context foo", "ask 연차 --compress foo", "ask 연차 --tokenizer foo",
            "ask 연차 --llm foo", "ask 연차 --settings none.toml", "ask 연차 --budget-share 0.3", "ask 연차 --model x", "ask 연차 --as-of x",
            "ask 연차 --rerank llm", "ask 연차 --policy llm", "ask 연차 --retrieve hyde:bm25", "ask 연차 --index none", "ask 연차 --html docs",
            "ask 연차 --over chroma:docs#x", "ask 연차 --history docs/broken.jsonl", "index none", "index empty", "index docs --embed foo",
            "index docs --split foo", "index docs --split contexts:units", "index docs --collections x.json", "index docs --embed onnx:docs",
            "eval", "eval none", "eval docs none.jsonl", "eval docs docs/broken.jsonl", "eval docs made.jsonl --strategy foo",
            "eval docs made.jsonl --strategy retrieve=", "eval docs made.jsonl --strategy peer:foo", "eval docs made.jsonl --budgets x",
            "eval --compare a b", "eval docs --qrels x", "tune none", "tune empty", "tune docs none.jsonl", "decide docs --peers foo",
            "questions none", "questions docs --kinds foo", "remove none", "chat --routes none.json", "chat --step x", "chat --step foo=none",
            "serve --host 0.0.0.0", "serve --tokens docs/broken.jsonl", "serve --documents nowhere", "mcp --index none", "demo --data empty",
            "ask 연차 --where docctype=1", "ask 연차 --over nothing", "ask 연차 --llm ollama:x --base-url http://127.0.0.1:9",
            "records note.txt --out out", "index docs --split paras:100"]


def english_of(text: str) -> list[str]:
    """The lines with an English sentence, without commands to copy, addresses, and what the user typed."""
    bare = re.sub(r"`[^`]*`|ragnb [a-z].*|\bpip install.*|\[Errno.*|\S*[/\\]\S*", "", text)
    return [line for line in bare.splitlines() if SENTENCE.search(line)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two folders of documents, questions, files that cannot be read; Korean is the language of the machine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGNB_LANG", "ko")
    for name in ("docs", "more", "empty"):
        (tmp_path / name).mkdir()
    leave = (SAMPLE / "corpus/hr_labor/leave.md").read_text(encoding="utf-8")[:3000]
    (tmp_path / "docs/leave.md").write_text(leave, encoding="utf-8")
    (tmp_path / "docs/law.txt").write_text((SAMPLE / "corpus/law_common/care_robot_act.txt").read_text(encoding="utf-8")[:3000], encoding="utf-8")
    write(tmp_path / "docs", {"broken.jsonl": '{"text": 1}\n{"te\n[]\n', "picture.png": b"\x89PNG", **dict.fromkeys(("b.docx", "c.pdf", "d.hwp"), "x")})
    write(tmp_path, {"note.txt": "아무 글"})
    write(tmp_path / "more", {"leave.md": leave[:900], "other.txt": "다른 문서의 글입니다."})
    (tmp_path / "made.jsonl").write_text('{"query_id": "q", "query": "연차는?", "evidence": [{"doc_id": "leave.md", "text": "연차는 15일입니다"}]}\n',
                                         encoding="utf-8")
    yield tmp_path
    use_language("")


def test_a_sentence_is_found_and_a_command_is_not():
    assert english_of("skipped a.png: a kind of file that is not read") and not english_of("건너뜀 a.png: 읽지 않는 파일")
    assert not english_of("없습니다. `ragnb index PATH --index nope` 명령으로 만드세요\n    ragnb ask a question of mine")


@pytest.mark.heavy
def test_results_and_pages_are_korean(folder, capsys):
    found = {}
    for line in COMMANDS:
        main(shlex.split(line))
        told = capsys.readouterr()
        found[line] = english_of(told.out.partition("휴가규정")[0] if line.startswith("trace") else told.out) + english_of(told.err)
    for page in [*folder.rglob("report.html"), *folder.rglob("decide.html")]:
        text = re.sub(r"<style.*?</style>|<pre.*?</pre>|<[^>]+>", "\n", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        found[page.parent.name + page.name] = english_of(html.unescape(text))
    assert len(found) >= len(COMMANDS) + 4 and {line: told for line, told in found.items() if told} == {}


def test_mistakes_are_told_in_korean(folder, capsys):
    found = {}
    for line in ("index docs", *MISTAKES):
        assert main(shlex.split(line)) in ((2, 3) if found else (0,)), line
        told = capsys.readouterr().err
        found[line] = english_of(told) if re.search("[가-힣]", told) else [told]
    assert {line: told for line, told in found.items() if told} == {}


def test_the_labels_of_a_trace_are_korean(folder, capsys):
    assert main(["index", "docs", "--quiet"]) == 0 and main(["trace", "제3조에 따르면 연차는?", "--html", "why.html"]) == 0
    text = re.sub(r"<style.*?</style>", "", Path("why.html").read_text(encoding="utf-8"), flags=re.DOTALL)
    said = capsys.readouterr().out.partition("\n\n")[0] + re.sub(r"<[^>]+>", "\n", text) + "\n".join(re.findall(r'data-k="([^"]+)"', text))
    assert "단어" in said and "벡터" in said and "적중" in said
    assert re.findall(r"\b(?:hit|words|vector|heading|name|title|cited|beside|neighbor)\b", said) == []


def test_the_help_is_korean(capsys):
    assert main(["--help", "--lang", "ko"]) == 0 and "사용법: ragnb [옵션] 명령 [인수]..." in capsys.readouterr().out
    for word in [part.name for part in parts_of("command")]:
        assert main([word, "--help", "--lang", "ko"]) == 0
        told = capsys.readouterr().out
        assert re.search("사용법: .*옵션:.*예: (ragnb|eval)", told, re.DOTALL), word
        assert not re.search(r"Usage|\[default|OPTIONS|COMMAND|ARGS|<str>", told), word
        assert english_of(re.sub(r"\([^()]*\)|\[[^]]*\]", "", told)) == [], word
    use_language("")
