"""What models answer: events, time limits, thoughts, JSON in parts, guarded marks."""
from __future__ import annotations

import asyncio
import contextvars
import json
import re
import threading
import time
from concurrent.futures import CancelledError
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from llama_index.core import PromptTemplate
from llama_index.core.llms import ChatMessage
from strategies import examples

import ragnb
from ragnb.documents.span import InputError, RagnbError
from ragnb.models.llm import (
    awithin, error_event, guard_marks, json_values, shorten, strip_thinking, unreachable, within)
from ragnb.models.scripted import ScriptedLLM
from ragnb.models.threads import in_thread


def test_errors_of_clients_are_told_apart() -> None:
    import httpx

    gone = [httpx.ReadTimeout("x"), httpx.ConnectTimeout("x"), httpx.ConnectError("x"), TimeoutError(),
            asyncio.TimeoutError(), ConnectionResetError()]
    there = [ValueError(), KeyError("x"), httpx.HTTPStatusError("400", request=None, response=None),
             RuntimeError("timeout in the text only")]
    assert all(map(unreachable, gone)) and not any(map(unreachable, there))
    assert error_event(httpx.ReadTimeout("x"), 2).kind == error_event(asyncio.TimeoutError()).kind == "timeout"
    long = error_event(ConnectionError("x" * 500))
    assert long.kind == "failed" and len(long.detail) == 300


def test_an_event_has_the_remedy_at_the_end_of_its_error(nobody: str) -> None:
    with pytest.raises(ConnectionError) as error:
        ragnb.resolve_llm("ollama:chat", nobody, timeout=5).complete("연차는?")
    assert error_event(error.value).detail.endswith("(base_url, --base-url or OLLAMA_HOST)")


def test_within_keeps_context_values_and_errors() -> None:
    seen = contextvars.ContextVar("seen", default=0)
    seen.set(7)
    assert within(20, seen.get) == 7
    with pytest.raises(ZeroDivisionError):
        within(20, lambda: 1 / 0)
    with pytest.raises(KeyboardInterrupt):
        within(20, lambda: (_ for _ in ()).throw(KeyboardInterrupt()))
    gate = threading.Event()
    for seconds in (0, 0.02, -1):
        with pytest.raises(TimeoutError):
            within(seconds, lambda: gate.wait(20))
    gate.set()


def test_awithin_cancels() -> None:
    ended = []

    async def slow() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(1)

    async def main() -> None:
        with pytest.raises(TimeoutError):
            await awithin(0.02, slow())
        await asyncio.sleep(0)
        assert ended == [1] and len(asyncio.all_tasks()) == 1

    asyncio.run(main())


scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5))
values = st.recursive(
    scalars, lambda v: st.one_of(st.lists(v, max_size=3), st.dictionaries(st.text(max_size=4), v, max_size=3)),
    max_leaves=8)


@examples(200)
@given(values, st.sampled_from(["", "답: ", "```json\n", "1) "]), st.sampled_from(["", "\n```", " 입니다."]))
def test_whole_json_is_found_anywhere(value, before: str, after: str) -> None:
    text = json.dumps(value, ensure_ascii=False)
    whole = [value] if isinstance(value, (list, dict)) else json_values(text)
    assert json_values(before + text + after) == whole


QUESTIONS = [{"질문": "연차는 며칠인가?", "답": "규정은 15일이라고 한다", "쪽": 3}, {"질문": "병가는?", "답": "60일", "쪽": 4}]
BROKEN = {
    "Python": repr(QUESTIONS),
    "comments": json.dumps(QUESTIONS, ensure_ascii=False, indent=1).replace("\n]", ",\n]").replace("\n }", ",\n }"),
    "a comma that is missing": json.dumps(QUESTIONS, ensure_ascii=False, indent=1).replace(",\n", "\n", 1),
    "typographic quotes": re.sub('"([^"]*)"', "“\\1”", json.dumps(QUESTIONS, ensure_ascii=False)),
    "single quotes and commas": "[" + "".join(f"{q!r},\n" for q in QUESTIONS) + "]"}


