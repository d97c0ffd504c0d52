"""Laws: names, ids and ministries from front matter, short articles, addenda cited as articles, short acts and lost line breaks."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from before_after import item
from llama_index.core import Document

from ragnb import Index, Pipeline, read_documents, update_index
from ragnb.context.labels import passage_article
from ragnb.documents.kinds import detect_kind, records_of
from ragnb.laws.kinds import write_records
from ragnb.laws.records import statute_records
from ragnb.laws.statutes import parse_statute

HEAD = """---
제목: 나루터 안전법
법령ID: '004217'
법령구분: 법률
소관부처:
- 물길부
- 강변청
시행일자: '2030-05-01'
첨부파일:
- 별표번호: '0001'
  별표구분: 별표
  제목: 나루터 등급의 기준(제4조 관련)
- 별표번호: '0003'
  별표구분: 서식
  제목: 운항 신고서
---
"""
BODY = """# 나루터 안전법

##### 제1조 (목적)

이 법은 나루터에서 배를 타는 사람의 안전을 목적으로 한다.

##### 제2조 (구명조끼)

뱃사공은 승객 수만큼 구명조끼를 둔다.
"""
LONG = "뱃사공은 강물의 높이와 바람의 세기를 날마다 재고, 기준을 넘으면 배를 띄우지 아니한다. " * 6


def _indexed(folder: Path, files: dict[str, str], parser: str | None = None) -> Index:
    "An index of some texts."
    for name, text in files.items():
        (folder / "in").mkdir(exist_ok=True)
        (folder / "in" / name).write_text(text, encoding="utf-8")
    return update_index(folder / "in", folder / "index", parser=parser, show_progress=False)[0]


@item(right="나루터 안전법")
def name(folder: Path) -> Any:
    "name of a law whose front matter lists attachments"
    return parse_statute(HEAD + BODY).name


@item(right="소관부처: 물길부, 강변청")
def ministry(folder: Path) -> Any:
    "ministries in the prefix of an article"
    (folder / "법률.md").write_text(HEAD + BODY, encoding="utf-8")
    record = records_of(next(iter(read_documents(folder, []))))[-1]
    return next(line for line in record.prefix.split("\n") if line.startswith("소관부처"))


@item(right="소관부처: 물길부, 강변청")
def ministry_of_a_row(folder: Path) -> Any:
    "ministries of a row of articles"
    row = {"id": "7", "법령명": "나루터법", "소관부처": ["물길부", "강변청"], "조문": [{"조문번호": "1", "조문제목": "목적", "조문내용": "정한다."}]}
    (folder / "raw.json").write_text(json.dumps(row, ensure_ascii=False), encoding="utf-8")
    write_records([folder / "raw.json"], folder / "out", [])
    lines = (folder / "out" / "laws_full.jsonl").read_text(encoding="utf-8").splitlines()
    return next(line for line in json.loads(lines[-1])["content"].split("\n") if line.startswith("소관부처"))


@item(right=["LAW_004217_A1", "LAW_004217_A1"])
def law_id(folder: Path) -> Any:
    "ids of a law with a 법령ID, in its metadata and in its text"
    (folder / "법률.md").write_text(HEAD + BODY, encoding="utf-8")
    return [records_of(d)[-1].id for d in (next(iter(read_documents(folder, []))), Document(text=HEAD + BODY, id_="법률.md"))]


@item(right=["CASE_771204_summary", "INTERP_330871"])
def numbers(folder: Path) -> Any:
    "ids of a ruling and an interpretation with a number"
    ruling = "---\n판례일련번호: '771204'\n사건번호: 2031다55\n---\n# 배상\n\n## 판시사항\n\n뱃사공의 책임\n\n## 판결요지\n\n진다.\n"
    opinion = Document(text="질의요지\n되나요?\n\n회답\n됩니다.", id_="a.md", metadata={"법령해석례일련번호": "330871"})
    return [records_of(d)[0].id for d in (Document(text=ruling, id_="ruling.md"), opinion)]


@item(right=["법률.md"])
def filter_by_list(folder: Path) -> Any:
    "--where by an item of a list"
    index = _indexed(folder, {"법률.md": HEAD + BODY, "other.md": "# 구명조끼\n\n구명조끼는 창고에 둔다.\n"})
    return sorted({p.doc_id for p in Pipeline.from_index(index, where="소관부처=강변청").ask("구명조끼는 몇 벌을 두나요?").passages})


@item(right=["3", "4", "5", "6~7"])
def short_between_long(folder: Path) -> Any:
    "a short article between two long ones"
    bodies = {3: LONG, 4: "배삯은 따로 정한다.", 5: LONG, 6: "등을 단다.", 7: "종을 친다."}
    text = "나루터법\n\n" + "\n\n".join(f"제{n}조(조문 {n}) {body}" for n, body in bodies.items())
    return [r.metadata["article_range"] for r in statute_records(text, "1") if r.type == "law_article"]


FERRY = ("# 나루터 계약법\n\n" + "\n\n".join(f"제{n}조(기준 {n}) {LONG[:150]}" for n in range(1, 9))
         + "\n\n부칙\n\n제1조(시행일) 이 법은 2030년 5월 1일부터 시행한다.\n\n제2조(경과조치) " + LONG
         + "\n\n제8조(뗏목보험법의 적용) 뗏목보험법은 종전과 같이 적용한다.\n\n[별표 1] 뱃삯(제8조 관련)\n\n" + "강폭에 따라 뱃삯을 정한다. " * 30
         + "\n제5조(환불) 타지 않은 손님에게 뱃삯을 돌려준다는 안내판을 나루터 매표소에 단다.\n")


def _cited(folder: Path, parser: str | None, question: str, **settings: Any) -> str:
    "The article that the first source of a question is cited by."
    index = _indexed(folder, {"나루터.md": FERRY}, parser)
    return passage_article(Pipeline.from_index(index, **settings).ask(question).context.passages[0])


@item(right=["부칙 제8조"] * 4)
def addenda(folder: Path) -> Any:
    "an article of the addenda, cut by four splitters"
    found = []
    for n, parser in enumerate(("recursive:200/20", "parent-child:400/0,120/0", "sentence", "fixed:150/0")):
        (folder / str(n)).mkdir()
        found.append(_cited(folder / str(n), parser, "뗏목보험법은 어떻게 적용하나요?", policy="none", budget=80))
    return found


@item(right="[별표 1]")
def annex(folder: Path) -> Any:
    "a line of an annex that looks like an article"
    return _cited(folder, "recursive:200/20", "매표소 안내판에는 무엇을 다나요?", policy="none", budget=80)


@item(right=["statute", "statute", "statute", None])
def short_acts(folder: Path) -> Any:
    "an act of three articles without titles, one of two, an act of repeal, a notice"
    three = "# 등대 정원법\n\n제1조 등대지기는 세 사람으로 한다.\n\n제2조 배치는 물길부장관이 정한다.\n\n제3조 이 법은 섬에도 적용한다.\n"
    repeal = "# 뗏목조합법폐지법률\n\n뗏목조합법은 이를 폐지한다.\n\n## 부칙\n\n이 법은 공포한 날부터 시행한다.\n"
    notice = "# 소식\n\n뗏목조합의 모임을 폐지한다고 합니다.\n"
    return [detect_kind(text) for text in (three, three.partition("제3조")[0], repeal, notice)]


FLAT = ("등대 관리법 [시행 2030. 5. 1.] [법률 제41호] 제1장 총칙 제1조(목적) 이 법은 등대를 돌본다. 제2조(정의) 등대란 불을 밝히는 탑이다. "
        "제2장 관리 제3조(점등) 해가 지면 불을 켠다 제4조(소등) 해가 뜨면 불을 끈다. 제5조(보수) 제3조(점등)에 따른 등은 해마다 고친다. "
        "제6조(벌칙) 불을 끈 사람은 벌한다. 부칙 제1조(시행일) 이 법은 2030년 5월 1일부터 시행한다.")


@item(right=["등대 관리법", ["1", "2", "3", "4", "5", "6", "부칙 1"]])
def lost_line_breaks(folder: Path) -> Any:
    "an act without line breaks"
    statute = parse_statute(FLAT)
    return [statute.name, ["부칙 " * (a.part == "부칙") + a.number for a in statute.articles]]


@item(right=["등대.txt"])
def unread(folder: Path) -> Any:
    "files of which a note says that articles are not read"
    bare = "등대법 제1조 이 법은 등대를 돌본다. 제2조 등대란 탑이다. 제3조 해가 지면 켠다. 제4조 해가 뜨면 끈다."
    (folder / "in").mkdir()
    (folder / "in" / "등대.txt").write_text(bare, encoding="utf-8")
    (folder / "in" / "나루터.md").write_text(FERRY, encoding="utf-8")
    report = update_index(folder / "in", folder / "index", show_progress=False)[1]
    return [p.where for p in report.problems if not p.n and "article" in str(p)]
