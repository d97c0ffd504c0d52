"""What a model really gets: the context string, the document text that stands in it, and who may count it again."""
from __future__ import annotations

import gzip
import json
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from llama_index.core.schema import Document
from strategies import examples

from ragnb import evaluate, InputError, load_dataset, Passage, Pipeline, Span
from ragnb.context.builders import resolve_builder
from ragnb.evaluation.comparison import run_strategies, RunPlan, to_records, write_results
from ragnb.evaluation.datasets import Dataset, Evidence, Question
from ragnb.evaluation.delivered import context_builder, delivered_spans, lay_out_found
from ragnb.evaluation.measures import read_rows
from ragnb.machinery.registry import parts_of
from ragnb.evaluation.strategy import build_system, IndexCache

BUILDERS = [part.name for part in parts_of("builder")]

ROOT = Path(__file__).resolve().parent.parent.parent
BUDGETS = (120, 500, 2_000)
STRATEGIES = ("default", "hybrid", "units-around", "bm25 compress=200 name=short", "chunks reorder=off name=ordered")
TEXT = "연차는 15일이다 [3] 참고. | 표 | 값 |\n제2조 반차는 4시간이다!  \u3000끝.\n" * 6


@pytest.fixture(scope="module")
def sample() -> Dataset:
    """Ten questions of the sample, over three documents of their collection."""
    data = load_dataset(ROOT / "data")
    documents = {i: data.documents[i] for i in ("hr_labor/leave.md", "hr_labor/pay_benefits.md", "hr_labor/travel.md")}
    asked = [q for q in data.questions if all(e.doc_id in documents for e in q.evidence)][:20:2]
    return replace(data, documents=documents, questions=asked)


@pytest.fixture(scope="module")
def cache() -> IndexCache:
    return IndexCache()


@pytest.fixture(scope="module")
def runs(sample, cache, tmp_path_factory):
    lines = [s if s != "units-around" else "split=units retrieve=multi-scale policy=neighbors:1 name=units-around" for s in STRATEGIES]
    plan = RunPlan(sample, BUDGETS, cache=cache.folder)
    return plan, run_strategies(plan, [*lines, "peer:llamaindex-bm25:chunk_size=128,chunk_overlap=0"], show_progress=False)


def audit(*arguments: object) -> int:
    """`benchmarks/audit.py`, as a program would call it."""
    import audit as program
    return program.main([str(a) for a in arguments])


# --- spans of a string -----------------------------------------------------------------------------------------------------------------
places = st.lists(st.tuples(st.sampled_from(["a.md", "b.md"]), st.integers(0, len(TEXT)), st.integers(1, 120)), max_size=5)


@examples(150)
@given(places, st.sampled_from(sorted(set(BUILDERS) - {"question"})), st.one_of(st.none(), st.integers(1, 400)))
def test_delivered_is_only_what_stands_there_verbatim(found, builder, budget):
    texts = {"a.md": TEXT, "b.md": TEXT[::-1]}
    passages = [Passage(d, Span(s, min(len(TEXT), s + n)), texts[d][s:s + n], rank=i) for i, (d, s, n) in enumerate(found, 1) if s < len(TEXT)]
    context = lay_out_found(passages, "연차", resolve_builder(builder, budget=budget))
    spans = delivered_spans(context, texts)
    assert budget is None or len(context.text) <= budget
    for d in spans:
        assert len(d.span) and context.text[d.at:d.at + len(d.span)] == d.span.of(texts[d.doc_id])
        assert f"[{d.number}]" in context.text[:d.at]   # a label that leads to the document
    shown = sorted((d.at, d.at + len(d.span)) for d in spans)
    assert all(a[1] <= b[0] for a, b in zip(shown, shown[1:]))   # no character of the string counts for two


def test_what_a_builder_changes_is_not_delivered():
    passage = Passage("a", Span(0, 9), "가|나[1]다\n라")
    plain, table = (resolve_builder(name).build([passage]) for name in ("simple", "table"))
    texts = {"a": "가|나[1]다\n라"}
    held = {name: "".join(d.span.of(texts["a"]) for d in delivered_spans(c, texts)) for name, c in (("simple", plain), ("table", table))}
    assert "|" in held["simple"] and "|" not in held["table"] and "\n" not in held["table"]
    assert "[1]" not in held["simple"] and "다" in held["simple"]   # a number that looks like a label is guarded


def test_a_text_that_its_document_does_not_have_is_not_delivered():
    context = context_builder(200).build([Passage("a", Span(0, 4), "연차는요"), Passage("unmapped:a", Span(0, 2), "연차")])
    assert [d.span for d in delivered_spans(context, {"a": "연차가 있다"})] == [Span(0, 2)]


