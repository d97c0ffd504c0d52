"""One numbering from context to sources, and what a source names: its file, its page."""
from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from conftest import write
from llama_index.core import Document, MockEmbedding

from ragnb import (
    Agent, Answer, index_documents, InputError, MissingChunkError, ModelError, MultiScaleRetriever, Outline, Passage,
    Pipeline, RankedContextBuilder, read_documents, sample_data, Span, UnitNodeParser, update_index)
from ragnb.agent.library import Library, library_pipeline
from ragnb.agent.state import AgentState
from ragnb.cli import answer_facts, _colored
from ragnb.context.builders import passage_part
from ragnb.context.labels import place_label, source_name
from ragnb.expansion.expander import Expansion, ExpansionStats
from ragnb.models.scripted import ScriptedLLM
from ragnb.pipeline.answer import strong_offsets
from ragnb.pipeline.chance import ABSENT_BELOW, chance_of
from ragnb.retrieval.hybrid import Hits
from ragnb.retrieval.scoring import Signs
from ragnb.retrieval.sqlite_store import SqliteStore

QUESTIONS = ("입사 1년차 직원의 연차는 며칠인가요?", "출장 여비는 며칠 안에 정산하나요?", "병가와 경조휴가의 차이는?", "육아휴직")


@pytest.mark.parametrize("settings", [
    {}, {"budget": 900}, {"reorder": False}, {"compressor": 500}, {"builder": "table", "compressor": 500},
    {"policy": "section", "top_k": 6, "compressor": 400, "passage_size": None},
    {"retriever": "hybrid", "policy": "neighbors:2+citations", "top_k": 6}])
def test_a_number_means_the_same_everywhere(hr_units, settings):
    """`[n]` in a text without a model, in the context, and in `sources()`."""
    pipeline = Pipeline.from_index(hr_units, **settings)
    for question in QUESTIONS:
        answer = pipeline.ask(question)
        sources = {s["number"]: s for s in answer.sources()}
        shown = re.findall(r"^\[(\d+)\] \((.*)\)$", answer.text, re.M)
        assert [int(n) for n, _ in shown] == list(sources) == list(range(1, len(sources) + 1))
        for n, label in shown:
            passage = next(s.passage for s in answer.context.sources if s.number == int(n))
            assert sources[int(n)]["doc_id"] == passage.doc_id and source_name(passage) in label
        assert answer.passages[0].rank == 1 and {id(p) for p in answer.passages} == {id(p) for p in answer.context.passages}


def test_the_page_of_a_source_is_that_of_its_best_sentence(tmp_path):
    """A snippet over three short pages names the one with the answer."""
    pages = ["안내. 이 설명서는 점검을 다룬다.", "준비물은 드라이버와 헝겊이다.", "전원을 끄고 10분을 기다린다.", "배기 압력이 낮으면 밸브를 교체한다.", "점검표에 서명하고 보관한다."]
    starts = [sum(len(p) + 2 for p in pages[:i]) for i in range(len(pages))]
    manual = Document(text="\n\n".join(pages), id_="m", metadata={"title": "설명서", "page_starts": starts})
    index, _ = index_documents([manual], tmp_path / "i", show_progress=False)
    answer = Pipeline.from_index(index).ask("배기 압력이 낮으면 무엇을 하나?")
    source, = [s for s in answer.sources() if "밸브를 교체한다" in s["text"]]
    assert source["pages"] == [4] and len(source["text"]) > len(pages[3]), "the snippet is longer than the page"
    whole = Pipeline.from_index(index, policy="document:9", top_k=1).ask("배기 압력이 낮으면 무엇을 하나?")
    assert whole.passages[0].pages == (1, 2, 3, 4, 5) and whole.sources()[0]["pages"] == [4]


@pytest.mark.parametrize("record, name", [
    ({"file_name": "manual/gn300.pdf"}, "manual/gn300.pdf"), ({"original_filename": "규정.hwp"}, "규정.hwp"),
    ({"file_name": "", "original_filename": "규정.hwp"}, "규정.hwp"), ({}, "r1"), ({"file_name": 7}, "r1"),
    ({"file_name": "rows.jsonl"}, "r1")])
