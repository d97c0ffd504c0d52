"""With a model, a question with a low chance is searched in other words too; one call, told, and off by an option."""
import asyncio
import json
import logging
from dataclasses import replace

import pytest
from llama_index.core.schema import Document

from ragnb.indexing.update import index_documents
from ragnb.models.llm import tell_fallback
from ragnb.models.scripted import ScriptedLLM
from ragnb.pipeline.answer import ModelError
from ragnb.pipeline.chance import chance_of, LOW_CHANCE
from ragnb.pipeline.pipeline import Pipeline
from ragnb.retrieval.rerank import Reranked, Reranker, RerankReport

LAY, PLAIN = "I moved out and the guy who owns my flat keeps my cash", "When does the lessor return the deposit?"


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """Forms, and a rule about deposits."""
    texts = {f"{name}.md": f"# {name}\n\n" + "\n\n".join(f"{a} {n} {b} in {name} office {n}." for n, (a, b) in enumerate(
        ((a, b) for a in ("Forms", "Letters", "Permits") for b in ("are kept", "are sent", "are signed")), 1)) for name in ("north", "south")}
    texts["south.md"] += "\n\nThe cash of the canteen is kept in a safe at the desk.\n"
    texts["tenancy.md"] = "# Tenancy\n\nThe lessor returns the deposit within thirty days after the lease has ended.\n"
    documents = [Document(text=text, id_=i, metadata={"title": i}) for i, text in texts.items()]
    return index_documents(documents, tmp_path_factory.mktemp("words") / "index", show_progress=False)[0]


def model(words: str) -> ScriptedLLM:
    """A model that writes words when it is asked for a JSON array, and an answer otherwise."""
    return ScriptedLLM(lambda prompt: words if "JSON" in prompt else "Thirty days [1].")


def kinds(answer) -> list[str]:
    return [note.kind for note in answer.context.notes]


def test_only_a_low_chance_asks_and_the_note_tells_it(index):
    llm = model(json.dumps([PLAIN, "deposit after the lease has ended"]))
    pipeline = Pipeline.from_index(index, llm=llm)
    assert chance_of(pipeline.find(LAY).signs) < LOW_CHANCE <= chance_of(pipeline.find(PLAIN).signs) and not llm.prompts
    answer = pipeline.ask(LAY)
    assert answer.passages[0].doc_id == "tenancy.md" and len(llm.prompts) == 2 and "words" in kinds(answer)
    assert "deposit after the lease has ended" in answer.note and LAY in llm.prompts[-1] and PLAIN not in llm.prompts[-1].split("</")[-1]
    assert "words" not in kinds(pipeline.ask(PLAIN)) and len(llm.prompts) == 3


def test_nothing_is_asked_without_a_model_or_with_the_option_off(index):
    llm = model("[]")
    plain = Pipeline.from_index(index)
    off = replace(Pipeline.from_index(index, llm=llm), other_words=False).ask(LAY)
    assert "words" not in kinds(plain.ask(LAY)) + kinds(off) and len(llm.prompts) == 1


@pytest.mark.parametrize("words, kind", [(json.dumps(["zzz qqq xxyy", "wwvv uutt qqpp"]), "words"), ("", "model")])
def test_words_that_find_nothing_better_change_nothing(index, words, kind):
    llm = model(words)
    answer = Pipeline.from_index(index, llm=llm).ask(LAY)
    assert answer.passages == Pipeline.from_index(index).ask(LAY).passages
    assert kind in kinds(answer) and len(llm.prompts) == 2


@pytest.mark.parametrize("ask", [lambda pipeline: pipeline.ask(LAY), lambda pipeline: [*pipeline.stream(LAY)], lambda pipeline: asyncio.run(pipeline.aask(LAY))])
def test_a_model_that_cannot_be_reached_is_told_once_and_at_once(index, ask):
    llm = ScriptedLLM(ConnectionRefusedError("nobody is there"))
    with pytest.raises(ModelError) as error:
        ask(Pipeline.from_index(index, llm=llm))
    assert str(error.value).count("nobody is there") == 1 and len(llm.prompts) == 1
    assert error.value.answer.passages and "nobody is there" not in error.value.answer.note and "model" not in kinds(error.value.answer)


def test_a_time_out_for_other_words_is_a_note_and_the_answer_is_asked_for(index):
    replies = iter([TimeoutError("too slow"), "Thirty days [1]."])
    llm = ScriptedLLM(lambda prompt: next(replies))
    answer = Pipeline.from_index(index, llm=llm).ask(LAY)
    assert answer.generated and answer.note.count("too slow") == 1 and len(llm.prompts) == 2


class Telling(Reranker):
    """Keeps the order, and tells for which question."""

    def rerank(self, nodes, question):
        tell_fallback(f"kept the order of <{question}>")
        return Reranked([*nodes], RerankReport(len(nodes)))


@pytest.mark.parametrize("words", [[PLAIN, "deposit after the lease has ended"], ["zzz qqq xxyy", "wwvv uutt qqpp"]])
def test_a_note_is_of_the_ranking_that_stays(index, words):
    answer = Pipeline.from_index(index, llm=model(json.dumps(words)), reranker=Telling()).ask(LAY)
    stays = " ".join([LAY, *words]) if words[0] == PLAIN else LAY
    assert [note.text for note in answer.context.notes if note.kind == "model"] == [f"kept the order of <{stays}>"]


def test_what_a_note_says_is_no_warning_in_the_log(index, caplog):
    with caplog.at_level(logging.INFO, "ragnb"):
        answer = Pipeline.from_index(index, llm=model("no words"), reranker="llm:4").ask(LAY)
    assert "the reranker judged no passage" in answer.note
    assert {record.levelname for record in caplog.records if record.name.endswith("rerank")} == {"INFO"}
