"""What a trained embedding adds to the n-grams: delivered recall with E5, with E5 centred, and with both vectors in one.

    python benchmarks/meaning.py                                    # sample, lay, tydiqa_ko, ko_statutes, squad2
    python benchmarks/meaning.py --sets squad2 --onnx FOLDER        # a sentence embedder beside them
    python benchmarks/meaning.py --sets lay_held_out                # once, at the end
    python benchmarks/meaning.py --cost                             # seconds and bytes of a thousand units

The default strategy at 500, 1,000 and 4,000 characters; delivered recall, and in brackets the recall of spans. `centred` takes the mean of the corpus off every vector.
`ngram+e5` puts both vectors behind each other, so that the cosine is the mean of two cosines. Of the sets below RAGNB_DATA a part is used: documents of at most --most
units in all, and questions about them. Vectors are kept in --work and results in --out; what is there is not measured again. Sets are looked for below RAGNB_DATA (default ../shared/data).
"""
from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from llama_index.core.schema import MetadataMode

from common import arguments, by_hash, ROOT, sample_or_set, store
from ragnb.chunking.units import UnitNodeParser
from ragnb.evaluation.datasets import Dataset, load_questions
from ragnb.evaluation.delivered import spans_within
from ragnb.evaluation.measures import bootstrap_interval, Evaluation, make_row
from ragnb.evaluation.strategy import build_system, IndexCache, System
from ragnb.indexing.update import fit_pieces, index_documents
from ragnb.models.embedding import describe_embedding, NgramEmbedding, resolve_embedding
from ragnb.models.local import LocalEmbedding
from ragnb.models.vectors import embed_texts, VectorCache

QUESTIONS = ROOT / "benchmarks/questions"
RESULTS = ROOT / "nbs/studies/results/meaning.json"
SETS = ("sample", "lay", "tydiqa_ko", "ko_statutes", "squad2")
BUDGETS = (500, 1_000, 4_000)


class Kept(LocalEmbedding):
    """A model whose vectors of texts are kept on disk, and optionally a vector that is taken off each."""
    model: Any
    cache: Any
    off: Any = 0.0

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        return self._shifted(np.array(embed_texts(self.model, list(texts), self.cache), np.float32))

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._shifted(np.array([self.model.get_query_embedding(query)], np.float32))[0].tolist()

    def _shifted(self, vectors: np.ndarray) -> np.ndarray:
        vectors = vectors - self.off
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class Joined(LocalEmbedding):
    """Vectors of two models behind each other, half and half."""
    first: Any
    second: Any

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        return np.concatenate([self.first.embed(texts), self.second.embed(texts)], axis=1) * np.float32(.5 ** .5)

    def _get_query_embedding(self, query: str) -> list[float]:
        both = [*self.first.get_query_embedding(query), *self.second.get_query_embedding(query)]
        return (np.array(both, np.float32) * np.float32(.5 ** .5)).tolist()


@dataclass
class GivenIndexes(IndexCache):
    """Makes each index with an embedding object of a name."""
    given: dict[str, Any] = field(default_factory=dict)

    def index(self, dataset: Dataset, split: str, embed: str = "ngram") -> Any:
        folder = Path(self.folder) / embed.replace(":", "_").replace("/", "_")
        return index_documents(list(dataset.documents.values()), folder, embed=self.given[embed], parser=split)[0]


def load(name: str, limit: int, most: int) -> Dataset:
    """A set of questions; of a set below RAGNB_DATA documents with at most so many units, in the order of a hash, and questions about them."""
    if name in ("sample", "lay", "lay_held_out"):
        sample = sample_or_set("sample")
        return sample if name == "sample" else replace(sample, questions=load_questions(QUESTIONS / f"{name}.jsonl", sample.texts))
    dataset, chosen, n = sample_or_set(name), {}, 0
    for i, document in sorted(dataset.documents.items(), key=lambda pair: by_hash(pair[0])):
        size = len(UnitNodeParser().parse(document)[0])
        if n + size <= most:
            chosen[i], n = document, n + size
    asked = [q for q in dataset.questions if all(e.doc_id in chosen for e in q.evidence)]
    return replace(dataset, documents={i: d for i, d in dataset.documents.items() if i in chosen}, questions=asked).limit(limit)


def kept(spec: str, work: Path) -> Kept:
    """A model by name, with its vectors on disk."""
    model = resolve_embedding(spec)
    described = describe_embedding(model)
    return Kept(model=model, cache=VectorCache(work / f"{described['kind']}.bin", described))


