"""The scripted model: every kind of script, failures, streams, tasks and what it remembers."""
from __future__ import annotations

import asyncio
import threading

import pytest
from llama_index.core import PromptTemplate
from llama_index.core.llms import ChatMessage

from ragnb.models.scripted import ScriptedLLM


@pytest.mark.parametrize(("answers", "said"), [
    ("예", ["예", "예"]), (["하나", "둘"], ["하나", "둘"]), (("하나", {"a": 1}), ["하나", '{"a": 1}']),
    ({"연차": "15일", "": "모름"}, ["15일", "모름"]), ({"": "모름", "연차": "15일"}, ["모름", "모름"]),
    (lambda prompt: prompt[:2], ["연차", "병가"]), ({"연차": len, "": [1]}, ["4", "[1]"]), ([None, "한글"], ["null", "한글"]),
])
def test_scripts(answers, said) -> None:
    llm = ScriptedLLM(answers)
    assert [llm.complete(prompt).text for prompt in ("연차는?", "병가는?")] == said
    assert (llm.prompts, llm.n_calls) == (["연차는?", "병가는?"], 2)


@pytest.mark.parametrize("answers", [
    TimeoutError("late"), [TimeoutError("late")], {"?": TimeoutError("late")}, lambda p: TimeoutError("late"),
    TimeoutError,
])
def test_an_exception_is_raised(answers) -> None:
    llm = ScriptedLLM(answers)
    for ask in (llm.complete, lambda p: list(llm.stream_complete(p)), lambda p: asyncio.run(llm.acomplete(p))):
        llm.prompts.clear()
        with pytest.raises(TimeoutError):
            ask("?")
        assert llm.n_calls == 1


@pytest.mark.parametrize("chats", [False, True])
def test_all_ways_of_asking(chats: bool) -> None:
    llm, template = ScriptedLLM("연차는 15일입니다 [1].", is_chat_model=chats), PromptTemplate("{q}")
    assert llm.predict(template, q="연차는?") == asyncio.run(llm.apredict(template, q="연차는?")) == "연차는 15일입니다 [1]."
    assert "".join(llm.stream(template, q="연차는?")) == "연차는 15일입니다 [1]."
    assert llm.chat([ChatMessage(content="연차는?")]).message.content == "연차는 15일입니다 [1]."
    assert all("연차는?" in prompt for prompt in llm.prompts) and llm.n_calls == 4
    parts = list(llm.stream_complete("연차는?"))
    assert len(parts) > 1 and parts[-1].text == "".join(part.delta for part in parts)


def test_tasks_and_threads_do_not_wait_for_each_other() -> None:
    gate = threading.Barrier(3, timeout=20)   # passes only when three calls are under way together
    llm = ScriptedLLM(lambda prompt: str(gate.wait()))

    async def three() -> None:
        await asyncio.gather(*(llm.acomplete("?") for _ in range(3)))

    asyncio.run(three())
    assert llm.n_calls == 3


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
