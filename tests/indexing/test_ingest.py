"""Reading files, and an index that stays right whatever happens to it."""
from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import SAMPLE, shared_data
from helpers_ingest import ToyEmbedding, make_embedding, plain_words, state, vectors
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.schema import MetadataMode
from strategies import SLOW, examples

from ragnb.models.embedding import NgramEmbedding
from ragnb.documents.files import find_files, read_documents, read_text, record_to_document
from ragnb.indexing.folder_index import Index
from ragnb.indexing.update import update_index
from ragnb.pipeline.pipeline import Pipeline
from ragnb.documents.span import IndexMismatchError, InputError, RagnbError
from ragnb.chunking.parent_child import ParentChildNodeParser
from ragnb.chunking.sentence_window import SentenceWindowNodeParser
from ragnb.storage.store import MemoryStore

HERE = Path(__file__).resolve().parent
WORDS = ["연차는 15일이다.", "병가는 60일까지 쓴다.", "진단서를 낸다.", "Travel expense is 한도 내에서 쓴다.", "Annual leave starts now.", "회의는 매주 월요일이다.", "반차는 4시간이다."]


def text_of(seed: int, n: int = 12) -> str:
    """Some sentences, always the same for a seed."""
    rng = random.Random(seed)
    return f"# 문서 {seed}\n\n" + " ".join(f"{rng.choice(WORDS)} ({rng.randrange(100)})" for _ in range(n)) + "\n"


