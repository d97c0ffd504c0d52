"""Strategies: lines and files that are read back, mistakes that are named, indexes that are made once."""
from __future__ import annotations

from dataclasses import replace

import pytest
from conftest import small_sample
from hypothesis import given, strategies as st
from strategies import examples

from ragnb import DuplicateIdError, Index, InputError, Pipeline, Strategy
from ragnb.evaluation.strategy import (
    as_document_strategy, build_system, IndexCache, load_strategies, make_grid, parse_strategy, resolve_strategies)

words = st.text(st.characters(codec="utf-8", exclude_characters="\x00", exclude_categories=("Cs",)), min_size=1, max_size=12)
QUESTION = "입사 1년차 직원의 연차는 며칠인가요?"


@pytest.fixture(scope="module")
def dataset():
    return small_sample(6)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return IndexCache(tmp_path_factory.mktemp("cache"))


@examples(200)
@given(st.builds(Strategy, split=words, retrieve=words, rerank=words, policy=words, embed=words, top_k=st.integers(1, 500), expand_top_k=st.integers(0, 50), max_chunks=st.integers(1, 500),
                 passage_size=st.integers(1, 5_000), cut=st.floats(0, 0.99), where=st.lists(words, max_size=3), as_of=words, context=words))
def test_a_line_says_all_of_a_strategy(strategy):
    assert replace(parse_strategy(strategy.spec), name="-") == replace(strategy, name="-")


@pytest.mark.parametrize("line, complaint", [
    ("", "is empty"), ("  ", "is empty"), ("best", "unknown strategy 'best'"), ("peer:", "unknown strategy 'peer:'"), ("seed extra", "'extra' is not understood"),
    ("seed top_k=3 top_k=4", "'top_k=4' is not understood"), ("seed colour=red", "'colour=red' is not understood"), ("seed top_k=1.5", "top_k must be a whole number, got '1.5'"),
    ("seed top_k=0", "top_k must be a whole number >= 1, got 0"), ("seed expand_top_k=-1", "expand_top_k must be a whole number >= 0"), ("seed 'policy=none", "cannot be read"),
    ("seed top_k=99999999999999999999", "top_k must be a whole number"), ("seed cut=much", "cut must be a number, got 'much'"), ("seed cut=1", r"cut must be at least 0 and less than 1, got 1.0"),
    ("seed cut=0.1 cut=0.2", "'cut=0.2' is not understood"), ("hybrid reorder=true", "must be on or off"), ("hybrid lookup=", "must be on or off"),
])
def test_a_line_that_is_wrong_is_explained(line, complaint):
    with pytest.raises(InputError, match=complaint):
        parse_strategy(line)