@pytest.mark.parametrize("kind", BROKEN)
@pytest.mark.parametrize("around", ["{}", "답은 다음과 같습니다.\n```json\n{}\n```\n[1]번 {{참고}}"])
def test_broken_json_is_mended(kind: str, around: str) -> None:
    assert json_values(around.format(BROKEN[kind]))[0] == QUESTIONS


@pytest.mark.parametrize("text", [
    "{참고}", "[자료 1]을 보라", "1: HIGH [자료] {참고: 제1조}", "{HIGH, LOW}", "[높음, 낮음]", "('a', 'b')", "집합 {1, 2}",
    '{"1": "HI', '["첫째 질문", "둘째 질', "{'1': 'HIGH', '1': 'LOW'}"])
def test_prose_halves_and_contradictions_are_not_mended(text: str) -> None:
    assert json_values(text) == []


def test_quotes_inside_a_text_stay() -> None:
    assert json_values('{"답": "규정은 "15일"이라고 한다", "쪽": 3}') == [{"답": '규정은 "15일"이라고 한다', "쪽": 3}]
    assert json_values('{"답": "“15일”, ]"}') == [{"답": "“15일”, ]"}]


@examples(200)
@given(st.text(max_size=80), st.text(alphabet="[]{}\"',:1a \\", max_size=80))
def test_nothing_raises(some: str, brackets: str) -> None:
    for text in (some, brackets, some + brackets):
        assert isinstance(json_values(text), list)
        assert isinstance(strip_thinking(text), str)
        assert len(guard_marks(text, "자료")) == len(text)


@pytest.mark.parametrize("text", [
    "[" * 200_000, "<think>" * 50_000, "{" * 200_000, '["' * 50_000, "{'" * 2_000, "[" * 3_000 + "'" + "]" * 3_000,
    "[-" * 1_500 + "'a'" + "]" * 1_500, "['" + "['" * 9_000 + "]" * 9_000, "{'a': " * 19 + "'" * 19_000 + "}" * 19])
def test_hostile_answers_are_read_in_time(text: str) -> None:
    started = time.monotonic()
    json_values(strip_thinking(text))
    assert time.monotonic() - started < 30  # not minutes; no measurement


def test_thoughts() -> None:
    assert strip_thinking("가<think>나</think>다<THINKING>라</THINKING>마") == "가 다 마"
    assert strip_thinking("가</think>나<think>다") == "나"
    assert strip_thinking("<think>가<think>나</think>다</think>라") == "라"
    assert strip_thinking("<thinker>가</thinker>") == "<thinker>가</thinker>"


def test_marks() -> None:
    text = "<자료 1></ 자료><자료목록><자료>< / 질문 >"
    assert guard_marks(text, "자료", "질문") == "‹자료 1>‹/ 자료><자료목록>‹자료>‹ / 질문 >"
    assert guard_marks("<A.B></a.b><AxB>", "a.b") == "‹A.B>‹/a.b><AxB>"
    with pytest.raises(InputError):
        guard_marks("x")
    assert shorten("a\nb\t c", 3) == "a …"


@pytest.mark.parametrize(("answers", "said"), [
    ("예", ["예", "예"]), (["하나", "둘"], ["하나", "둘"]), (("하나", {"a": 1}), ["하나", '{"a": 1}']),
    ({"연차": "15일", "": "모름"}, ["15일", "모름"]), ({"": "모름", "연차": "15일"}, ["모름", "모름"]),
    (lambda prompt: prompt[:2], ["연차", "병가"]), ({"연차": len, "": [1]}, ["4", "[1]"]), ([None, "한글"], ["null", "한글"])])
def test_scripts(answers, said) -> None:
    llm = ScriptedLLM(answers)
    assert [llm.complete(prompt).text for prompt in ("연차는?", "병가는?")] == said
    assert llm.prompts == ["연차는?", "병가는?"]


