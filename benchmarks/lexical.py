"""What BM25 should read: which tokens of Korean, a field for the title or not, a header or not.

    python benchmarks/lexical.py tokens      # kiwipiepy with several sets of tags, pairs of syllables, words cut at spaces
    python benchmarks/lexical.py fields      # the title before the text, or scored on its own
    python benchmarks/lexical.py headers     # contextual headers, for words, vectors and both

`tokens` and `fields` score units: the blocks of the documents (paragraphs, articles, list items), at most 400 characters each; evidence recall is that of
the best units under a budget of characters, success@5 says that one of the first five touches the evidence. `headers` asks the questions of the sample. Differences are paired, to the first row, with 95 % bootstrap intervals.
"""
from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from common import arguments, sample_or_set
from llama_index.core.schema import MetadataMode, TextNode
from tqdm import tqdm

from ragnb.chunking.contextual import ContextualNodeParser
from ragnb.chunking.parent_child import ParentChildNodeParser
from ragnb.context.builders import PassageRanking, SimpleContextBuilder
from ragnb.documents.span import Passage
from ragnb.documents.text import KEPT_TAGS, article_tokens, bigram_tokens, block_spans, load_kiwi, stem, word_tokens_batch
from ragnb.evaluation.datasets import Question, load_dataset
from ragnb.evaluation.measures import evaluate, score_passages
from ragnb.expansion.expander import Expander
from ragnb.expansion.policy import no_expansion
from ragnb.models.embedding import resolve_embedding
from ragnb.retrieval.bm25 import Bm25Retriever, PositiveOkapi
from ragnb.retrieval.hybrid import HybridRetriever, VectorRetriever
from ragnb.storage.store import MemoryStore

