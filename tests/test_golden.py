"""The golden file: what differs is found, what is accepted keeps what it was, and no text of a set that is not ours is stored."""
from __future__ import annotations

import copy
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
BENCHMARKS = ROOT / "benchmarks"

LINES: dict[str, dict[str, Any]] = {
    "sample/hr-001": {"spans": "leave.md 0-44 76-90", "label": ["[1] (Leave)", "[2] (Leave)"], "note": "no document contains 공룡", "recall": 1.0, "recall@500": 0.5, "recall@4000": 1.0},
    "sample/hr-002": {"spans": "travel.md 5-9", "label": ["[1] (Travel)"], "recall": 0.5, "recall@500": 0.0, "recall@4000": 1.0},
    "ragnb ask --index nowhere": {"exit": 2, "error": "ragnb: no index in 'nowhere'"}}
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def golden(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The command, over a golden file of three lines."""
    import golden as module
    monkeypatch.setattr(module, "GOLDEN", tmp_path / "golden")
    monkeypatch.setattr(module, "FOUND", tmp_path / "found")
    module.write(tmp_path / "golden" / "sample.jsonl", {name: {"id": name} | line for name, line in LINES.items()})
    return module


@pytest.fixture
def run(golden: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run it, with what a checkout would answer: (exit code, output)."""
    def call(*words: str, found: dict[str, dict[str, Any]] | None = None) -> tuple[int, str]:
        answers = {name: {"id": name} | line for name, line in (found or {}).items()}
        monkeypatch.setattr(golden, "ask_all", lambda *args: {"sample": copy.deepcopy(answers)})
        monkeypatch.setattr(sys, "argv", ["golden.py", *words])
        with pytest.raises(SystemExit) as ended:
            golden.main()
        return ended.value.code, capsys.readouterr().out
    return call


def changed(name: str, **values: Any) -> dict[str, dict[str, Any]]:
    """The lines with one that differs; None takes a value out."""
    lines = copy.deepcopy(LINES)
    lines[name] = {k: v for k, v in (lines[name] | values).items() if v is not None}
    return lines


def test_nothing_differs(run: Run) -> None:
    code, out = run("compare", found=LINES)
    assert code == 0 and "3" in out


@pytest.mark.parametrize("name, values, kind", [
    ("sample/hr-001", {"spans": "leave.md 0-44 76-91"}, "spans"),
    ("sample/hr-001", {"spans": "leave.md 76-90 0-44"}, "spans"), ("sample/hr-001", {"note": None}, "note"),
    ("sample/hr-001", {"note": "no document contains 용"}, "note"),
    ("sample/hr-002", {"label": ["[1] (Journeys)"]}, "label"),
    ("sample/hr-002", {"text": ["not that of the document"]}, "text"),
    ("sample/hr-002", {"source": ["1 travel.md@5-9"]}, "source"), ("ragnb ask --index nowhere", {"exit": 0}, "exit"),
    ("ragnb ask --index nowhere", {"error": "ragnb: nothing there"}, "error")])
def test_each_kind_of_difference_is_found(run: Run, name: str, values: dict[str, Any], kind: str) -> None:
    code, out = run("compare", found=changed(name, **values))
    assert code == 1 and f"{kind} 1" in out and name in out
    assert not any(other in out for other in LINES if other != name)


def test_a_question_that_is_gone_and_a_new_one_are_found(run: Run) -> None:
    lines = {name: line for name, line in LINES.items() if name != "sample/hr-002"} | {"sample/hr-003": {"spans": "a.md 0-1"}}
    code, out = run("compare", found=lines)
    assert code == 1 and "missing 1" in out and "new 1" in out


def test_recall_is_compared_with_the_reference(run: Run) -> None:
    found = changed("sample/hr-002", spans="travel.md 5-19", recall=1.0)
    code, out = run("compare", found=found)
    assert code == 1 and "0.750 → 1.000 (+0.250)" in out
    assert run("accept", "--reason", "longer passages")[0] == 0
    code, out = run("compare", found=found)
    assert code == 0 and "0.750 → 1.000 (+0.250)" in out, "an accepted change is still told beside the reference"


def test_what_is_accepted_keeps_what_it_was(run: Run, golden: ModuleType) -> None:
    def line() -> dict[str, Any]:
        return golden.read(golden.GOLDEN / "sample.jsonl")["sample/hr-001"]
    run("compare", found=changed("sample/hr-001", spans="leave.md 0-50"))
    assert run("accept", "--reason", "whole sentences")[0] == 0
    assert line()["spans"] == "leave.md 0-50" and line()["was"] == {"spans": "leave.md 0-44 76-90"}
    assert "whole sentences" in (golden.GOLDEN / "CHANGES.md").read_text(encoding="utf-8")
    run("compare", found=changed("sample/hr-001", spans="leave.md 0-60", note=None, text=["x"]))
    assert run("accept", "--reason", "longer still")[0] == 0
    assert line()["was"] == {"spans": "leave.md 0-44 76-90", "note": "no document contains 공룡", "text": None} and "note" not in line()
    run("compare", found=LINES)
    assert run("accept", "--reason", "back again")[0] == 0
    assert "was" not in line() and line() == {"id": "sample/hr-001"} | LINES["sample/hr-001"]
    assert run("compare", found=LINES)[0] == 0


def test_nothing_is_accepted_without_a_reason_or_a_difference(run: Run) -> None:
    run("compare", found=LINES)
    assert run("accept", "--reason", "none")[0] == 1 and run("accept", "--reason", " ")[0] == 2


def test_making_the_reference_again_keeps_what_was_accepted(run: Run, golden: ModuleType) -> None:
    found = changed("sample/hr-001", spans="leave.md 0-50")
    run("compare", found=found)
    run("accept", "--reason", "whole sentences")
    assert run("make", found=LINES | {"sample/hr-003": {"spans": "a.md 0-1"}})[0] == 0
    assert run("compare", found=found | {"sample/hr-003": {"spans": "a.md 0-1"}})[0] == 0


@pytest.mark.parametrize("values, same_machine, code", [
    ({"spans": "a.md 0-2"}, False, 0), ({"spans": "a.md 0-2"}, True, 1), ({"exit": 0}, False, 1), ({"error": "InputError: no"}, False, 1),
])
def test_near_ties_pass_on_another_machine_and_errors_do_not(run: Run, golden: ModuleType, values: dict[str, Any], same_machine: bool, code: int) -> None:
    lines = {f"sample/{n}": {"spans": "a.md 0-1", "exit": 2} for n in range(100)}
    run("make", found=lines)
    if not same_machine:
        (golden.GOLDEN / "machine.json").write_text('{"processor": "another"}', encoding="utf-8")
    other = lines | {"sample/7": lines["sample/7"] | values}
    assert run("compare", "--quick", found=other)[0] == code and run("compare", found=other)[0] == 1
    many = {name: line | {"spans": "a.md 0-2"} for name, line in lines.items()}
    assert run("compare", "--quick", found=many)[0] == 1


def test_without_the_sets_only_the_sample_is_compared(golden: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(golden, "DATA", tmp_path / "nothing")
    assert golden.parts_here(None, False) == ["sample", "commands"] and "korquad" in capsys.readouterr().err


# --- what is written down
@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The part that asks."""
    import golden_worker
    return golden_worker


def passage(doc_id: str, start: int, text: str) -> Any:
    """What a worker looks at of a passage."""
    return SimpleNamespace(doc_id=doc_id, span=SimpleNamespace(start=start, end=start + len(text)), text=text)


def test_labels_are_what_stands_above_each_passage(worker: ModuleType) -> None:
    found = [passage("a", 0, "tea is green"), passage("b", 4, "green"), passage("c", 9, "not shown")]
    context = "[1] (A)\ntea is green\n\n[2] (B)\ngreen\n…"
    assert worker.labels_of(context, found) == ["[1] (A)", "[2] (B)", "(not in the context as it is)", "…"]
    assert worker.span_line([*found[:2], passage("b", 20, "leaf")]) == "a 0-12; b 4-9 20-24"


def test_recall_of_gold_spans(worker: ModuleType) -> None:
    read = [passage("a", 0, "0123456789"), passage("a", 5, "0123456789")]
    pieces = [{"doc_id": "a", "start": 10, "end": 20}, {"doc_id": "b", "start": 0, "end": 10}]
    assert worker.recall(read, {"evidence": pieces, "evidence_mode": "any"}) == 0.5
    assert worker.recall(read, {"evidence": pieces, "evidence_mode": "all"}) == 0.25


def test_an_output_has_no_path_time_or_size(worker: ModuleType) -> None:
    here = Path.cwd()
    first = worker.steady(f'{here}/i: 2 documents, 0.31 s, peak memory 371 MiB\n"score": 38.117670588485865, "seconds": 1.25')
    assert first == worker.steady(f'{here}/i: 2 documents, 12 s, peak memory 1,204 MiB\n"score": 38.117670588485921, "seconds": 3')
    assert str(here) not in first and "3.1 기본 일수" in worker.steady("### 3.1 기본 일수")


def test_the_stored_lines_of_other_sets_are_ids_offsets_and_hashes() -> None:
    patterns = {"id": r"[\w./@-]+", "spans": r"[\w.-]+( \d+-\d+)+(; [\w.-]+( \d+-\d+)+)*", "recall": r"[\d.]+"}
    wrong = []
    for line in (BENCHMARKS / "golden" / "sets.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        for key, value in {**record, **{f"{k}@was": v for k, v in record.pop("was", {}).items() if v is not None}}.items():
            pattern = patterns.get(key.partition("@")[0], r"[0-9a-f]{8}")
            if key != "was" and not re.fullmatch(pattern, str(value)):
                wrong.append(f"{record['id']}: {key}")
    assert not wrong, wrong[:5]


def test_the_golden_file_is_small() -> None:
    assert sum(p.stat().st_size for p in (BENCHMARKS / "golden").iterdir()) < 1_500_000
