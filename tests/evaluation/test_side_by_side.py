"""`ragnb compare`: what several ways read for the same questions, in a terminal, as JSON and as a page."""
from __future__ import annotations

import json

import pytest

from ragnb.machinery.markup import display_width

WAYS = ("--strategy", "articles-before name=before", "--strategy", "bm25 name=words")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two short documents and a long one that the old settings cut, in a folder where commands run."""
    monkeypatch.chdir(tmp_path)
    long = "\n".join(f"제{n}조(항목 {n}) 담당자는 {n}일 안에 서류를 내고, 기한이 지나면 이유를 적어 다시 낸다. 서류는 {n}년 동안 둔다." for n in range(1, 40))
    (tmp_path / "docs").mkdir()
    for name, text in {"rule": long, "fee": "<부가세> 신고는 두 달마다 한다.", "leave": "연차는 15일이다."}.items():
        (tmp_path / f"docs/{name}.md").write_text(text, encoding="utf-8")
    return tmp_path


def test_columns_json_and_page(run, folder):
    code, out, err = run("compare", "docs", "부가세 신고는 언제 하나요?", *WAYS, "--quiet", "--budget", "600", "--out", "new/page.html")
    assert (code, err) == (0, "") and "■ 부가세 신고는 언제 하나요?" in out and "before" in out and "words" in out
    rows = [line for line in out.splitlines() if " │ " in line]
    assert len(rows) > 4 and all(display_width(line) <= 100 for line in rows)
    assert "torn" in out and "evidence" not in out      # no evidence is known of one's own question
    page = (folder / "new/page.html").read_text(encoding="utf-8")
    assert "&lt;부가세&gt; 신고는" in page and "<부가세>" not in page
    code, out, _ = run("compare", "docs", "부가세 신고는?", *WAYS, "--quiet", "--json")
    made = json.loads(out)
    assert code == 0 and list(made["rows"][0]["ways"]) == ["before", "words"] == list(made["ways"])


def test_the_four_questions_of_the_plan_are_asked_of_any_folder(run, folder):
    from ragnb.evaluation.side_by_side import NAMED_QUESTIONS
    code, out, _ = run("compare", "docs", *WAYS, "--quiet", "--json")
    assert code == 0 and [row["question"] for row in json.loads(out)["rows"]] == list(NAMED_QUESTIONS)


@pytest.mark.parametrize("words, told", [(("docs", "질문", "--budget", "0"), "--budget"), (("nothing", "질문"), "nothing"),
                                         (("docs", "질문", "--strategy", "no-such"), "no-such")])
def test_mistakes_are_told_in_a_line(words, told, run, folder):
    code, out, err = run("compare", *words, "--quiet")
    assert (code, out) == (2, "") and told in err and len(err.strip().splitlines()) == 1
    assert not (folder / "out").exists()
