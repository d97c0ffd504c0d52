"""What is shown under an answer of a model: in Python, `ask`, JSON, the chat and the service alike."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import write
from hypothesis import given, strategies as st
from ollama_server import OllamaServer
from strategies import examples

from ragnb import Agent, Pipeline, update_index
from ragnb.agent.chat import Chat
from ragnb.context.builders import SimpleContextBuilder
from ragnb.documents.span import Passage, Span
from ragnb.models.llm import QA_PROMPT
from ragnb.models.scripted import CutAnswer, ScriptedLLM
from ragnb.pipeline.answer_sources import answer_notes, answer_sentences, repeats_prompt, says_unknown
from ragnb.pipeline.chance import absent_notes
from ragnb.serve.views import turn_view

FERRY = "# 도선장 규정\n\n## 운항\n\n첫 배는 오전 여섯 시에 떠난다. 막배는 오후 아홉 시에 떠난다.\n\n## 요금\n\n어른 요금은 4,200원이다. 자전거는 1,500원을 더 낸다.\n"
KILN = "# 가마 사용법\n\n초벌은 850도에서 여덟 시간 굽는다. 재벌은 1,250도에서 굽는다.\n"
QUESTION = "어른 요금은 얼마인가요?"
CASES: dict[str, tuple[str, list[str], set[str]]] = {   # What the model says -> kinds of notes, uses of sources
    "named": ("어른 요금은 4,200원입니다 [1].", [], {"named"}),
    "not named": ("어른 요금은 4,200원이다.", ["unsourced"], {"guessed"}),
    "another number": ("어른 요금은 9,900원이다.", ["unsourced", "unsupported"], set()),
    "not of the documents": ("펭귄은 남극에 산다.", ["unsourced", "unsupported"], set()),
    "does not know": ("모르겠습니다.", [], set()),
    "the prompt again": ("자료에 근거해서만 질문에 답하고, 근거가 된 자료의 번호를 [1]처럼 적으세요. 어른 요금은 4,200원입니다 [1].", ["echo"], {"named"}),
    "cut": (CutAnswer("어른 요금은 4,200원입니다 [1]. 다만 자전거는"), ["length"], {"named"})}


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("sources")
    write(folder / "docs", {"ferry.md": FERRY, "kiln.md": KILN})
    update_index(folder / "docs", folder / "index")
    return folder / "index"


def of_model(notes: Any) -> list[str]:
    return [note.kind for note in notes if note.kind in ("echo", "unsourced", "unsupported", "length")]


@pytest.mark.parametrize("case", CASES)
def test_in_python_streamed_and_by_the_agent_alike(index: Path, case: str) -> None:
    said, kinds, uses = CASES[case]
    line = Pipeline.from_index(index, llm=ScriptedLLM(said))
    answer, stream = line.ask(QUESTION), line.stream(QUESTION)
    assert "".join(stream) == answer.text == said and stream.answer == answer
    assert of_model(answer.context.notes) == kinds
    sources = answer.sources()
    assert {s["use"] for s in sources} - {""} == uses
    for source in sources:
        if source["quote"]:
            quote = source["quote"]
            assert source["text"][quote["start"] - source["start"]:quote["end"] - source["start"]] == quote["text"]
    if uses:
        used = next(s for s in sources if s["use"])
        assert used["quote"]["text"] == "어른 요금은 4,200원이다." and used["section"].endswith("요금") and used["doc_id"] == "ferry.md"
    agent = Agent(index, models={"answer": ScriptedLLM(said)}, prompt=QA_PROMPT)
    state = agent.ask(QUESTION)
    if state.status in ("answered", "unsure"):
        read = agent.read(state)
        assert of_model(read.context.notes) == kinds and {s["use"] for s in read.sources()} - {""} == uses
        view = turn_view(1, state, read)
        assert len(view["remarks"]) == len([k for k in kinds if k != "length"]) and view["unfinished"] == ("length" in kinds)


@pytest.mark.parametrize("case", ["named", "not named", "not of the documents", "cut"])
def test_the_command_and_the_chat_show_the_same(run, index: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said, kinds, uses = CASES[case]
    with OllamaServer(models=("chat",)) as server:
        server.said = lambda messages: str(said) + " " * 2_000 * isinstance(said, CutAnswer)
        argv = ("ask", QUESTION, "--index", index, "--llm", "ollama:chat", "--base-url", server.url)
        code, out, err = run(*argv)
        facts = json.loads(run(*argv, "--json")[1])
    assert code == 0 and (not uses or "“어른 요금은 4,200원이다.”" in out)
    assert ("a guess: the answer does not name it" in out) == (uses == {"guessed"})
    assert ("the answer names no source" in err) == ("unsourced" in kinds)
    assert ("has little in common with the sources" in err) == ("unsupported" in kinds)
    assert all(text.strip("() ") in err for text in facts["note"].split("; "))
    assert {s["use"] for s in facts["sources"]} - {""} == uses and all(s["guessed"] == (uses == {"guessed"}) for s in facts["sentences"] if s["numbers"])
    shown: list[str] = []
    chat = Chat(Agent(index, models={"answer": ScriptedLLM(said)}), iter([]).__next__, shown.append)
    chat.ask(QUESTION)
    text = "".join(shown)
    assert ("a guess" in text) == (uses == {"guessed"}) and ("names no source" in text) == ("unsourced" in kinds)
    assert ("the answer is not complete" in text) == ("length" in kinds)


WHEELCHAIR = "휠체어를 탄 어른은 승선 보조를 누구에게 어떻게 신청하나요?"


@pytest.mark.parametrize(("question", "kind"), [("공룡은 언제 왜 멸종했나요?", "missing"), (WHEELCHAIR, "absent")])
def test_an_unlikely_answer_that_is_not_in_the_sources_is_one_note(index: Path, question: str, kind: str) -> None:
    """Where no word of the question is in any document, the note on the words stays."""
    answer = Pipeline.from_index(index, llm=ScriptedLLM("공룡은 백악기 말에 멸종했다.")).ask(question)
    bare = Pipeline.from_index(index).ask(question)
    assert kind in [n.kind for n in bare.context.notes] and absent_notes(bare.chance), "the chance is low"
    kinds = [n.kind for n in answer.context.notes]
    assert "absent" not in kinds and "unsupported" in kinds and "do not rely on it" in answer.note and answer.chance == bare.chance


def test_without_a_model_nothing_is_added(index: Path) -> None:
    answer = Pipeline.from_index(index).ask(QUESTION)
    assert answer.sentences == [] and of_model(answer.context.notes) == [] and {s["use"] for s in answer.sources()} == {""}


@pytest.mark.parametrize(("said", "expected"), [
    ("모르겠습니다.", True), ("문서에 없습니다.", True), ("I don't know.", True), ("The sources do not contain it.", True),
    ("15일입니다.", False), ("모르는 사람이 오면 " + "문을 열지 않는다. " * 20, False)])
def test_an_answer_that_does_not_know(said: str, expected: bool) -> None:
    assert says_unknown(said) is expected


def test_a_short_line_of_the_prompt_is_no_repetition() -> None:
    assert not repeats_prompt("답변: 질문: 15일", QA_PROMPT) and repeats_prompt(QA_PROMPT, QA_PROMPT)


WORDS = st.lists(st.sampled_from(["첫", "배는", "여섯", "시에", "떠난다.", "[1]", "[2, 3]", "[9]", "[1-3]", "\n", ".", "Fare", "is", "4,200.", "𝟜", "\ud800"]), max_size=14)


@examples(120)
@given(WORDS.map(" ".join))
def test_sentences_are_places_of_the_answer_and_quotes_places_of_the_sources(text: str) -> None:
    rows = ["첫 배는 여섯 시에 떠난다. 막배는 아홉 시에 떠난다.", "Fare is 4,200. Bikes pay more."]
    passages = [Passage(f"d{i}", Span(100 * i, 100 * i + len(row)), row) for i, row in enumerate(rows)]
    context = SimpleContextBuilder().build(passages)
    last = 0
    for sentence in answer_sentences(text, context):
        assert last <= sentence.span.start < sentence.span.end <= len(text)
        last = sentence.span.start
        assert set(sentence.numbers) <= {1, 2} and 0 <= sentence.likeness <= 1 + 1e-9
        assert not sentence.is_guessed or len(sentence.numbers) == 1
        if sentence.quote:
            assert passages[sentence.source - 1].span.contains(sentence.quote)
    answer_notes(text, context, "첫 배는?", QA_PROMPT)
