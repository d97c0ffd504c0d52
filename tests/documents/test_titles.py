"""The title of a document names the whole of it, in every format, and has no marks of Markdown."""
from __future__ import annotations

from pathlib import Path

import pytest

from ragnb.documents.files import read_documents
from ragnb.documents.markdown import bare_title, find_headings
from ragnb.indexing.update import index_documents
from ragnb.pipeline.pipeline import Pipeline


def title(folder: Path, text: str, name: str = "file.md") -> str:
    """The title of one file."""
    (folder / name).write_text(text, encoding="utf-8")
    return next(read_documents(folder, [])).metadata["title"]


ABOVE = ["- 신청서\n- 사본", "* item", "2031-05-02", "2031. 5. 2.", "2031년 5월 2일", "May 2, 2031", "2 May 2031", "이름\t부서\t내선", "| 이름 | 부서 |\n|---|---|\n| 가 | 나 |",
         "> A quotation.", "![plan](plan.png)", "<!-- draft -->", "1.", "대외비", "Version 2.1", "제3판\n2031. 5."]


@pytest.mark.parametrize("above", ABOVE)
@pytest.mark.parametrize("name", ["file.md", "file.txt"])
def test_heading_below_other_lines(tmp_path: Path, above: str, name: str) -> None:
    assert title(tmp_path, f"{above}\n\n# 물품 대여 안내\n\n사흘 동안 빌린다.\n", name) == "물품 대여 안내"
    assert title(tmp_path, f"{above}\n\n물품 대여 안내\n=====\n\n사흘 동안 빌린다.\n", name) == "물품 대여 안내"


@pytest.mark.parametrize("above", ABOVE[:2] + ABOVE[7:10])
def test_such_a_line_is_no_title_without_a_heading(tmp_path: Path, above: str) -> None:
    assert title(tmp_path, f"{above}\n", "대장.txt") == "대장"


@pytest.mark.parametrize(("line", "right"), [
    ("Rules of the U.S. branch", "Rules of the U.S. branch"), ("Dr. Lee's notes", "Dr. Lee's notes"), ("Acme Inc. price list", "Acme Inc. price list"), ("주간 회의. 참석: 셋", "주간 회의"),
    ("**대여 규정**", "대여 규정"), ("`ragnb` guide", "ragnb guide"), ("[대여](rent.md) 규정[^1]", "대여 규정"), ("사흘 동안 빌린다.", "file"), ("2031년 3분기 실적", "2031년 3분기 실적")])
def test_first_line(tmp_path: Path, line: str, right: str) -> None:
    assert title(tmp_path, f"{line}\n\n본문입니다.\n") == right
    if right != "file":
        assert title(tmp_path, f"# {line}\n\n본문입니다.\n") == (right if "회의" not in line else line)


def test_front_matter_has_no_marks_either(tmp_path: Path) -> None:
    assert title(tmp_path, "---\ntitle: '**대여** 규정'\n---\n# 목적\n") == "대여 규정"


@pytest.mark.parametrize(("text", "right"), [
    ("# 대여\n\n사흘 동안 빌린다.\n\n# 반납\n\n창구에 낸다.\n", "file"), ("# 1. 대여\n\n사흘.\n\n# 2. 반납\n\n창구에 낸다.\n", "file"), ("## Rent\n\nThree days.\n\n## Return\n\nAt the desk.\n", "file"),
    ("# 물품 규정\n\n# 1. 대여\n\n사흘.\n\n# 2. 반납\n\n창구.\n", "물품 규정"), ("# 물품 규정\n\n총무팀\n\n# 대여\n\n" + "사흘 동안 빌린다. " * 9 + "\n\n# 반납\n\n창구에 낸다.\n", "물품 규정"),
    ("물품 규정\n\n# 1. 대여\n\n사흘.\n", "물품 규정"), ("설치\n# apt install tool\n", "설치"), ("# Guide\n\n```\n# a remark\n```\n\n## Use\n", "Guide")])
def test_first_of_several_sections_is_no_title(tmp_path: Path, text: str, right: str) -> None:
    assert title(tmp_path, text) == right


def test_label_is_of_the_section(tmp_path: Path) -> None:
    (tmp_path / "물품.md").write_text("# 대여\n\n물품은 사흘 동안 빌린다.\n\n# 반납\n\n늦으면 하루 천 원을 낸다.\n\n## **분실**\n\n잃으면 값을 문다.\n", encoding="utf-8")
    index_documents(list(read_documents(tmp_path, [])), tmp_path / "index", show_progress=False)
    found = Pipeline.from_index(tmp_path / "index").find("잃으면 값은?").at(12)[0]
    assert (found.prefix.split("\n"), found.metadata["title"]) == (["물품", "반납 > 분실"], "물품")


@pytest.mark.shed
def test_title_of_word_and_html(tmp_path: Path) -> None:
    pytest.importorskip("docx")
    import docx
    document = docx.Document()
    document.add_paragraph("2031. 5. 2.")
    document.add_heading("열쇠 관리", 1)
    document.add_paragraph("열쇠는 당직실에 둔다.")
    document.save(tmp_path / "a.docx")
    (tmp_path / "b.html").write_text("<ul><li>집</li></ul><h1>열쇠 <b>관리</b></h1><p>본문.</p>", encoding="utf-8")
    assert [d.metadata["title"] for d in read_documents(tmp_path, [])] == ["열쇠 관리", "열쇠 관리"]


@pytest.mark.parametrize("text", ["**" * 5_000, "[" * 5_000, "<!--" * 5_000, "*a " * 5_000, "a < b " * 3_000])
def test_marks_that_never_close_stay(text: str) -> None:
    assert bare_title(text).replace(" ", "") == text.replace(" ", "")


def test_headings_have_no_marks() -> None:
    assert [h.path for h in find_headings("# **가**\n\n## [나](x) `다`\n")] == [("가",), ("가", "나 다")]
