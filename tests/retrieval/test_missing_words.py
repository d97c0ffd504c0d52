"""Words of a question that no document has, and rare ones that stand in documents but in no passage that is read."""
from __future__ import annotations

from pathlib import Path

from llama_index.core.schema import Document

from ragnb.documents.text import word_tokens_batch
from ragnb.indexing.update import index_documents
from ragnb.pipeline.pipeline import Pipeline
from ragnb.retrieval.missing_words import index_words, IndexWords, missing_words

TEXTS = ["Employees have 25 days of leave a year.", "The chiller is drained before maintenance.", *["The gate closes at nine."] * 8]


def found(question: str, *read: int):
    words = IndexWords.of_texts(word_tokens_batch(TEXTS))
    return missing_words(question, words, [TEXTS[n] for n in read])


def test_a_rare_word_that_no_passage_contains_is_reported():
    told = found("leave and the chiller", 0)
    assert (told.missing, told.unread) == ([], ["chiller"])
    assert [(note.kind, note.text) for note in told.notes] == [("unread", "in the documents, but in no passage of the context: chiller")]
    assert found("leave and the chiller", 0, 1).unread == []


def test_a_word_of_many_texts_is_not_rare():
    assert found("leave at the gate", 0).unread == []


def test_a_word_of_no_document_is_missing():
    told = found("leave and the parking", 0)
    assert (told.missing, told.unread, told.is_all_missing) == (["parking"], [], False)
    assert found("parking").is_all_missing


def test_titles_and_headings_are_counted_by_their_words(tmp_path: Path):
    """A topic is what titles and headings name: a word of none of them is no topic."""
    documents = [Document(text=f"# Chiller {n}\n\nThe gate closes at nine.\n", id_=f"{n}.md", metadata={"title": f"Chiller {n}"}) for n in range(3)]
    words = index_words(Pipeline.from_index(index_documents(documents, tmp_path / "index", show_progress=False)[0]).retriever)
    assert words.in_names(["chiller"]) >= 3 and words.in_names(["gate"]) == 0
    assert IndexWords.of_texts(word_tokens_batch(TEXTS)).in_names(["chiller"]) == 0     # texts without titles
