"""Ask a folder as mixed as a company's its questions: answered in the first passage, within 500 and within 1,000 characters delivered.

    python benchmarks/mixed.py FOLDER [--questions benchmarks/questions/mixed.jsonl] [--include '*.log']

FOLDER is written where it is not there: encodings, forms of Korean, PDF, Word, Excel, HTML with menus, copies, a long log. Its texts are in `questions/mixed_folder.txt`.
`questions/mixed.jsonl` and `questions/mixed_held_out.jsonl` have 30 questions each, with the file and the text that answers them; `history` lists the questions asked before.
They were written before a search was run over the folder. The second file is read only to measure a finished change.
A question is answered where the text that answers it is verbatim in what is delivered, labels included, best passage first; white space and the form of Korean
(NFC, NFD) are not compared, and lengths are those of the text as it is delivered. A question with a history is asked after its history, in one conversation. A question that the folder does not answer counts
as answered where the note denies a word or nothing is delivered.
"""
from __future__ import annotations

import html
import io
import random
import re
import shutil
import tempfile
import unicodedata
import warnings
from pathlib import Path
from typing import Any

from common import arguments, lines, ROOT
from ragnb.context.conversation import Conversation
from ragnb.indexing.update import update_index
from ragnb.pipeline.pipeline import Pipeline

SIZES = 500, 1_000
SOURCES = ROOT / "benchmarks" / "questions" / "mixed_folder.txt"
LOG_BYTES = 2_000_000
COPIES = {"규정/구매규정.txt": "백업/구매규정 (사본).txt", "설비/MX-40 반죽기 설명서.pdf": "백업/MX-40 반죽기 설명서.pdf", "총무/화재 대피.html": "영업/화재 대피.html"}
MENU = "<nav><a href='/'>처음</a><a href='/shop'>제품</a><a href='/news'>소식</a></nav>"


def sources() -> dict[str, tuple[str, str]]:
    """Path -> (form, text)."""
    found = {}
    for part in re.split(r"(?m)^=== ", SOURCES.read_text(encoding="utf-8"))[1:]:
        head, text = part.split("\n", 1)
        path, form = head.split("|")
        found[path.strip()] = form.strip(), text
    return found


def write_pdf(path: Path, text: str) -> None:
    """A page for each part between lines of `---쪽---`."""
    from reportlab.lib.pagesizes import A4
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont
    from reportlab.pdfgen import canvas
    pdfmetrics.registerFont(UnicodeCIDFont("HYSMyeongJo-Medium"))
    page = canvas.Canvas(str(path), pagesize=A4, invariant=1)
    for part in text.split("---쪽---\n"):
        page.setFont("HYSMyeongJo-Medium", 11)
        for i, line in enumerate(part.splitlines()):
            page.drawString(40, 780 - 18 * i, line)
        page.showPage()
    page.save()


def write_word(path: Path, text: str) -> None:
    """A paragraph for each line."""
    from docx import Document
    document = Document()
    for line in filter(None, text.splitlines()):
        document.add_paragraph(line)
    document.save(str(path))


def write_sheet(path: Path, text: str) -> None:
    """A row for each line, a cell between bars."""
    from openpyxl import Workbook
    book = Workbook()
    for line in text.splitlines():
        book.active.append([cell.strip() for cell in line.split("|")])
    book.save(str(path))


def page_of(text: str) -> str:
    """A web page with a menu and a footer around the text."""
    body = "\n".join(f"<p>{html.escape(line)}</p>" for line in text.splitlines() if line)
    return f"<!doctype html><html><head><meta charset='utf-8'><title>두루미식품기계</title></head><body>{MENU}<main>{body}</main><footer>© 두루미식품기계</footer></body></html>"