Tokenizer = Callable[[Iterable[str]], Iterator[list[str]]]
Scorer = Callable[[Sequence[str]], np.ndarray]
TAGS: dict[str, frozenset[str] | None] = {
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
HEADERS = {
    "no header": ParentChildNodeParser(),
    "file, section i/n": ContextualNodeParser(parser=ParentChildNodeParser(), headings=False),
    "file, section, headings": ContextualNodeParser(parser=ParentChildNodeParser()),
    "title, section, headings": ContextualNodeParser(parser=ParentChildNodeParser(), name="title"),
}


class Units:
    """The blocks of an evaluation set, and a seeded sample of its questions."""

    def __init__(self, name: str, n_questions: int) -> None:
        data = load_dataset(name)
        self.rng = np.random.default_rng(0)
        picked = np.sort(self.rng.permutation(len(data.questions))[:n_questions])
        self.questions: list[Question] = [data.questions[i] for i in picked]
        self.titles = [d.metadata.get("title", "") for d in data.documents.values()]
        self.passages, self.document = [], []
        for n, (doc_id, document) in enumerate(data.documents.items()):
            for span in block_spans(document.text, 400):
                self.passages.append(Passage(doc_id, span, span.of(document.text)))
                self.document.append(n)

    def interval(self, difference: np.ndarray) -> str:
        """The 95 % interval of a mean difference."""
        drawn = difference[self.rng.integers(len(difference), size=(5_000, len(difference)))].mean(1)
        low, high = np.quantile(drawn, [0.025, 0.975])
        return f" [{low:+.3f}, {high:+.3f}]"


# --- tokens


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
    """The forms with one of the tags; article numbers and circled numbers always."""
    return [f for f, tag in morphemes if tags is None or tag in tags or tag == "제N조" or "①" <= f <= "⑳"]


def recalls(units: Units, tokens: list[list[str]], queries: list[list[str]], budget: int) -> np.ndarray:
    """Shape (questions, 2): evidence recall under the budget, success@5."""
    score, out = PositiveOkapi(tokens).get_scores, []
    for question, query in zip(units.questions, queries):
        scores = score(query)
        found = [units.passages[i] for i in np.argsort(-scores, kind="stable")[:40] if scores[i] > 0]
        five = any(p.doc_id == e.doc_id and p.span.overlap(e.span) for p in found[:5] for e in question.evidence)
        out.append((score_passages(PassageRanking(found).at(budget), question).evidence_recall, float(five)))
    return np.array(out)


def compare_tokens(names: Sequence[str], n_questions: int, budget: int) -> None:
    """Print the table of token sets."""
    columns: dict[str, list[str]] = {}
    for name in names:
        units = Units(name, n_questions)
        texts, asked = [p.text for p in units.passages], [q.query for q in units.questions]
        analysed = [analyse(texts), analyse(asked)]
        ways = {label: [[keep(m, tags) for m in side] for side in analysed] for label, tags in TAGS.items()}
        ways["syllable pairs (`bigram_tokens`)"] = [[bigram_tokens(t) for t in side] for side in (texts, asked)]
        ways["split at spaces"] = [[t.split() for t in side] for side in (texts, asked)]
        base = None
        for label, (documents, queries) in tqdm(ways.items(), desc=name, leave=False):
            values = recalls(units, documents, queries, budget)
            change = "" if base is None else units.interval((values - base)[:, 0])
            base = values if base is None else base
            columns.setdefault(label, []).append(f"{values[:, 0].mean():.3f}{change} | {values[:, 1].mean():.3f}")
    heads = " | ".join(f"{n}: recall at {budget} [difference, 95%] | success@5" for n in names)
    print(f"\n| tokens | {heads} |\n|---|{'--:|--:|' * len(names)}")
    for label, cells in columns.items():
        print(f"| {label} | {' | '.join(cells)} |")


# --- fields


def title_systems(units: Units) -> dict[str, Scorer]:
    """Ways to count the title of a unit's document."""
    texts, titles = (list(word_tokens_batch(x)) for x in ([p.text for p in units.passages], units.titles))
    plain, field, document = PositiveOkapi(texts).get_scores, PositiveOkapi(titles).get_scores, np.array(units.document)
    before = {f"title before the text{told}": PositiveOkapi([titles[d] * times + t for d, t in zip(document, texts)]).get_scores
              for times, told in ((1, ""), (2, ", twice"))}
    return before | {"text alone": plain} | {f"text + {w} × title": lambda q, w=w: plain(q) + w * field(q)[document] for w in (0.5, 1.0, 2.0)}


def compare_fields(names: Sequence[str], n_questions: int, budgets: Sequence[int]) -> None:
    """Print a table of title fields for each set."""
    for name in names:
        units = Units(name, n_questions)
        queries = list(word_tokens_batch(q.query for q in units.questions))
        print(f"\n{name}: {len(units.titles)} documents, {len(units.passages):,} units, {len(queries)} questions\n")
        print(f"| | {' | '.join(f'{b:,} characters' for b in budgets)} |\n|---|{'--:|' * len(budgets)}")
        base = None
        for label, score in tqdm(title_systems(units).items(), desc=name, leave=False):
            values = np.zeros((len(queries), len(budgets)))
            for row, (question, query) in enumerate(zip(units.questions, queries)):
                scores = score(query)
                best = [i for i in np.argsort(-scores.round(9), kind="stable")[:80] if scores[i] > 0]
                found = PassageRanking([units.passages[i] for i in best])
                values[row] = [score_passages(found.at(b), question).evidence_recall for b in budgets]
            changes = [""] * len(budgets) if base is None else [units.interval(d) for d in (values - base).T]
            base = values if base is None else base
            print(f"| {label} | {' | '.join(f'{v.mean():.3f}{c}' for v, c in zip(values.T, changes))} |", flush=True)


# --- headers


def compare_headers(budgets: Sequence[int]) -> None:
    """Print the table of contextual headers."""
    sample = sample_or_set("sample")
    documents, questions = list(sample.documents.values()), sample.questions
    pieces = [d.text[i:i + 200] for d in documents for i in range(0, len(d.text), 200)]
    model = resolve_embedding("ngram").fit(pieces)
    print(f"{len(questions)} questions; evidence recall of bare hits at {', '.join(map(str, budgets))} characters\n")
    print("| header | ranker | " + " | ".join(f"{b:,}" for b in budgets) + " |\n|---|---|" + "---|" * len(budgets))
    for name, splitter in tqdm(HEADERS.items(), desc="headers"):
        store = MemoryStore()
        nodes = [n for n in store.add_documents(documents, splitter, model) if n.metadata["level"] == "c"]
        vector = VectorRetriever(store, model, 40)
        rankers = {"vector": vector}
        for kind, mode in (("text", MetadataMode.NONE), ("header and text", MetadataMode.EMBED)):
            words = Bm25Retriever((TextNode(id_=n.node_id, text=n.get_content(mode), metadata=n.metadata) for n in nodes), top_k=40)
            rankers[f"BM25 of {kind}"] = words
            rankers[f"hybrid, BM25 of {kind}"] = HybridRetriever({"bm25": words, "vector": vector}, 40)
        for ranker, retriever in rankers.items():
            found = {q.query: Expander(store, no_expansion).expand(retriever.retrieve(q.query)).passages for q in questions}
            means = [evaluate(lambda q, b=b: SimpleContextBuilder(b).build(found[q]).passages, questions).mean() for b in budgets]
            print(f"| {name} | {ranker} | " + " | ".join(f"{r:.3f}" for r in means) + " |", flush=True)


def main() -> None:
    """Run one of the three."""
    args = arguments(__doc__, what=("tokens", "fields", "headers"), data=([], "evaluation sets, but for `headers`"),
                     questions=(int, "a seeded sample of so many"))
    if args.what == "tokens":
        compare_tokens(args.data or ["korquad", "tydiqa_ko", "ko_statutes"], args.questions or 1_200, 500)
    elif args.what == "fields":
        compare_fields(args.data or ["ko_statutes", "squad2"], args.questions or 300, (500, 1_000, 4_000))
    else:
        compare_headers((1_000, 2_000, 4_000))


if __name__ == "__main__":
    main()