def write(folder: Path, files: dict[str, str | bytes | None]) -> Path:
    """Write (or, for None, delete) files of a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return folder


def jsonl(*records: object) -> str:
    return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records)


def read(folder: Path) -> tuple[dict[str, str], list[str]]:
    problems: list = []
    return {d.id_: d.text for d in read_documents(folder, problems)}, [str(p) for p in problems]


def update(source: Path, folder: Path, embed: object = "toy", **options: object):
    """Update an index; (index, (added, changed, removed, unchanged), report)."""
    index, report = update_index(source, folder, embed=make_embedding(embed) if isinstance(embed, str) else embed, show_progress=False, **options)
    return index, (report.added, report.changed, report.removed, report.unchanged), report


# --- files and records ----------------------------------------------------------------------------------------------


def test_encodings(tmp_path):
    write(tmp_path, {"utf8.md": "한글\r\n둘째 줄\r\n", "bom.txt": b"\xef\xbb\xbf" + "한글".encode(), "cp949.txt": "휴가 규정 똠방각하".encode("cp949"),
                     "bom.jsonl": b"\xef\xbb\xbf" + jsonl({"id": "j", "text": "a\r\nb"}).replace("\n", "\r\n").encode()})
    documents, problems = read(tmp_path)
    assert documents == {"bom.txt": "한글", "cp949.txt": "휴가 규정 똠방각하", "utf8.md": "한글\r\n둘째 줄\r\n", "j": "a\r\nb"} and problems == []
    for name, data in {"photo.md": b"\x89PNG\r\n\x1a\n\0\0\0", "utf16.txt": "한글".encode("utf-16"), "noise.txt": b"\xff\xfe\xfd\x80\x81"}.items():
        with pytest.raises(InputError, match=name):
            read_text(write(tmp_path, {name: data}) / name)


def test_what_is_a_file(tmp_path):
    outside = write(tmp_path / "outside", {"linked.md": "바깥", "tree/leaf.md": "잎"})
    root = write(tmp_path / "root", {"a.md": "가", "sub/B.TXT": "나", ".hidden.md": "x", ".git/c.md": "x", "sub/.ragnb/d.md": "x", "no.docx": "x", "noend": "x",
                                     "e.markdown": "다", "folder.md/f.md": "라"})
    (root / "link.md").symlink_to(outside / "linked.md")
    (root / "broken.md").symlink_to(outside / "nothing.md")
    (root / "tree").symlink_to(outside / "tree")
    (root / "loop").symlink_to(root)
    names = [p.relative_to(root).as_posix() for p in find_files(root)]
    assert names == sorted(names) and set(names) == {"a.md", "sub/B.TXT", "e.markdown", "folder.md/f.md", "link.md"}
    documents, problems = read(root)
    assert documents["link.md"] == "바깥" and not problems
    assert find_files(root / "a.md") == [root / "a.md"] and [d.id_ for d in read_documents(root / "sub/B.TXT", [])] == ["B.TXT"]


@pytest.mark.parametrize("path, message", [("nowhere", "no such file or folder.*nowhere"), ("empty", "nothing to index in.*empty"), ("a.docx", "cannot index 'a.docx'")])
def test_no_file(tmp_path, path, message):
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.docx").write_text("x")
    with pytest.raises(InputError, match=message):
        find_files(tmp_path / path)
    with pytest.raises(InputError, match=message):
        update_index(tmp_path / path, tmp_path / "index", show_progress=False)
    assert not (tmp_path / "index").exists()


def test_record_keys():
    for record, want in [({"text": "t", "doc_id": "d", "id": "i"}, ("d", "t")), ({"content": "c", "id": 7}, ("7", "c")), ({"text": "t", "_id": "u"}, ("u", "t")),
                         ({"text": "t", "doc_id": None, "id": ""}, ("f:1", "t")), ({"text": None, "content": "c"}, ("f:1", "c")), ({"text": "t", "id": 0}, ("0", "t"))]:
        document = record_to_document(record, "f:1", "f")
        assert (document.id_, document.text) == want and document.metadata == {"file_name": "f"}


def test_pages():
    pages = ["첫 장", "", "셋째 장"]
    only = record_to_document({"pages": pages}, "d", "f")
    both = record_to_document({"pages": pages, "text": only.text}, "d", "f")
    assert only.text == "첫 장\n\n\n\n셋째 장" and only.metadata["page_starts"] == both.metadata["page_starts"] == [0, 5, 7]
    assert [only.text[a:].startswith(p) for a, p in zip([0, 5, 7], pages)] == [True] * 3
    outline = ParentChildNodeParser().outline(only)
    assert [(n, s.start) for n, s in outline.pages] == [(1, 0), (2, 5), (3, 7)]
    other = record_to_document({"pages": pages, "text": "다른 글"}, "d", "f")  # the text is what counts; pages that do not make it up are left
    assert other.text == "다른 글" and "page_starts" not in other.metadata
    for bad in ([], "text", ["a", 1], [["a"]], ["", " "]):
        with pytest.raises(InputError):
            record_to_document({"pages": bad}, "d", "f")


def test_the_shape_of_seed_003():
    record = {"id": "LAW_010719_A56", "type": "law_article", "domain": "hr_labor", "title": "근로기준법 제56조", "content": "제56조(연장근로)\n① 사용자는",
              "metadata": {"law_id": "010719", "law_name": "근로기준법", "article_number": "56", "parent_id": "LAW_010719", "deep": {"x": 1}}}
    document = record_to_document(record, "x", "laws_full.jsonl")
    assert (document.id_, document.text) == ("LAW_010719_A56", record["content"])
    assert document.metadata == {"type": "law_article", "domain": "hr_labor", "title": "근로기준법 제56조", "law_id": "010719", "law_name": "근로기준법",
                                 "article_number": "56", "parent_id": "LAW_010719", "file_name": "laws_full.jsonl"}


def test_metadata_are_scalars_that_every_store_holds():
    keep = {"s": "x", "i": 2**63 - 1, "f": 0.5, "b": False, "": "odd", "$ref": "y"}
    drop = {"n": None, "list": [1], "dict": {"a": {}}, "long": "x" * 501, "huge": 2**63, "nan": float("nan"), "inf": float("inf"), "file_name": "theirs"}
    assert record_to_document({"text": "t", **keep, **drop}, "d", "f").metadata == {**keep, "file_name": "f"}


def test_bad_lines_are_named_one_by_one(tmp_path):
    deep, digits = "[" * 100_000 + "]" * 100_000, "1" * 5000
    lines = ['{"id": "a", "text": "첫째"}', "", "{", '{"id": "b"}', '{"id": "c", "text": " "}', "[1]", '"text"', '{"id": [1], "text": "t"}', '{"id": "d", "text": 5}',
             '{"id": "e", "text": "\\ud800"}', '{"id": "\\udfff", "text": "t"}', deep, f'{{"id": "n", "text": "t", "n": {digits}}}', '{"id": "a", "text": "둘째"}', '{"id": "z", "text": "끝"}']
    write(tmp_path, {"x.jsonl": "\n".join(lines), "blank.md": " \n", "empty.txt": "", "z.jsonl": jsonl({"id": "z", "text": "또"}), "z": "no"})
    documents, problems = read(tmp_path)
    where = [p.split(": ")[0] for p in problems]
    bad = [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14] if hasattr(sys, "get_int_max_str_digits") else [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14]
    assert where == ["blank.md", "empty.txt", *(f"x.jsonl:{n}" for n in bad), "z.jsonl:1"]
    assert documents["a"] == "첫째" and documents["z"] == "끝" and {"a", "z"} <= set(documents) <= {"a", "z", "n"}
    told = dict(zip(where, problems))
    assert "not JSON" in told["x.jsonl:3"] and "needs 'text'" in told["x.jsonl:4"] and "is empty" in told["x.jsonl:5"] and "JSON object, got list" in told["x.jsonl:6"]
    assert "id must be" in told["x.jsonl:8"] and "nested too deeply" in told["x.jsonl:12"] and "'a' was already used in x.jsonl:1" in told["x.jsonl:14"]
    assert "'z' was already used in x.jsonl:15" in told["z.jsonl:1"] and all("\n" not in p for p in problems)


def test_nothing_but_bad_records_is_an_error(tmp_path):
    write(tmp_path / "s", {"a.jsonl": "{\n", "b.md": b"\0"})
    with pytest.raises(InputError, match="a.jsonl:1.*b.md"):
        update(tmp_path / "s", tmp_path / "i")
    assert not (tmp_path / "i").exists()


def test_sample_corpus_reads_whole():
    documents, problems = read(SAMPLE / "corpus")
    assert len(documents) > 40 and not problems


# --- staying up to date ---------------------------------------------------------------------------------------------


def fresh(source: Path, folder: Path, embed: str = "toy") -> dict:
    """State of a new index of a folder."""
    return state(update(source, folder, embed)[0])


def test_only_what_changed_is_done(tmp_path):
    source = write(tmp_path / "s", {f"{i}.md": text_of(i) for i in range(4)} | {"r.jsonl": jsonl(*({"id": f"r{i}", "text": text_of(10 + i), "kind": "x"} for i in range(3)))})
    index, counts, report = update(source, tmp_path / "i")
    assert counts == (7, 0, 0, 0) and report.chunks == sum(state(index)["rows"][:2]) and report.characters == sum(map(len, read(source)[0].values()))
    manifest = (tmp_path / "i/manifest.json").read_bytes()
    emb = ToyEmbedding(embed_dim=32)
    assert update(source, tmp_path / "i", emb)[1] == (0, 0, 0, 7) and emb.batches == 0
    assert (tmp_path / "i/manifest.json").read_bytes() == manifest
    write(source, {"0.md": text_of(0, 3), "1.md": None, "new.md": text_of(9), "r.jsonl": jsonl({"id": "r0", "text": text_of(10), "kind": "changed"}, {"id": "r1", "text": text_of(11), "kind": "x"})})
    index, counts, report = update(source, tmp_path / "i")
    assert counts == (1, 2, 2, 3) and index.doc_ids == ["0.md", "2.md", "3.md", "new.md", "r0", "r1"] and not report.problems
    assert state(index) == fresh(source, tmp_path / "j")
    assert state(Index.open(tmp_path / "i", ToyEmbedding(embed_dim=32))) == state(index)
    os.utime(source / "0.md")
    assert update(source, tmp_path / "i")[1] == (0, 0, 0, 6)
    write(source, {"new.md": " "})
    index, counts, report = update(source, tmp_path / "i")  # emptied: reported, and out of the index
    assert counts == (0, 0, 1, 5) and [p.where for p in report.problems] == ["new.md"] and "new.md" not in index.doc_ids


_edit = st.tuples(st.sampled_from("abcd"), st.sampled_from([None, 1, 2, 3, 4]), st.sampled_from([1, 4, 20]))


@examples(5, 60)
@given(st.lists(st.lists(_edit, min_size=1, max_size=4), min_size=1, max_size=3))
def test_after_any_edits_it_is_as_a_new_index(tmp_path_factory, steps):
    tmp = tmp_path_factory.mktemp("edits")
    write(tmp / "s", {"keep.md": text_of(0)})
    for step in steps:
        for name, seed, n in step:
            if seed is not None:
                write(tmp / "s", {f"{name}.md": text_of(seed, n)})
            elif (tmp / "s" / f"{name}.md").exists():
                write(tmp / "s", {f"{name}.md": None})
        index, _, _ = update(tmp / "s", tmp / "i")
        assert sorted(index.bm25.ids) == sorted(vectors(index))
    assert state(index) == fresh(tmp / "s", tmp / "fresh")


def test_two_folders_in_one_index(tmp_path):
    one, two = write(tmp_path / "one", {"a.md": text_of(1), "b.md": text_of(2)}), write(tmp_path / "two", {"c.md": text_of(3), "b.md": text_of(4)})
    update(one, tmp_path / "i")
    index, counts, report = update(two, tmp_path / "i")
    assert counts == (1, 0, 0, 0) and index.doc_ids == ["a.md", "b.md", "c.md"]
    assert len(report.problems) == 1 and "'b.md' is already indexed" in str(report.problems[0]) and str(one) in str(report.problems[0])
    assert update(one, tmp_path / "i")[1] == (0, 0, 0, 2)
    write(one, {"a.md": None})
    assert update(one, tmp_path / "i")[1] == (0, 0, 1, 1)  # only what was in this folder leaves
    shutil.rmtree(one)
    with pytest.raises(InputError, match="no such file or folder"):
        update(one, tmp_path / "i")
    index, counts, report = update(two, tmp_path / "i")  # the folder that had the id is gone
    assert counts == (0, 1, 0, 1) and not report.problems and index.doc_ids == ["b.md", "c.md"]
    assert state(index)["chunks"] == fresh(two, tmp_path / "j")["chunks"]


def test_a_moved_folder_is_taken_over(tmp_path):
    source = write(tmp_path / "one", {"a.md": text_of(1), "b.md": text_of(2)})
    update(source, tmp_path / "i")
    source.rename(tmp_path / "two")
    index, counts, report = update(tmp_path / "two", tmp_path / "i")
    assert counts == (0, 2, 0, 0) and not report.problems
    assert update(tmp_path / "two", tmp_path / "i")[1] == (0, 0, 0, 2)


def test_a_store_of_your_own(tmp_path):
    source, store = write(tmp_path / "s", {"a.md": text_of(1), "b.md": text_of(2)}), MemoryStore()
    update(source, tmp_path / "i", store=store)
    assert store.doc_ids() == ["a.md", "b.md"] and not list((tmp_path / "i").glob("chroma*"))
    assert update(source, tmp_path / "i", store=store)[1] == (0, 0, 0, 2)
    again = MemoryStore()  # a new process: what the store has lost is written again
    index, counts, _ = update(source, tmp_path / "i", store=again)
    assert counts == (0, 2, 0, 0) and sorted(index.bm25.ids) == sorted(a for a, _ in again.texts("u"))


def test_two_readers_at_once(tmp_path):
    update(write(tmp_path / "s", {"a.md": text_of(1), "b.md": text_of(2)}), tmp_path / "i", "ngram")
    code = "import sys; from ragnb import Pipeline; print(Pipeline.from_index(sys.argv[1]).ask('연차는 며칠인가').passages[0].id)"
    here = Pipeline.from_index(tmp_path / "i")
    other = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "i")], stdout=subprocess.PIPE, text=True)
    want = here.ask("연차는 며칠인가").passages[0].id
    assert (other.communicate(timeout=120)[0].strip(), other.returncode) == (want, 0)
    assert here.ask("연차는 며칠인가").passages[0].id == want


# --- embeddings -----------------------------------------------------------------------------------------------------


def test_another_embedding_or_splitter_is_refused_with_the_way_out(tmp_path):
    source = write(tmp_path / "s", {"a.md": text_of(1)})
    index, _, _ = update(source, tmp_path / "i", "ngram")
    before = state(index)
    for options, message in [
        ({"embed": "ollama:nomic"}, "ngram:ragnb-ngram, not ollama:nomic"), ({"embed": ToyEmbedding(embed_dim=32)}, "not object:ToyEmbedding"), ({"embed": "ngram"}, None),
        ({"embed": NgramEmbedding(dims=32)}, "other parameters"), ({"parser": "sentence"}, "split by.*not.*SentenceWindowNodeParser"), ({"parser": "parent-child:700/0,100/0"}, "700"),
    ]:
        if message is None:
            update_index(source, tmp_path / "i", show_progress=False, **options)
            continue
        for call in (lambda: update_index(source, tmp_path / "i", show_progress=False, **options), lambda: Index.open(tmp_path / "i", **options)):
            with pytest.raises(IndexMismatchError, match=message) as error:
                call()
            assert "--force" in str(error.value) and "--index" in str(error.value)
    assert state(Index.open(tmp_path / "i")) == before
    for bad in ({"embed": "word2vec"}, {"parser": "paragraph"}, {"parser": "parent-child:10/20,5/0"}):
        with pytest.raises(ValueError):
            update_index(source, tmp_path / "j", show_progress=False, **bad)
        assert not (tmp_path / "j").exists()


def test_without_being_told_an_update_keeps_embedding_and_splitter(tmp_path):
    source = write(tmp_path / "s", {"a.md": text_of(1)})
    update_index(source, tmp_path / "i", embed=NgramEmbedding(dims=16, n_columns=256), parser="sentence", show_progress=False)
    write(source, {"b.md": text_of(2)})
    index, report = update_index(source, tmp_path / "i", show_progress=False)
    assert (report.added, report.unchanged) == (1, 1) and isinstance(index.parser, SentenceWindowNodeParser) and index.embed_model.dims == 16
    assert {a.rpartition("#")[2][0] for a in index.bm25.ids} == {"s"}


def test_an_embedding_of_your_own(tmp_path):
    source = write(tmp_path / "s", {"a.md": text_of(1)})
    update(source, tmp_path / "i")
    with pytest.raises(IndexMismatchError, match="ToyEmbedding"):
        Index.open(tmp_path / "i")
    given = NgramEmbedding(dims=16, n_columns=256).fit(["연차 휴가", "병가", "출장"])
    index, _, _ = update(source, tmp_path / "j", given)
    assert index.manifest.fitted_on == 0 and index.manifest.embedding == given.describe()  # fitted already: used as it is
    unfitted = NgramEmbedding(dims=16, n_columns=256)
    for _ in range(2):  # the same call again works, and leaves the object alone
        index, counts, _ = update(source, tmp_path / "k", unfitted)
        with pytest.raises(RagnbError, match="not fitted"):
            unfitted.describe()
    assert counts == (0, 0, 0, 1)


def all_vectors_are_the_embeddings(index: Index) -> bool:
    """True when every vector in the store is what the index's embedding makes of the text, and of the prefix where there is one."""
    held = vectors(index)
    texts = {i: n.get_content(MetadataMode.EMBED) for i, n in index.store.get_chunks(held).all().items()}
    return all(vector == [round(float(x), 4) for x in index.embed_model.embed([texts[i]])[0]] for i, vector in held.items())


