"""An index on a cluster beside the same index in a folder: answers, requests, bytes and time.

Run: make opensearch; python benchmarks/cluster_recall.py answers [--sets korquad squad2 ko_statutes] [--questions 150]
     python benchmarks/cluster_recall.py growth [--units 5000 20000] [--questions 40]

`answers` compares passages, labels and notes, question by question, with every vector compared and by the server's graph, and counts the requests of each question. `growth` repeats the documents of squad2 with changed words until
there are so many units; it counts what a question, a fresh client and an update of one document send and receive.
"""
from __future__ import annotations

import argparse
import gzip
import json
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from common import arguments, cpu_of, server
from llama_index.core import Document
from opensearchpy import Urllib3HttpConnection

from ragnb.evaluation.datasets import Dataset, load_dataset
from ragnb.indexing.folder_index import Index
from ragnb.indexing.update import index_documents
from ragnb.pipeline.pipeline import Pipeline

def told(traffic: Counter[str]) -> str:
    """Requests of this process, and bytes as they travel: compressed."""
    return f"{traffic['requests']} requests, {traffic['sent'] / 1e3:.0f} KB sent, {traffic['received'] / 1e3:.0f} KB received"


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count what goes over every connection that is made inside."""
    import urllib3
    traffic, perform, urlopen = Counter[str](), Urllib3HttpConnection.perform_request, urllib3.HTTPConnectionPool.urlopen

    def opened(self, method, url, body=None, **options):
        traffic["sent"] += len(body or b"")
        answer = urlopen(self, method, url, body, **options)
        traffic["received"] += answer.tell()      # As it came, before it was unpacked
        return answer

    def performed(self, *args, **options):
        traffic["requests"] += 1
        return perform(self, *args, **options)
    Urllib3HttpConnection.perform_request, urllib3.HTTPConnectionPool.urlopen = performed, opened
    try:
        yield traffic
    finally:
        Urllib3HttpConnection.perform_request, urllib3.HTTPConnectionPool.urlopen = perform, urlopen


def shown(pipeline: Pipeline, question: str) -> list:
    """What a reader sees of an answer."""
    answer = pipeline.ask(question)
    return [[(p.doc_id, p.text, p.hits, p.neighbors, p.pages) for p in answer.passages], answer.context.text, answer.note]


def answers(args: argparse.Namespace) -> None:
    """A line for each set."""
    for name in args.sets:
        dataset = load_dataset(name)
        documents, questions = list(dataset.documents.values()), [q.query for q in dataset.questions[:args.questions or 150]]
        with tempfile.TemporaryDirectory() as folder:
            local, _ = index_documents(documents, folder, show_progress=False)
            place = f"opensearch://{server()}/answers-{name.replace('_', '-')}?replicas=0"
            there, _ = index_documents(documents, place, force=True, show_progress=False)
            local = Pipeline.from_index(local)
            wanted = {question: shown(local, question) for question in questions}
            print(f"{name}: {len(there.multiscale):,} units", flush=True)
            for how, end in (("every vector compared", "&exact=yes"), ("by the graph", "")):
                found = Pipeline.from_index(Index.open(place + end))
                found.ask(questions[0])        # opens a point in time
                asked, differ, rows = Counter[int](), [], found.expander.store.rows
                for question in questions:
                    before = rows.requests
                    differ += [question] if shown(found, question) != wanted[question] else []
                    asked[rows.requests - before] += 1
                told = ", ".join(f"{n} of {asked[n]}" for n in sorted(asked))
                print(f"  {how}: {len(questions) - len(differ)} of {len(questions)} answers are equal; requests of a question: "
                      f"{sum(n * of for n, of in asked.items()) / len(questions):.2f} in the mean ({told})", flush=True)
                for question in differ:
                    print(f"    {question}: {missed(local, found, question)}", flush=True)
            there.store.drop()


def missed(local: Pipeline, there: Pipeline, question: str) -> str:
    """What the cluster did not find among the nearest vectors, and how far the passages are the same."""
    from ragnb.retrieval.scoring import question_vector
    near = []
    for pipeline in (local, there):
        source, model = pipeline.retriever.index, pipeline.retriever.embed_model
        vector = question_vector(model.get_query_embedding(question), source.dims)
        near.append({(source.ids[k >> 20], k & 0xFFFFF) for k in source.nearest(vector, 100).tolist()})
    passages = [{p.id for p in pipeline.ask(question).passages} for pipeline in (local, there)]
    return f"{len(near[0] & near[1])} of the 100 nearest, {len(passages[0] & passages[1])} of {len(passages[0])} passages"


def noisy(documents: list[Document], n: int) -> Iterator[Document]:
    """The documents, and copies of them in which every sixth word is one of another place, without end."""
    yield from documents
    rng, words = random.Random(n), " ".join(d.text for d in documents).split()
    for copy in range(1, 1_000):
        for d in documents:
            text = " ".join(rng.choice(words) if rng.random() < 1 / 6 else w for w in d.text.split(" "))
            yield Document(text=text, id_=f"copy{copy}/{d.id_}", metadata=dict(d.metadata))


def sized(dataset: Dataset, units: int) -> list[Document]:
    """As many documents as make about so many units of 170 characters."""
    out, left = [], 170 * units
    for document in noisy(list(dataset.documents.values()), units):
        out.append(document)
        left -= len(document.text)
        if left <= 0:
            break
    return out


def growth(args: argparse.Namespace) -> None:
    """A few lines for each size."""
    dataset = load_dataset("squad2")
    questions = [q.query for q in dataset.questions[:(args.questions or 40) + 5]]
    for units in args.units:
        documents, place = sized(dataset, units), f"opensearch://{server()}/growth{units}?replicas=0"
        with tempfile.TemporaryDirectory() as folder, counted() as traffic:
            local, _ = index_documents(documents, folder, show_progress=False)
            before, start = traffic.copy(), time.perf_counter()
            there, _ = index_documents(documents, place, force=True, show_progress=False)
            n = len(there.multiscale)
            print(f"{n:,} units in {len(documents):,} documents: indexed in {time.perf_counter() - start:.0f} s, {(traffic - before)['sent'] / n:.0f} B a unit")
            before = traffic.copy()
            pipeline = Pipeline.from_index(Index.open(place))
            opened = traffic.copy()
            pipeline.ask(questions[0])
            print(f"  opened: {told(opened - before)}; first question: {told(traffic - opened)}")
            print(f"  a question: {times(Pipeline.from_index(local), pipeline, questions, traffic)}")
            print(f"  KB of each search: {parts(pipeline, questions[5:])}")
            own = pipeline.expander.store
            server_ms, client_ms = cpu_of(own.rows.client, pipeline.ask, questions[5:25])
            print(f"  CPU of a question: server {server_ms:.0f} ms, client {client_ms:.0f} ms; {own.n_bytes() / n / 1e3:.1f} KB of disk a unit")
            documents[3] = Document(text=documents[3].text + " One more sentence.", id_=documents[3].id_, metadata=documents[3].metadata)
            before = traffic.copy()
            index_documents(documents, place, show_progress=False)
            print(f"  one changed document, the writer: {told(traffic - before)}")
            before = traffic.copy()
            pipeline.ask(questions[0])
            print(f"  and a reader that was open: {told(traffic - before)}", flush=True)
            there.store.drop()


PARTS = {"scripted_metric": "units around the candidates", '"aggs"': "counts", "script_fields": "units by words", "knn": "units by vector",
         '"node"': "texts", '"outline"': "outlines", '"levels"': "documents"}


def parts(pipeline: Pipeline, questions: list[str]) -> str:
    """KB of each search of a question, sent and received, each compressed by itself."""
    rows, of = pipeline.expander.store.rows, dict.fromkeys(PARTS.values(), 0.0)
    real = rows._answers

    def counting(view: Any, lines: list[str]) -> list[dict[str, Any]]:
        found = real(view, lines)
        for line, answer in zip(lines, found):
            part = next(name for mark, name in PARTS.items() if mark in line)
            of[part] += sum(len(gzip.compress(text.encode(), 6)) for text in (line, json.dumps(answer, ensure_ascii=False))) / 1e3
        return found
    rows._answers = counting
    for question in questions:
        pipeline.ask(question)
    del rows._answers
    return ", ".join(f"{name} {kb / len(questions):.1f}" for name, kb in of.items())


def times(local: Pipeline, there: Pipeline, questions: list[str], traffic: Counter[str]) -> str:
    """What a question costs on the cluster, and how long it takes in both places."""
    took: dict[str, list[float]] = {"folder": [], "cluster": []}
    asked, received = [], []
    for n, question in enumerate(questions):
        for name, pipeline in (("folder", local), ("cluster", there)):
            before, start = traffic.copy(), time.perf_counter()
            pipeline.ask(question)
            if n >= 5:                    # the first ones warm up
                took[name].append(1_000 * (time.perf_counter() - start))
                if name == "cluster":
                    took_by = traffic - before
                    asked.append(took_by["requests"])
                    received.append((took_by["sent"] + took_by["received"]) / 1e3)
    both = ", ".join(f"{name} p50 {statistics.median(ms):.0f} ms" for name, ms in took.items())
    of_all = f"{statistics.mean(asked):.2f} requests in the mean (most {max(asked)})"
    return f"{of_all}, {statistics.median(received):.0f} KB (most {max(received):.0f}); {both}"


def main() -> None:
    """The command."""
    args = arguments(__doc__, what=("answers", "growth"), sets=["korquad", "squad2", "ko_statutes"], units=[5_000, 20_000],
                     questions=(int, "150 of each set, or 40 of growth"))
    (answers if args.what == "answers" else growth)(args)


if __name__ == "__main__":
    main()