def candidates(dataset: Dataset, work: Path, onnx: str | None) -> dict[str, Any]:
    """Embeddings by name."""
    ngram = NgramEmbedding().fit(fit_pieces(list(dataset.documents.values())))
    e5 = kept("e5", work)
    units = [node.get_content(MetadataMode.EMBED) for d in dataset.documents.values() for node in UnitNodeParser().parse(d)[0]]
    centred = e5.model_copy(update={"off": e5.embed(units).mean(axis=0)})
    made = {"ngram": ngram, "e5": e5, "ngram+e5 centred": Joined(first=ngram, second=centred), "e5 centred": centred,
            "ngram+e5": Joined(first=ngram, second=e5)}
    return made | ({Path(onnx).name: kept(f"onnx:{onnx}", work)} if onnx else {})


def evaluated(system: System, dataset: Dataset, asked: Callable[[str], str] = str) -> Evaluation:
    """Ask every question of a set, in other words where `asked` gives them."""
    rows = []
    for question in dataset.questions:
        shared: dict[Any, Any] = {}
        words = asked(question.query)
        contexts = {b: system.deliver(words, b, shared)[0] for b in reversed(BUDGETS)}
        ranking, cost = system.rank_shared(words, shared)
        chosen = {b: spans_within(ranking, b, "characters") for b in BUDGETS}
        rows.append(make_row(question, chosen, cost.milliseconds, None, contexts, dataset.texts, False))
    return Evaluation(rows, BUDGETS)


def measured(found: Evaluation) -> dict[str, list[Any]]:
    """Delivered recall with its interval, and recall of spans, at each budget."""
    means = {name: [found.mean(f"{name}_recall", b) for b in BUDGETS] for name in ("delivered", "evidence")}
    between = [bootstrap_interval(found.values("delivered_recall", b)) for b in BUDGETS]
    return {k: np.round(v, 4).tolist() for k, v in {**means, "interval": between}.items()}


def compare(sets: dict[str, Dataset], args: argparse.Namespace) -> None:
    """Measure sets of the same documents with one index an embedding, and add their numbers to the results."""
    known = json.loads(args.out.read_text(encoding="utf-8")) if args.out.exists() else {}
    for name, dataset in sets.items():
        known.setdefault(name, {"n": len(dataset.questions), "documents": len(dataset.documents), "embeddings": {}})
    for label, model in candidates(next(iter(sets.values())), args.work, args.onnx).items():
        todo = {name: dataset for name, dataset in sets.items() if label not in known[name]["embeddings"]}
        with tempfile.TemporaryDirectory() as folder:
            for name, dataset in todo.items():
                system = build_system("default", dataset, GivenIndexes(folder, given={label: model}), embed=label)
                known[name]["embeddings"][label] = found = measured(evaluated(system, dataset))
                cells = [f"{d:.3f} ({s:.3f})" for d, s in zip(found["delivered"], found["evidence"])]
                print(f"| {name} | {len(dataset.questions)} | {label} | {' | '.join(cells)} |", flush=True)
        store(args.out, known)


def cost(n: int = 1_000) -> None:
    """Print what a thousand units of the sample cost, in seconds of the processor and bytes."""
    documents = list(sample_or_set("sample").documents.values())
    units = [node.get_content(MetadataMode.EMBED) for d in documents for node in UnitNodeParser().parse(d)[0]][:n]
    fitted = NgramEmbedding()
    work: dict[str, Callable[[], Any]] = {"ngram, fit": lambda: fitted.fit(units), "ngram, embed": lambda: fitted.embed(units),
                                          "e5, load": lambda: resolve_embedding("e5"), "e5, embed": lambda: resolve_embedding("e5").embed(units)}
    for label, do in work.items():
        before, started = time.process_time(), time.perf_counter()
        do()
        print(f"{label}: {time.process_time() - before:.2f} s of the processor, {time.perf_counter() - started:.2f} s")
    print(f"{len(units):,} units, {sum(map(len, units)):,} characters; a vector in the index: {fitted.dims:,} bytes of ngram, 384 of e5")


def main() -> None:
    args = arguments(__doc__, sets=(",".join(SETS), "separated by commas; also lay_held_out"),
                     limit=(100, "questions of a set below RAGNB_DATA"), most=(1_200, "units of a set below RAGNB_DATA"),
                     onnx=(str, "also measure this ONNX sentence embedder"), work=ROOT / "out" / "meaning", out=RESULTS,
                     cost=(False, "time and size only"))
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if args.cost:
        return cost()
    print("| set | n | embedding | " + " | ".join(f"{b:,}: delivered (spans)" for b in BUDGETS) + " |\n|---|--:|---|" + "---|" * len(BUDGETS))
    groups: dict[tuple[str, ...], dict[str, Dataset]] = {}
    for name in args.sets.split(","):
        dataset = load(name, args.limit, args.most)
        groups.setdefault(tuple(dataset.documents), {})[name] = dataset
    for sets in groups.values():
        compare(sets, args)


if __name__ == "__main__":
    main()