def test_a_records_own_file_is_kept_and_shown(tmp_path, record, name):
    row = {"id": "r1", "title": "점검", "text": "배기 압력이 낮으면 밸브를 교체한다.", **record}
    document, = read_documents(write(tmp_path / "in", {"all.jsonl": json.dumps(row, ensure_ascii=False)}), [])
    index, _ = index_documents([document], tmp_path / "i", show_progress=False)
    answer = Pipeline.from_index(index).ask("배기 압력")
    named = "점검" if name == "r1" else f"점검, {name}"   # a model needs no id of a record beside its title
    assert place_label(answer.passages[0]) == f"점검, {name}" and answer.context.text.startswith(f"[1] ({named})\n")
    detailed = Pipeline.from_index(index, builder="detailed").ask("배기 압력").context.text
    assert f"\nfile: {name}\n" in detailed
    if name != "r1":
        assert answer.sources()[0]["file"] == name


LEAVES = "🌿 잎이 지는 나무는 가을에 심는다. 𠮷野에서는 봄에 심는다. "
LONG = f"# 나무 심기\n\n{LEAVES * 4}\n\n## 물 주기\n\n🌱 어린 소나무는 사흘마다 물을 준다. 다 자란 소나무는 물을 주지 않는다. 😀\n\n{LEAVES * 9}\n"


@pytest.mark.parametrize("size", [1, 30, 60, 200, 500, 10_000])
def test_what_matches_strongly_is_the_same_in_any_part_that_is_shown(tmp_path, size):
    index, _ = index_documents([Document(text=LONG, id_="trees.md"), Document(text="연차는 15일이다.", id_="leave.md")], tmp_path / "i", show_progress=False)
    answer, n_marked = Pipeline.from_index(index, policy="document:9").ask("어린 소나무는 며칠마다 물을 주나요?"), 0
    for source in answer.sources(size):
        passage = next(p for p in answer.passages if p.id == source["id"])
        shown, base = Span(source["start"], source["end"]), passage.span.start
        offsets = strong_offsets(answer, passage, shown)
        strong = {base + i for a, b in strong_offsets(answer, passage) for i in range(a, b)}
        wanted = {i - shown.start for i in strong if shown.start <= i < shown.end}
        assert {i for a, b in offsets for i in range(a, b)} == wanted
        assert all(0 <= a < b <= len(source["text"]) for a, b in offsets) and all(x[1] < y[0] for x, y in zip(offsets, offsets[1:]))
        n_marked += sum("🌱 어린 소나무는 사흘마다 물을 준다." in source["text"][a:b] for a, b in offsets)
    assert n_marked == 1
    cut = [p for p in answer.passages if "사흘마다" in p.text][0]
    at = cut.span.start + cut.text.index("소나무는"), cut.span.start + cut.text.index("사흘마다")   # inside a hit
    inner = passage_part(cut, Span(*at))
    assert strong_offsets(answer, cut, Span(*at)) == strong_offsets(answer, inner) == [[0, 5]] and inner.text == "소나무는 "


def test_hits_that_overlap_are_marked_once():
    """A window and the sentence in it, both found: a terminal shows every character once."""
    text = "🌱 연차는 15일이다. 반차는 4시간이다. 병가는 따로 있다."
    outline = Outline("a.md", len(text), {"u": [Span(0, 12), Span(13, 24), Span(25, len(text))], "c": [Span(0, 24), Span(25, len(text))]})
    passage = Passage("a.md", Span(0, len(text)), text, 9.0, hits=("a.md#u0", "a.md#c0", "a.md#c9"), scores=(9.0, 8.0, None))
    context = RankedContextBuilder().build([passage])
    answer = Answer("연차는?", text, context, Expansion([passage], ExpansionStats(), outlines={"a.md": outline}), Hits([]))
    assert strong_offsets(answer, passage) == [[0, 24]] and strong_offsets(answer, passage, Span(24, 30)) == []
    assert answer_facts(answer)["passages"][0]["strong"] == [[0, 24]]
    assert _colored(answer).count("4시간") == 1
    plain = replace(passage, score=None, scores=(None, None, None))
    assert strong_offsets(replace(answer, context=RankedContextBuilder().build([plain])), plain) == []
    far = replace(passage, hits=("a.md#u0", "a.md#u2"), scores=(9.0, 9.0))   # shortened, it keeps the addresses of both hits
    assert [strong_offsets(answer, passage_part(far, part)) for part in (Span(0, 5), Span(14, 20), Span(26, 30))] == [[[0, 5]], [], [[0, 4]]]


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


