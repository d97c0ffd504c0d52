"""The three layers of documents, sections and units: against brute force, and in the best documents and sections."""
from __future__ import annotations

import asyncio

import numpy as np
import pytest
from llama_index.core.schema import Document

from ragnb import HierarchicalRetriever, HybridRetriever, InputError, NgramEmbedding, ParentChildNodeParser
from ragnb.chunking.summaries import summarise_sections
from ragnb.documents.text import tokenizer, word_tokens
from ragnb.retrieval.hierarchical import build_tree

WORDS = "연차 휴가 병가 급여 수당 출장 보안 교육 평가 승인".split()


def corpus(n: int = 6) -> list[Document]:
    """Documents of one theme word each; their sections are about pairs of words."""
    def text(i: int) -> str:
        parts = []
        for j in range(6):
            rules = [f"{WORDS[i]}의 {WORDS[j]} 규칙 {k}은 숫자 {i}{j}{k}이다." for k in range(12)]
            parts.append(f"## {WORDS[i]}과 {WORDS[j]}\n\n" + " ".join(rules))
        return f"# {WORDS[i]} 규정\n\n" + "\n\n".join(parts) + "\n"
    return [Document(text=text(i), id_=f"d{i}.md", metadata={"title": f"{WORDS[i]} 규정"}) for i in range(n)]


@pytest.fixture(scope="module")
def model() -> NgramEmbedding:
    return NgramEmbedding(dims=64).fit([d.text[i:i + 200] for d in corpus() for i in range(0, len(d.text), 200)])


@pytest.fixture(scope="module")
def tree(model: NgramEmbedding):
    return build_tree(corpus(), model)


def test_wrong_input_is_refused(model: NgramEmbedding) -> None:
    with pytest.raises(InputError, match="search"):
        build_tree(corpus(1), model, search="all")
    with pytest.raises(InputError, match="no text"):
        build_tree([Document(text="  ", id_="a")], model)
    with pytest.raises(InputError, match="'d1.md'"):
        build_tree(corpus(2), model, summarise_sections(corpus(1))[0])


def test_units_belong_to_the_section_they_begin_in(tree) -> None:
    for unit, s in zip(tree.units, tree.section_of):
        section = tree.sections[s]
        assert section.doc_id == unit.ref_doc_id and section.span.start <= unit.start_char_idx < section.span.end
    assert [tree.doc_ids[d] for d in tree.document_of] == [s.doc_id for s in tree.sections]


@pytest.mark.parametrize("search", ["text", "entry"])
def test_scores_are_the_sum_of_the_layers(model: NgramEmbedding, search: str) -> None:
    tree = build_tree(corpus(3), model, search=search, parser=ParentChildNodeParser(child_size=60, child_overlap=0))
    question = "휴가의 병가 규칙 3은?"
    vector = model.get_query_embedding(question)
    layers = [layer.scores(word_tokens(question), np.array(vector)) for layer in tree.layers]
    scores, part = HierarchicalRetriever(tree, model, n_sections=None).scores(question, vector)
    assert part.all()
    for u, s in enumerate(tree.section_of):
        expected = layers[0][u] + layers[1][s] + layers[2][tree.document_of[s]]
        assert scores[u] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("n_documents", "n_sections"), [(1, None), (2, 3), (None, 2), (1, 1)])
def test_only_the_best_documents_and_sections_are_searched(tree, model, n_documents, n_sections) -> None:
    question = "병가의 휴가 규칙 4는 숫자 몇인가?"
    _, part = HierarchicalRetriever(tree, model, 500, n_documents, n_sections).scores(question, model.get_query_embedding(question))
    sections = {int(s) for s in tree.section_of[part]}
    assert 0 < len(sections) <= (n_sections or len(tree.sections))
    assert len({tree.sections[s].doc_id for s in sections}) <= (n_documents or 99)
    assert all(part[u] for u, s in enumerate(tree.section_of) if s in sections)  # a section is in with all its units


def test_twenty_documents_ten_sections_five_units(model: NgramEmbedding) -> None:
    """The design documents' numbers, in 30 documents of six sections each."""
    documents = [Document(text=d.text, id_=f"{n}-{d.id_}") for n in range(5) for d in corpus()]
    tree = build_tree(documents, model)
    retriever = HierarchicalRetriever(tree, model)
    question = "휴가 규칙"
    _, part = retriever.scores(question, model.get_query_embedding(question))
    _, wide = HierarchicalRetriever(tree, model, n_sections=None).scores(question, model.get_query_embedding(question))
    found = retriever.retrieve(question)
    assert len({u.ref_doc_id for u, is_in in zip(tree.units, wide) if is_in}) == 20
    assert len({int(s) for s in tree.section_of[part]}) == 10 and len(found) == 5
    assert all(part[[u.node_id for u in tree.units].index(h.node_id)] for h in found)


def test_a_tree_is_searched_by_summaries_of_sections_of_2000_tokens(model: NgramEmbedding) -> None:
    long = " ".join(f"연차의 병가 규칙 {k}은 숫자 {k}이다." for k in range(400))
    tree = build_tree([*corpus(2), Document(text=long, id_="long.md")], model, search="entry")
    tokens = [tokenizer("cl100k_base").count(s.text) for s in tree.sections]
    assert 1_500 < max(tokens) <= 2_000 and all(s.summary for s in tree.sections)
    hits = HierarchicalRetriever(tree, model).retrieve("병가의 휴가 규칙 4")
    assert len(hits) == 5 and "병가" in hits[0].node.text


def test_results_are_deterministic_ordered_and_copies(tree, model) -> None:
    retriever = HierarchicalRetriever(tree, model, top_k=7)
    one, two = retriever.retrieve("출장 규칙"), asyncio.run(retriever.aretrieve("출장 규칙"))
    assert [(h.node_id, h.score) for h in one] == [(h.node_id, h.score) for h in two] and len(one) == 7
    assert [h.score for h in one] == sorted((h.score for h in one), reverse=True) and all(h.score > 0 for h in one)
    one[0].node.metadata["mine"] = 1
    assert all("mine" not in u.metadata for u in tree.units)
    with pytest.raises(InputError):
        retriever.retrieve(" ")
    assert HybridRetriever({"tree": retriever}, 3).retrieve("출장 규칙")
