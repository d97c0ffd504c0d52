"""The questions, settings and commands of the golden file that are no gold questions: filters, names, odd words, layouts, mistakes."""
from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

Case = tuple[str, dict[str, Any]]   # A question, and the settings of its pipeline

# Set -> characters of its documents at most, and questions; both are drawn in an order that is the same everywhere
SETS: dict[str, tuple[int, int]] = {
    "korquad": (120_000, 110), "tydiqa_ko": (100_000, 110), "ko_statutes": (160_000, 90), "squad2": (130_000, 100),
    "covidqa": (170_000, 90), "tatqa": (130_000, 110), "chroma_chunking": (170_000, 60), "ko_tax_tables": (270_000, 60),
    "ko_rulings_sample": (20_000, 3),
}

LEAVE = "입사 1년차 직원의 연차는 며칠인가요?"
CODE = "E-117 조치"
LAW = "공유작업장법 제17조의2 제2항은 무엇을 정하고 있나?"
ENGLISH = "How many days of leave do I get in the first year?"
TABLE = "해외 출장 일비와 숙박비 상한은 얼마인가요?"

_NAMED = (
    "공유작업장법 제17조의2", "공유작업장법 제17조의3제1항", "공유작업장법 제999조", "공유작업장법 제2조와 돌봄로봇법 제3조를 비교해 줘", "돌봄로봇법 제14조의2제3항제1호",
    "돌봄로봇 관리 및 이용자 보호에 관한 법률 제5조", "「공유작업장 이용 및 안전에 관한 법률」 제1조", "민법 제750조", "제17조의2", "공유작업장법 부칙 제1조", "공유작업장법 제3장",
    "공유작업장법 별표 1", "근로기준법 제60조에 따른 연차", "2032누187", "2031가합20458 판결의 결론", "INTERP_3001", "GCB_0003", "E-117", "E-702 통신 지연", "T-31", "VP-22 과전류",
    "GN-300 E-142 가장자리 링", "휴가규정 10.4", "출장·여비 규정", "MS_0004 냉각액 누수", "Section 5 escalation",
)
_UNKNOWN = (
    "공룡은 언제 멸종했나요?", "양자역학의 불확정성 원리", "When did the dinosaurs die out?", "blorptastic leave", "연차 blorptastic", "크루아상 굽는 온도는 몇 도인가요?", "회사 우주정거장 출장 일비",
    "E-999 조치", "GN-999 점검 주기", "비트코인으로 급여를 받을 수 있나요?", "年次有給休暇", "연챠 휴가 몇일", "연차 and leave 며칠 days", "ㅇㅊ", "휴가휴가휴가휴가",
)
_ODD = (
    "", " \n\t", "?", "연차", "a", "…", "😀", "😀 연차", "--", "*", "\0연차", "\u202e연차", "\x1b[31m연차\x1b[0m", "<script>alert(1)</script>", "'; DROP TABLE embeddings; --", "{0} %s {question}",
    "연차 " * 500, "가" * 3_000, "the of and to", "은 는 이 가", "1", "15일", "입사\n1년차\r\n직원의\t연차는", "연차는 며칠인가요?", "ｅ-１１７ 조치", "e117", "E117 E-117 e-117",
)
_WHERE: tuple[Any, ...] = (
    "doc_type=gcb", "doc_type in manual,gcb", "folder=hr_labor", "folder=english", "equipment=GN-300", "date>=2024-06-01", ["doc_type=gcb", "date>=2024-06-01"],
    {"doc_type": "ruling"}, {"doc_type": ["manual", "gcb"]}, "doc_id=GCB_0001", "doc_type!=gcb", "doc_type=nothing", "color=red", "doc_type", "date>=", "a=b=c", ["doc_type=gcb", "doc_type=manual"],
)
_POLICIES = ("none", "neighbors:0", "neighbors:2", "siblings:1", "section", "adaptive", "pages:1", "document:500", "doc_type", "segments", "citations", "citations+neighbors:1", "section+segments")
_RETRIEVERS = ("multi-scale", "bm25", "vector", "hybrid", "hybrid:rrf:2/1", "hybrid:weighted:1/2", "hybrid:zscore")
_LAYOUTS = ("simple", "ranked", "debug", "table", "detailed", "question")
_FOLLOW_UPS = ((LEAVE, "그럼 2년차는?"), (CODE, "누설이면 어디부터 보나요?"), (LAW, "그 조의 제3항은?"), (ENGLISH, "And in the third year?"), (TABLE, "공룡은?"))
_REFUSED: tuple[dict[str, Any], ...] = (
    {"retriever": "nearest"}, {"retriever": "hybrid:median"}, {"retriever": "hyde:hybrid"}, {"reranker": "llm"}, {"reranker": "best"}, {"policy": "everything"}, {"policy": "neighbors:-1"},
    {"policy": "neighbors:x"}, {"policy": "parent"}, {"policy": "auto-merge"}, {"builder": "tabel"}, {"compressor": "x"}, {"compressor": "llm:5"}, {"compressor": -1}, {"top_k": 3}, {"expand_top_k": 3},
    {"max_chunks": 3}, {"passage_size": 300}, {"budget": 0}, {"budget": -5}, {"budget": "many"}, {"tokenizer": "abacus"}, {"cut": 0}, {"cut": 2}, {"retriever": "bm25", "cut": 0.2}, {"as_of": "soon"},
    {"where": 5}, {"llm": "gpt"}, {"retriever": "bm25", "top_k": 0}, {"policy": "neighbors:1", "max_chunks": 0},
)