def log(size: int = LOG_BYTES) -> str:
    """Lines of a server, with words of the other files among them."""
    draw, out, n = random.Random(7), io.StringIO(), 0
    while n < size:
        n += out.write(f"2025-08-{draw.randint(1, 31):02d}T{draw.randint(0, 23):02d}:{draw.randint(0, 59):02d} INFO line2 ampere={draw.uniform(4, 8.2):.2f} "
                       f"{draw.choice(['수집 정상', '다시 읽음', '벨트 확인', '온도 정상', 'E-21 없음'])} id={draw.getrandbits(32):08x}\n")
    return out.getvalue()


def write_file(path: Path, form: str, text: str) -> None:
    """Write one file in its form."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if form in ("pdf", "docx", "xlsx"):
        {"pdf": write_pdf, "docx": write_word, "xlsx": write_sheet}[form](path, text)
        return
    text = {"nfd": lambda t: unicodedata.normalize("NFD", t), "nbsp": lambda t: t.replace("에 ", "에\u00a0"), "html": page_of}.get(form, str)(text)
    path.write_bytes(text.encode(form if form in ("cp949", "utf-16") else "utf-8"))


def write_folder(folder: Path) -> int:   # Files
    """Write all files, the copies and the log."""
    for path, (form, text) in sources().items():
        write_file(folder / path, form, text)
    for path, copy in COPIES.items():
        (folder / copy).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / path, folder / copy)
    (folder / "기술" / "라인2.log").write_text(log(), encoding="utf-8")
    (folder / "백업" / "가격표.lnk.csv").symlink_to(folder.resolve() / "영업" / "가격표 2025 하반기.csv")
    return sum(p.is_file() for p in folder.rglob("*"))


def plain(text: str) -> str:
    """A text without white space, composed."""
    return "".join(unicodedata.normalize("NFC", text).split())


def is_answered(question: dict[str, Any], text: str) -> bool:
    """True where the texts that answer a question are all (or one of them is) in a text."""
    found = [plain(e["text"]) in plain(text) for e in question["evidence"]]
    return all(found) if question["evidence_mode"] == "all" else any(found)


def ask(index: Any, question: dict[str, Any], budget: int) -> Any:
    """The answer to a question after its history."""
    pipeline, history = Pipeline.from_index(index, budget=budget, reorder=False), Conversation()
    for before in question["history"]:
        said = pipeline.ask(before, history)
        history.add(before, said.text, said.passages)
    return pipeline.ask(question["query"], history if question["history"] else None)


def measured(index: Any, question: dict[str, Any]) -> dict[str, Any]:
    """What is answered of one question."""
    said = ask(index, question, 4_000)
    row = {"query_id": question["query_id"], "kind": question["kind"]}
    if not question["evidence"]:
        quiet = bool(said.note) or not said.passages
        return row | {"first": quiet} | {str(size): quiet for size in SIZES}
    row["first"] = bool(said.passages) and is_answered(question, said.passages[0].text)
    for size in SIZES:
        row[str(size)] = is_answered(question, ask(index, question, size).context.text[:size])
    return row


def main() -> None:
    """Write the folder, index it, ask everything, print a line for each measure."""
    warnings.simplefilter("ignore")
    args = arguments(__doc__, needs={"folder": Path}, questions=ROOT / "benchmarks" / "questions" / "mixed.jsonl",
                     include=([], "read files of these kinds too, such as '*.log'"))
    if not args.folder.exists():
        print(write_folder(args.folder), "files")
    questions = lines(args.questions)
    with tempfile.TemporaryDirectory() as folder:
        index, report = update_index(args.folder, folder, show_progress=False, **({"include": args.include} if args.include else {}))
        rows = [measured(index, q) for q in questions]
        print(f"{len(index.doc_ids)} documents, {sum(p.n for p in report.problems)} files skipped, {len(rows)} questions")
    for name in ("first", *map(str, SIZES)):
        print(f"{'first passage' if name == 'first' else f'within {int(name):,}'}: {sum(row[name] for row in rows)} of {len(rows)}; not {', '.join(row['query_id'] for row in rows if not row[name]) or 'one'}")


if __name__ == "__main__":
    main()
