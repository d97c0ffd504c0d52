"""A list of contents comes after the section that it names, and is found where nothing else has the words."""
from __future__ import annotations

from pathlib import Path

import pytest
from llama_index.core.schema import Document

from ragnb.chunking.units import contents_spans, document_parts, UnitNodeParser
from ragnb.documents.files import read_documents
from ragnb.indexing.update import index_documents
from ragnb.pipeline.pipeline import Pipeline

HEADS = ["세탁기 설치", "배수 호스 연결", "필터 청소 주기", "이상 소음 점검", "보증 범위"]
BODY = {"세탁기 설치": "수평을 맞춘 바닥에 놓고 네 다리의 높이를 맞춘다.", "배수 호스 연결": "호스는 바닥에서 80 cm보다 높지 않게 건다.",
        "필터 청소 주기": "한 달에 한 번 꺼내어 흐르는 물에 씻는다.", "이상 소음 점검": "탈수할 때 흔들리면 빨래를 고르게 편다.",
        "보증 범위": "구입한 날부터 두 해 동안 부품을 무상으로 바꾼다."}


def body(mark: str = "## ") -> str:
    """The sections."""
    return "\n\n".join(f"{mark}{head}\n\n{BODY[head]}" for head in HEADS)


FORMS = {
    "dots": "\n".join(f"{n}. {head} {'.' * 30} {n * 3}" for n, head in enumerate(HEADS, 1)),
    "spaced dots": "\n".join(f"{n}.  {head} {'. ' * 20} {n * 3}" for n, head in enumerate(HEADS, 1)),
    "middle dots": "\n".join(f"{head} {'·' * 20} {n * 3}쪽" for n, head in enumerate(HEADS, 1)),
    "tabs": "\n".join(f"{head}\t{n * 3}" for n, head in enumerate(HEADS, 1)),
    "links": "\n".join(f"- [{head}](#{head.replace(' ', '-')})" for head in HEADS),
    "titles": "\n".join(f"{n}. {head}" for n, head in enumerate(HEADS, 1)),
    "table": "| 항목 | 쪽 |\n|---|---|\n" + "\n".join(f"| {head} | {n} |" for n, head in enumerate(HEADS, 1)),
}


def best(folder: Path, documents: list[Document], question: str) -> str:
    """The first passage within 60 characters."""
    index_documents(documents, folder, show_progress=False)
    return Pipeline.from_index(folder).find(question).at(60)[0].text


@pytest.mark.parametrize("form", FORMS)
def test_section_comes_before_its_entry(tmp_path: Path, form: str) -> None:
    text = f"# 사용 설명서\n\n## 차례\n\n{FORMS[form]}\n\n{body()}\n"
    assert BODY["필터 청소 주기"] in best(tmp_path, [Document(text=text, id_="a.md")], "필터 청소 주기")


def test_section_in_another_document_comes_first(tmp_path: Path) -> None:
    documents = [Document(text=f"설명서 차례\n\n{FORMS['dots']}\n", id_="차례.txt"), Document(text=f"# 설명서\n\n{body()}\n", id_="본문.md")]
    assert BODY["배수 호스 연결"] in best(tmp_path, documents, "배수 호스 연결")


def test_entry_is_found_where_nothing_else_has_the_words(tmp_path: Path) -> None:
    documents = [Document(text=f"설명서 차례\n\n{FORMS['dots']}\n", id_="차례.txt"), Document(text="# 안내\n\n비 오는 날에는 우산을 빌려 드립니다.\n", id_="b.md")]
    assert "보증 범위" in best(tmp_path, documents, "보증 범위")


@pytest.mark.shed
def test_english_list_of_a_page_of_links(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<h1>Printer</h1><ul><li><a href='#j'>Paper jams</a></li><li><a href='#t'>Toner</a></li><li><a href='#w'>Warranty</a></li></ul>"
                                     "<h2>Paper jams</h2><p>Open the rear cover and pull.</p><h2>Toner</h2><p>Shake it first.</p><h2>Warranty</h2><p>Two years.</p>", encoding="utf-8")
    documents = list(read_documents(tmp_path, []))
    assert best(tmp_path / "index", documents, "paper jams").endswith("Open the rear cover and pull.")


@pytest.mark.parametrize("text", [
    "커피 ..... 40\n차 ..... 30\n물 ..... 10\n",                 # prices fall
    "서울\t3\n부산\t5\n대구\t9\n",                               # numbers after a tab alone
    "- [메일](mailto.md)\n- [지도](map.md)\n- [달력](days.md)\n",   # links to other files
    "1. 신청한다\n2. 심사한다\n3. 통보한다\n",                    # steps
    "첫째 ..... 1\n둘째 ..... 2\n",                              # two lines
    "제1장 총칙\n제1절 통칙\n제1조(목적) 이 규정은 목적을 정한다.\n제2조(정의) 이 규정의 뜻은 다음과 같다.\n",
])
def test_other_lists_are_none(text: str) -> None:
    document = Document(text=text)
    assert contents_spans(text, document_parts(document)[0]) == []


def test_headings_are_no_entries() -> None:
    text = "# A\n\n## B\n\n## C\n\n## D\n\nText.\n"
    assert contents_spans(text, document_parts(Document(text=text))[0]) == []


def test_mark_of_a_document_is_not_taken_over() -> None:
    nodes, _ = UnitNodeParser().parse(Document(text="One sentence.", id_="a", metadata={"contents": True}))
    assert "contents" not in nodes[0].metadata