OVER_SAMPLE: list[Case] = [
    *((q, {"budget": 1_000}) for q in _NAMED),
    *((q, {"budget": 600}) for q in (*_UNKNOWN, *_ODD)),
    *((q, {"budget": 800, "where": w}) for w in _WHERE for q in (CODE, LEAVE)),
    *((q, {"budget": 1_500, "policy": p}) for p in _POLICIES for q in (LEAVE, CODE, LAW)),
    *((q, {"budget": 1_000, "retriever": r}) for r in _RETRIEVERS for q in (LEAVE, CODE, LAW, ENGLISH)),
    *((q, {"budget": 500, "builder": b, "reorder": r, "whole": True}) for b in _LAYOUTS for r in (True, False) for q in (CODE, TABLE)),
    *((LEAVE, {"budget": b}) for b in (1, 30, 100, 300, 20_000)),
    *((q, {"budget": 4_000, "cut": c}) for c in (0.1, 0.3, 0.5) for q in (LEAVE, CODE, "공룡은 언제 멸종했나요?")),
    *((q, {"budget": 2_000, "compressor": n}) for n in (200, 800) for q in (LEAVE, TABLE)),
    (LEAVE, {"policy": "neighbors:1", "top_k": 3, "budget": 1_500}), (LEAVE, {"policy": "neighbors:3", "top_k": 10, "expand_top_k": 2, "max_chunks": 12, "budget": 1_500}),
    (LEAVE, {"retriever": "bm25", "policy": "document:4000", "passage_size": 300, "budget": 1_500}), (LEAVE, {"retriever": "vector", "policy": "none", "budget": None}),
    (LEAVE, {"retriever": "hybrid", "where": "folder=english", "budget": 800}), (LAW, {"as_of": "2024-01-01", "budget": 800}), (LAW, {"as_of": "2032-01-01", "budget": 800}),
    *((q, {"budget": 1_500, "then": then}) for q, then in _FOLLOW_UPS),
    *((LEAVE, refused) for refused in _REFUSED),
]

_FEW = ("hr_labor/leave.md", "hr_labor/travel.md", "startup_support/announcements.jsonl")
_DAYS = ((LEAVE, {"budget": 1_000}), (TABLE, {"budget": 1_000}), ("재도전 창업자 자금의 지원 대상은?", {"budget": 1_000}))
OVER_FEW: dict[str, list[Case]] = {   # Splitter -> what is asked
    "units": [*_DAYS, *((q, {"retriever": "hierarchical", "budget": 1_000}) for q, _ in _DAYS)],
    "parent-child": [*_DAYS, *((q, {"budget": 1_500, "policy": p}) for p in ("none", "parent", "auto-merge", "neighbors:5", "adaptive") for q, _ in _DAYS)],
    "sentence": [*_DAYS, *((q, {"budget": 1_000, "retriever": "bm25", "policy": "neighbors:2"}) for q, _ in _DAYS)],
    "chunks:400/50": [*_DAYS, *((q, {"budget": 1_000, "retriever": r, "policy": "none"}) for r in ("bm25", "vector") for q, _ in _DAYS)],
    "structure": [*_DAYS, (LEAVE, {"policy": "section", "budget": 1_000})],
    "titled:chunks:200/20": [*_DAYS],
}