def test_refitted_when_the_corpus_has_doubled(tmp_path):
    one, two = write(tmp_path / "one", {"a.md": text_of(1, 40)}), write(tmp_path / "two", {"b.md": text_of(2, 20)})
    index, _, report = update(one, tmp_path / "i", "ngram")
    assert not report.refitted and index.manifest.fitted_on == len(text_of(1, 40))
    index, _, report = update(two, tmp_path / "i", "ngram")
    assert not report.refitted and all_vectors_are_the_embeddings(index)
    first = index.manifest.embedding["fingerprint"]
    write(two, {"c.md": text_of(3, 60)})
    index, counts, report = update(two, tmp_path / "i", "ngram")  # both folders together have doubled; all is embedded again, that of the other folder too
    assert report.refitted and counts == (1, 0, 0, 1) and index.manifest.embedding["fingerprint"] != first
    assert all_vectors_are_the_embeddings(index) and state(index)["stale"] == [] and index.manifest.fitted_on == sum(len(text_of(*x)) for x in ((1, 40), (2, 20), (3, 60)))
    assert state(Index.open(tmp_path / "i")) == state(index) and state(index)["folders"] == ["bm25", "chroma", "embedding", "multiscale"]
    assert update(one, tmp_path / "i", "ngram")[1:][0] == (0, 0, 0, 1) and not update(two, tmp_path / "i", "ngram")[2].refitted


