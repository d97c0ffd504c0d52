"""TreeRAG in one line: sections found by their summaries, children in them, and parents read; summaries of a model are kept."""
from __future__ import annotations

import pytest
from ollama_server import OllamaServer

from ragnb import Pipeline, update_index
from ragnb.documents.span import InputError
from ragnb.indexing.folder_index import Index

TEXT = "# 휴가규정\n\n" + "\n\n".join(f"## {n}. {name}\n\n" + " ".join(f"{name}는 {n}-{i}번 기준으로 {i}일을 준다." for i in range(1, 30))
                                   for n, name in enumerate(("연차", "병가", "경조휴가", "공가", "육아휴직"), 1))


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """An index of parents and children, and one of chunks alone."""
    folder = tmp_path_factory.mktemp("tree")
    (folder / "docs").mkdir()
    (folder / "docs/leave.md").write_text(TEXT, encoding="utf-8")
    for name, parser in (("children", "parent-child:800/100,200/30"), ("chunks", "chunks:400/0")):
        update_index(folder / "docs", folder / name, parser=parser, show_progress=False)
    return folder


@pytest.mark.parametrize("policy, top_k, level", [("none", 1, "c"), ("parent", 1, "p"), ("auto-merge", 20, "p")])
def test_children_are_found_and_parents_are_read(policy, top_k, level, places):
    index = Index.open(places / "children")
    answer = Pipeline.from_index(index, retriever="tree", policy=policy, top_k=top_k, budget=3_000).ask("병가는 며칠인가요?")
    assert "병가" in answer.passages[0].text and all("#c" in hit for p in answer.passages for hit in p.hits)
    assert all(p.text == TEXT[p.span.start:p.span.end] for p in answer.passages)
    spans = index.store.get_outlines(["leave.md"]).all()["leave.md"].levels[level]
    read = [span for span in spans if any(p.span.start <= span.start and span.end <= p.span.end for p in answer.passages)]
    assert read and (top_k > 1 or len(read) == len(answer.passages) == 1)


def test_a_model_that_is_named_writes_each_summary_once(places, monkeypatch):
    with OllamaServer(models=("chat",)) as server:
        server.said = lambda messages: "병가와 진단서를 다루는 구간이다."
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        for _ in range(2):
            pipeline = Pipeline.from_index(Index.open(places / "children"), retriever="tree:ollama:chat", policy="parent", budget=900)
            assert pipeline.ask("진단서는 언제 내나요?").text
        n_sections = len(pipeline.retriever.tree.sections)
        assert all(s.written and "진단서" in s.summary for s in pipeline.retriever.tree.sections)
        assert len(server.asked("/api/chat")) == n_sections >= 1
    assert (places / "children/contexts.jsonl").is_file()
    update_index(places / "docs", places / "children", show_progress=False)      # and the folder is still an index
    assert len((places / "children/contexts.jsonl").read_text(encoding="utf-8").splitlines()) == n_sections


def test_an_index_without_parents_is_refused_with_what_to_do(places):
    with pytest.raises(InputError, match="`--split units` or `--split parent-child`"):
        Pipeline.from_index(Index.open(places / "chunks"), retriever="tree")
    with pytest.raises(InputError, match="needs an index of units"):
        Pipeline.from_index(Index.open(places / "children"), retriever="hierarchical")
