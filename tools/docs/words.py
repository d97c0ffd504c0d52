"""The search index: only prose, the right page first for a term, and Korean words by their parts.

The generator puts code, outputs and constants into the index, which makes it four times as large and puts them before
the pages that explain a word. What is left is prose. A title that has the word comes first: so the pages of `TERMS`
have their Korean terms in the title, in the index alone.

Korean: compounds are found by their parts, and inflected words by their stems.

An index finds the beginning of a word. "휴가" is not the beginning of "연차휴가를"; so each part of a word, as
kiwipiepy cuts it, becomes a word of its own for the index, behind a mark that no reader sees (U+200B).
A particle gets another mark (U+200C): a page that has only "휴가는" is found by "휴가를" too.
"""
from __future__ import annotations

import html
import json
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

MARK, PARTICLE = "\u200b", "\u200c"
KOREAN = re.compile(r"[가-힣]{3,}")
MOST = 500    # Characters of a section that are searched
WHOLE = ("studies/from_design.html", "glossary.html", "ko.html")   # Pages of names, which are searched to their end
# Page, without its ending -> what a Korean reader looks for it by, the usual word first
TERMS = {
    "lessons/index": "수업, 배우기, 강의",
    "20_chunking/index": "청킹, 문서 자르기, 청크",
    "20_chunking/04_parent_child": "부모-자식 청크, 부모 청크, 자식 청크",
    "20_chunking/03_sentence_window": "문장 윈도, 문장 창",
    "20_chunking/09_contextual": "문맥 헤더, 컨텍스트 헤더",
    "10_models/01_embedding": "임베딩, 임베딩 모델",
    "10_models/10_ollama": "올라마, 언어 모델 서버",
    "30_storage/index": "저장소, 벡터 저장소",
    "30_storage/02_filters": "필터, 메타데이터 필터",
    "40_retrieval/index": "검색, 검색기",
    "40_retrieval/01_bm25": "키워드 검색, 형태소 검색",
    "40_retrieval/02_hybrid": "하이브리드 검색, 순위 융합",
    "40_retrieval/04_rerank": "재정렬, 재순위, 리랭킹",
    "40_retrieval/07_multiscale": "다중 규모 검색",
    "50_expansion/index": "문맥 확장, 이웃 청크",
    "60_context/03_budgets": "예산, 문맥 크기",
    "60_context/07_source_marks": "출처 표시, 인용",
    "70_indexing/index": "색인, 증분 색인",
    "84_laws/01_statutes": "법령, 조문",
    "84_laws/04_rulings": "대법원 판례, 판례, 해석례",
    "84_laws/07_provisions": "부칙, 별표",
    "85_agent/index": "에이전트",
    "87_serve/index": "서버, 서비스, 화면",
    "88_files/index": "파일 형식, 한글 파일, 엑셀, 워드, 피디에프",
    "89_opensearch/index": "클러스터, 오픈서치",
    "90_evaluation/index": "평가, 실험",
    "90_evaluation/03_measures": "측정, 재현율, 지표",
    "90_evaluation/10_decide": "결정, 비교",
    "tutorials/03_laws": "별표, 법령 튜토리얼",
    "tutorials/08_opensearch": "클러스터 튜토리얼",
}


def splitter() -> Callable[[str], str]:
    "Make a function that puts marks between the parts of a Korean word; each word is analysed once."
    from kiwipiepy import Kiwi

    kiwi, memo = Kiwi(load_multi_dict=False), {}

    def split(word: str) -> str:
        if word not in memo:
            starts = {t.start: PARTICLE if t.tag[0] == "J" else MARK
                      for t in kiwi.tokenize(word) if t.tag[0] == "J" or t.tag[0] in "NXSV" and t.start}
            memo[word] = "".join(starts.get(i, "") + letter for i, letter in enumerate(word))
        return memo[word]

    return split


def marked(text: str, split: Callable[[str], str]) -> str:
    "Mark the parts of every Korean word of a text."
    return KOREAN.sub(lambda m: split(m[0]), text)


def told(text: str) -> str:
    "The prose of a section of a page: without code, outputs, marks of HTML, and lines that every page has."
    prose = re.sub(r"<pre.*?</pre>|<p>Download the notebook.*?</p>|<p>source and example.*?</p>", " ", text, flags=re.S)
    return html.unescape(" ".join(re.sub(r"<[^>]+>", " ", prose).split()))


def is_searched(item: Mapping[str, Any]) -> bool:
    "Leave out constants and types of the reference, which have no sentence."
    if not item["location"].startswith("api/") or "#" not in item["location"]:
        return True
    return re.match(r"<pre><code>(async )?(def|class) ", item["text"]) is not None


def slim(
    items: Iterable[Mapping[str, Any]],   # Sections, as the generator writes them
) -> list[dict[str, Any]]:                # Pages of `TERMS` first, then the others, then the reference
    "Keep what a reader looks for."
    out = []
    for item in filter(is_searched, items):
        place, text = item["location"], told(item["text"])
        terms = TERMS.get(place.removesuffix(".html"), "")
        in_reference = place.startswith("api/")
        most = 145 if in_reference else len(text) + 2 if place.partition("#")[0] in WHOLE else MOST
        shown = textwrap.shorten(text, most, placeholder=" …") if text else ""
        title = f"{terms} · {told(item['title'])}" if terms else told(item["title"])
        out.append((not terms, in_reference, {**item, "title": title, "text": shown}))
    return [item for *_, item in sorted(out, key=lambda row: row[:2])]


def korean_index(
    path: Path,                                  # `search.json` of a built site; rewritten
    split: Callable[[str], str] | None = None,   # Default: `splitter()`
) -> int:                                        # Sections
    "Rewrite the search index of a fresh build; an index that is done already stays as it is."
    index = json.loads(path.read_text(encoding="utf-8"))
    if MARK in index["config"]["separator"]:
        return len(index["items"])
    split = split or splitter()
    index["items"] = slim(index["items"])
    for item in index["items"]:
        for key in ("title", "text"):
            item[key] = marked(item.get(key) or "", split)
    index["config"]["separator"] += f"|[{MARK}{PARTICLE}]+"
    path.write_text(json.dumps(index, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
    return len(index["items"])