EDITION = "출장여비법\n[시행 {date}.] [법률 제{no}호]\n\n제1조(목적) 이 법은 출장 여비를 정한다.\n\n제2조(일비) 일비는 하루 {no}만원으로 한다.\n\n제3조(숙박) 숙박비는 실비로 한다. 제2조의 일비와 함께 낸다.\n"
_DAILY = "출장여비법 제2조의 일비는 얼마인가?"
OVER_LAWS: list[Case] = [
    *((_DAILY, {"as_of": d, "whole": True}) for d in (None, "2017-01-01", "2020-01-01", "2024-03-01")), ("일비는 얼마인가?", {"as_of": "2020-01-01"}),
    ("출장여비법 제9조", {}), (_DAILY, {"as_of": "2020-13-01"}), (_DAILY, {"retriever": "bm25", "policy": "citations"}),
]


def write_folders(
    data: Path,  # The sample
) -> None:       # Below the folder of the process
    "Write the folders that the commands name."
    for name in _FEW:
        Path("few", name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(data / "corpus" / name, Path("few", name))
    files: dict[str, str | bytes] = {
        "laws/a_old.txt": EDITION.format(date="2018. 7. 1", no=2), "laws/b_new.txt": EDITION.format(date="2024. 3. 1", no=5),
        "zip/a.zip": b"x", "docx/a.docx": b"x", "pdf/a.pdf": b"%PDF-1.4 broken", "binary/photo.md": b"\x89PNG\r\n\0\0", "json/a.jsonl": '{"id": 1\n', "textless/a.jsonl": '\n{"id": 1}\n',
        "blank/a.md": " \n", "blank/b.txt": "", "exe/a.exe": b"MZ", "cp949/a.txt": "연차는 15일이다.".encode("cp949"), "bytes/a.txt": b"\xff\xfe\xfa\x00\x81 leave",
        "mixed/a.png": b"", "mixed/b.png": b"", "mixed/old.zip": b"", "mixed/leave.md": "---\ntitle: [\n---\n연차는 15일이다.", "mixed/days.csv": "구분,일수\n연차,15\n",
        "bad/a.jsonl": '{"id": "a", "text": "연차"}\n{"id": "b"}\n{"id": "a", "text": "또"}\nx\n{"id": "p", "pages": ["첫 장이다.", "반차는 4시간이다."]}\n',
        "typed/manual.md": "---\ndoc_type: manual\nyear: 2024\n---\n# 펌프\n\n펌프는 3개월마다 점검한다.\n", "typed/rule.txt": "---\ndoc_type: rule\nyear: 2019\n---\n펌프 점검은 반드시 기록한다.\n",
        "qa.jsonl": '{"query_id": "q1", "query": "출장 일비는 언제 받나요?", "evidence": [{"doc_id": "a_old.txt", "text": "일비는 하루 2만원으로 한다."}]}\n',
        "qb.jsonl": '{"query_id": "q1", "query": "연차", "evidence": [{"doc_id": "nowhere.txt", "text": "일비"}]}\n', "here/index.db": "{" * 5_000, "mine/mine.txt": "mine",
    }
    for name, content in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    Path("empty").mkdir()
    Path("broken-link").mkdir()
    Path("broken-link", "a.md").symlink_to("not-there.md")
    Path("folder.md").mkdir()


def damage(
    index: str,  # A copy of it is damaged: `damaged`; another one loses its files: `emptied`
) -> None:
    "Overwrite every file of an index, whatever they are called."
    shutil.copytree(index, "damaged")
    shutil.copytree(index, "emptied")
    for path in [p for p in Path("damaged").rglob("*") if p.is_file()]:
        path.write_bytes(b"no file of an index" * 50)
    for path in [p for p in Path("emptied").rglob("*") if p.is_file()]:
        path.write_bytes(b"")


_NOBODY = "http://127.0.0.1:9"   # Nothing listens on the port of `discard`
_EVAL = ("--quiet", "--out", "eval", "--cache", "cache")


def _on(index: str, *lines: str) -> list[list[str]]:
    "Commands over one index, a line each; `|` stands where words are separated."
    return [[*line.split("|"), "--index", index] for line in lines]


COMMANDS: list[list[str]] = [
    [], ["--version"], ["fly"], ["--nonsense"], ["ask"], ["index"], ["ask", "연차", "--nonsense"], ["ask", "연차", "--top-k", "many"], ["completion", "tcsh"],
    # indexes, and folders of which nothing can be read
    *([*("index", folder, "--index", "none", "--quiet")] for folder in
      ("nowhere", "empty", "zip", "docx", "pdf", "binary", "json", "textless", "blank", "exe", "exe/a.exe", "broken-link", "folder.md")),
    ["index", "typed", "--index", "typed-index", "--quiet"], ["index", "typed", "--index", "typed-index", "--quiet"], ["index", "typed", "--index", "typed-index", "--quiet", "--force"],
    ["index", "cp949", "--index", "one", "--quiet"], ["index", "bytes", "--index", "two", "--quiet"], ["index", "mixed", "--index", "three", "--quiet"], ["index", "bad", "--index", "four", "--quiet"],
    ["index", "bad", "--index", "four", "--quiet", "--json"], ["index", "few", "--index", "typed-index", "--quiet", "--split", "sentence"], ["index", "typed", "--index", "x", "--split", "paragraph"],
    ["index", "typed", "--index", "x", "--split", "parent-child:100/0,200/0"], ["index", "typed", "--index", "x", "--embed", "word2vec"], ["index", "typed", "--index", "x", "--embed", "onnx:nowhere"],
    ["index", "typed", "--index", "typed-index", "--embed", "ollama:other", "--quiet"], ["index", "typed", "--index", "here", "--quiet"], ["index", "typed", "--index", "mine", "--quiet"],
    ["index", "typed", "--index", "mine/mine.txt", "--quiet"], ["index", "typed", "--index", "x", "--embed-option", "dims"], ["index", "typed", "--index", "x", "--embed-option", "colour=red"],
    ["index", "typed", "--index", "x", "--embed", "ollama:m", "--base-url", _NOBODY, "--quiet"], ["index", "typed", "--index", "x", "--embed", "ollama:m", "--base-url", "not a url", "--quiet"],
    ["index", "", "--index", "x"], ["index", "typed", "--index", ""], ["index", "typed", "--index", "x", "--wait", "soon"],
    # looking at them
    *_on("typed-index", "info", "info|--json", "ls", "ls|--json", "remove|nothing.md", "remove"), *_on("nowhere", "info", "ls", "ask|연차", "trace|연차", "remove|a"),
    *_on("here", "info", "ask|연차"), *_on("mine", "ask|연차"), *_on("mine/mine.txt", "ask|연차"), *_on("damaged", "info", "ask|연차", "index|laws|--quiet", "index|laws|--quiet|--force"), *_on("emptied", "info", "ask|연차"),
    # questions
    *_on("few-units", f"ask|{LEAVE}|--budget|600", f"ask|{LEAVE}|--budget|600|--json", "ask|공룡은 언제 멸종했나요?|--budget|600", "ask|공룡은 언제 멸종했나요?|--cut|0.2", f"ask|{LEAVE}|--context|debug|--budget|500",
         f"ask|{LEAVE}|--no-reorder|--budget|900", f"ask|{LEAVE}|--where|folder=startup_support", f"ask|{LEAVE}|--where|colour=red", f"ask|{LEAVE}|--where|???", f"ask|{LEAVE}|--compress|300",
         f"ask|{LEAVE}|--retrieve|hybrid|--policy|neighbors:1|--top-k|3|--budget|900", f"trace|{LEAVE}|--budget|400", f"trace|{LEAVE}|--budget|400|--json", f"trace|{LEAVE}|--html|page.html", "ask|연차|--html|.",
         "ask|출장 일비|--history|talk.jsonl|--budget|600", "ask|그럼 숙박비는?|--history|talk.jsonl|--budget|600", "ask|연차|--history|few", "ask|연차|--budget-share|0.3", "ask|연차|--model|gpt-4o",
         "ask|연차|--budget-share|2|--model|gpt-4o", "ask|연차|--budget|0", "ask|연차|--budget|10", "ask|", "ask| ", "trace|", "ask|\udcff연차", "ask|연차|--policy|parent", "ask|연차|--policy|neighbors:x", "ask|연차|--policy|",
         "ask|연차|--top-k|0|--policy|none", "ask|연차|--top-k|3", "ask|연차|--retrieve|nearest", "ask|연차|--retrieve|hyde:hybrid", "ask|연차|--rerank|llm", "ask|연차|--rerank|onnx:nowhere", "ask|연차|--llm|gpt",
         "ask|연차|--llm|ollama:", f"ask|출장 일비|--llm|ollama:m|--base-url|{_NOBODY}|--budget|300", "ask|연차|--llm|ollama:m|--base-url|no url|--budget|300", "ask|연차|--embed|word2vec", "ask|연차|--embed|ollama:other",
         "ask|연차|--tokenizer|abacus", "ask|연차|--as-of|언젠가", "ask|연차|--cut|5", "ask|연차|--llm-option|x", "chat|--llm|gpt", "chat|--step|dance=none", "serve|--port|x", "serve|--host|0.0.0.0", "mcp|--budget|0"),
    *_on("laws-index", f"ask|{_DAILY}", f"ask|{_DAILY}|--as-of|2020-01-01", "ask|출장여비법 제9조", f"trace|{_DAILY}|--budget|300"), *_on("typed-index", "ask|펌프 점검|--where|doc_type=manual", "ask|펌프 점검|--where|year>=2020", "ask|펌프 점검|--where|doc_type=none"),
    ["ask", "연차", "--index", "ftp://nowhere/x"], ["ask", "연차", "--index", "opensearch://"], ["remove", "rule.txt", "--index", "typed-index"], ["ls", "--index", "typed-index", "--json"],
    # measuring
    ["eval"], ["eval", "nowhere"], ["eval", "laws"], ["eval", "laws", "absent.jsonl", *_EVAL], ["eval", "laws", "qb.jsonl", *_EVAL], ["eval", "laws", "qa.jsonl", "--budgets", "0", *_EVAL],
    ["eval", "laws", "qa.jsonl", "--budgets", "a,b", *_EVAL], ["eval", "laws", "qa.jsonl", "--limit", "0", *_EVAL], ["eval", "laws", "qa.jsonl", "--strategy", "best", *_EVAL], ["eval", "laws", "qa.jsonl", "--workers", "0", *_EVAL],
    ["eval", "laws", "qa.jsonl", "--strategy", "bm25", "--strategy", "bm25", *_EVAL], ["eval", "laws", "qa.jsonl", "--embed", "word2vec", *_EVAL], ["eval", "laws", "qa.jsonl", "--tokenizer", "nope", *_EVAL],
    ["eval", "laws", "--qrels", "x.tsv", *_EVAL], ["eval", "--compare", "a", "b"], ["eval", "laws", "qa.jsonl", "--budgets", "200", *(w for s in ("default", "bm25", "hybrid", "seed", "parents", "split=sentence retrieve=bm25 policy=neighbors:2") for w in ("--strategy", s)), *_EVAL],
    ["eval", "--compare", "default", "bm25", *_EVAL], ["questions", "few", "--out", "made.jsonl", "--n", "3", "--json"], ["questions", "laws", "--out", "made.jsonl", "--n", "3"], ["tune", "nowhere"], ["records", "laws/a_old.txt", "--out", "records"], ["records", "nowhere.txt", "--out", "records"],
    ["records", "mine/mine.txt", "--out", "records", "--kind", "poem"],
]