# --- what goes wrong ------------------------------------------------------------------------------------------------


def many(folder: Path, n: int = 45) -> Path:
    """Documents for several batches."""
    return write(folder, {f"{i:03}.md": text_of(i, 150) for i in range(n)})


def test_an_embedding_that_fails_at_once_leaves_nothing(tmp_path):
    source = many(tmp_path / "s", 3)
    with pytest.raises(ConnectionError):
        update(source, tmp_path / "new/deep/i", ToyEmbedding(embed_dim=32, fail_at=1))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["s"]
    (tmp_path / "there").mkdir()
    with pytest.raises(ConnectionError):
        update(source, tmp_path / "there", ToyEmbedding(embed_dim=32, fail_at=1))
    assert list((tmp_path / "there").iterdir()) == []
    with pytest.raises(InputError, match="no index"):
        Index.open(tmp_path / "there")
    with pytest.raises(RuntimeError):
        update(source, tmp_path / "i", type("Broken", (NgramEmbedding,), {"fit": lambda self, texts: (_ for _ in ()).throw(RuntimeError("no fit"))})())
    assert not (tmp_path / "i").exists()


def test_an_embedding_that_fails_on_the_way_keeps_what_was_done(tmp_path, monkeypatch):
    source, how = many(tmp_path / "s"), {"parser": plain_words(monkeypatch.setattr)}
    with pytest.raises(ConnectionError):
        update(source, tmp_path / "i", ToyEmbedding(embed_dim=32, fail_at=3), **how)
    index = Index.open(tmp_path / "i", ToyEmbedding(embed_dim=32))
    assert 0 < len(index.doc_ids) < 45 and sorted(index.bm25.ids) == sorted(vectors(index)) and index.unfinished == []
    index, counts, _ = update(source, tmp_path / "i")
    assert counts == (45 - counts[3], 0, 0, counts[3]) and counts[3] > 0
    want = state(update(source, tmp_path / "j", **how)[0])
    assert state(index) == want
    write(source, {f"{i:03}.md": text_of(i, 5) for i in range(0, 45, 2)} | {"001.md": None})
    with pytest.raises(ConnectionError):
        update(source, tmp_path / "i", ToyEmbedding(embed_dim=32, fail_at=1))
    index = Index.open(tmp_path / "i", ToyEmbedding(embed_dim=32))
    assert len(index.unfinished) == 23 and index.doc_ids == [f"{i:03}.md" for i in range(45) if i != 1]
    for q in ("연차는 며칠인가", "Annual leave"):  # it answers meanwhile
        assert Pipeline.from_index(index).ask(q).passages
    write(source, {f"{i:03}.md": text_of(i, 150) for i in range(45)})  # all taken back
    index, counts, _ = update(source, tmp_path / "i")
    assert state(index) == want


