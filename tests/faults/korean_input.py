"""Korean as it is typed and stored: numbers before words that begin with 조, NFD, other blanks, set-apart labels."""
from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORDS = "조치 조건 조장 조립 조작 조회 조사 조명 조각 조율 조직 조절 조례 조합 조약 조정 조달 조언 조기 조경 항로 항온".split()


def _ragnb(*words: str) -> str:
    "The command line, in a process of its own: output and messages."
    code = "import sys; from ragnb.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, encoding="utf-8")
    return done.stdout + done.stderr


def _asked(question: str) -> str:
    "What the manual of TR-7 and the work rules give for a question."
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "docs")
        place.mkdir()
        for name in ("maintenance/tr7_manual.jsonl", "hr_labor/work_rules.md"):
            shutil.copy(ROOT / "data" / "corpus" / name, place)
        _ragnb("index", str(place), "--index", f"{folder}/i", "--quiet")
        return _ragnb("ask", question, "--index", f"{folder}/i")


def a_machine_and_a_word() -> str:
    "`ragnb ask 'TR-7 조정'` on the sample: which source comes first"
    told = _asked("TR-7 조정").lower()
    rules, manual = (told.find(name) if name in told else len(told) for name in ("work_rules", "tr7"))
    return "work rules" if rules < manual else "the manual of TR-7"


def an_error_code_and_a_word() -> str:
    "`ragnb ask 'E-233 조치'`: a note on an article"
    return "notes '233 조'" if "233 조" in _asked("E-233 조치").replace("E-233 조", "") else "no note"


def words_that_begin_with_a_unit() -> str:
    "Of 22 words after a number, and of 3 amounts, how many are read as an article"
    from ragnb.documents.citations import find_citations
    texts = [f"장비 7 {word}" for word in WORDS] + ["매출 3조 원", "2조 5천억", "1조2000억 원"]
    return f"{sum(bool(find_citations(text, loose=True)) for text in texts)} of {len(texts)}"


def _statute() -> str:
    return (ROOT / "data/corpus/law_common/shared_workshop_act.txt").read_text(encoding="utf-8")


def _read(text: str) -> str:
    from ragnb.documents.statutes import parse_statute
    statute = parse_statute(text)
    return f"{len(statute.articles)} articles, {len(statute.blocks)} blocks, in force since {statute.effective or '?'}"


def statute_as_it_is() -> str:
    "A statute of the sample (for comparison)"
    return _read(_statute())


def statute_in_nfd() -> str:
    "The statute as macOS stores it (NFD)"
    return _read(unicodedata.normalize("NFD", _statute()))


def statute_with_no_break_spaces() -> str:
    "The statute with no-break spaces"
    return _read(_statute().replace(" ", "\xa0"))


def statute_with_characters_without_width() -> str:
    "The statute with zero-width characters between words and at the start of lines"
    return _read(_statute().replace(" ", "\u200b ").replace("\n", "\n\u200b"))


def statute_with_framed_heads() -> str:
    "The statute with 【제1조(목적)】 around its heads"
    import re
    return _read(re.sub(r"^(제\d+조(?:의\d+)?\([^)\n]*\))", r"【\1】", _statute(), flags=re.M))


def labels_set_apart() -> str:
    "`【질 의】`, `질 의 :` and `【이   유】`: pairs and reasons found"
    from ragnb.documents.rulings import qa_pairs
    from ragnb.documents.rulings import interpretation_records
    marked, plain = "【질 의】 연차는?\n【회 시】 15일이다.", "질 의 : 연차는?\n회 시 : 15일이다."
    opinion = "【질의요지】\n연차는?\n\n【회답】\n15일이다.\n\n【이   유】\n" + "정관에 따른다. " * 60
    return f"{len(qa_pairs(marked))} + {len(qa_pairs(plain))} pairs, {len(interpretation_records(opinion, '1')) - 1} reason"


def question_typed_on_a_mac() -> str:
    "The citations and names that are read in a question in NFD"
    from ragnb.documents.citations import find_citations
    return ", ".join(c.label for c in find_citations(unicodedata.normalize("NFD", "취업규칙 제12조제1항"), loose=True)) or "none"


def folder_filter_on_a_mac() -> str:
    "`--where folder=…` typed in NFC for a folder whose name and text are NFD"
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "d", unicodedata.normalize("NFD", "규정"))
        place.mkdir(parents=True)
        (place / "a.md").write_text(unicodedata.normalize("NFD", "# 휴가\n\n연차는 15일이다."), encoding="utf-8")
        _ragnb("index", f"{folder}/d", "--index", f"{folder}/i", "--quiet")
        told = _ragnb("ask", "연차는 며칠?", "--index", f"{folder}/i", "--where", "folder=규정")
        return "found" if "15" in told else " ".join(told.split())[-120:]
