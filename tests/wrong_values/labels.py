"""Lists of contents, titles and editions: what stands for a text instead of it."""
from __future__ import annotations

from pathlib import Path

from before_after import item
from llama_index.core.schema import Document

from ragnb.documents.files import read_documents
from ragnb.indexing.update import index_documents
from ragnb.pipeline.pipeline import Pipeline


def over(folder: Path, texts: dict[str, str], metadata: dict[str, dict] | None = None) -> Pipeline:
    """A pipeline over some texts."""
    documents = [Document(text=text, id_=name, metadata={"title": ""} | (metadata or {}).get(name, {})) for name, text in texts.items()]
    index_documents(documents, folder, show_progress=False)
    return Pipeline.from_index(folder, budget=200)


@item(right=[True, True])
def contents(folder: Path) -> list[bool]:
    "a section comes before its entry in a list of contents"
    heads = {"산소통 교체": "빈 통은 붉은 칸에 세운다.", "호흡기 세척": "미지근한 물에 담근다.", "공기 압력 확인": "바늘이 푸른 곳에 있어야 한다.", "수심계 보정": "물 밖에서 영에 맞춘다."}
    listed = "\n".join(f"{n}. {head} {'.' * 30} {n * 4}" for n, head in enumerate(heads, 1))
    body = "\n\n".join(f"## {head}\n\n{text}" for head, text in heads.items())
    pipeline = over(folder, {"차례.txt": f"잠수 장비 편람 차례\n\n{listed}\n", "편람.md": f"# 잠수 장비 편람\n\n{body}\n"})
    return [heads[head] in pipeline.find(head).at(60)[0].text for head in ("호흡기 세척", "수심계 보정")]


@item(right=["등산로 안내", "등산로 안내", "등산로 안내", "Trails of the U.S. parks", "등산로 안내", "f"])
def titles(folder: Path) -> list[str]:
    "a title is no list item, date or row, has no marks and is not cut"
    texts = ["- 지도\n- 물\n\n# 등산로 안내\n", "2031-04-02\n\n# 등산로 안내\n", "이름\t길이\t높이\n\n# 등산로 안내\n", "Trails of the U.S. parks\n\nThere are many.\n", "# **등산로** 안내\n",
             "# 봄\n\n흙길이다.\n\n# 겨울\n\n눈길이다.\n"]
    for name, text in zip("abcdef", texts):
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return [document.metadata["title"] for document in read_documents(folder, [])]


@item(right=["22만", "23만", "23만"])
def editions(folder: Path) -> list[str]:
    "an edition is known by its metadata or title"
    texts = {f"{name}.md": f"## 사용료\n\n강당 사용료는 {year - 2000}만 원이다.\n" for name, year in zip("다가나", (2021, 2022, 2023))}
    pipeline = over(folder, texts, {f"{name}.md": {"title": "강당 규정", "시행일": f"{year}-01-01"} for name, year in zip("다가나", (2021, 2022, 2023))})
    found = [pipeline.passages(question)[0].text for question in ("'22년 강당 사용료", "요즘 강당 사용료", "2023년 강당 사용료")]
    return [text[text.index("는 ") + 2:].split(" ")[0] for text in found]