@pytest.mark.parametrize("text, complaint", [
    ("[1, 2]", "must hold names"), ("", "must hold names"), ("a: [", "cannot be read"), ("a: 3", "strategy 'a' of s.yaml"), ("a: {top_k: many}", "strategy 'a' of s.yaml: top_k must be"),
    ("ok: seed\nb: {base: worst}", "strategy 'b' of s.yaml: unknown strategy 'worst'"), ("a: !!python/object/apply:os.system ['true']", "cannot be read"),
])
def test_a_file_that_is_wrong_is_explained(tmp_path, text, complaint):
    (tmp_path / "s.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=complaint):
        load_strategies(tmp_path / "s.yaml")


def test_a_file_of_strategies(tmp_path):
    (tmp_path / "s.yaml").write_text("작은 것: {base: chunks, top_k: 3}\nb: seed policy=parent\n'c': {split: records, policy: 'siblings:1'}\n", encoding="utf-8")
    assert [(s.name, s.top_k, s.policy) for s in load_strategies(tmp_path / "s.yaml")] == [("작은 것", 3, "none"), ("b", 10, "parent"), ("c", 20, "siblings:1")]
    with pytest.raises(InputError, match="cannot be read"):
        load_strategies(tmp_path / "absent.yaml")
    with pytest.raises(DuplicateIdError, match="called 'b'"):
        resolve_strategies([str(tmp_path / "s.yaml"), "seed name=b"])


def test_one_index_for_all_strategies_that_share_it(dataset, cache, tmp_path):
    systems = [build_system(s, dataset, cache) for s in ("chunks", "seed", "bm25")]
    assert len({id(s.source.expander.store) for s in systems}) == 1
    assert build_system("chunks split=sentence", dataset, cache).source.expander.store is not systems[0].source.expander.store
    folders = sorted(cache.folder.iterdir())
    assert len(folders) == 2
    again = build_system("chunks", dataset, IndexCache(cache.folder))  # as another process would
    assert sorted(cache.folder.iterdir()) == folders
    assert again.rank(QUESTION).at(800) == systems[0].rank(QUESTION).at(800)


def test_a_strategy_is_the_pipeline_a_user_would_make(dataset, cache):
    system = build_system("seed", dataset, cache)
    folder = next(f for f in cache.folder.iterdir() if Index.open(f).parser.__class__.__name__ == "ParentChildNodeParser")
    mine = Pipeline.from_index(folder, policy="neighbors:5", top_k=10)
    assert isinstance(system.source, Pipeline) and system.rank(QUESTION).at(2_000) == mine.rank(QUESTION).at(2_000)


def test_cut_filter_date_and_layout_are_parts_of_a_strategy(dataset, cache, tmp_path):
    """`'cut=0.3' is not understood` → measured as `Pipeline.from_index` does it; in a file and in a grid too."""
    line = "multi-scale cut=0.3 where=doc_id=hr_labor/leave.md 'where=folder != x' as_of=2024-01-01 context=table"
    system = build_system(line, dataset, cache)
    pipeline = Pipeline.from_index(cache.index(dataset, "units"), retriever="multi-scale", cut=0.3, where=["doc_id=hr_labor/leave.md", "folder != x"], as_of="2024-01-01", builder="table", budget=500)
    context, _ = system.deliver(QUESTION, 500, {})
    assert context.text == pipeline.ask(QUESTION).context.text != build_system("multi-scale", dataset, cache).deliver(QUESTION, 500, {})[0].text
    shared: dict = {}
    plain = build_system("multi-scale", dataset, cache)
    assert [s.deliver(QUESTION, 500, shared)[0].text for s in (plain, system)] == [s.deliver(QUESTION, 500, {})[0].text for s in (plain, system)]
    (tmp_path / "s.yaml").write_text("a: {base: multi-scale, cut: 0.3, where: [doc_id=hr_labor/leave.md, folder != x], as_of: '2024-01-01', context: table}", encoding="utf-8")
    assert load_strategies(tmp_path / "s.yaml")[0].spec == system.strategy.spec
    assert [(s.cut, s.where) for s in make_grid("multi-scale", cut=[0.1, 0.2], where=["a=1"])] == [(0.1, ("a=1",)), (0.2, ("a=1",))]


def test_sharing_changes_nothing_but_the_work(dataset, cache):
    systems = [build_system(s, dataset, cache) for s in ("chunks", "hybrid", "parents", "bm25")]
    asked = []
    for s in systems:
        find = s.source.find
        object.__setattr__(s.source, "find", lambda q, find=find, s=s: asked.append(s.strategy.retrieve) or find(q))
    shared: dict = {}
    together = [s.rank_shared(QUESTION, shared)[0].at(1_000) for s in systems]
    assert asked == ["hybrid", "bm25"]
    assert together == [s.rank(QUESTION).at(1_000) for s in systems]


def test_documents_are_ranked_whole(dataset, cache):
    strategy = as_document_strategy(parse_strategy("seed"))
    found = build_system(strategy, dataset, cache).documents(QUESTION)
    assert strategy.top_k == 100 and sorted(found) == sorted(dataset.documents) and len(found) > 5


def test_a_grid_of_sizes():
    found = make_grid("chunks", split=["chunks", "parent-child"], size=[200, 400], overlap=[0, 50])
    assert [s.split for s in found] == [
        "chunks:200/0", "chunks:200/50", "chunks:400/0", "chunks:400/50", "parent-child:800/100,200/0",
        "parent-child:800/100,200/50", "parent-child:1600/100,400/0", "parent-child:1600/100,400/50"]
    assert len({s.name for s in found}) == 8 and found[1].name == "split=chunks size=200 overlap=50"
    for choices, told in [({"size": [0]}, "size must be"), ({"size": [True]}, "size must be"), ({"overlap": [-1]}, "overlap must be"),
                          ({"size": [100], "overlap": [100]}, "overlap < size"), ({"size": 300}, "must be a list"), ({"split": "chunks"}, "must be a list"),
                          ({"split": ["units"], "size": [100]}, "got 'units'")]:
        with pytest.raises(InputError, match=told):
            make_grid("chunks", **choices)
