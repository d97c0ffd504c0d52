"""Which tokens BM25 should get from Korean: kiwipiepy with several sets of tags, syllable pairs, or words cut at spaces.

    python benchmarks/korean_tokens.py
    python benchmarks/korean_tokens.py --data tydiqa_ko --questions 0      # all questions, not 1,200

Units are the blocks of the documents (paragraphs, articles, list items), at most 400 characters each; evidence recall is
that of the best units under a budget of characters, success@5 is that one of the first five units touches the evidence.
"""
from __future__ import annotations

import argparse
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from tqdm import tqdm

from ragnb.retrieval.bm25 import Bm25
from ragnb.context.builders import PassageRanking
from ragnb.evaluation.datasets import load_dataset
from ragnb.evaluation.measures import score_passages
from ragnb.documents.span import Address, InputError, Passage
from ragnb.documents.text import KEPT_TAGS, article_tokens, load_kiwi, stem, bigram_tokens, block_spans

Tokenizer = Callable[[Iterable[str]], Iterator[list[str]]]
SETS: dict[str, frozenset[str] | None] = {
    "kept by `word_tokens`": KEPT_TAGS,
    "without NNB (bound nouns: 것, 수, 날)": KEPT_TAGS - {"NNB"},
    "without NP (pronouns: 누구, 무엇, 언제)": KEPT_TAGS - {"NP"},
    "without NR (numerals: 하나, 첫째)": KEPT_TAGS - {"NR"},
    "without MAG (adverbs)": KEPT_TAGS - {"MAG"},
    "without VV, VA (verb and adjective stems)": KEPT_TAGS - {"VV", "VA"},
    "without NNB, NP, NR, MAG, VV, VA": KEPT_TAGS - {"NNB", "NP", "NR", "MAG", "VV", "VA"},
    "with MM (determiners)": KEPT_TAGS | {"MM"},
    "with XPN, XSN (affixes)": KEPT_TAGS | {"XPN", "XSN"},
    "with VCN, VX (아니다, auxiliaries)": KEPT_TAGS | {"VCN", "VX"},
    "all tags": None,
}


def analyse(texts: Sequence[str]) -> list[list[tuple[str, str]]]:
    """(form, tag) of every morpheme; an article number has the tag 제N조. Analysed once for all tag sets."""
    texts = [unicodedata.normalize("NFC", t) for t in texts]
    pieces = [(i, b.of(t)) for i, t in enumerate(texts) for b in block_spans(t)]
    out: list[list[tuple[str, str]]] = [[] for _ in texts]
    for (i, piece), morphemes in zip(pieces, load_kiwi().tokenize([p for _, p in pieces])):
        out[i] += [(stem(m.form.lower()) if m.tag == "SL" else m.form, m.tag.split("-")[0]) for m in morphemes]
        out[i] += [(a, "제N조") for a in article_tokens(piece)]
    return out


def keep(morphemes: list[tuple[str, str]], tags: frozenset[str] | None) -> list[str]:
    return [form for form, tag in morphemes if tags is None or tag in tags or tag == "제N조" or "①" <= form <= "⑳"]


def recalls(units: list[Passage], tokens: list[list[str]], questions: list, queries: list[list[str]], budget: int) -> np.ndarray:
    """Shape (questions, 2): evidence recall under the budget, success@5."""
    index, by_id = Bm25(), {str(Address(p.doc_id, "u", i)): p for i, p in enumerate(units)}
    index.add(by_id, tokens)
    out = []
    for question, query in zip(questions, queries):
        found = [by_id[i] for i, _ in index.top_k(query, 40)]
        five = any(p.doc_id == e.doc_id and p.span.overlap(e.span) for p in found[:5] for e in question.evidence)
        out.append((score_passages(PassageRanking(found).at(budget), question).evidence_recall, float(five)))
    return np.array(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["korquad", "tydiqa_ko", "ko_statutes"])
    parser.add_argument("--questions", type=int, default=1_200, help="a seeded sample of so many; 0: all")
    parser.add_argument("--budget", type=int, default=500, help="characters")
    args = parser.parse_args()
    columns: dict[str, list[str]] = {}
    for name in args.data:
        try:
            data = load_dataset(name)
        except InputError as error:
            sys.exit(str(error))
        rng = np.random.default_rng(0)
        picked = np.sort(rng.permutation(len(data.questions))[:args.questions or None])
        questions = [data.questions[i] for i in picked]
        units = [Passage(d, s, s.of(doc.text)) for d, doc in data.documents.items() for s in block_spans(doc.text, 400)]
        texts, asked = [p.text for p in units], [q.query for q in questions]
        analysed = [analyse(texts), analyse(asked)]
        ways = {label: [[keep(m, tags) for m in side] for side in analysed] for label, tags in SETS.items()}
        ways["syllable pairs (`bigram_tokens`)"] = [[bigram_tokens(t) for t in side] for side in (texts, asked)]
        ways["split at spaces"] = [[t.split() for t in side] for side in (texts, asked)]
        base = None
        for label, (documents, queries) in tqdm(ways.items(), desc=name, leave=False):
            values = recalls(units, documents, questions, queries, args.budget)
            base = values if base is None else base
            low, high = np.quantile((values - base)[:, 0][rng.integers(len(values), size=(5_000, len(values)))].mean(1), [0.025, 0.975])
            change = "" if values is base else f" [{low:+.3f}, {high:+.3f}]"
            columns.setdefault(label, []).append(f"{values[:, 0].mean():.3f}{change} | {values[:, 1].mean():.3f}")
    heads = " | ".join(f"{n}: recall at {args.budget} [difference, 95%] | success@5" for n in args.data)
    print(f"\n| tokens | {heads} |\n|---|{'--:|--:|' * len(args.data)}")
    for label, cells in columns.items():
        print(f"| {label} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
