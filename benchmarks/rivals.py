"""Libraries in their own code, each in an environment of its own: this script imports nothing of ragnb.

    python benchmarks/rivals.py install out/evidence/venvs                 # an environment for each library, with uv
    out/evidence/venvs/langchain/bin/python benchmarks/rivals.py run JOB.json OUT.json

`run` is called by `evidence.py`. A job has documents, questions, the name of a system with its settings, and the file of vectors (`kept_vectors.py`).
When vectors are missing, it writes the texts to OUT.json and ends with 3; `evidence.py` embeds them and starts it again. Else OUT.json has the hits of
each question (document, text, where it starts if the library knows, score), and what they cost. The functions below are what a user of a library writes:
their lines are counted for the table.
"""
from __future__ import annotations

import ast
import inspect
import json
import math
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kept_vectors import KeptVectors, PASSAGE, QUERY

ENVIRONMENTS = {
    "langchain": ["langchain-classic", "langchain-community", "langchain-text-splitters", "rank_bm25", "kiwipiepy", "PyStemmer"],
    "lancedb": ["lancedb", "pandas", "kiwipiepy"],
    "dsrag": ["numpy", "scipy", "langchain-text-splitters"],
}
BARE = {"dsrag": ["dsrag"]}       # Installed without what they need: only dsRAG's `rse.py` is imported, which needs NumPy alone
OWN = "ragnb"                     # The environment of the benchmark itself


class Hit(NamedTuple):
    """A result of a library."""
    doc: str
    text: str
    start: int       # -1: unknown
    score: float


class Job(NamedTuple):
    """What a library is given."""
    texts: dict[str, str]
    titles: dict[str, str]
    embed: Callable[[list[str]], np.ndarray]       # Passages -> rows of length 1
    embed_query: Callable[[str], np.ndarray]
    fill: int                                      # Characters that the hits of a question should have

    def enough(self, lengths: list[int]) -> int:
        """Hits to ask for: twice the largest budget, as for every other peer."""
        return min(len(lengths), max(10, math.ceil(2 * self.fill / max(1, float(np.median(lengths))))))


class MissingVectors(Exception):
    """Texts whose vectors have to be computed first."""


Ask = Callable[[str], list[Hit]]


def cut(job: Job, size: int, overlap: int) -> list[Any]:
    """LangChain's recursive splitter over all documents."""
    from langchain_core.documents import Document
    from langchain_text_splitters import RecursiveCharacterTextSplitter
    splitter = RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap, add_start_index=True)
    return splitter.split_documents([Document(page_content=text, metadata={"doc": doc}) for doc, text in job.texts.items()])


def kiwi_words(text: str) -> list[str]:
    """Korean morphemes, else words; English stems."""
    global _kiwi, _stemmer
    if "_kiwi" not in globals():
        from kiwipiepy import Kiwi
        from Stemmer import Stemmer
        _kiwi, _stemmer = Kiwi(), Stemmer("english")
    if re.search("[가-힣]", text):
        return [token.form.lower() for token in _kiwi.tokenize(text) if token.tag[0] in "NVMXS"]
    return _stemmer.stemWords(re.findall(r"\w+", text.lower()))


# One function for each system

