"""Calls to a model: each once, nothing lost by a kill or a torn line, failures kept and asked again."""
from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from strategies import examples

from ragnb.documents.span import InputError
from ragnb.documents.text import count_tokens
from ragnb.models.calls import ask_all, Call, call_key, CallCache, clean_answer, model_name
from ragnb.models.llm import fill_prompt
from ragnb.models.scripted import ScriptedLLM

CALLS = [Call(f"c{i}", f"질문 {i}") for i in range(12)]
MANY = [Call(str(i), str(i)) for i in range(200)]


@examples(200)
@given(st.text(alphabet="<>/ 문서AaBb{}x‹", max_size=40), st.text(alphabet="<>/ 문서AaBb{}y", max_size=40))
def test_no_value_ends_a_mark(document: str, chunk: str) -> None:
    filled = fill_prompt("<문서>{document}</문서><A>{chunk}</A>", document=document, chunk=chunk)
    assert len(filled) == len("<문서></문서><A></A>") + len(document) + len(chunk)
    assert filled.count("</문서>") == 1 and filled.lower().count("</a>") == 1
    assert filled.startswith("<문서>") and filled.endswith("</A>")


@examples(200)
@given(st.text(max_size=200), st.integers(1, 30))
def test_an_answer_is_one_short_paragraph(answer: str, limit: int) -> None:
    cleaned = clean_answer(answer, limit)
    assert "\n" not in cleaned and cleaned == cleaned.strip() and count_tokens(cleaned, "cl100k_base") <= limit + 1


@pytest.mark.parametrize(("answer", "cleaned"), [
    ("", ""), ("  \n ", ""), ("<think>a</think>", ""), ("<thinking>\na\n</thinking>\nb", "b"),
    ("<THINK>a</THINK>b", "b"), ("```\na\n```", "a"), ("Here is the context:\n\na b.", "a b."),
    ("한 줄뿐:", "한 줄뿐:"), ('"따옴표"', "따옴표"), ("a\n\nb\tc", "a b c"), ("x</think>y", "y")])
def test_answers_of_models_are_cleaned(answer: str, cleaned: str) -> None:
    assert clean_answer(answer) == cleaned


def test_a_cache_cut_at_any_byte_keeps_what_was_whole(tmp_path: Path) -> None:
    whole = CallCache(tmp_path / "whole.jsonl")
    for i in range(3):
        whole.put(f"k{i}", f"답\n{i} ‘’ \ud800", model="m")
    data = (tmp_path / "whole.jsonl").read_bytes()
    ends = [i + 1 for i, b in enumerate(data) if b == 10]
    for size in range(len(data) + 1):
        path = tmp_path / "cut.jsonl"
        path.write_bytes(data[:size])
        cache = CallCache(path)
        kept = sum(e <= size + 1 for e in ends)  # a line that lacks only its end is whole
        assert len(cache) == kept and cache.get("k0") == (f"답\n0 ‘’ \ud800" if kept else None)
        cache.put("new", "답")
        again = CallCache(path)
        assert len(again) == kept + 1 and again.get("new") == "답"


def test_a_file_that_is_no_cache_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text('{"a": 1}\n{"b": 2}\n', encoding="utf-8")
    for use in (lambda: ask_all(CALLS, ScriptedLLM(), CallCache(path)), lambda: CallCache(path).put("k", "답")):
        with pytest.raises(InputError, match="not a cache"):
            use()
    assert path.read_text(encoding="utf-8") == '{"a": 1}\n{"b": 2}\n'


@pytest.mark.parametrize("workers", [1, 3])
def test_each_call_is_made_once_by_so_many_workers(tmp_path: Path, workers: int) -> None:
    at_once, most = [], []

    def slow(prompt: str) -> str:
        at_once.append(prompt)
        most.append(len(at_once))
        time.sleep(0.01)
        at_once.remove(prompt)
        return "답"
    cache, llm = CallCache(tmp_path / "c.jsonl"), ScriptedLLM(slow)
    for calls, cached in ((12, 0), (0, 12)):
        answers, report = ask_all(CALLS, llm, cache, workers=workers)
        assert list(answers) == [c.name for c in CALLS] and (report.calls, report.cached) == (calls, cached)
        assert report.prompt_characters == (sum(len(c.prompt) for c in CALLS) if calls else 0)
    assert len(llm.prompts) == 12 and max(most) == workers


def test_another_model_or_prompt_is_another_call() -> None:
    keys = {call_key(m, p) for m in ("a", "b") for p in ("x", "y")} | {call_key("ax", ""), call_key("", "ax")}
    assert len(keys) == 6 and model_name(ScriptedLLM(model="m")) == "ScriptedLLM:m"