# --- eval and ask ----------------------------------------------------------------------------------------------------------------------
@pytest.mark.heavy
def test_eval_delivers_what_ask_sends(sample, cache, runs):
    """For every strategy, question and budget: the same string, also where the depth of the search depends on the budget."""
    plan, done = runs
    apart = []
    for run in done:
        s = run.strategy
        if s.peer:
            continue
        index = cache.index(sample, s.split)
        more = {} if s.compress == "none" else {"compressor": s.compress}
        for budget in BUDGETS:
            pipeline = Pipeline.from_index(index, retriever=s.retrieve, policy=s.policy, budget=budget, reorder=s.reorder == "on", **more)
            for row in run.evaluation.rows:
                context = pipeline.ask(row.query).context
                if (context.text, context.size) != (row.contexts[budget].text, row.contexts[budget].size):
                    apart.append((s.name, budget, row.query_id))
    assert not apart


def test_every_string_is_within_its_budget_and_labels_cost(runs):
    plan, done = runs
    for run in done:
        for row in run.evaluation.rows:
            for budget, score in row.scores.items():
                assert score.context_characters == len(row.contexts[budget].text) <= budget
                inside = sum(len(d.span) for d in row.contexts[budget].spans)
                assert inside < score.context_characters or not inside
    default = done[0].evaluation
    assert default.measure == "delivered_recall" and default.mean(budget=120) < default.mean("evidence_recall", 120)
    record = to_records(done)[0]
    assert list(record)[1:4] == [f"delivered@{b}" for b in BUDGETS] and record["recall@2000"] >= record["delivered@2000"] - 0.1


def test_a_pipeline_is_measured_with_its_own_strings(sample, cache):
    pipeline = Pipeline.from_index(cache.index(sample, "units"))
    result = evaluate(pipeline, sample.questions[:4], (300, 900))
    for row in result.rows:
        for budget, held in row.contexts.items():
            assert held.text == replace(pipeline, builder=replace(pipeline.builder, budget=budget)).ask(row.query).context.text
    with pytest.raises(InputError, match="needs budgets"):
        evaluate(pipeline, sample.questions[:1])


def test_a_question_that_no_passage_fits_counts_as_nothing():
    question = Question("q", "며칠?", (Evidence("a", Span(0, 4), "연차는 "),))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        row = evaluate(lambda q: [Passage("a", Span(0, 9), "연차는 15일이다"[:9])], [question], (2,)).rows[0]
    assert (row.scores[2].delivered_recall, row.contexts[2].text, row.scores[2].evidence_recall) == (0, "", 0.5)


# --- stored, and counted again ---------------------------------------------------------------------------------------------------------
@pytest.fixture()
def stored(sample, runs, tmp_path):
    """A run on disk, with its corpus and questions as JSONL."""
    plan, done = runs
    write_results(done, sample, tmp_path / "out")
    corpus = [{"doc_id": i, "title": d.metadata.get("title"), "text": d.text} for i, d in sample.documents.items()]
    asked = [{"query_id": q.query_id, "query": q.query, "evidence_mode": q.mode,
              "evidence": [{"doc_id": e.doc_id, "text": e.text} for e in q.evidence]} for q in sample.questions]
    for name, records in (("corpus", corpus), ("queries", asked)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records), encoding="utf-8")
    return tmp_path


def test_the_audit_agrees_to_the_last_digit(stored, runs, capsys):
    assert audit(stored / "out", stored) == 0
    out = capsys.readouterr().out
    assert "0 disagreements" in out
    for run in runs[1]:
        for budget in BUDGETS:
            assert f"{run.evaluation.mean(budget=budget):.6f}" in out
    assert audit(stored / "out", stored / "corpus.jsonl", stored / "queries.jsonl") == 0


def changed(stored: Path, change) -> Path:
    """The stored rows after a change of the first one with delivered text."""
    path = stored / "out" / "contexts.jsonl.gz"
    rows = [json.loads(line) for line in gzip.open(path, "rt", encoding="utf-8")]
    change(next(r for r in rows if r["contexts"]["500"]["delivered"]))
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(r, ensure_ascii=False) + "\n" for r in rows)
    return stored


@pytest.mark.parametrize("change", [
    lambda row: row["contexts"]["500"].update(text=row["contexts"]["500"]["text"] + " " * 500),
    lambda row: row["contexts"]["500"].update(text=row["contexts"]["500"]["text"].replace("이", "가")),
    lambda row: row["contexts"]["500"]["delivered"][0].__setitem__(3, 0),
    lambda row: row["contexts"]["500"]["delivered"][0].__setitem__(4, 99),
    lambda row: row["budgets"]["500"].update(delivered_recall=0.123),
    lambda row: row["budgets"]["500"].update(evidence_recall=0.123),
    lambda row: row.update(query_id=row["query_id"] + "x") or None,
], ids=["budget", "text", "place", "label", "delivered", "spans", "question"])
def test_the_audit_finds_what_was_changed(stored, change, capsys):
    changed(stored, change)
    try:
        assert audit(stored / "out", stored) == 1
    except KeyError as error:   # a question that the data set does not have
        assert str(error).endswith("x'")