@pytest.mark.parametrize("answers", [
    TimeoutError("late"), [TimeoutError("late")], {"?": TimeoutError("late")}, lambda p: TimeoutError("late"),
    TimeoutError])
def test_an_exception_is_raised(answers) -> None:
    llm = ScriptedLLM(answers)
    for ask in (llm.complete, lambda p: list(llm.stream_complete(p)), lambda p: asyncio.run(llm.acomplete(p))):
        llm.prompts.clear()
        with pytest.raises(TimeoutError):
            ask("?")
        assert len(llm.prompts) == 1


@pytest.mark.parametrize("chats", [False, True])
def test_all_ways_of_asking(chats: bool) -> None:
    llm, template = ScriptedLLM("연차는 15일입니다 [1].", is_chat_model=chats), PromptTemplate("{q}")
    assert llm.predict(template, q="연차는?") == asyncio.run(llm.apredict(template, q="연차는?")) == "연차는 15일입니다 [1]."
    assert "".join(llm.stream(template, q="연차는?")) == "연차는 15일입니다 [1]."
    assert llm.chat([ChatMessage(content="연차는?")]).message.content == "연차는 15일입니다 [1]."
    assert all("연차는?" in prompt for prompt in llm.prompts) and len(llm.prompts) == 4
    parts = list(llm.stream_complete("연차는?"))
    assert len(parts) > 1 and parts[-1].text == "".join(part.delta for part in parts)


def test_tasks_and_threads_do_not_wait_for_each_other() -> None:
    gate = threading.Barrier(3, timeout=20)   # passes only when three calls are under way together
    llm = ScriptedLLM(lambda prompt: str(gate.wait()))

    async def three() -> None:
        await asyncio.gather(*(llm.acomplete("?") for _ in range(3)))

    asyncio.run(three())
    assert len(llm.prompts) == 3


def test_models_llm_stays_light() -> None:
    import subprocess
    import sys
    code = """
import sys
from ragnb.models import calls, llm
assert not {'llama_index', 'json_repair'} & set(sys.modules)
print('done')
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr


def test_a_cancelled_question_is_not_a_cancelled_model() -> None:
    """A model's own CancelledError is an error of the call; that of the caller goes through, and the model is cancelled."""
    ended = []

    async def slow() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(1)

    async def gives_up() -> None:
        raise asyncio.CancelledError

    async def main() -> None:
        task = asyncio.ensure_future(awithin(60, slow()))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == [1]
        for seconds in (None, 60):
            with pytest.raises(RagnbError, match="CancelledError"):
                await awithin(seconds, gives_up())
        for own in (TimeoutError("mine"), KeyError("x"), ZeroDivisionError()):
            async def broken() -> None:
                raise own
            with pytest.raises(type(own)) as caught:
                await awithin(60, broken())
            assert caught.value is own
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())


@pytest.mark.parametrize("kind", [StopIteration, GeneratorExit, asyncio.CancelledError, CancelledError, BaseException])
def test_every_exception_of_a_thread_reaches_the_code_that_waits(kind: type[BaseException]) -> None:
    def broken(*given: int, **named: int) -> None:
        raise kind(given, named)

    async def main() -> None:
        with pytest.raises(RagnbError, match=kind.__name__) as caught:
            await asyncio.wait_for(in_thread(broken, 1, two=2), 20)
        assert isinstance(caught.value.__cause__, kind)
    asyncio.run(main())


def test_threads_are_waited_for_in_one_place() -> None:
    """A StopIteration in a thread of `asyncio.to_thread` is never told: the code that waits for it hangs."""
    package = Path(ragnb.__file__).parent
    calls = {path.relative_to(package).as_posix() for path in package.rglob("*.py")
             if re.search(r"\.to_thread\(|run_in_executor\(", path.read_text(encoding="utf-8"))}
    assert calls == {"models/threads.py"}