def test_a_vector_of_another_length_on_the_way_changes_nothing(tmp_path):
    source = many(tmp_path / "s", 20)
    index, _, _ = update(source, tmp_path / "i")
    before = state(index)
    write(source, {"000.md": text_of(99)})

    class Other(ToyEmbedding):
        def _get_text_embeddings(self, texts):
            return [[1.0, 2.0] for _ in texts]

    Other.__name__ = "ToyEmbedding"  # a server whose model was replaced under the same name
    with pytest.raises(InputError, match="32 finite numbers, got 2"):
        update(source, tmp_path / "i", Other(embed_dim=32))
    index, counts, _ = update(write(source, {"000.md": text_of(0, 150)}), tmp_path / "i")
    assert counts[0] == counts[2] == 0 and state(index) == before


def test_force_replaces_only_when_it_succeeds(tmp_path):
    source = many(tmp_path / "s", 5)
    index, _, _ = update(source, tmp_path / "i")
    write(tmp_path / "i", {"notes.txt": "mine"})
    before = state(index)
    with pytest.raises(ConnectionError):
        update(source, tmp_path / "i", ToyEmbedding(embed_dim=16, fail_at=1), force=True)
    assert state(Index.open(tmp_path / "i", ToyEmbedding(embed_dim=32))) == before
    assert len([p for p in (tmp_path / "i").iterdir() if p.is_dir()]) == 4
    index, counts, _ = update(source, tmp_path / "i", ToyEmbedding(embed_dim=16), force=True, parser="sentence")
    assert counts == (5, 0, 0, 0) and len(next(iter(vectors(index).values()))) == 16 and index.manifest.parser["splitter"] == "SentenceWindowNodeParser"
    assert state(index)["folders"] == ["bm25", "chroma", "embedding"] and (tmp_path / "i/notes.txt").read_text() == "mine"
    shutil.rmtree(tmp_path / "i")
    assert update(source, tmp_path / "i")[1] == (5, 0, 0, 0)  # deleted by hand, made again in the same process


