"""Saved e-mails: headers, the text of one part, attachments by name, and messages that are broken."""
from __future__ import annotations

import base64
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from strategies import examples

from ragnb import Pipeline, update_index
from ragnb.documents.files import read_documents
from ragnb.files.eml import read_eml

SUBJECT, BODY = "똠방각하 회의", "펲시콜라 30상자를 3층으로 보내 주세요."


def saved(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "m.eml"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("charset, codec", [("utf-8", "utf-8"), ("euc-kr", "cp949"), ("ks_c_5601-1987", "cp949"), ("KS_C_5601-1987", "cp949"), ("no-such", "utf-8")])
@pytest.mark.parametrize("transfer", ["base64", "8bit"])
def test_text_of_korean_mail_programs(tmp_path, charset, codec, transfer):
    """The programs state EUC-KR and write CP949, in headers and texts."""
    word = base64.b64encode(SUBJECT.encode(codec)).decode()
    body = base64.encodebytes(BODY.encode(codec)) if transfer == "base64" else BODY.encode(codec)
    head = f"Subject: =?{charset}?B?{word}?=\r\nContent-Type: text/plain; charset={charset}\r\nContent-Transfer-Encoding: {transfer}\r\n\r\n"
    record = read_eml(saved(tmp_path, head.encode() + body))
    assert BODY in record["text"]
    if charset != "no-such":
        assert record["title"] == SUBJECT


def test_parts_of_a_message(tmp_path):
    message = EmailMessage()
    message["Subject"] = "정산"
    message.set_content("본문 하나.")
    message.add_alternative("<p>본문 하나.</p><img src='cid:x'>", subtype="html")
    message.add_attachment("비밀".encode(), maintype="text", subtype="plain", filename="메모.txt")
    inner = EmailMessage()
    inner["Subject"] = "안쪽"
    inner.set_content("전달한 글")
    message.add_attachment(inner)
    record = read_eml(saved(tmp_path, message.as_bytes()))
    assert record["text"].count("본문 하나.") == 1 and "비밀" not in record["text"]
    assert "메모.txt" in record["lost"][0] and "message" in record["lost"][0]


def test_every_text_that_a_mail_program_shows_is_read_in_order(tmp_path):
    """The parts of `multipart/mixed` follow each other; of alternatives one is read, of a file none."""
    message = EmailMessage()
    message.set_content("첫 글.")
    message.add_alternative("<p>첫 글.</p>", subtype="html")
    message.make_mixed()
    for text, kind, name in (("<p>둘째 글.</p>", "html", None), ("붙인 글.", "plain", "a.txt"), ("셋째 글.", "plain", None)):
        part = EmailMessage()
        part.set_content(text, subtype=kind, **({"filename": name, "disposition": "attachment"} if name else {}))
        message.attach(part)
    record = read_eml(saved(tmp_path, message.as_bytes()))
    assert record["text"].split() == ["첫", "글.", "둘째", "글.", "셋째", "글."]
    assert record["lost"] == ["attachments were not read: a.txt"]


def test_a_message_is_a_document_and_its_loss_is_told(tmp_path):
    message = EmailMessage()
    message["Subject"] = "출장비 정산"
    message.set_content("국내 출장 일비는 3만 원입니다.")
    message.add_attachment(b"x", maintype="application", subtype="pdf", filename="양식.pdf")
    problems: list = []
    (document,) = read_documents(saved(tmp_path, message.as_bytes()), problems)
    assert document.metadata["title"] == "출장비 정산" and "3만 원" in document.text
    assert [p.kind for p in problems] == ["lost"] and "양식.pdf" in str(problems[0])


@pytest.mark.parametrize("data", [
    b"", b"\x00\xff" * 50, b"Subject\n", b"Content-Type: multipart/mixed; boundary=a\n\n--a\n" * 300, b"Content-Type: text/html; charset=utf-8\n\n<table><tr><td>",
    b"Content-Type: multipart/alternative; boundary=a\n\n--a\nContent-Type: image/png\n\nx\n--a--\n", b"Subject: =?utf-8?B?///?=\n\nx", b"Date: x\nDate: y\n\nx"])
def test_a_broken_message_is_read_or_skipped_in_one_line(tmp_path, data):
    problems: list = []
    documents = list(read_documents(saved(tmp_path, data), problems))
    assert documents or problems
    assert all("Traceback" not in str(p) and "\n" not in str(p) for p in problems)


@examples(60)
@given(st.text(max_size=80), st.text(max_size=200))
def test_any_text_survives(tmp_path_factory, subject, body):
    message = EmailMessage()
    message["Subject"] = "제목 " + " ".join("".join(c for c in subject if c.isprintable()).split())
    message.set_content("머리 " + "".join(c for c in body if c.isprintable() and ord(c) < 0xd800), cte="base64")
    record = read_eml(saved(tmp_path_factory.mktemp("eml"), message.as_bytes()))
    assert record["title"].startswith("제목") and "머리" in record["text"]


def test_an_unread_attachment_is_told_where_its_mail_leads_or_words_are_lacking(tmp_path):
    """Not below an answer from another file; hidden text of a few characters only where its file leads."""
    message = EmailMessage()
    message["Subject"] = "회의실 공사"
    message.set_content("회의실 공사는 6월 17일로 미뤄졌습니다.")
    message.add_attachment(b"x", maintype="text", subtype="csv", filename="견적.csv")
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "회의실공사.eml").write_bytes(message.as_bytes())
    (folder / "주차.html").write_text("<h1>주차 안내</h1><p>주차 요금은 한 시간에 2천 원입니다.</p><p hidden>숨은 글</p>", encoding="utf-8")
    (folder / "야구.md").write_text("# 야구 경기\n\n6월 토요일 야구 경기는 17시에 시작합니다. 야구 경기 표는 현장에서 팝니다.\n", encoding="utf-8")
    index, _ = update_index(folder, tmp_path / "index", show_progress=False)
    pipeline = Pipeline.from_index(index)

    def told(question: str, *also: str) -> list[str]:
        answer = pipeline.ask(question)
        assert {p.metadata["file_name"] for p in answer.passages[1:]}.issuperset(also), "read too, so it could be told"
        return [note.text for note in answer.context.notes if note.kind == "lost"]
    assert told("6월 토요일 야구 경기는 몇 시에 시작하나요?", "회의실공사.eml") == []
    assert told("야구 경기 시간에 주차 요금이 다른가요? 야구 경기 표는 어디에서 팝니까?", "주차.html") == []
    mail, page = told("회의실 공사는 언제로 미뤄졌나요?"), told("주차 요금은 얼마인가요?")
    assert len(mail) == 1 and "견적.csv" in mail[0] and "주차" not in mail[0]
    assert len(page) == 1 and page[0].startswith("주차.html") and "견적" not in page[0]
    lacking = told("6월 의자 단가는?")
    assert len(lacking) == 1 and "견적.csv" in lacking[0]