def langchain_ensemble(job: Job, size: int = 1000, overlap: int = 200, tokens: str = "split") -> Ask:
    """BM25Retriever and a vector store under EnsembleRetriever, half and half, as in LangChain's documentation."""
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_community.retrievers import BM25Retriever
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore

    class Shared(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return job.embed(texts).tolist()

        def embed_query(self, text: str) -> list[float]:
            return job.embed_query(text).tolist()

    chunks = cut(job, size, overlap)
    k = job.enough([len(chunk.page_content) for chunk in chunks])
    bm25 = BM25Retriever.from_documents(chunks, k=k, **({"preprocess_func": kiwi_words} if tokens == "kiwi" else {}))
    store = InMemoryVectorStore(Shared())
    store.add_documents(chunks)
    both = EnsembleRetriever(retrievers=[bm25, store.as_retriever(search_kwargs={"k": k})], weights=[0.5, 0.5])
    return lambda question: [Hit(d.metadata["doc"], d.page_content, d.metadata["start_index"], 0.0) for d in both.invoke(question)[:k]]


def langchain_parent(job: Job, size: int = 400, parent: int = 2000) -> Ask:
    """ParentDocumentRetriever with the sizes of LangChain's documentation: children are searched, parents returned."""
    from langchain_classic.retrievers import ParentDocumentRetriever
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.stores import InMemoryStore
    from langchain_core.vectorstores import InMemoryVectorStore
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    class Shared(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return job.embed(texts).tolist()

        def embed_query(self, text: str) -> list[float]:
            return job.embed_query(text).tolist()

    children = RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=0)
    parents = RecursiveCharacterTextSplitter(chunk_size=parent, chunk_overlap=0, add_start_index=True)
    k = math.ceil(2 * job.fill / size)
    retriever = ParentDocumentRetriever(vectorstore=InMemoryVectorStore(Shared()), docstore=InMemoryStore(), child_splitter=children,
                                        parent_splitter=parents, search_kwargs={"k": k})
    retriever.add_documents([Document(page_content=text, metadata={"doc": doc}) for doc, text in job.texts.items()])
    return lambda question: [Hit(d.metadata["doc"], d.page_content, d.metadata["start_index"], 0.0) for d in retriever.invoke(question)]


def lancedb_hybrid(job: Job, size: int = 500, tokenizer: str = "simple") -> Ask:
    """LanceDB's hybrid search, full text and vectors joined by its reranker of reciprocal ranks, over paragraphs packed to a size."""
    import lancedb
    from lancedb.rerankers import RRFReranker
    rows = [{"doc": doc, "start": start, "text": job.texts[doc][start:end]} for doc in job.texts for start, end in pack(job.texts[doc], size)]
    vectors = job.embed([row["text"] for row in rows])
    table = lancedb.connect(tempfile.mkdtemp()).create_table("t", [row | {"vector": vector.tolist()} for row, vector in zip(rows, vectors)])
    table.create_fts_index("text", base_tokenizer=tokenizer, **({"ngram_min_length": 2, "ngram_max_length": 2} if tokenizer == "ngram" else {}))
    k, rrf = job.enough([len(row["text"]) for row in rows]), RRFReranker()

    def ask(question: str) -> list[Hit]:
        found = table.search(query_type="hybrid").vector(job.embed_query(question).tolist()).text(question).rerank(rrf).limit(k).to_list()
        return [Hit(row["doc"], row["text"], row["start"], row["_relevance_score"]) for row in found]
    return ask


def dsrag_segments(job: Job, size: int = 800) -> Ask:
    """dsRAG's own `rse.py` with its preset "balanced" over its chunk size, without a model for headers and reranking."""
    from dsrag.rse import get_best_segments, get_meta_document, get_relevance_values, RSE_PARAMS_PRESETS
    chunks = cut(job, size, 0)
    numbers: dict[str, list[int]] = {}
    for i, chunk in enumerate(chunks):
        numbers.setdefault(chunk.metadata["doc"], []).append(i)
    place = {i: (doc, n) for doc, found in numbers.items() for n, i in enumerate(found)}
    titles = [f"Document context: {job.titles[c.metadata['doc']]}\n\n" if job.titles.get(c.metadata["doc"]) else "" for c in chunks]
    vectors = job.embed([title + chunk.page_content for title, chunk in zip(titles, chunks)])
    given = RSE_PARAMS_PRESETS["balanced"]

    def ask(question: str) -> list[Hit]:
        near = vectors @ job.embed_query(question)
        best = np.argsort(-near, kind="stable")[:200]
        ranked = [{"metadata": {"doc_id": place[int(i)][0], "chunk_index": place[int(i)][1], "chunk_text": chunks[i].page_content}, "similarity": float(near[i])}
                  for i in best]
        splits, starts, ids = get_meta_document([ranked], given["top_k_for_document_selection"])
        values = get_relevance_values([ranked], splits[-1], starts, ids, given["irrelevant_chunk_penalty"], given["decay_rate"])
        segments, scores = get_best_segments(values, splits, given["max_length"], given["overall_max_length"], given["minimum_value"])
        hits = []
        for (first, last), score in zip(segments, scores):
            doc = max((i for i in ids if starts[i] <= first), key=lambda i: starts[i])
            run = [chunks[numbers[doc][n - starts[doc]]] for n in range(first, last)]
            start = run[0].metadata["start_index"]
            end = run[-1].metadata["start_index"] + len(run[-1].page_content)
            hits.append(Hit(doc, job.texts[doc][start:end], start, float(score)))
        return hits
    return ask


def bm25s_kiwi(job: Job, size: int = 500) -> Ask:
    """bm25s over Kiwi's morphemes, paragraphs packed to a size."""
    import bm25s
    rows = [(doc, start, job.texts[doc][start:end]) for doc in job.texts for start, end in pack(job.texts[doc], size)]
    index = bm25s.BM25()
    index.index([kiwi_words(text) or ["-"] for _, _, text in rows], show_progress=False)
    k = job.enough([len(text) for _, _, text in rows])

    def ask(question: str) -> list[Hit]:
        scores = index.get_scores(known) if (known := [word for word in kiwi_words(question) if word in index.vocab_dict]) else np.zeros(len(rows))
        return [Hit(rows[i][0], rows[i][2], rows[i][1], float(scores[i])) for i in np.argsort(-scores, kind="stable")[:k]]
    return ask


def statute_rule(job: Job, look_up: str = "on") -> Ask:
    """Articles as chunks: a named article or an exact heading first, then what it cites in its own law, then BM25 over pairs of letters."""
    import bm25s
    article, cited = re.compile(r"(?m)^\s*(제\d+조(?:의\d+)?)\s*\(([^)\n]*)\)"), re.compile(r"제\d+조(?:의\d+)?")
    rows: list[tuple[str, int, int, str, str]] = []      # Document, start, end, number, heading
    for doc, text in job.texts.items():
        marks = list(article.finditer(text))
        starts = [0, *(mark.start(1) for mark in marks), len(text)]
        for i, (start, end) in enumerate(zip(starts, starts[1:])):
            if text[start:end].strip():
                number, heading = (marks[i - 1].group(1), marks[i - 1].group(2).strip()) if i else ("", "")
                rows.append((doc, start, start + len(text[start:end].rstrip()), number, heading))

    def pairs(text: str) -> list[str]:
        return [word[i:i + 2] for word in re.findall(r"\w+", text.lower()) for i in range(max(1, len(word) - 1))]
    index = bm25s.BM25(k1=.9, b=.4)
    index.index([pairs(f"{job.titles[doc]} {job.texts[doc][start:end]}") for doc, start, end, _, _ in rows], show_progress=False)
    where: dict[tuple[str, str], int] = {}
    for i, (doc, _, _, number, _) in enumerate(rows):
        where.setdefault((doc, number), i)

    def named(question: str, law: list[str]) -> list[int]:
        rest = question.replace(job.titles[law[0]], "").strip() if law else question
        found = [where[doc, number] for number in cited.findall(question) for doc in (law or job.texts) if (doc, number) in where][:3]
        found = found or [i for i, row in enumerate(rows) if row[4] and row[4] == rest and (not law or row[0] == law[0])][:2]
        for i in list(found):
            doc, start, end = rows[i][:3]
            for mark in cited.finditer(job.texts[doc][start:end], 10):
                before = job.texts[doc][start:end][max(0, mark.start() - 2):mark.start()]
                other = where.get((doc, mark.group()))
                if other is not None and other not in found and not re.search(r"[」법]\s*$", before):
                    found.append(other)
        return found

    def ask(question: str) -> list[Hit]:
        law = sorted((doc for doc in job.texts if job.titles[doc] in question), key=lambda doc: -len(job.titles[doc]))[:1]
        first = named(question, law) if look_up == "on" else []
        known = [pair for pair in pairs(question) if pair in index.vocab_dict]
        scores = index.get_scores(known) if known else np.zeros(len(rows))
        scores = scores + np.array([3. * (row[0] in law) for row in rows])
        order = first + [i for i in np.argsort(-scores, kind="stable")[:40].tolist() if i not in first]
        return [Hit(rows[i][0], job.texts[rows[i][0]][rows[i][1]:rows[i][2]], rows[i][1], float(len(order) - n)) for n, i in enumerate(order)]
    return ask


SYSTEMS: dict[str, tuple[str, Callable[..., Ask], str]] = {      # Name -> environment, function, its library
    "langchain-ensemble": ("langchain", langchain_ensemble, "langchain-classic"),
    "langchain-parent": ("langchain", langchain_parent, "langchain-classic"),
    "lancedb-hybrid": ("lancedb", lancedb_hybrid, "lancedb"),
    "dsrag-own": ("dsrag", dsrag_segments, "dsrag"),
    "bm25s-kiwi": (OWN, bm25s_kiwi, "bm25s"),
    "statute-rule": (OWN, statute_rule, "bm25s"),
}


def pack(text: str, size: int) -> list[tuple[int, int]]:
    """Lines packed to a size; a longer line is cut."""
    out: list[list[int]] = []
    for line in re.finditer(r"[^\n]+", text):
        for start in range(line.start(), line.end(), size):
            end = min(line.end(), start + size)
            if out and end - out[-1][0] <= size:
                out[-1][1] = end
            elif text[start:end].strip():
                out.append([start, end])
    return [(start, end) for start, end in out]


def code_lines(function: Callable[..., Any]) -> int:
    """Lines of code of a function, without blank lines, comments and its docstring."""
    source = inspect.getsource(function)
    tree = ast.parse(source).body[0]
    doc = tree.body[0]
    lines = source.splitlines()
    del lines[doc.lineno - 1:doc.end_lineno]
    return sum(1 for line in lines if line.strip() and not line.strip().startswith("#"))


def packages() -> dict[str, str]:
    """The versions of this environment that matter."""
    from importlib.metadata import distributions
    wanted = ("langchain", "lance", "dsrag", "bm25", "rank", "kiwipiepy")
    return {d.metadata["Name"]: d.version for d in distributions() if d.metadata["Name"].lower().startswith(wanted)}


def run(job_path: Path, out: Path) -> int:
    """Build a system, ask all questions, write the hits and what they cost."""
    given = json.loads(job_path.read_text(encoding="utf-8"))
    kept, model = KeptVectors(given["vectors"]), given["model"]

    def embed(texts: list[str], kind: str = PASSAGE) -> np.ndarray:
        found = kept.get(model, kind, texts)
        if missing := [text for text in dict.fromkeys(texts) if text not in found]:
            raise MissingVectors(kind, missing)
        return np.array([found[text] for text in texts], np.float32)

    job = Job(given["texts"], given["titles"], embed, lambda text: embed([text], QUERY)[0], given["fill"])
    _, build, _ = SYSTEMS[given["system"]]
    started = time.process_time()
    try:
        ask = build(job, **given["settings"])
        built, embedded = time.process_time() - started, kept.seconds
        started = time.process_time()
        hits = [[tuple(hit) for hit in ask(question)] for question in given["questions"]]
    except MissingVectors as missing:
        out.write_text(json.dumps({"kind": missing.args[0], "missing": missing.args[1]}, ensure_ascii=False), encoding="utf-8")
        return 3
    cost = {"index_cpu": built, "embed_cpu": embedded, "ask_cpu": (time.process_time() - started) / len(hits),
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024, "lines": code_lines(build)}
    out.write_text(json.dumps({"hits": hits, "cost": cost, "packages": packages()}, ensure_ascii=False), encoding="utf-8")
    return 0


def install(folder: Path) -> None:
    """Make the environments."""
    for name, wanted in ENVIRONMENTS.items():
        python = folder / name / "bin" / "python"
        if not python.exists():
            subprocess.run([sys.executable, "-m", "uv", "venv", "-q", str(folder / name)], check=True)
        for extra in ([wanted], [["--no-deps", *BARE[name]]] if name in BARE else []):
            for given in extra:
                subprocess.run([sys.executable, "-m", "uv", "pip", "install", "-q", "--python", str(python), *given], check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["install"]:
        install(Path(sys.argv[2]))
    elif sys.argv[1:2] == ["run"]:
        sys.exit(run(Path(sys.argv[2]), Path(sys.argv[3])))
    else:
        sys.exit(__doc__)
