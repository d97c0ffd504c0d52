"""An index that stays right whatever happens to its documents, its embedding and its store."""
from __future__ import annotations

import os
import shutil
from itertools import count
from types import SimpleNamespace

import pytest
from helpers_ingest import (all_vectors_are_the_embeddings, fresh, jsonl, many, plain_words, read, state, text_of,
                            ToyEmbedding, update, vectors, write)
from hypothesis import given, strategies as st
from llama_index.core.schema import TextNode
from strategies import examples

from ragnb import Index, InputError, NgramEmbedding, Outline
from ragnb.indexing import update as ingest
from ragnb.indexing.writing import remove_documents
from ragnb.indexing.update import IndexUpdate


def test_only_what_changed_is_done(tmp_path):
    source = write(tmp_path / "s", {f"{i}.md": text_of(i) for i in range(4)}
                   | {"r.jsonl": jsonl(*({"id": f"r{i}", "text": text_of(10 + i), "kind": "x"} for i in range(3)))})
    index, counts, report = update(source, tmp_path / "i")
    assert (counts == (7, 0, 0, 0) and report.chunks == len(state(index)["chunks"])
            and report.characters == sum(map(len, read(source)[0].values())))
    held = (tmp_path / "i/index.db").read_bytes()
    emb = ToyEmbedding(embed_dim=32)
    assert update(source, tmp_path / "i", emb)[1] == (0, 0, 0, 7) and emb.batches == 0
    assert (tmp_path / "i/index.db").read_bytes() == held
    write(source, {"0.md": text_of(0, 3), "1.md": None, "new.md": text_of(9), "r.jsonl": jsonl(
        {"id": "r0", "text": text_of(10), "kind": "changed"}, {"id": "r1", "text": text_of(11), "kind": "x"})})
    index, counts, report = update(source, tmp_path / "i")
    assert (counts == (1, 2, 2, 3) and index.doc_ids == ["0.md", "2.md", "3.md", "new.md", "r0", "r1"]
            and not report.problems)
    assert state(index) == fresh(source, tmp_path / "j")
    assert state(Index.open(tmp_path / "i", ToyEmbedding(embed_dim=32))) == state(index)
    os.utime(source / "0.md")
    assert update(source, tmp_path / "i")[1] == (0, 0, 0, 6)
    write(source, {"new.md": " "})
    index, counts, report = update(source, tmp_path / "i")  # emptied: reported, and out of the index
    assert counts == (0, 0, 1, 5) and [p.where for p in report.problems] == ["new.md"] and "new.md" not in index.doc_ids


_edit = st.tuples(st.sampled_from("abcd"), st.sampled_from([None, 1, 2, 3, 4]), st.sampled_from([1, 4, 20]))


@pytest.mark.heavy
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
        assert sorted(index.store.matching()) == sorted(vectors(index))
    assert state(index) == fresh(tmp / "s", tmp / "fresh")


def test_two_folders_in_one_index(tmp_path):
    one, two = write(tmp_path / "one", {"a.md": text_of(1), "b.md": text_of(2)}), write(
        tmp_path / "two", {"c.md": text_of(3), "b.md": text_of(4)})
    update(one, tmp_path / "i")
    index, counts, report = update(two, tmp_path / "i")
    assert counts == (1, 0, 0, 0) and index.doc_ids == ["a.md", "b.md", "c.md"]
    assert (len(report.problems) == 1 and "'b.md' is already indexed" in str(report.problems[0])
            and str(one) in str(report.problems[0]))
    assert update(one, tmp_path / "i")[1] == (0, 0, 0, 2)
    write(one, {"a.md": None})
    assert update(one, tmp_path / "i")[1] == (0, 0, 1, 1)  # only what was in this folder leaves
    shutil.rmtree(one)
    with pytest.raises(InputError, match="no such file or folder"):
        update(one, tmp_path / "i")
    index, counts, report = update(two, tmp_path / "i")  # the folder that had the id is gone
    assert counts == (0, 1, 0, 1) and not report.problems and index.doc_ids == ["b.md", "c.md"]
    assert state(index)["chunks"] == fresh(two, tmp_path / "j")["chunks"]


