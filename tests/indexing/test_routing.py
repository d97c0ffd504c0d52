"""Collections, PDF files, contextual headers and record groups, from files to hits."""
from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import write
from llama_index.core.schema import Document, MetadataMode

from ragnb import (ContextualNodeParser, Expander, HeadingNodeParser, Index, InputError, MemoryStore, neighbors,
                   Outline, ParentChildNodeParser, Pipeline, QANodeParser, read_documents, RecordNodeParser,
                   RoutedNodeParser, siblings, Span, TableNodeParser, TextNodeParser, update_index, VectorRetriever)
from ragnb.chunking.contextual import contextual_header
from ragnb.documents.kinds import part_label
from ragnb.chunking.parsers import describe_parser, resolve_parser
from ragnb.cli import main
from ragnb.documents.span import parse_address
from ragnb.indexing.collections import (
    check_collections, collection_statistics, DEFAULT_COLLECTIONS, index_collections, load_collections)
from ragnb.storage.store import outline_from_json, outline_to_json


def print_pdf(pages: list[str], path: Path, width: int = 38) -> Path:
    """A PDF with one text a page, in a Korean font that readers bring along."""
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont
    from reportlab.pdfgen import canvas
    pdfmetrics.registerFont(UnicodeCIDFont("HYGothic-Medium"))
    out = canvas.Canvas(str(path))
    for page in pages:
        out.setFont("HYGothic-Medium", 9)
        lines = [line[i:i + width] for line in page.split("\n") for i in range(0, max(1, len(line)), width)]
        for n, line in enumerate(lines):
            out.drawString(40, 815 - 11 * n, line)
        out.showPage()
    out.save()
    return path


@pytest.fixture(scope="module")
def manual(tmp_path_factory) -> tuple[list[str], Path]:
    """The sample company's GN-300 manual as a real PDF of 24 pages."""
    source = Path(__file__).resolve().parents[2] / "data/corpus/maintenance/gn300_manual.jsonl"
    pages = json.loads(source.read_text(encoding="utf-8"))["pages"]
    return pages, print_pdf(pages, tmp_path_factory.mktemp("pdf") / "manual.pdf")


@pytest.mark.heavy
@pytest.mark.parametrize("splitter", ["parent-child", "sentence", "structure"])
def test_hits_of_a_pdf_know_their_pages(manual, tmp_path, splitter):
    pages, path = manual
    index, _ = update_index(path, tmp_path / "i", parser=splitter, show_progress=False)
    pipeline = Pipeline.from_index(index, policy="none")
    letters = [re.sub(r"\s", "", p) for p in pages]
    seen = set()
    for n in range(0, 24, 3):
        words = " ".join(re.findall(r"[가-힣]{2,}", pages[n])[:12])
        for passage in pipeline.passages(words):
            own = re.sub(r"\s", "", passage.text)
            assert passage.pages == tuple(range(passage.pages[0], passage.pages[-1] + 1))
            assert own in "".join(letters[p - 1] for p in passage.pages)  # all of it stands on the pages it names,
            if len(passage.pages) > 1:                                                         # and on no fewer
                assert own not in "".join(letters[p - 1] for p in passage.pages[1:]) and own not in "".join(
                    letters[p - 1] for p in passage.pages[:-1])
            seen.update(passage.pages)
    assert len(seen) >= 15


def corpus(root: Path) -> Path:
    return write(root, {"hr/a.md": "연차는 15일이다.", "hr2/b.md": "반차는 4시간이다.", "tax/c.md": "세율은 3퍼센트다.",
                        "other/d.md": "그 밖의 글이다."})


TABLE = {"hr_db": ["hr", "hr2"], "tax_db": ["tax"], "law_db": ["law"]}


def test_folders_go_to_their_collections_and_nothing_is_silent(tmp_path):
    root = corpus(tmp_path / "corpus")
    built = index_collections(root, tmp_path / "out", TABLE, show_progress=False)
    assert built.not_routed == ["other"] and built.absent == ["law"]
    assert {n: r.added for n, r in built.reports.items()} == {"hr_db": 2, "tax_db": 1}
    assert Index.open(tmp_path / "out/hr_db").doc_ids == ["hr/a.md", "hr2/b.md"]
    (root / "hr2/b.md").unlink()
    (root / "hr2/e.md").write_text("병가는 60일이다.", encoding="utf-8")
    again = index_collections(root, tmp_path / "out", TABLE, show_progress=False)
    assert (again.reports["hr_db"].added, again.reports["hr_db"].removed, again.reports["hr_db"].unchanged) == (1, 1, 1)
    forced = index_collections(root, tmp_path / "out", TABLE, force=True, show_progress=False)
    assert {n: r.added for n, r in forced.reports.items()} == {"hr_db": 2, "tax_db": 1}
    assert Index.open(tmp_path / "out/hr_db").doc_ids == ["hr/a.md", "hr2/e.md"]
    statistics = collection_statistics(tmp_path / "out")
    assert {n: (s["documents"], s["characters"]) for n, s in statistics.items()} == {
        "hr_db": (2, 20), "tax_db": (1, 10)}


