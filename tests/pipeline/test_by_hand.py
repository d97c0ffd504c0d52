"""Hits chosen by hand, references for a model and a judge, whole pages for the reader."""
from __future__ import annotations

import pytest

from ragnb.documents.span import InputError, MissingChunkError
from ragnb.models.scripted import ScriptedLLM
from ragnb.pipeline.answer import ModelError
from ragnb.pipeline.pipeline import Pipeline

QUESTION = "입사 1년차 직원의 연차는 며칠인가요?"


def test_chosen_hits_are_answered_without_a_search(hr_units, monkeypatch) -> None:
    pipeline = Pipeline.from_index(hr_units, policy="neighbors:1", llm=ScriptedLLM("답 [1]."))
    hits = pipeline.find(QUESTION).hits
    monkeypatch.setattr(Pipeline, "find", lambda *_: pytest.fail("nothing is searched"))
    reads = pipeline.reads
    answer = pipeline.answer(QUESTION, hits=[hits[3], hits[0]])
    assert pipeline.reads - reads <= 2
    assert {i for p in answer.passages for i in p.hits} == {hits[3].node_id, hits[0].node_id}
    assert (answer.text, answer.source_marks[0].passage) == ("답 [1].", answer.passages[0])
    by_address = pipeline.answer(QUESTION, hits=[hits[3].node_id, hits[0].node_id])
    assert [p.span for p in by_address.passages] == [p.span for p in answer.passages]


def test_chosen_hits_stay_behind_the_filter(hr_units) -> None:
    narrow = Pipeline.from_index(hr_units, where="doc_id != leave.md")
    outside = next(h for h in Pipeline.from_index(hr_units).find(QUESTION).hits if h.node.ref_doc_id == "leave.md")
    assert narrow.answer(QUESTION, [outside]).passages == []
    with pytest.raises(MissingChunkError):
        narrow.answer(QUESTION, [outside.node_id])
    with pytest.raises(InputError):
        narrow.answer(" ", [])


def test_a_model_that_fails_leaves_the_chosen_passages(hr_units) -> None:
    pipeline = Pipeline.from_index(hr_units, llm=ScriptedLLM(TimeoutError("slow")))
    with pytest.raises(ModelError) as error:
        pipeline.answer(QUESTION, ["leave.md#u0"])
    assert error.value.answer.passages[0].hits == ("leave.md#u0",)


def test_pages(hr_units) -> None:
    answer = Pipeline.from_index(hr_units).ask(QUESTION)
    shown = answer.display(hr_units.store)
    assert [d.doc_id for d in shown] == list(dict.fromkeys(p.doc_id for p in answer.passages if p.rank <= 5))
    assert all(p.text and not p.missing for d in shown for p in d.pages)