def test_documents_of_other_folders_are_named_in_the_report_and_kept(tmp_path):
    one = write(tmp_path / "one", {f"{n}.md": text_of(n) for n in range(5)})
    two = write(tmp_path / "two", {"x.md": text_of(7)})
    assert update(one, tmp_path / "i")[2].others == {}
    index, counts, report = update(two, tmp_path / "i")
    assert counts == (1, 0, 0, 0) and report.others == {str(one): [f"{n}.md" for n in range(5)]} and not report.replaced
    assert report.to_dict()["others"] == {str(one): 5}
    index, counts, report = update(one, tmp_path / "i")             # nothing to do, and said all the same
    assert counts == (0, 0, 0, 5) and report.others == {str(two): ["x.md"]} and len(index.doc_ids) == 6
    shutil.rmtree(one)                                              # out of reach; another folder has one of its names
    write(two, {"0.md": text_of(8)})
    index, counts, report = update(two, tmp_path / "i")
    assert report.replaced == {str(one): ["0.md"]} and report.others == {str(one): ["1.md", "2.md", "3.md", "4.md"]}
    assert report.to_dict()["replaced"] == {str(one): 1} and len(index.doc_ids) == 6 and not report.moved
    index = remove_documents(report.others[str(one)], tmp_path / "i", embed=ToyEmbedding(embed_dim=32))
    assert index.doc_ids == ["0.md", "x.md"] and update(two, tmp_path / "i")[2].others == {}


ACT = "정원관리법\n\n제1조(목적) 나무를 심는다.\n\n제2조(정의) 정원은 뜰이다.\n"
MEMO = "「정원관리법」 제2조에 따라 뜰을 돌본다.\n"


