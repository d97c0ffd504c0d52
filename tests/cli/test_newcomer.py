"""What stopped a newcomer in 25 tasks: a line each, with what they saw before."""
from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import one_line, whole_help, write
from docx import Document as Word
from llama_index.core import MockEmbedding
from PIL import Image

import ragnb
from ragnb import Index, IndexMismatchError, Pipeline, update_index
from ragnb.documents.readers import read_by_ending
from ragnb.machinery.messages import say, use_language, with_particles
from ragnb.machinery.values import install_command
from ragnb.evaluation import commands
from ragnb.evaluation.decide import USUAL_PEERS

QUESTIONS = """{"query_id": "q1", "query": "연차는 며칠인가?", "evidence": [{"doc_id": "leave.md", "text": "연차는 15일이다."}]}
{"query_id": "q2", "query": "여비는 언제 정산하나?", "evidence": [{"doc_id": "trip.md", "text": "여비는 7일 안에 정산한다."}]}
"""
LEAVE = "# 휴가\n\n## 연차\n\n연차는 15일이다. 매년 1월 1일에 부여한다.\n\n## 병가\n\n병가는 30일이다. 진단서를 낸다.\n"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The current folder, with documents and a question."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"docs/leave.md": LEAVE, "docs/trip.md": "# 출장\n\n여비는 7일 안에 정산한다. 영수증을 붙인다.\n", "q.jsonl": QUESTIONS})
    return tmp_path


@pytest.fixture
def without_bm25(monkeypatch) -> None:
    """An installation without the extra `peers`."""
    monkeypatch.setitem(sys.modules, "llama_index.retrievers.bm25", None)


def test_decide_leaves_out_peers_that_are_not_installed_and_says_so_first(run, folder, without_bm25):
    """An error after minutes → a first line with the peers that are left out and the command that installs them."""
    code, out, err = run("decide", "docs", "q.jsonl", "--strategy", "bm25", "--budgets", "60", "--save", "--quiet")
    told = f"not installed, and so not measured: {', '.join(USUAL_PEERS)} ({install_command('peers')})"
    assert code == 0 and err.splitlines()[0] == f"note: {told}" and told in out
    assert "articles-before" in out and "| llamaindex" not in out and Path(".ragnb-tuned/ragnb.toml").is_file()


def test_decide_with_one_question_chooses_without_halves(run, folder):
    """An error after all was measured → a table without tuned lines, which need two questions."""
    Path("one.jsonl").write_text(QUESTIONS.splitlines()[0], encoding="utf-8")
    options = ("--peers", "none", "--strategy", "multi-scale", "--strategy", "bm25", "--budgets", "60", "--quiet")
    code, out, _ = run("decide", "docs", "one.jsonl", *options)
    assert code == 0 and "| ragnb |" in out and "tuned" not in out and "with 1 question, only large differences are visible" in out


@pytest.mark.parametrize("words", [
    ("eval", "docs", "q.jsonl", "--strategy", "peer:llamaindex-fusion"), ("tune", "docs", "q.jsonl", "--strategy", "peer:llamaindex-bm25"),
    ("eval", "docs", "q.jsonl", "--strategy", "peer:llamaindex-prev-next:retriever=hybrid"),
    ("decide", "docs", "q.jsonl", "--peers", "none", "--strategy", "peer:llamaindex-bm25"), ("decide", "docs", "q.jsonl", "--peers", "llamaindex-sentence-window"),
], ids=" ".join)
def test_a_named_peer_is_checked_before_documents_are_indexed(run, folder, without_bm25, words):
    line = one_line(run(*words, "--strategy", "multi-scale", "--budgets", "60", "--quiet"))
    assert install_command("peers") in line and "needs llama-index-retrievers-bm25, which is not installed" in line
    assert not Path(".ragnb-cache").exists()


