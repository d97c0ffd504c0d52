"""String forms of a pipeline's parts: one grammar, one place that makes objects, no setting silently ignored."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from strategies import examples

from ragnb import HierarchicalRetriever, HybridRetriever, InputError, MultiScaleRetriever
from ragnb.models.scripted import ScriptedLLM
from ragnb.pipeline.specs import parse_retriever, PLANS, resolve_parts, resolve_retriever, RETRIEVERS, RetrieverSpec
from ragnb.retrieval.by_name import ByNameRetriever
from ragnb.retrieval.hybrid import FUSIONS


@pytest.fixture(scope="module")
def index(hr_units):
    return hr_units


@pytest.fixture(scope="module")
def chunks(hr_chunks):
    return hr_chunks


@pytest.mark.parametrize("text, spec", [
    ("bm25", RetrieverSpec("bm25")), ("auto", RetrieverSpec()), ("hybrid:", RetrieverSpec("hybrid")),
    ("hybrid:rrf:", RetrieverSpec("hybrid")), ("hybrid:rrf:2/1", RetrieverSpec("hybrid", weights=(2.0, 1.0))),
    ("hybrid:zscore:0.5/1.25", RetrieverSpec("hybrid", "", "zscore", (0.5, 1.25))),
    ("hyde", RetrieverSpec("auto", "hyde")), ("hyde:", RetrieverSpec("auto", "hyde")),
    ("multi-query:hybrid:weighted", RetrieverSpec("hybrid", "multi-query", "weighted")),
])
def test_what_the_grammar_reads(text, spec):
    assert parse_retriever(text) == spec


@pytest.mark.parametrize("text", [
    "", ":", "bm25:", "bm25:rrf", "vector:1/1", "multi-scale:rrf", "hybrid:sum", "hybrid:rrf:1", "hybrid:rrf:1/",
    "hybrid:rrf:-1/1", "hybrid:rrf:1/1:2", "Hybrid", " bm25", "hydebm25", "x:bm25",
])
def test_what_it_does_not_read_names_the_forms(text):
    with pytest.raises(InputError, match="unknown retriever .*multi-scale, bm25, vector, hybrid"):
        parse_retriever(text)


@examples(60)
@given(st.sampled_from(["", *PLANS]), st.sampled_from(RETRIEVERS), st.sampled_from(["", *FUSIONS]),
       st.none() | st.tuples(st.integers(0, 99), st.integers(0, 99)))
def test_every_combination_is_read_back(plan, kind, method, weights):
    text = f"{plan}:{kind}" if plan else kind
    if kind == "hybrid":
        weights = weights if method else None   # weights follow a method
        text += f":{method}" + ("" if weights is None else f":{weights[0]}/{weights[1]}")
        assert parse_retriever(text) == RetrieverSpec(kind, plan, method or "rrf", weights and tuple(map(float, weights)))
    else:
        assert parse_retriever(text) == RetrieverSpec(kind, plan)


def test_auto_is_what_the_index_is_made_for(index, chunks):
    assert isinstance(resolve_retriever("auto", index), MultiScaleRetriever)
    named = resolve_retriever("auto", chunks)  # the rules on work have articles, which a question can name
    assert isinstance(named, ByNameRetriever) and isinstance(named.retriever, HybridRetriever)
    assert isinstance(resolve_retriever("hierarchical", index).retriever, HierarchicalRetriever)
    with pytest.raises(InputError, match="hierarchical retrieval needs an index of units"):
        resolve_retriever("hierarchical", chunks)
    with pytest.raises(InputError, match="needs an index of units"):
        resolve_retriever("multi-scale", chunks)
    with pytest.raises(InputError, match="one plan at a time"):
        resolve_retriever("hyde:multi-query:bm25", chunks, llm=ScriptedLLM())


def test_a_ranking_is_read_as_it_is_only_without_policy_and_reranker(index):
    llm = ScriptedLLM()
    assert resolve_parts(index).reads_ranking and resolve_parts(index, policy="none").reads_ranking
    for parts in ({"policy": "neighbors:1"}, {"reranker": "llm"}, {"retriever": "hybrid"}, {"retriever": "hyde"}):
        assert not resolve_parts(index, llm=llm, **parts).reads_ranking