@pytest.mark.parametrize("table, message", [
    ({}, "expected an object"), ([1], "expected an object"), ({"ab": ["x"]}, "'ab' needs 3 to 63"),
    ({"한글 이름": ["x"]}, "needs 3 to 63"), ({"abc": "x"}, "needs a list"), ({"abc": []}, "needs a list"),
    ({"abc": [1]}, "needs a list"), ({"abc": ["/etc"]}, "must lie in the corpus"),
    ({"abc": ["../x"]}, "must lie in the corpus"), ({"abc": ["x"], "abd": ["x"]}, "in 'abc' and in 'abd'")])
def test_a_bad_table_is_named(table, message, tmp_path):
    with pytest.raises(InputError, match=message):
        check_collections(table)
    (tmp_path / "t.json").write_text(json.dumps(table), encoding="utf-8")
    with pytest.raises(InputError, match="t.json.*" + message):
        load_collections(tmp_path / "t.json")


def test_bad_corpora(tmp_path):
    with pytest.raises(InputError, match="corpus must be a folder"):
        index_collections(tmp_path / "nowhere", tmp_path / "out")
    with pytest.raises(InputError, match="no folder of the collections"):
        index_collections(tmp_path, tmp_path / "out", TABLE)
    assert not (tmp_path / "out").exists() and load_collections() == DEFAULT_COLLECTIONS