@pytest.mark.shed
def test_citations_are_there_after_a_run_that_was_cut_short_at_its_end(tmp_path, monkeypatch):
    source = write(tmp_path / "s", {"act.md": ACT, "memo.md": MEMO})
    want = update(source, tmp_path / "fresh")[0].catalogue
    assert want.parts["laws"].holdings["memo.md"].citations
    in_turn = IndexUpdate._in_turn

    def cut(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(IndexUpdate, "_in_turn", lambda *args: in_turn(*args, every=1))
        patched.setattr(ingest, "_batches", lambda parsed: ([pair] for pair in parsed))
        patched.setattr(IndexUpdate, "_cite", cut)
        with pytest.raises(KeyboardInterrupt):
            update(source, tmp_path / "i")
    index, counts, _ = update(source, tmp_path / "i")
    assert counts == (1, 0, 0, 1) and index.catalogue == want
    assert Index.open(tmp_path / "i", ToyEmbedding(embed_dim=32)).catalogue == want


@pytest.mark.shed
def test_a_refused_document_does_not_change_what_is_cited(tmp_path):
    one = write(tmp_path / "one", {"act.md": ACT, "memo.md": MEMO})
    two = write(tmp_path / "two", {"act.md": ACT.replace("제2조", "제3조"), "other.md": MEMO})
    first = update(one, tmp_path / "i")[0].catalogue.parts["laws"].holdings["act.md"]
    index, counts, report = update(two, tmp_path / "i")
    assert counts == (1, 0, 0, 0) and len(report.problems) == 1
    assert index.catalogue.parts["laws"].holdings["act.md"] == first and sorted(index.catalogue.parts["laws"].holdings) == [
        "act.md", "memo.md", "other.md"]


def test_refitted_when_the_corpus_has_doubled(tmp_path):
    one, two = write(tmp_path / "one", {"a.md": text_of(1, 40)}), write(tmp_path / "two", {"b.md": text_of(2, 20)})
    index, _, report = update(one, tmp_path / "i", "ngram")
    assert not report.refitted and index.manifest.fitted_on == len(text_of(1, 40))
    index, _, report = update(two, tmp_path / "i", "ngram")
    assert not report.refitted and all_vectors_are_the_embeddings(index)
    first = index.manifest.embedding["fingerprint"]
    write(two, {"c.md": text_of(3, 60)})
    index, counts, report = update(
        two, tmp_path / "i", "ngram"
    )  # both folders together have doubled; all is embedded again, that of the other folder too
    assert report.refitted and counts == (1, 0, 0, 1) and index.manifest.embedding["fingerprint"] != first
    assert (all_vectors_are_the_embeddings(index) and state(index)["stale"] == []
            and index.manifest.fitted_on == sum(len(text_of(*x)) for x in ((1, 40), (2, 20), (3, 60))))
    assert state(Index.open(tmp_path / "i")) == state(index)
    assert (update(one, tmp_path / "i", "ngram")[1:][0] == (0, 0, 0, 1)
            and not update(two, tmp_path / "i", "ngram")[2].refitted)


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
        update(
            source, tmp_path / "i",
            type(
                "Broken", (NgramEmbedding,), {"fit": lambda self, texts: (_ for _ in ()).throw(RuntimeError("no fit"))}
            )())
    assert not (tmp_path / "i").exists()


@pytest.mark.heavy
def test_an_embedding_that_fails_on_the_way_keeps_what_was_done(tmp_path, monkeypatch):
    source, how = many(tmp_path / "s"), {"parser": plain_words(monkeypatch.setattr)}
    with pytest.raises(ConnectionError):
        update(source, tmp_path / "i", ToyEmbedding(embed_dim=32, fail_at=700, embed_batch_size=1), **how)
    with pytest.raises(InputError, match="has not finished: run `ragnb index PATH"):
        Index.open(tmp_path / "i", ToyEmbedding(embed_dim=32))
    emb = ToyEmbedding(embed_dim=32)
    index, counts, _ = update(source, tmp_path / "i", emb)
    assert counts == (45 - counts[3], 0, 0, counts[3]) and counts[3] > 0 and index.unfinished == []
    want = state(update(source, tmp_path / "j", **how)[0])
    assert state(index) == want
    write(source, {f"{i:03}.md": text_of(i, 5) for i in range(0, 45, 2)} | {"001.md": None})
    with pytest.raises(ConnectionError):
        update(source, tmp_path / "i", ToyEmbedding(embed_dim=32, fail_at=1, embed_batch_size=1))
    index = Index.open(tmp_path / "i", ToyEmbedding(embed_dim=32))  # as it was before, with all its documents
    assert state(index) == want and index.unfinished == []
    changed = state(update(source, tmp_path / "i")[0])
    assert changed == state(update(source, tmp_path / "k", **how)[0])
    assert state(index) == changed  # it was open all the time


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
    index, counts, _ = update(source, tmp_path / "i", ToyEmbedding(embed_dim=16), force=True, parser="sentence")
    assert (counts == (5, 0, 0, 0) and len(next(iter(vectors(index).values()))) == 16
            and index.manifest.parser["splitter"] == "SentenceWindowNodeParser")
    assert (tmp_path / "i/notes.txt").read_text() == "mine"
    shutil.rmtree(tmp_path / "i")
    assert update(source, tmp_path / "i")[1] == (5, 0, 0, 0)  # deleted by hand, made again in the same process


def check_ins(n_batches: int, size: int = 100, **options: float) -> list[int]:
    """Chunks that were done at each saving of a run."""
    outline, nodes = Outline("d", 1), [TextNode(text="x")] * size
    report, at = SimpleNamespace(chunks=0), []
    run = SimpleNamespace(report=report, writer=SimpleNamespace(begin=int, save=lambda: at.append(report.chunks)),
                          index=SimpleNamespace(store=SimpleNamespace(put=lambda *_: None), manifest=SimpleNamespace(documents={})),
                          embedder=SimpleNamespace(embedded=lambda batches, renew: ((b, ()) for b in batches), cache=SimpleNamespace(keep_only=lambda texts: None)))
    bar = SimpleNamespace(update=lambda n: None, disable=True)      # as `--quiet`: no time is told
    list(IndexUpdate._in_turn(run, ([(nodes, outline)] for _ in range(n_batches)), n_batches, bar, **options))
    return at


def test_a_tenth_is_lost_at_most_and_savings_grow_with_the_logarithm() -> None:
    at = check_ins(10_000)                        # a million chunks
    assert at[0] == 4_000 and len(at) < 60
    assert all(b - a <= max(4_000, b // 10 + 100) for a, b in zip([0, *at], [*at, 1_000_000]))
    assert sum(at) < 13 * 1_000_000               # chunks written again and again, where every 4,000 would be 125 million


def test_slow_work_is_saved_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every 30 seconds, or so that saving takes a twentieth of the time."""
    clock = count(step=1)                         # a second for each look at it: one for a batch, two more for a saving
    monkeypatch.setattr(ingest, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    assert check_ins(200, size=1) == [31, 71, 111, 151, 191]
    assert check_ins(200, size=1, seconds=1_000) == []
