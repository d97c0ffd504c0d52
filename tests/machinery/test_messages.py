"""The table of messages has every text that the package prints by `say`, and no other."""
import ast
import errno
import os
import re
import string
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from conftest import syntax
from pypdfium2.internal.consts import ErrorToStr

import ragnb
from ragnb.cli import command_line, main
from ragnb.machinery.registry import parts_of
from ragnb.machinery.messages import _patterns, korean, language, say, translated, use_language

PACKAGE = Path(ragnb.__file__).parent
# Texts that reach `say` through a variable
BY_NAME = {"vectors over chunks of 500 characters", "contains {share:.0%} of the known answer", "contains nothing of the known answer",
           "Share of the known answers in the context, over {n} test questions (delivered recall)", "spelled like {word}: {words}",
           "Usage:", "Arguments:", "Options:", "Commands:", "[default:", "[required]", "delivered", "recall", "better", "worse",
           "not significant", "found", "missed", "in part", "ahead", "level", "behind", "undecided", "the design documents", "other libraries",
           "index", "documents", "characters", "chunks", "bytes", "unfinished", "health", "embedding", "splitter", "settings",
           "[OPTIONS]", "COMMAND [ARGS]...", "<str>", "words", "vector", "heading", "document title", "name",
           "read", "partly read", "not found", "found, but beyond the budget", "the judge did not accept this answer", "this answer could not be judged"}
# Reasons and steps that the source puts together from parts
COMPOSED = {"{policy}: {n} after {unit} (rank {rank})", "{policy}: {n} before {unit} (rank {rank})", "{n} after {unit} (rank {rank})",
            "{n} before {unit} (rank {rank})", "answer: rule (no model: the passages)"}
# Errors of the operating system; one that this machine does not have is not translated here
BY_SYSTEM = {os.strerror(code) for code in errno.errorcode}
# Errors of PDFium; a password has an error of its own
BY_PDFIUM = {f"Failed to load document (PDFium: {told})." for told in ErrorToStr.values() if "password" not in told}
# Errors that typer writes, each with the words that cause it
BY_TYPER = {"Missing argument '{name}'": ["ask"], "No such command '{name}'": ["zzzz"],
            "No such command '{name}'. Did you mean '{other}'?": ["aks"], "No such option: {name}": ["ask", "x", "--zzzz"],
            "No such option: {name} (Possible options: {others})": ["ask", "x", "--polcy", "none"],
            "Invalid value for '{name}': {told}": ["ask", "x", "--top-k", "y"],
            "Option '{name}' requires an argument": ["ask", "x", "--index"],
            "Got unexpected extra argument(s) ({name}); put a question in quotes": ["ask", "x", "y", "z"]}


def said(nodes: Iterable[ast.AST]) -> set[str]:
    """The texts of all calls of `say` in a module; a choice between two texts counts as both."""
    calls = [n for n in nodes if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "say"]
    parts = [part for call in calls for arg in call.args for part in ([arg.body, arg.orelse] if isinstance(arg, ast.IfExp) else [arg])]
    return {part.value for part in parts if isinstance(part, ast.Constant)}


