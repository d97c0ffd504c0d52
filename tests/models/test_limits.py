"""Every place that asks a model limits what it writes."""
from __future__ import annotations

import ast
import asyncio
from pathlib import Path

import pytest

import ragnb
from ragnb.models.calls import ask_all, Call, CallCache, clean_answer
from ragnb.models.limits import ModelCall, this_call
from ragnb.models.scripted import CutAnswer, ScriptedLLM

ASKING = {"predict", "apredict", "stream", "astream", "complete", "acomplete", "structured_predict", "astructured_predict", "chat", "achat", "evaluate"}
FREE = {"compare_answers"}     # It writes answers, with the limit of answers


def asks(function: ast.AST) -> list[str]:
    """The methods of a model that a function names."""
    return [f"{node.value.id if isinstance(node.value, ast.Name) else node.value.attr}.{node.attr}" for node in ast.walk(function)
            if isinstance(node, ast.Attribute) and node.attr in ASKING and isinstance(node.value, (ast.Name, ast.Attribute))
            and (node.value.id if isinstance(node.value, ast.Name) else node.value.attr) in ("llm", "_llm", "evaluator")]


def limits(function: ast.AST) -> bool:
    """Whether a function has a block of a `ModelCall`."""
    blocks = [item.context_expr for node in ast.walk(function) if isinstance(node, (ast.With, ast.AsyncWith)) for item in node.items]
    names = [e.func.id if isinstance(e, ast.Call) and isinstance(e.func, ast.Name) else e.attr if isinstance(e, ast.Attribute)
             else e.id if isinstance(e, ast.Name) else "" for e in blocks]
    return bool({"ModelCall", "call", "_call"} & {*names})


def places() -> list[tuple[str, ast.AST]]:
    """Every function of the package that asks a model; models themselves are none."""
    found = []
    for path in sorted(Path(ragnb.__file__).parent.rglob("*.py")):
        if path.parent.name != "models" or path.name == "calls.py":
            tree = ast.parse(path.read_text(encoding="utf-8"))
            inner = {n for f in ast.walk(tree) if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef)) for n in ast.walk(f) if n is not f}
            found += [(f"{path.name}:{f.name}", f) for f in ast.walk(tree)
                      if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef)) and f not in inner and asks(f) and f.name not in FREE]
    return found


def test_every_place_that_asks_a_model_has_a_limit():
    every = places()
    assert len(every) >= 6, "the walk finds them: answers and judges; the other steps go through `ModelStep`"
    assert [name for name, function in every if not limits(function)] == []


def test_a_block_ends_with_its_calls():
    seen = []
    llm = ScriptedLLM(lambda prompt: seen.append(this_call().tokens) or "예")

    def inside():
        with ModelCall(64):
            llm.complete("?")
            with ModelCall(200):
                llm.complete("?")
            return asyncio.run(llm.acomplete("?"))
    inside()
    llm.complete("?")
    assert seen == [64, 200, 64, None]


@pytest.mark.parametrize(("answer", "why"), [
    (CutAnswer("배편을 다룬다. 다만"), "the answer ended by length: 30 tokens were not enough"), ("<|im_start|>assistant", "the answer begins with markup"),
    ("</조각>", "the answer begins with markup"), ("<div>배편</div>", "the answer begins with markup"), ("<think>배", "the model only thought"), ("", "the answer is empty")])
def test_an_answer_that_is_none_is_not_stored(tmp_path, answer, why):
    cache = CallCache(tmp_path / "c.jsonl")
    answers, report = ask_all([Call("ferry.md#c0", "?")], ScriptedLLM(answer), cache, tokens=30)
    assert (answers, report.failures, len(cache)) == ({}, {"ferry.md#c0": why}, 0)
    answers, report = ask_all([Call("ferry.md#c0", "?")], ScriptedLLM("배편을 다룬다."), cache)
    assert answers == {"ferry.md#c0": "배편을 다룬다."} and report.calls == 1, "the next run asks again"


@pytest.mark.parametrize("text", ["<표 1>은 배편을 정한다.", "<별표 2> 배편의 요금", "<개정 2024. 1. 1.> 조항이다.", "3 < 4인 배편", "[1] 배편", "[별지] 배편"])
def test_a_title_in_brackets_is_no_markup(text):
    assert clean_answer(text) == text
