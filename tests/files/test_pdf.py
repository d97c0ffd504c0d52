"""Pages of PDF files, and the one line on those that cannot be read."""
from __future__ import annotations

from pathlib import Path

import pytest
from helpers_ingest import write

from ragnb import read_documents
from ragnb.files.pdf import read_pdf


def print_pdf(path: Path, pages: list[str | None], encrypt: str | None = None) -> Path:
    """Pages of text; None is a page that is a picture."""
    from PIL import Image
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen import canvas

    out = canvas.Canvas(str(path), invariant=1, encrypt=encrypt)
    for text in pages:
        if text is None:
            out.drawImage(ImageReader(Image.new("RGB", (8, 8), "red")), 50, 50, 400, 600)
        else:
            out.drawString(50, 700, text)
        out.showPage()
    out.save()
    return path


def test_what_cannot_be_read_says_why_and_the_rest_is_indexed(tmp_path: Path):
    print_pdf(tmp_path / "locked.pdf", ["secret"], encrypt="key")
    print_pdf(tmp_path / "scan.pdf", [None, None])
    print_pdf(tmp_path / "one.pdf", [None])
    print_pdf(tmp_path / "blank.pdf", ["", ""])
    print_pdf(tmp_path / "part.pdf", ["first", None, "", "fourth"])
    write(tmp_path, {"not.pdf": b"%PDF-1.7 nothing", "good.md": "good"})
    problems = []
    found = {d.id_: d for d in read_documents(tmp_path, problems)}
    assert [*found] == ["good.md", "part.pdf"] and len(found["part.pdf"].metadata["page_starts"]) == 4
    told = {p.where: (p.what, p.n) for p in problems}
    assert set(told) == {"locked.pdf", "scan.pdf", "one.pdf", "blank.pdf", "part.pdf", "not.pdf"}
    assert "is encrypted and needs a password" in told["locked.pdf"][0] and "cannot be read as a PDF" in told["not.pdf"][0]
    assert "2 pages but no text: pages that are pictures without text and need OCR: 1, 2" in told["scan.pdf"][0]
    assert told["one.pdf"][0].startswith("has 1 page but no text")
    assert "probably scanned" in told["blank.pdf"][0]
    assert told["part.pdf"] == ("pages that are pictures without text and need OCR: 2 (ocrmypdf -l kor+eng IN.pdf OUT.pdf adds it)", 0)


def test_a_damaged_page_does_not_cost_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import pypdfium2

    path, load = print_pdf(tmp_path / "a.pdf", ["one", "two", "three"]), pypdfium2.PdfDocument.get_page
    def failing(self, index):
        if index == 1:
            raise pypdfium2.PdfiumError("Failed to load page.")
        return load(self, index)
    monkeypatch.setattr(pypdfium2.PdfDocument, "get_page", failing)
    monkeypatch.setattr(pypdfium2.PdfDocument, "__getitem__", failing)
    found = read_pdf(path)
    assert found["pages"] == ["one", "", "three"] and found["lost"] == ["pages that are damaged: 2"]


def test_a_korean_file_that_is_read_apart_joins_its_lines(tmp_path: Path):
    from drawn_pdf import column, drawn
    from reportlab.lib.pdfencrypt import StandardEncryption
    lines = ["휴게실은 층마다 하나씩", "있으며 점심시간에는 누", "구나 쓴다. 음식 냄새가", "나면 창문을 연다."]
    locked = StandardEncryption("", ownerPassword="key", canPrint=0)      # all can read it
    path = drawn(tmp_path / "a.pdf", column(50, 700, lines), encrypt=locked)
    assert "점심시간에는 누구나 쓴다." in read_pdf(path)["pages"][0]


def test_text_typed_onto_a_page_is_read_and_comments_and_attachments_are_told(tmp_path: Path):
    import pypdfium2
    from reportlab.pdfgen import canvas

    out = canvas.Canvas(str(tmp_path / "typed.pdf"), invariant=1)
    for at in range(5):
        out.drawString(50, 500 - 14 * at, "The form is kept for five years in the office of the plant.")
    out.drawString(50, 700, "Name:")
    out.drawString(50, 600, "Place:")
    out.freeTextAnnotation("Kim Hana", "/Helv 11 Tf", [120, 694, 240, 712])
    out.freeTextAnnotation("second floor\nroom 204", "/Helv 11 Tf", [120, 580, 240, 616])
    out.textAnnotation("check the room", [300, 694, 320, 712])
    out.textAnnotation("", [300, 594, 320, 612])
    out.linkURL("https://example.org", (50, 590, 90, 612), Contents="a link")
    out.save()
    pdf = pypdfium2.PdfDocument(tmp_path / "typed.pdf")
    pdf.new_attachment("prices.xlsx").set_data(b"x")
    pdf.save(tmp_path / "a.pdf")
    found = read_pdf(tmp_path / "a.pdf")
    assert found["pages"][0].split()[:8] == "Name: Kim Hana Place: second floor room 204".split()
    assert found["lost"] == ["comments were left out: 1", "attachments were not read: prices.xlsx"]