def test_only_one_place_writes_the_command_that_installs_an_extra():
    """`pip install 'ragnb[peers]'` is on no package index → each message gets its command from `install_command`."""
    sources = {path.name: path.read_text(encoding="utf-8") for path in Path(ragnb.__file__).parent.rglob("*.py")}
    texts = sources | {"ko.json": (Path(ragnb.__file__).parent / "machinery/ko.json").read_text(encoding="utf-8")}
    written = [name for name, text in texts.items() for line in text.splitlines() if "pip install 'ragnb[" in line.partition("# ")[0]]
    assert written == ["values.py"]


def test_a_korean_list_of_skipped_files_is_korean(run, folder):
    """`old.doc a kind of file that is not read; .docx(으)로 저장하면 읽습니다` → both parts in Korean, after the name and a colon."""
    write(folder, {f"docs/{name}": "x" for name in ("old.doc", "a.log", "b.py", "c.zip", "d.yaml", "e.yml", "f.yml")})
    code, _, err = run("--lang", "ko", "index", "docs", "--quiet")
    assert code == 0 and len(err.splitlines()) == 6
    for line in err.splitlines():
        assert re.match(r"건너뜀 \S+: 읽지 않는 종류의 파일", line) and not re.search(r"kind|files|reads|saved", line), line


@pytest.mark.parametrize("name", ["empty", "old"])
def test_a_folder_without_readable_files_is_told_in_korean(run, folder, name):
    """`'emptyf'에 색인할 것이 없습니다: no .md, … file`, and `'old': a.doc에 색인할 것이` → Korean, with the right name."""
    write(folder / "old", {"a.doc": "x", "b.zip": "x"})
    (folder / "empty").mkdir()
    code, _, err = run("--lang", "ko", "index", name)
    assert code == 2 and err.startswith(f"ragnb: '{name}'에 색인할 것이 없습니다: ") and not re.search(r"\bno\b|kind|file", err)


def test_why_of_a_chat_is_korean(run, folder, monkeypatch):
    """`hit, rank 6` and `(answer: rule (no model: the passages))` → Korean."""
    assert run("index", "docs", "--quiet")[0] == 0
    lines = iter(["연차는 며칠인가?", "/why"])

    def read(prompt=""):
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None
    monkeypatch.setattr("builtins.input", read)
    code, out, _ = run("--lang", "ko", "chat", "--policy", "neighbors:1", "--top-k", "2")
    assert code == 0 and re.search(r"적중, \d위", out) and not re.search(r"rank|after|before|answer|model:", out), out


@pytest.mark.parametrize("text, told", [
    ("회사은(는)", "회사는"), ("'규정'은(는)", "'규정'은"), ("정책과(와)", "정책과"), ("문서과(와)", "문서와"), ("서울(으)로", "서울로"), ("규정(으)로", "규정으로"),
    ("문서(으)로", "문서로"), ("2이(가)", "2가"), ("(1)을(를)", "(1)을"), ("10을(를)", "10을"), ("7(으)로", "7로"), ("leave.md을(를)", "leave.md을(를)"), ("값(예산)", "값(예산)"),
])
def test_a_particle_follows_the_last_sound(text, told):
    assert with_particles(text) == told


def test_say_chooses_particles(monkeypatch):
    use_language("ko")
    assert say("Use {name!r}", name="다국어") == "'다국어'를 쓰세요" and say("Use {name!r}", name="bm25") == "'bm25'를 쓰세요"
    assert say("Use {name!r}", name="hybrid") == "'hybrid'을(를) 쓰세요"


@pytest.mark.parametrize("words", [("index", "closed"), ("questions", "closed"), ("ask", "연차는?", "--index", "closed")], ids=" ".join)
def test_a_closed_folder_is_named_with_a_way_out(run, folder, monkeypatch, words):
    """`[Errno 13] Permission denied: 'closed/.ragnbignore'` → the folder, and the command that opens it."""
    (folder / "closed").mkdir()
    is_file, access = Path.is_file, os.access

    def denied(path: Path) -> bool:
        if path.parent.name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return is_file(path)
    monkeypatch.setattr(Path, "is_file", denied)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "closed" and access(path, mode))
    code, _, err = run(*words)
    assert (code, err) == (2, "ragnb: no permission for 'closed'; give yourself access (chmod u+rwX closed), or name another path\n")