@cache
def in_source() -> set[str]:
    texts = map(said, syntax().values())
    page = (PACKAGE / "serve" / "page.html").read_text(encoding="utf-8")
    templates = [path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.html") if path.name != "page.html"]
    return set().union(*texts, re.findall("«([^«»]+)»", page), *(re.findall(r'\bsay\("([^"]+)"', text) for text in templates))


def in_help() -> set[str]:
    use_language("en")
    commands = [command_line([])]
    commands += commands[0].commands.values()
    own = {part.told for part in parts_of("command")}     # both languages are in the decorator of a command
    topics = {command.callback.options.topic(param.name) for command in commands if getattr(command.callback, "options", None) and command.callback.options.first
              for param in command.params if param.param_type_name == "option"} - {""}
    return {item.help for command in commands for item in (command, *command.params) if getattr(item, "help", None)} - own | topics


def template(node: ast.AST) -> str | None:
    """A text of the source with X for each value: what a pattern must fit."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    return "".join(part.value if isinstance(part, ast.Constant) else "X" for part in node.values) if isinstance(node, ast.JoinedStr) else None


@cache
def in_errors() -> set[str]:
    """The templates of the table that fit a text of the source."""
    texts = {text for nodes in syntax().values() for node in nodes if (text := template(node)) and " " in text}
    texts |= {text.removeprefix("; ") for text in texts}
    texts |= {"must be a whole number of at most X, got X", "must be a number of at most X, got X",     # two parts in the source
              "must be a whole number from X to X, got X", "must be a number from X to X, got X"}
    fit = {english for pattern, english in ((re.compile(re.sub(r"\\\{\w+\\\}", ".+", re.escape(key))), key) for key in korean() if names(key))
           if any(pattern.fullmatch(text) for text in texts)}
    return fit | (korean().keys() & texts)


def printed(nodes: Iterable[ast.AST]) -> set[str]:
    """The constant texts with a word that the calls of `print_text`, `print_stage` and `print` write without `say`."""
    def texts(node: ast.AST) -> set[str]:
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("say", "translated", "said_count"):
            return set()
        if isinstance(node, ast.Constant):
            return {node.value} if isinstance(node.value, str) else set()
        inner = node.args if isinstance(node, ast.Call) else [node.body, node.orelse] if isinstance(node, ast.IfExp) else \
            [node.value] if isinstance(node, ast.FormattedValue) else ast.iter_child_nodes(node) \
            if isinstance(node, (ast.JoinedStr, ast.BinOp, ast.List, ast.Tuple, ast.Starred)) else []
        return set().union(*map(texts, inner))
    calls = [n for n in nodes if isinstance(n, ast.Call) and getattr(n.func, "id", "") in ("print_text", "print_stage", "print")]
    return {text for call in calls for arg in call.args for text in texts(arg) if re.search("[a-z]{3}", text)}


def test_the_command_line_prints_no_text_without_say():
    written = 'print_text(f"{n} hits", say("x y"), "a" if b else "long text", err=True); other("not printed")'
    assert printed(ast.walk(ast.parse(written))) == {" hits", "long text"}
    modules = [nodes for name, nodes in syntax().items() if name == "cli.py" or name.endswith("/commands.py")]
    assert len(modules) == 6
    assert set().union(*map(printed, modules)) - {"ragnb ", "ragnb:", "ragnb: ", "doc_type"} == set()


def names(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_the_table_and_the_source_have_the_same_texts():
    used = in_source() | in_help() | BY_NAME
    assert sorted(used - korean().keys()) == [], "add these texts to ragnb/machinery/ko.json"
    assert sorted(korean().keys() - used - in_errors() - BY_TYPER.keys() - BY_SYSTEM - BY_PDFIUM - COMPOSED) == [], "take these texts out of ragnb/machinery/ko.json"


# Errors of each room that only a Python program meets: a user of the command line or of the page sees none of them
OF_PYTHON = {"adapters": 10, "agent": 7, "chunking": 5, "context": 6, "documents": 7, "evaluation": 32, "expansion": 7, "laws": 1, "machinery": 1, "models": 19,
             "opensearch": 2, "pipeline": 6, "retrieval": 31, "serve": 4, "storage": 13}


def raised(nodes: Iterable[ast.AST]) -> set[str]:
    """The texts of the errors that a module makes, with X for each value."""
    calls = [n for n in nodes if isinstance(n, ast.Call) and re.search("Error$|^refus|^Problem$|^warn|^optional$", getattr(n.func, "id", getattr(n.func, "attr", "")))]
    return {text for call in calls for arg in call.args if (text := template(arg)) and sum(map(str.isalpha, text.replace("X", ""))) > 6 and " " in text}


def test_a_message_for_a_user_has_a_korean_text():
    """Only the mistakes that the tests made were looked at → every error of the source, but those of Python programs."""
    use_language("ko")
    rooms: dict[str, set[str]] = {}
    for path, nodes in syntax().items():
        rooms.setdefault(path.partition("/")[0], set()).update(t for t in raised(nodes) if not re.search("[가-힣]", translated(t)))
    found = {room: sorted(texts) for room, texts in rooms.items() if texts}
    told = "add a new text to ragnb/machinery/ko.json, or count it in OF_PYTHON if no command raises it"
    assert {room: len(texts) for room, texts in found.items()} == OF_PYTHON, f"{told}: {found}"


def test_both_languages_have_the_same_values():
    for english in in_source() | BY_NAME:
        assert names(korean()[english]) <= names(english) | {"n"}, english      # a plural of English is a number in Korean
        assert names(english) - names(korean()[english]) <= {"documents", "hits"}, english


@pytest.mark.parametrize("told", sorted(BY_PDFIUM))
def test_an_error_of_pdfium_is_told_in_korean(told):
    """A damaged PDF was skipped with PDFium's own English words."""
    use_language("ko")
    assert not re.search("[A-Za-z]{4}", translated(f"a.pdf cannot be read as a PDF ({told})"))


@pytest.mark.parametrize("words", BY_TYPER.values(), ids=" ".join)
def test_a_mistake_in_a_command_is_told_in_korean(words, capsys):
    assert main([*words, "--lang", "ko"]) == 2
    told = capsys.readouterr().err
    assert re.search("[가-힣]", told) and not re.search("No such|Missing|Invalid|requires|unexpected|see ragnb|Did you|must be", told), told
    assert "--help 참고" in told


def test_a_missing_index_is_told_in_korean_and_raised_in_english(tmp_path, capsys):
    use_language("ko")
    with pytest.raises(ValueError, match="no index in .*: make one with `ragnb index PATH"):
        ragnb.Pipeline.from_index(tmp_path / "none")
    assert main(["ask", "연차", "--index", str(tmp_path / "none"), "--lang", "ko"]) == 2
    told = capsys.readouterr().err
    assert "색인이 없습니다" in told and f"`ragnb index PATH --index {tmp_path / 'none'}`" in told and "make one" not in told


@pytest.mark.parametrize(("words", "told"), [
    (["ask", "연차", "--settings", "none.toml"], "파일이나 폴더가 없습니다"), (["ask", "연차", "--history", "file/x"], "폴더가 아닙니다"),
    (["index", ".", "--index", "file/x"], "폴더가 아닙니다"), (["ask", "연차", "--tokenizer", "none.json"], "파일이나 폴더가 없습니다"),
    (["ask", "연차", "--html", "file/x.html"], "같은 이름의 파일이 있습니다")])
def test_an_error_of_the_system_is_told_in_korean(words, told, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("x"), (tmp_path / "a.md").write_text("연차는 15일이다.")
    assert main(["index", ".", "--quiet"]) == 0 and main([*words, "--lang", "ko"]) == 2
    assert told in (said := capsys.readouterr().err) and not re.search(r"Errno|No such|Not a|exists|\(os error", said), said


def test_an_error_is_translated_by_the_template_that_says_most():
    use_language("ko")
    assert translated("top_k must be >= 1, got 0") == "top_k은(는) 1 이상이어야 합니다. 받은 값: 0"
    assert translated("top_k must be a whole number >= 1, got 0").startswith("top_k은(는) 1 이상의 정수여야")
    assert translated("first line\nno such file or folder: 'x {y}'") == "first line\n파일이나 폴더가 없습니다: 'x {y}'"
    assert translated("unknown retriever 'foo': use bm25, tree") == "'foo' 검색기는 없습니다. 쓸 수 있는 검색기: bm25, tree"   # values stay
    assert translated("unknown policy 'foo': use none, or several joined by '+'").endswith("none. '+'로 이어 쓸 수 있습니다")
    assert translated("asked for by name; words 1.2") == "질문에 이름이 있음; words 1.2"     # part by part
    assert translated("nothing like it") == "nothing like it" and len(_patterns()) > 60
    use_language("en")
    assert translated("top_k must be >= 1, got 0") == "top_k must be >= 1, got 0"


def test_korean_is_korean():
    bare = [text for text in korean().values() if not re.search("[가-힣]", text) and not text.startswith(("ngram, e5", "ko"))]
    assert [text for text in bare if re.search("[A-Za-z]", re.sub(r"{[^}]*}", "", text))] == []


@pytest.mark.parametrize(("machine", "wanted"), [
    ({"LANG": "ko_KR.UTF-8"}, "ko"), ({"LANG": "C.UTF-8"}, "en"), ({}, "en"), ({"LANG": "C", "LC_ALL": "ko_KR"}, "ko"),
    ({"LANG": "ko_KR.UTF-8", "RAGNB_LANG": "en"}, "en"), ({"LANG": "en_US.UTF-8", "RAGNB_LANG": "ko"}, "ko")])
def test_the_machine_decides_unless_somebody_chooses(machine, wanted, monkeypatch):
    for name in ("RAGNB_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in machine.items():
        monkeypatch.setenv(name, value)
    assert language() == wanted
    use_language("en")
    assert language() == "en"


@pytest.mark.parametrize("words", [["--lang", "ko", "ask", "--help"], ["ask", "--help", "--lang", "ko"], ["ask", "--lang=ko", "-h"]])
def test_help_is_in_the_language_that_is_asked_for(words, capsys):
    assert main(words) == 0
    told = capsys.readouterr().out
    assert "질문에 답합니다." in told and "Answer a question" not in told
    assert main(["ask", "--help"]) == 0 and "Answer a question" in capsys.readouterr().out


def test_an_unknown_language_is_refused(capsys):
    assert main(["--lang", "fr", "demo"]) == 2 and "en, ko" in capsys.readouterr().err
    assert say("no {such} message", such="known") == "no known message"
