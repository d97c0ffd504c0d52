"""Questions in laymen's words: what other words for them find. Words that Kiwi's language model puts near, and wordings from a fixed file instead of a model's.

    python benchmarks/rewritings.py                               # the open half of the lay questions, and what it costs on other Korean sets
    python benchmarks/rewritings.py --sets lay_held_out           # once, at the end
    python benchmarks/rewritings.py --embed e5 --sets lay --only wordings

Delivered recall at 500, 1,000 and 4,000 characters. `questions/lay_rewritten.jsonl` has three wordings and one made-up passage for each question. They were written from the questions,
and committed before anything was measured; the writer had seen beginnings of the evidence of the open half, so only the held-out half is a clean test. They replace what a model would
write: a real one can do better or worse. `multi-query` and `hyde` are the retrievers of the package over a scripted model; they read 20 units with their neighbors, like the line
`neighbors:1`, which asks without a model. Each `question + …` line asks the default strategy with words added to the question. `low ones only` adds them as `ask` does with a
model: where the chance of the question is low, and that of both is clearly better. With the file's wordings it is an upper bound; with unrelated words nothing may be lost.
Kiwi: for every word of content that the passages of 1,000 characters lack, the words of the documents with a cosine of at least --near, --most of them at most.
"""
from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
from kiwipiepy import Kiwi

from common import arguments, lines as records, ROOT
from meaning import BUDGETS, evaluated, GivenIndexes, kept, load, QUESTIONS
from ragnb.evaluation.datasets import Dataset
from ragnb.evaluation.measures import bootstrap_interval
from ragnb.evaluation.strategy import build_system, parse_strategy, System
from ragnb.indexing.update import fit_pieces
from ragnb.models.embedding import NgramEmbedding
from ragnb.models.scripted import ScriptedLLM
from ragnb.pipeline.chance import BETTER_BY, chance_of, LOW_CHANCE

CONTENT = ("NNG", "VV", "VA", "XR")
UNRELATED = "경제성장률과 환율의 변동 고대 로마의 수도교 건축 the aqueducts of ancient Rome 광합성과 엽록소의 관계"
Asked = Callable[[str], str]


def rewritten() -> dict[str, dict[str, Any]]:
    """Question -> its wordings and passage."""
    query = {r["query_id"]: r["query"] for name in ("lay", "lay_held_out") for r in records(QUESTIONS / f"{name}.jsonl")}
    return {query[r["query_id"]]: r for r in records(QUESTIONS / "lay_rewritten.jsonl")}


def scripted(known: dict[str, dict[str, Any]], answer: Callable[[dict[str, Any]], Any]) -> ScriptedLLM:
    """A model that answers with what the file has for the question in the prompt."""
    return ScriptedLLM(lambda prompt: json.dumps(answer(next(r for q, r in known.items() if q in prompt)), ensure_ascii=False))


class Near:
    """Words of the documents that Kiwi puts near words of a question."""

    def __init__(self, dataset: Dataset, near: float, most: int) -> None:
        self.kiwi, self.near, self.most = Kiwi(model_type="cong"), near, most
        self.words = sorted(m for m in {m for text in dataset.texts.values() for m in self._content(text)} if self.is_known(m))
        self.known: dict[tuple[str, str], list[str]] = {}

    def _content(self, text: str) -> set[tuple[str, str]]:
        return {(t.form, t.tag.split("-")[0]) for t in self.kiwi.tokenize(text) if t.tag.split("-")[0] in CONTENT}

    def is_known(self, word: tuple[str, str]) -> bool:
        """Is it in the language model?"""
        try:
            return bool(self.kiwi.morpheme_similarity(word, word))
        except ValueError:
            return False

    def neighbours(self, word: tuple[str, str]) -> list[str]:
        """The nearest words of the documents, with 다 behind verbs."""
        if word not in self.known:
            words = self.words if self.is_known(word) else []
            scores = np.array([self.kiwi.morpheme_similarity(word, other) for other in words])
            best = [i for i in np.argsort(-scores)[:self.most + 1] if scores[i] >= self.near and self.words[i] != word]
            self.known[word] = [self.words[i][0] + ("다" if self.words[i][1] in ("VV", "VA") else "") for i in best[:self.most]]
        return self.known[word]

    def added(self, question: str, context: str) -> str:
        """A question with the neighbours of the words that a context lacks."""
        lacking = sorted(self._content(question) - self._content(context))
        return " ".join([question, *dict.fromkeys(n for word in lacking for n in self.neighbours(word))])