@pytest.mark.heavy
def test_all_collections_from_the_command_line(tmp_path, capsys):
    root = corpus(tmp_path / "corpus")
    (tmp_path / "t.json").write_text(json.dumps(TABLE), encoding="utf-8")
    command = ["index", str(root), "--all", "--collections", str(tmp_path / "t.json"), "--index", str(tmp_path / "out"),
               "--quiet"]
    assert main(command) == 0
    out, err = capsys.readouterr()
    assert "hr_db: documents: 2 added" in out and "no collection takes: other" in err and "folders that the corpus does not have: law" in err
    assert main([*command, "--force", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["collections"]["hr_db"]["documents"] == 2 and facts["not_routed"] == ["other"]
    assert main(["info", "--index", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split()[:2] == ["all", "3"]
    assert main(["ask", "연차", "--index", str(tmp_path / "out/hr_db")]) == 0
    assert "15일" in capsys.readouterr().out
    assert main(["index", str(root), "--collections", "x.json", "--index", str(tmp_path / "o")]) == 2
    assert capsys.readouterr().err == "ragnb: --collections goes with --all\n"


@pytest.mark.parametrize("spec", [
    *(pytest.param(spec, marks=pytest.mark.heavy) for spec in ("parent-child", "parent-child:300/30,90/9", "sentence", "records", "structure",
                                                               "titled:parent-child", "titled:structure", "titled:titled:sentence")),
    TextNodeParser(size=200, overlap=20), TableNodeParser(), QANodeParser(), HeadingNodeParser(depth=2)])
def test_an_index_reopens_with_the_splitter_that_made_it(tmp_path, spec):
    write(tmp_path, {"a.md": "# 휴가규정\n\n## 1. 연차\n\n연차는 15일이다. 2년차부터 16일이다.\n\n## 2. 반차\n\n반차는 4시간이다."})
    made, _ = update_index(tmp_path / "a.md", tmp_path / "i", parser=spec, show_progress=False)
    opened = Index.open(tmp_path / "i")
    given = resolve_parser(spec) if isinstance(spec, str) else spec
    assert type(opened.parser) is type(given) and describe_parser(opened.parser) == describe_parser(made.parser) == describe_parser(given)
    assert "15일" in Pipeline.from_index(opened).ask("연차는 며칠인가요?").context.text


@pytest.mark.shed
def test_headers_change_what_is_embedded_and_nothing_else():
    text = "# 휴가규정\n\n## 1. 연차\n\n" + "연차는 15일이다. " * 40 + "\n\n## 2. 반차\n\n" + "반차는 4시간이다. " * 40
    document = Document(text=text, id_="a.md", metadata={"file_name": "a.md", "title": "휴가규정"},
                        excluded_embed_metadata_keys=["file_name", "title"])
    plain, outline = ParentChildNodeParser().parse(document)
    headed, same = ContextualNodeParser(parser=ParentChildNodeParser(), name="title").parse(document)
    assert outline == same and [(n.node_id, n.text, n.start_char_idx) for n in plain] == [
        (n.node_id, n.text, n.start_char_idx) for n in headed]
    for before, node in zip(plain, headed):
        header = contextual_header(outline, before, name="title")
        assert node.get_content(MetadataMode.EMBED) == f"{header}\n\n{node.text}" and header not in node.get_content(
            MetadataMode.LLM)
        assert header.startswith("[출처: 휴가규정 | 섹션 ") and (
            "1. 연차" in header or "2. 반차" in header or node.start_char_idx < 10)
    assert "header" not in plain[0].metadata
    assert [part_label({"article_number": a}) for a in ("7", "7-2", "7~9", "7-2~9-3")] == ["제7조", "제7조의2", "제7조~제9조", "제7조의2~제9조의3"]


@pytest.mark.shed
def test_article_prefixes_end_with_the_article_and_reach_reader_and_bm25(tmp_path, sample):
    index, _ = update_index(
        sample / "corpus/law_common/shared_workshop_act.txt", tmp_path / "i", parser="records", show_progress=False)
    found = index.store.get_chunks([h.node_id for h in index.store.search_words(["공유작업장", "이용", "안전"], 3)])
    assert all("공유작업장 이용 및 안전에 관한 법률" in n.metadata["prefix"] for n in found.found.values())
    nodes = RecordNodeParser(min_size=1).get_nodes_from_documents(
        [*read_documents(sample / "corpus/law_common/shared_workshop_act.txt", [])])
    article = next(n for n in nodes if n.metadata.get("article_number") == "17-2")
    assert article.metadata["prefix"].splitlines()[-1].startswith("공유작업장 이용 및 안전에 관한 법률 제17조의2")
    passage = Pipeline.from_index(index, policy="none").ask("공유작업장 제17조의2").passages[0]
    context = Pipeline.from_index(index, policy="none").ask("공유작업장 제17조의2").context
    assert passage.prefix and passage.prefix in context.text and passage.prefix not in passage.text
    for c in context.sources:
        assert context.text[c.start:c.start + len(c.passage.text)] == c.passage.text


@pytest.mark.shed
def test_relatives_share_a_group_and_siblings_do_not_leave_it(sample):
    documents = list(read_documents(sample / "corpus/law_common", []))
    store, parser = MemoryStore(), RecordNodeParser()
    from llama_index.core import MockEmbedding
    nodes = store.add_documents(documents, parser, MockEmbedding(embed_dim=3))
    outlines = store.get_outlines(d.id_ for d in documents).all()
    for name in ("INTERP_3001", "CASE_2032N187"):
        records = [n for n in nodes if n.ref_doc_id == name]
        assert [i for i, _ in outlines[name].groups] == [name] and {
            n.metadata.get("parent_id", name) for n in records} == {name}
        span = siblings(1)(outlines[name], parse_address(records[0].node_id))
        assert span.contains(outlines[name].span_of(parse_address(records[1].node_id)))
    statute = outlines["shared_workshop_act.txt"]
    assert len(statute.groups) == 1 and outline_from_json(outline_to_json(statute)) == statute
    hit = VectorRetriever(store, MockEmbedding(embed_dim=3), 1).retrieve("아무")
    assert Expander(store, siblings(1)).expand(hit).stats.reads <= 2
    two = Outline(
        "d", 40, {"r": [Span(i, i + 10) for i in range(0, 40, 10)]}, groups=[("A", Span(0, 20)), ("B", Span(20, 40))])
    for i in range(4):
        at = parse_address(f"d#r{i}")
        assert siblings(9)(two, at) == (Span(0, 20) if i < 2 else Span(20, 40)) and neighbors(9)(two, at) == Span(0, 40)


def test_rules_of_ones_own_replace_the_default(tmp_path):
    (tmp_path / "rules.ini").write_text("[everything]\nmatch = *\nsplit = never\n", encoding="utf-8")
    write(tmp_path / "docs", {"a.md": "# 가\n\n" + "글이다. " * 900})
    index, report = update_index(
        tmp_path / "docs", tmp_path / "i", parser=f"structure:{tmp_path / 'rules.ini'}", show_progress=False)
    assert isinstance(index.parser, RoutedNodeParser) and [
        len(s) for level, s in index.store.get_outlines(["a.md"]).all()["a.md"].levels.items() if level == "c"] == [1]