def test_folders_that_are_not_an_index(tmp_path):
    source = many(tmp_path / "s", 1)
    other = write(tmp_path / "other", {"thesis.txt": "mine"})
    for force in (False, True):
        with pytest.raises(InputError, match="not empty and is not an index"):
            update(source, other, force=force)
        with pytest.raises(InputError, match="is a file"):
            update(source, other / "thesis.txt", force=force)
    assert [p.name for p in other.iterdir()] == ["thesis.txt"] and (other / "thesis.txt").read_text() == "mine"
    for missing in (other, tmp_path / "nowhere"):
        with pytest.raises(InputError, match=f"no index in.*{missing.name}.*ragnb index PATH"):
            Index.open(missing)


def _spoil_json(**changes: object):
    def spoil(folder: Path) -> None:
        path = folder / "manifest.json"
        path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")
    return spoil


DAMAGE = {
    "cut": lambda f: (f / "manifest.json").write_bytes((f / "manifest.json").read_bytes()[:100]),
    "empty": lambda f: (f / "manifest.json").write_bytes(b""),
    "bytes": lambda f: (f / "manifest.json").write_bytes(b"\xff\xfe\0"),
    "list": lambda f: (f / "manifest.json").write_text("[]"),
    "format": _spoil_json(format=99), "key": _spoil_json(unknown=1), "documents": _spoil_json(documents=[]), "entry": _spoil_json(documents={"a": {"hash": 1}}),
    "outside": _spoil_json(chroma_folder="../s"), "parser": _spoil_json(parser={"splitter": "Mine"}), "settings": _spoil_json(parser={"splitter": "ParentChildNodeParser", "child_size": -1}),
    "no bm25": lambda f: [shutil.rmtree(p) for p in f.glob("bm25-*")], "no chroma": lambda f: [shutil.rmtree(p) for p in f.glob("chroma-*")],
    "no embedding": lambda f: [shutil.rmtree(p) for p in f.glob("embedding-*")],
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_named_and_force_mends_it(tmp_path, damage):
    source = write(tmp_path / "s", {"a.md": text_of(1)})
    update(source, tmp_path / "i", "ngram")
    DAMAGE[damage](tmp_path / "i")
    for call in (lambda: Index.open(tmp_path / "i"), lambda: update_index(source, tmp_path / "i", show_progress=False)):
        with pytest.raises(IndexMismatchError, match="--force|pass `parser`"):
            call()
    assert (tmp_path / "s/a.md").exists()
    index, counts, _ = update(source, tmp_path / "i", "ngram", force=True)
    assert counts == (1, 0, 0, 0) and state(index) == fresh(source, tmp_path / "j", "ngram")


# --- killed ---------------------------------------------------------------------------------------------------------

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked processes")


def kill_at(tmp_path: Path, moments: list[int], start: Path | None, source: Path, embed: str) -> list[list[int]]:
    """Run kill_moments.py; its rows: moment, how the killed run ended, how the next one ended."""
    job = {"work": str(tmp_path), "start": start and str(start), "source": str(source), "embed": embed, "moments": moments}
    (tmp_path / "job.json").write_text(json.dumps(job))
    done = subprocess.run([sys.executable, str(HERE / "kill_moments.py"), str(tmp_path / "job.json")], capture_output=True, text=True, timeout=60 + 30 * len(moments))
    assert done.returncode == 0, done.stderr[-3000:]
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row[0] for row in rows] == moments and all(row[2] == 0 for row in rows), (rows, done.stderr[-3000:])
    return rows