@pytest.mark.parametrize("words, file", [(("ask", "연차는?", "--settings", "s.toml"), "s.toml"), (("eval", "docs", "q.jsonl"), "q.jsonl")], ids=str)
def test_a_closed_file_is_named_with_a_way_out(run, folder, monkeypatch, words, file):
    write(folder, {"s.toml": "budget = 500\n"})

    def deny(read):
        def denied(path, *args, **options):
            if path.name == file:
                raise PermissionError(13, "Permission denied", str(path))
            return read(path, *args, **options)
        return denied
    for name in ("read_text", "read_bytes", "open"):
        monkeypatch.setattr(Path, name, deny(getattr(Path, name)))
    line = one_line(run(*words))
    assert line.endswith(f"give yourself access (chmod u+rwX {file}), or name another path\n")
    assert file in line.partition(";")[0] and "Errno" not in line


@pytest.mark.parametrize("given", ["3", "1", "-0.1"])
def test_a_wrong_cut_says_what_is_allowed(run, folder, given):
    """`cut must be in (0, 1)`, although 0 is allowed → 0 and what is less than 1, in the option, a strategy and a settings file."""
    assert run("index", "docs", "--quiet")[0] == 0
    write(folder, {"s.toml": f"cut = {given}\n", "zero.toml": "cut = 0\n"})
    for words in (["--cut", given], ["--strategy", f"multi-scale cut={given}"], ["--settings", "s.toml"]):
        code, _, err = run("ask", "연차는?", *words)
        assert code == 2 and f"cut must be at least 0 and less than 1, got {float(given) if words[0] != '--settings' else given}" in err
    answers = {run("ask", "연차는?", *words)[:2] for words in ([], ["--cut", "0"], ["--strategy", "multi-scale cut=0"], ["--settings", "zero.toml"])}
    assert len(answers) == 1 and min(answers)[0] == 0


def test_info_is_no_json(run, folder):
    """Raw JSON for embedding, splitter and settings → words; `--json` has the JSON."""
    assert run("index", "docs", "--quiet")[0] == 0
    out = run("info")[1]
    assert not re.search(r'[{}"\[\]]', out) and re.search(r"^embedding +kind ngram; name ragnb-ngram; dims 1024", out, re.M)
    assert re.search(r"^settings +–$", out, re.M) and "null" not in out


def test_a_saved_choice_says_what_it_sets(run, folder):
    """A file of comments, and `ask, chat, serve and mcp read this file` → a line that nothing needs to be set, or what is set."""
    more = ("q.jsonl", "--budgets", "60", "--quiet", "--save")
    for words in (("decide", "--peers", "none", "--strategy", "multi-scale", "--strategy", "bm25"), ("tune", "--strategy", "multi-scale", "--strategy", "bm25")):
        out = run(words[0], "docs", *more, *words[1:])[1]
        assert "the defaults won: it contains only comments, and you need to set nothing" in out, out
        assert "smallest of the sizes" not in out
        assert words[0] == "tune" or re.search(r"^\| strategy \| 60 \| .* \| compared with ragnb \| ms \|$", out, re.M), out
    out = run("tune", "docs", *more, "--strategy", "bm25")[1]
    assert 'it sets split = "parent-child", retrieve = "bm25"' in out, out
    reason = "budget = 60: the smallest of the sizes tried with a recall within .01 of the best"
    assert f"({reason}" in out and f"# {reason}" in (folder / ".ragnb-tuned/ragnb.toml").read_text(encoding="utf-8")


def test_help_of_ask_names_the_schema_of_its_json(run):
    told = " ".join(whole_help(run, "ask").split())
    assert "pipeline/answer.schema.json of the package describes its fields" in told
    assert (Path(ragnb.__file__).parent / "pipeline/answer.schema.json").is_file()