def measure(system: System, dataset: Dataset, asked: Asked) -> np.ndarray:
    """Delivered recall of each question at each budget, shape (questions, budgets)."""
    found = evaluated(system, dataset, asked)
    return np.transpose([found.values("delivered_recall", b) for b in BUDGETS])


def as_asked(system: System, question: str, words: str) -> str:
    """A question with other words where `ask` would use those of a model."""
    pipeline, both = system.pipeline(BUDGETS[-1]), f"{question} {words}"
    before, after = (chance_of(pipeline.find(asked).signs) or 0.0 for asked in (question, both))
    return both if before < LOW_CHANCE and after > before + BETTER_BY else question


def lines(dataset: Dataset, cache: GivenIndexes, args: argparse.Namespace, is_lay: bool) -> dict[str, tuple[System, Asked]]:
    """What is measured: name -> system, and what it is asked."""
    def system(line: str, llm: Any = None) -> System:
        return build_system(parse_strategy(line), dataset, cache, embed=args.embed, llm=llm)
    plain, near = system("default"), Near(dataset, args.near, args.most)
    def kiwi(question: str) -> str:
        return near.added(question, plain.deliver(question, 1_000, {})[0].text)
    out = {"default": (plain, str), "question + Kiwi's neighbours": (plain, kiwi), "question + unrelated words, low ones only": (plain, lambda q: as_asked(plain, q, UNRELATED))}
    if is_lay:
        known = rewritten()
        out["question + the documents' words"] = plain, lambda q: f"{q} {known[q]['queries'][0]}"
        out["question + three wordings"] = plain, lambda q: " ".join([q, *known[q]["queries"]])
        out["question + three wordings, low ones only"] = plain, lambda q: as_asked(plain, q, " ".join(known[q]["queries"]))
        out["the documents' words alone"] = plain, lambda q: known[q]["queries"][0]
        out["question + passage"] = plain, lambda q: f"{q} {known[q]['passage']}"
        out["neighbors:1"] = system("multi-scale policy=neighbors:1"), str
        out["multi-query"] = system("retrieve=multi-query:multi-scale split=units policy=neighbors:1", scripted(known, lambda r: r["queries"])), str
        out["hyde"] = system("retrieve=hyde:multi-scale split=units policy=neighbors:1", scripted(known, lambda r: r["passage"])), str
    return out


def main() -> None:
    args = arguments(__doc__, sets=("lay,sample,tydiqa_ko,ko_statutes", "separated by commas; also lay_held_out"), embed=("ngram", "ngram or e5"),
                     near=(.6, "least cosine of a neighbour"),
                     most=(3, "neighbours of a word"), only=("", "lines whose names contain it, beside the default"), work=ROOT / "out" / "meaning")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    print("| set | n | asked | " + " | ".join(f"{b:,}" for b in BUDGETS) + " | mean, difference (95 % CI) |\n|---|--:|---|" + "--:|" * len(BUDGETS) + "---|")
    for name in args.sets.split(","):
        dataset = load(name, 100, 1_200)
        model = kept("e5", args.work) if args.embed == "e5" else NgramEmbedding().fit(fit_pieces(list(dataset.documents.values())))
        with tempfile.TemporaryDirectory() as folder:
            base = None
            for label, (system, asked) in lines(dataset, GivenIndexes(folder, given={args.embed: model}), args, name.startswith("lay")).items():
                if base is not None and args.only not in label:
                    continue
                found = measure(system, dataset, asked)
                base = found if base is None else base
                low, high = bootstrap_interval((found - base).mean(axis=1))
                cells = " | ".join(f"{v:.3f}" for v in found.mean(axis=0))
                print(f"| {name} | {len(found)} | {label} | {cells} | {found.mean():.3f}, {(found - base).mean():+.3f} ({low:+.3f} to {high:+.3f}) |", flush=True)


if __name__ == "__main__":
    main()
