"""Values and names as people type them: one value in many spellings, signs, and questions that are very long."""
from __future__ import annotations

from pathlib import Path
from unittest import mock

from before_after import item
from llama_index.core.schema import Document, TextNode

import ragnb.retrieval.missing_words as missing_words
from ragnb.indexing.update import index_documents
from ragnb.pipeline.pipeline import Pipeline
from ragnb.retrieval.bm25 import Bm25Retriever


def first(folder: Path, texts: list[str], questions: list[str]) -> list[int]:
    """For each question the number of the text that comes first; -1 where none does."""
    documents = [Document(text=text, id_=f"{n}.txt", metadata={"title": ""}) for n, text in enumerate(texts)]
    index_documents(documents, folder, show_progress=False)
    pipeline = Pipeline.from_index(folder)
    passages = [pipeline.find(question).at(200) for question in questions]
    return [int(found[0].doc_id[:-4]) if found else -1 for found in passages]


FEES = ["조합비는 2,500,000원이다.", "입회비는 250,000원이다.", "회식비는 25,000원이다.", "교재비는 252만 원이다.", "관리비는 5억 원이다.", "복사비는 2천 원이다.",
        "통신비는 35,500원이다."]


@item(right=[0, 0, 0, 1, 5, 6, 3])
def amounts(folder: Path) -> list[int]:
    "an amount in other spellings finds the same amount"
    return first(folder, FEES, ["2500000원", "250만 원", "2.5백만원", "25만원 내는 것", "2,000원", "3만 5천5백 원", "2,520,000원"])


DAYS = ["접수는 2031. 5. 7.에 닫는다.", "발표는 2031년 5월 17일이다.", "면접은 2031-07-05에 한다.", "무게는 5 kg이고 길이는 7 m이다.", "입소는 '31.9.2이다."]


@item(right=[0, 0, 1, 2, 0, 4])
def dates(folder: Path) -> list[int]:
    "a date in other spellings finds the same day, also without its year"
    return first(folder, DAYS, ["2031-05-07", "2031년 5월 7일", "'31.5.17", "7월 5일", "5월 7일", "2031년 9월 2일"])


NAMES = ["D++ 강의는 월요일이다.", "D# 강의는 화요일이다.", "D 강의는 수요일이다.", "E+ 방은 볕이 든다.", "E 방은 그늘이다.", "H&K 지점은 세 곳이다.", "H 지점은 네 곳이다."]


@item(right=[0, 1, 2, 3, 4, 5, 6])
def letters_with_signs(folder: Path) -> list[int]:
    "the exact name first: D++, D#, D, E+, E, H&K, H"
    return first(folder, NAMES, ["D++ 강의", "D# 강의", "D 강의", "E+ 방", "E 방", "H&K 지점", "H 지점"])


@item(right=[[0], [1], [2]])
def signs_in_bm25(folder: Path) -> list[list[int]]:
    "the exact name alone in a plain BM25 retriever"
    nodes = [TextNode(id_=f"n#c{n}", text=text) for n, text in enumerate(NAMES[:3])]
    retriever = Bm25Retriever(nodes)
    return [[int(hit.node_id[3:]) for hit in retriever.retrieve(name)] for name in ("D++", "D#", "D")]


@item(right=[0, 0, 1])
def compatible_characters(folder: Path) -> list[int]:
    "units, ligatures and full-width digits are found by plain spelling"
    return first(folder, ["오일 ４２㎖를 넣는다. 값은 ￦７００이다.", "The ﬂoor plan and the oﬃcial ﬁle.", "기름은 다음 주에 온다."], ["42ml", "700원", "official file"])


@item(right=[1])
def row_with_the_name(folder: Path) -> list[int]:
    "the line with the name of the question comes first, though another text shares the other words"
    texts = ["# Payment day of suppliers\n\nThe payment day of suppliers is the last day of a month.",
             "# Grades\n\n- A+: goods are not inspected.\n- B+: the money comes after a month.\n- C: cash.", "# Suppliers\n\nSuppliers are asked every day."]
    return first(folder, texts, ["payment day of B+ suppliers"])


@item(right=True)
def long_question(folder: Path) -> bool:
    "searches in the words of a question of 10,000 characters grow with its length alone"
    class Counted:
        calls = 0

        def __init__(self, pattern):
            self.pattern = pattern

        def __getattr__(self, name):
            Counted.calls += 1
            return getattr(self.pattern, name)

    counts = []
    with mock.patch.object(missing_words, "_HANGUL", Counted(missing_words._HANGUL)):
        for n in (250, 500):
            Counted.calls = 0
            missing_words.content_words("라마바 " * n)
            counts.append(Counted.calls)
    return counts[1] <= 2 * counts[0] + 10