def test_the_first_row_of_a_word_table_is_its_header(tmp_path):
    """`|  |  |` above the real first row → the first row is the header."""
    word, rows = Word(), [("이름", "일수"), ("연차", "15"), ("병가", "30")]
    table = word.add_table(len(rows), 2)
    for cell, text in zip(table._cells, sum(rows, ())):
        cell.text = text
    word.save(tmp_path / "t.docx")
    assert read_by_ending(tmp_path / "t.docx")["text"] == "| 이름 | 일수 |\n|---|---|\n| 연차 | 15 |\n| 병가 | 30 |"


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory) -> Iterator[Path]:
    """Where the demo runs in both languages: the index and what is measured have no language and are made once."""
    measure, measured = commands._measure_ways, []

    def once(*args):
        measured.extend([] if measured else [measure(*args)])
        return measured[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commands, "_measure_ways", once)
        yield tmp_path_factory.mktemp("demo")


@pytest.mark.heavy
def test_the_korean_page_shows_what_the_demo_prints(run, demo_folder, monkeypatch):
    """`구절 12개, 3,999자` of an earlier version → the page has the lines that the demo prints."""
    monkeypatch.chdir(demo_folder)
    page = (Path(ragnb.__file__).parents[1] / "docs/ko.md").read_text(encoding="utf-8")
    shown = page.partition("```text\n")[2].partition("```")[0]
    assert len(shown.splitlines()) > 10 and run("--lang", "ko", "demo")[1].startswith(shown)


@pytest.mark.heavy
def test_the_picture_shows_what_the_demo_prints(run, demo_folder, monkeypatch):
    """The picture had 12 passages, 3,999 characters and .812, the demo 11, 3,911 and .815 → the picture's text is what the demo prints."""
    monkeypatch.chdir(demo_folder)
    with Image.open(Path(ragnb.__file__).parents[1] / "nbs/figures/demo.png") as picture:
        shown = picture.text["Description"]
    assert len(shown.splitlines()) > 20 and run("--lang", "en", "demo")[1].startswith(shown), "python tools/figures.py makes the picture again"


def test_what_is_meant_is_named(run, folder):
    """An index of Chroma, the name of a file in a folder, a row of a CSV file: the message names what works."""
    from chromadb import PersistentClient
    PersistentClient(str(folder / "foreign")).create_collection("rows")
    assert "`ragnb ask QUESTION --over chroma:foreign#COLLECTION`" in run("ask", "연차는?", "--index", "foreign")[2]
    write(folder, {f"docs/a{n}.md": f"# 문서 {n}\n\n글 {n}이다.\n" for n in range(14)} | {"docs/z/rule.md": "# 규칙\n\n규칙이다.\n", "docs/t.csv": "이름,값\n가,1\n"})
    assert run("index", "docs", "--quiet")[0] == 0
    assert "there are: z/rule.md, a0.md" in run("ask", "규칙은?", "--where", "file_name=rule.md")[2]
    write(folder, {"t.jsonl": '{"query_id": "1", "query": "가?", "evidence": [{"doc_id": "t.csv", "text": "가,1"}]}\n'})
    assert "whose tables are read as | rows of Markdown |: '가,1'" in run("eval", "docs", "t.jsonl")[2]


def test_an_embedding_of_ones_own_is_asked_for_by_what_works(tmp_path):
    class Own(MockEmbedding):
        """Of the user."""
    write(tmp_path, {"docs/a.md": LEAVE})
    update_index(tmp_path / "docs", tmp_path / "i", embed=Own(embed_dim=4), show_progress=False)
    with pytest.raises(IndexMismatchError, match=r"give it to Index.open\(folder, embedding\)"):
        Pipeline.from_index(tmp_path / "i")
    assert Pipeline.from_index(Index.open(tmp_path / "i", Own(embed_dim=4))).ask("연차는?").passages