@needs_fork
@pytest.mark.parametrize("what, embed, quick", [("new", "toy", [1, 2, 4, 6, 9, 15, 22, 33]), ("update", "toy", [1, 2, 4, 6, 9, 13, 18, 22, 26]), ("refit", "ngram", [2, 5, 7, 10, 16, 23, 31])])
def test_killed_at_any_moment_it_resumes(tmp_path, monkeypatch, what, embed, quick):
    parser = plain_words(monkeypatch.setattr)
    source = write(tmp_path / "s", {f"{i}.md": text_of(i, 10 + i) for i in range(6)})
    start = None
    if what != "new":
        start = tmp_path / "start"
        update(source, start, embed, parser=parser)
        grown = {f"n{i}.md": text_of(20 + i, 40) for i in range(4)} if what == "refit" else {"new.md": text_of(9)}
        write(source, {"0.md": text_of(0, 2), "1.md": text_of(1, 30), "2.md": None, **grown})
    rows = kill_at(tmp_path, list(range(1, 90)) if SLOW else quick, start, source, embed)
    assert all(killed == -signal.SIGKILL for moment, killed, *_ in rows if moment <= max(quick))
    want = state(update(source, tmp_path / "fresh", parser=parser)[0]) if embed == "toy" else None
    for moment, *_ in rows:
        got = json.loads((tmp_path / f"at{moment}.json").read_text(encoding="utf-8"))
        if want is not None:
            assert got == want, moment
        else:
            index = Index.open(tmp_path / f"at{moment}")
            assert got["stale"] == [] and all_vectors_are_the_embeddings(index), moment
            assert set(got["documents"]) == set(read(source)[0]) and got["bm25"] == sorted(got["vectors"]), moment