def test_the_audit_finds_a_mean_that_was_made_up(stored, capsys):
    file = stored / "out" / "results.json"
    results = json.loads(file.read_text(encoding="utf-8"))
    results["strategies"]["multi-scale"]["budgets"]["500"]["delivered_recall"] += 0.000002
    file.write_text(json.dumps(results), encoding="utf-8")
    assert audit(stored / "out", stored) == 1 and "results.json says" in capsys.readouterr().out


def test_rows_keep_strings_only_where_they_are_asked_for(stored, sample, runs, cache):
    plan, done = runs
    again = read_rows(stored / "out" / "contexts.jsonl.gz")
    assert {n: [r.contexts for r in e.rows] for n, e in again.items()} == {r.strategy.name: [row.contexts for row in r.evaluation.rows] for r in done}
    assert not any(row.contexts for e in read_rows(stored / "out" / "questions.jsonl").values() for row in e.rows)
    bare = run_strategies(RunPlan(sample.limit(3), (500,), cache=cache.folder, contexts=False), ["default"], show_progress=False)
    write_results(bare, sample.limit(3), stored / "out")   # into the folder of another run
    assert not (stored / "out" / "contexts.jsonl.gz").exists() and bare[0].evaluation.mean() > 0
    assert not bare[0].evaluation.rows[0].contexts


# --- lines of a strategy ---------------------------------------------------------------------------------------------------------------
def law(n: int = 12) -> Dataset:
    """A statute whose articles all use the same words, and a question that names one of them."""
    articles = [f"제{i}조(보고) 사업주는 제{i}호 서식으로 {i * 3}일 이내에 고용노동부장관에게 보고하여야 한다. " + "보고의 방법은 따로 정한다. " * 8 for i in range(1, n + 1)]
    text = "가나다법\n\n" + "\n\n".join(articles)
    quote = f"{9 * 3}일 이내에"
    start = text.index(quote)
    asked = Question("q", "가나다법 제9조는 며칠 이내에 보고하라고 하나요?", (Evidence("law", Span(start, start + len(quote)), quote),))
    return Dataset("law", {"law": Document(text=text, id_="law", metadata={"title": "가나다법"})}, [asked])


def test_lookup_off_searches_by_words_and_vectors_only(cache):
    data = law()
    question = data.questions[0]
    for line in ("split=recursive:300/50 retrieve=vector policy=none", "multi-scale"):
        on, off = (build_system(f"{line} lookup={x}", data, cache) for x in ("on", "off"))
        first = {}
        for name, system in (("on", on), ("off", off)):
            contexts = system.deliver(question.query, 400, {})[0]
            first[name] = any(why.is_by_name for p in contexts.passages for why in p.why.values())
        assert first == {"on": True, "off": False}, line


def test_the_lines_of_the_designs_are_what_they_stand_for(cache):
    data = law()
    question = data.questions[0].query
    before, after = (build_system(name, data, cache).deliver(question, 4_000, {})[0] for name in ("articles-before", "articles-after"))
    assert before.passages and all(len(d.span) <= 500 for d in delivered_spans(before, data.texts))
    assert not any(why.is_by_name for c in (before, after) for p in c.passages for why in p.why.values())
    assert any(p.text.startswith("제") for p in after.passages)
    for name in ("parents-before", "parents-after"):
        assert build_system(name, data, cache).deliver(question, 900, {})[0].passages


def test_a_ranking_is_asked_for_what_has_room_beside_its_labels(sample, cache):
    """Nothing that was chosen is dropped afterwards, but for a context that a cut passage fills; little room is left."""
    system, used = build_system("default", sample, cache), []
    for question in sample.questions[:8]:
        for budget in (200, 500, 2_000):
            answer = system.pipeline(budget).ask(question.query)
            assert answer.context.sources and answer.context.size <= budget
            assert budget == 200 or not answer.context.dropped or answer.context.size > 0.9 * budget
            used.append(answer.context.size / budget)
    assert sum(used) / len(used) > 0.9


def test_budgets_in_words(sample, cache):
    run, = run_strategies(RunPlan(sample.limit(5), (20, 200), cache=cache.folder, unit="words", tokenizer="words"), ["default"], show_progress=False)
    for row in run.evaluation.rows:
        for budget, score in row.scores.items():
            assert score.context_tokens == len(row.contexts[budget].text.split()) <= budget and score.tokens <= budget
    assert run.evaluation.mean(budget=200) > 0.5


def test_the_audit_needs_nothing_of_this_package():
    source = (ROOT / "benchmarks" / "audit.py").read_text(encoding="utf-8")
    names = {line.split()[1].partition(".")[0] for line in map(str.strip, source.splitlines()) if line.startswith(("import ", "from "))}
    assert names - set(sys.stdlib_module_names) <= {"tiktoken"}