def test_failures_are_reported_kept_apart_and_asked_again() -> None:
    cache, bad = CallCache(), {"질문 3", "질문 7", "질문 9"}
    replies = {"질문 3": TimeoutError("late"), "질문 7": "<think>only thoughts</think>", "질문 9": ValueError("x" * 900)}
    answers, report = ask_all(CALLS, ScriptedLLM(lambda p: replies.get(p, "답.")), cache)
    assert list(answers) == [c.name for c in CALLS if c.prompt not in bad]
    assert list(report.failures) == ["c3", "c7", "c9"] == report.missing
    assert report.failures["c3"] == "TimeoutError: late"
    assert report.failures["c7"] == "the model only thought" and len(report.failures["c9"]) == 300
    answers, report = ask_all(CALLS, llm := ScriptedLLM(), cache)
    assert set(llm.prompts) == bad and len(answers) == 12 and report.cached == 9 and not report.missing


@pytest.mark.parametrize("workers", [1, 4])
def test_a_dead_server_is_given_up_and_a_failure_now_and_then_is_none(workers: int) -> None:
    answers, report = ask_all(MANY, ScriptedLLM(ConnectionError("refused")), workers=workers, give_up=5)
    assert not answers and 5 <= report.calls < 5 + workers
    assert len(report.not_asked) == 200 - report.calls and len(report.missing) == 200
    at_times = ScriptedLLM(lambda p: ConnectionError("x") if int(p) % 3 else "답")
    _, report = ask_all(MANY[:60], at_times, give_up=3, workers=1)
    assert report.calls == 60 and len(report.failures) == 40


def test_an_interrupt_stops_the_run_and_keeps_what_was_done(tmp_path: Path) -> None:
    cache = CallCache(tmp_path / "c.jsonl")
    for workers in (1, 3):
        llm = ScriptedLLM(lambda p: KeyboardInterrupt() if p == "20" else "답")
        with pytest.raises(KeyboardInterrupt):
            ask_all(MANY, llm, cache, workers=workers)
        assert len(llm.prompts) < 200 - 10  # others may finish what they had begun
    done = len(CallCache(cache.path))
    assert done >= 18
    _, report = ask_all(MANY, ScriptedLLM(), cache)
    assert report.cached == done and report.calls == 200 - done


def test_prompts_are_made_when_their_turn_comes() -> None:
    made = 0

    def calls():
        nonlocal made
        for i in range(1_000):
            made += 1
            yield Call(str(i), str(i))
    seen: list[int] = []
    ask_all(calls(), ScriptedLLM(lambda p: seen.append(made - int(p)) or "답"), workers=1)
    assert set(seen) == {1}


def test_bad_arguments_are_refused() -> None:
    for told, make in (("workers", lambda: ask_all(CALLS, ScriptedLLM(), workers=0)), ("model", lambda: ask_all(CALLS, None)),
                       ("two calls", lambda: ask_all([CALLS[0], CALLS[0]], ScriptedLLM()))):
        with pytest.raises(InputError, match=told):
            make()


WRITER = """
import sys, time
from ragnb.models.calls import CallCache
name, path = sys.argv[1:]
cache = CallCache(path)
print("ready", flush=True)
sys.stdin.readline()
for i in range(40):
    cache.put(f"{name}{i}", "답" * (1 + 997 * (i % 7)), name=name)
    cache.put("both", name)
"""


def test_two_processes_and_two_threads_share_a_cache(tmp_path):
    path = tmp_path / "answers.jsonl"
    CallCache(path).put("first", "답")
    path.write_bytes(path.read_bytes() + b'{"key": "torn", "ans')  # killed here, earlier
    ours, theirs = CallCache(path), CallCache(path)
    assert ours.get("first") == "답" and ours.damaged == 1
    runs = [
        subprocess.Popen([sys.executable, "-c", WRITER, name, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for name in "ab"]
    threads = [threading.Thread(target=lambda cache=cache, name=name: [cache.put(f"{name}{i}", "가" * 500) for i in range(40)])
               for cache, name in ((ours, "c"), (theirs, "d"))]
    for run in runs:
        assert run.stdout.readline() == b"ready\n"
    for run in runs:  # both at once
        run.stdin.write(b"\n")
        run.stdin.flush()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for run in runs:
        run.communicate(timeout=60)
        assert run.returncode == 0
    want = {f"{name}{i}": "답" * (1 + 997 * (i % 7)) for name in "ab" for i in range(40)}
    want |= {f"{name}{i}": "가" * 500 for name in "cd" for i in range(40)}
    for cache in (ours, CallCache(path)):  # one that was open all the time, and a new one
        assert {key: cache.get(key) for key in want} == want and cache.damaged == 1
        assert cache.get("both") in ("a", "b") and len(cache) == len(want) + 2
    lines = path.read_bytes().splitlines()
    assert len(lines) == 1 + 1 + 2 * 80 + 2 * 40 and sum(json.loads(line)["key"] == "both" for line in lines if b"torn" not in line) == 80
    _, report = ask_all([Call("a", "묻는다")], ScriptedLLM(), theirs)
    assert (report.calls, ask_all([Call("a", "묻는다"), Call("b", "또")], ScriptedLLM(), ours)[1].cached) == (1, 1)