@needs_fork
def test_killed_in_the_middle_of_embedding(tmp_path, monkeypatch):
    source = many(tmp_path / "s", 25)
    code = ("import sys, time; sys.path.insert(0, sys.argv[3]); from helpers_ingest import ToyEmbedding, plain_words; from ragnb.indexing.update import update_index\n"
            "class Slow(ToyEmbedding):\n    def _get_text_embeddings(self, texts):\n        print(self.batches, flush=True)\n        time.sleep(0.5)\n        return super()._get_text_embeddings(texts)\n"
            "update_index(sys.argv[1], sys.argv[2], embed=Slow(embed_dim=32), parser=plain_words(), show_progress=False)")
    parser = plain_words(monkeypatch.setattr)
    run = subprocess.Popen([sys.executable, "-c", code, str(source), str(tmp_path / "i"), str(HERE.parent)], stdout=subprocess.PIPE, text=True)
    for _ in range(2):
        assert run.stdout.readline()
    time.sleep(0.1)
    run.send_signal(signal.SIGKILL)
    assert run.wait(30) == -signal.SIGKILL
    with pytest.raises(InputError, match="has not finished"):
        Index.open(tmp_path / "i", ToyEmbedding(embed_dim=32))
    index, counts, _ = update(source, tmp_path / "i", parser=parser)
    assert counts == (25, 0, 0, 0) and state(index) == state(update(source, tmp_path / "j", parser=parser)[0])


# --- whole real documents -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, question, answer", [("squad2", "Who was the architect of the Scottish Parliament building?", "Enric Miralles")])
def test_whole_documents(tmp_path, name, question, answer):
    index, counts, report = update_and_ask(tmp_path, name)
    assert counts[0] == len(index.doc_ids) > 5 and not report.problems
    passages = Pipeline.from_index(index).ask(question).passages
    assert any(answer in p.text for p in passages)


@pytest.mark.skipif(not SLOW, reason="about twenty seconds; set RAGNB_SLOW=1")
def test_whole_statutes(tmp_path):
    index, counts, report = update_and_ask(tmp_path, "ko_statutes")
    assert counts[0] == len(index.doc_ids) > 5 and not report.problems
    assert any("100분의" in p.text for p in Pipeline.from_index(index).ask("연금소득에 대한 원천징수세율").passages)


def update_and_ask(tmp_path: Path, name: str):
    return update(shared_data(name) / "corpus.jsonl", tmp_path / "i", NgramEmbedding(dims=256, max_fit=512))
