"""The chance that a context has the answer: the same for every store, in notes, JSON, agent and page, and None where it is not calibrated."""
from __future__ import annotations

import json

import pytest
from llama_index.core import MockEmbedding

from ragnb import sample_data
from ragnb.agent.flow import Agent
from ragnb.agent.library import Library, library_pipeline
from ragnb.agent.state import AgentState
from ragnb.chunking.units import UnitNodeParser
from ragnb.cli import main
from ragnb.documents.files import read_documents
from ragnb.indexing.update import update_index
from ragnb.pipeline.chance import ABSENT_BELOW, chance_of
from ragnb.pipeline.pipeline import Pipeline
from ragnb.retrieval.multiscale import MultiScaleRetriever
from ragnb.retrieval.scoring import Signs
from ragnb.retrieval.sqlite_store import SqliteStore

HELD, ABSENT = "경조휴가는 며칠인가요?", "공룡은 언제 멸종했나요?"


@pytest.fixture
def index(hr_units):
    return hr_units


def test_the_chance_parts_a_question_that_is_answered_from_one_that_is_not(index):
    held, absent = (Pipeline.from_index(index).ask(q) for q in (HELD, ABSENT))
    assert 0 <= absent.chance < ABSENT_BELOW < held.chance <= 1
    assert "probably not in these documents" in absent.note and "probably" not in held.note


def test_each_sign_raises_the_chance():
    low = Signs(0.2, 0.1, 0.05, 0.1)
    for name in Signs._fields:
        assert chance_of(low._replace(**{name: 1.0})) > 1.5 * chance_of(low), name


def test_a_store_in_memory_gives_the_same_chance(index):
    """Passages and signs depend on the units, not on where they are."""
    documents = list(read_documents(sample_data() / "corpus" / "hr_labor", []))
    store = SqliteStore()
    store.add_documents(documents, UnitNodeParser(), index.embed_model)
    for question in (HELD, ABSENT):
        one = MultiScaleRetriever(store.units, store, index.embed_model).rank(question)
        two = MultiScaleRetriever(index.store.units, index.store, index.embed_model).rank(question)
        assert [p.id for p in one.at(2_000)] == [p.id for p in two.at(2_000)]
        assert one.signs == pytest.approx(two.signs)


def test_no_chance_where_it_is_not_calibrated_or_depends_on_hidden_documents(index, tmp_path):
    assert Pipeline.from_index(index, where={"doc_id": "leave.md"}).ask(ABSENT).chance is None
    assert Pipeline.from_index(index, retriever="bm25").ask(HELD).chance is None
    (tmp_path / "a.md").write_text("연차는 열엿새입니다.", encoding="utf-8")
    other = update_index(tmp_path, tmp_path / "i", embed=MockEmbedding(embed_dim=4), show_progress=False)[0]
    answer = Pipeline.from_index(other).ask("공룡은?")
    assert answer.chance is None and "probably" not in answer.note


def test_a_reranker_keeps_the_chance(index):
    class Same:
        def postprocess_nodes(self, nodes, query_bundle=None):
            return nodes
    found = Pipeline.from_index(index).find(ABSENT)
    assert found.reranked(Same().postprocess_nodes(found.hits)).signs == found.signs


def test_a_cut_leaves_nothing_where_no_document_has_a_word_of_the_question(index):
    for cut in (0.05, 0.2):
        answer = Pipeline.from_index(index, cut=cut).ask(ABSENT)
        assert not answer.passages and answer.chance < ABSENT_BELOW
        assert Pipeline.from_index(index, cut=cut).ask(HELD).passages


def test_the_command_line_has_the_chance_in_its_note_and_json(index, capsys):
    at = str(index.folder)
    assert main(["ask", ABSENT, "--index", at]) == 0
    assert "probably not in these documents" in capsys.readouterr().err
    assert main(["ask", ABSENT, "--index", at, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["chance"]["value"] < told["chance"]["absent_below"] == ABSENT_BELOW and told["chance"]["n_calibration"] > 100


def test_the_agent_notes_it_and_asks_nobody(index):
    agent = Agent(Library.open(index.folder), ask_user=True)
    state = agent.ask("회사 주가는 얼마인가요?")
    assert "unlikely" in state.kinds("retrieve") and state.kinds("ask") == ["nothing"]
    assert "probably not in these documents" in state.note
    again = AgentState.from_json(state.to_json())
    assert again.signs == state.signs and agent.read(again).chance == pytest.approx(chance_of(state.signs))


def test_collections_have_the_best_chance_of_one(index):
    alone = Pipeline.from_index(index).ask(HELD).chance
    both = library_pipeline(Library({name: Pipeline.from_index(index) for name in ("a", "b")})).ask(HELD)
    assert both.chance == pytest.approx(alone)