HELD, ABSENT = "경조휴가는 며칠인가요?", "공룡은 언제 멸종했나요?"


def test_the_chance_parts_a_question_that_is_answered_from_one_that_is_not(hr_units):
    held, absent = (Pipeline.from_index(hr_units).ask(q) for q in (HELD, ABSENT))
    assert 0 <= absent.chance < ABSENT_BELOW < held.chance <= 1
    assert "no document contains any word" in absent.note and "probably" not in absent.note + held.note
    some = Pipeline.from_index(hr_units).ask(f"회사 {ABSENT}")      # One of its words is there: a low chance adds something
    assert some.chance < ABSENT_BELOW and "probably not in these documents" in some.note


def test_each_sign_raises_the_chance():
    low = Signs(0.2, 0.1, 0.05, 0.1)
    for name in Signs._fields:
        assert chance_of(low._replace(**{name: 1.0})) > 1.5 * chance_of(low), name


def test_a_store_in_memory_gives_the_same_chance(hr_units):
    """Passages and signs depend on the units, not on where they are."""
    documents = list(read_documents(sample_data() / "corpus" / "hr_labor", []))
    store = SqliteStore()
    store.add_documents(documents, UnitNodeParser(), hr_units.embed_model)
    for question in (HELD, ABSENT):
        one = MultiScaleRetriever(store.units, store, hr_units.embed_model).rank(question)
        two = MultiScaleRetriever(hr_units.store.units, hr_units.store, hr_units.embed_model).rank(question)
        assert [p.id for p in one.at(2_000)] == [p.id for p in two.at(2_000)]
        assert one.signs == pytest.approx(two.signs)


def test_no_chance_where_it_is_not_calibrated_or_depends_on_hidden_documents(hr_units, tmp_path):
    assert Pipeline.from_index(hr_units, where={"doc_id": "leave.md"}).ask(ABSENT).chance is None
    assert Pipeline.from_index(hr_units, retriever="bm25").ask(HELD).chance is None
    (tmp_path / "a.md").write_text("연차는 열엿새입니다.", encoding="utf-8")
    other = update_index(tmp_path, tmp_path / "i", embed=MockEmbedding(embed_dim=4), show_progress=False)[0]
    answer = Pipeline.from_index(other).ask("공룡은?")
    assert answer.chance is None and "probably" not in answer.note


def test_a_reranker_keeps_the_chance(hr_units):
    class Same:
        def postprocess_nodes(self, nodes, query_bundle=None):
            return nodes
    found = Pipeline.from_index(hr_units).find(ABSENT)
    assert found.reranked(Same().postprocess_nodes(found.hits)).signs == found.signs


def test_a_cut_leaves_nothing_where_no_document_has_a_word_of_the_question(hr_units):
    for cut in (0.05, 0.2):
        answer = Pipeline.from_index(hr_units, cut=cut).ask(ABSENT)
        assert not answer.passages and answer.chance < ABSENT_BELOW
        assert Pipeline.from_index(hr_units, cut=cut).ask(HELD).passages


def test_the_agent_notes_it_and_asks_nobody(hr_units):
    agent = Agent(Library.open(hr_units.folder), ask_user=True)
    state = agent.ask("회사 주가는 얼마인가요?")
    assert "unlikely" in state.kinds("retrieve") and state.kinds("ask") == ["nothing"]
    assert "probably not in these documents" in state.note
    again = AgentState.from_json(state.to_json())
    assert again.signs == state.signs and agent.read(again).chance == pytest.approx(chance_of(state.signs))


def test_collections_have_the_best_chance_of_one(hr_units):
    alone = Pipeline.from_index(hr_units).ask(HELD).chance
    both = library_pipeline(Library({name: Pipeline.from_index(hr_units) for name in ("a", "b")})).ask(HELD)
    assert both.chance == pytest.approx(alone)
