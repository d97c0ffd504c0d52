"""The chance that a context has the answer: signs of the scores, a logistic model, and the cut-offs of others.

    python benchmarks/chance.py                  # asks what was not asked yet, fits, prints all tables; --out stores them
    python benchmarks/chance.py --held-out       # adds the 50 held-out Korean questions: once, at the end
    python benchmarks/chance.py --scales         # notes with other embeddings, from sets of 110,000 characters; the scale of each index

Of each set below RAGNB_DATA (default ../shared/data) about 400,000 characters are used. By the hash of their names half of the documents are indexed as they are; a quarter
is left out; of the last quarter only the paragraphs with the evidence are. `sample` has questions of its own that no document answers, and 30 in laymen's words that one does.
A question is answered when the context of 4,000 characters has its evidence (with mode "all": half of it or more). Both classes of a set weigh the same.
AURC: area under the risk-coverage curve; the share of unanswered questions among those above a cut-off, over all cut-offs. Answers are kept in --work.
"""
from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.node_parser import SentenceSplitter
from scipy.special import expit

from common import arguments, by_hash, lines, MINILM, ROOT, sample_or_set, store
from ragnb.evaluation.datasets import Dataset, load_questions, Question
from ragnb.indexing.update import index_documents
from ragnb.models.embedding import resolve_embedding
from ragnb.pipeline.answer import Answer
from ragnb.pipeline.chance import absent_notes, chance_of
from ragnb.pipeline.pipeline import Pipeline
from ragnb.retrieval.cosine_scale import measured_scale
from ragnb.retrieval.hybrid import WordRetriever
from ragnb.retrieval.scoring import Signs

QUESTIONS = ROOT / "benchmarks/questions"
SETS = ("sample", "korquad", "tydiqa_ko", "ko_statutes", "squad2", "covidqa", "tatqa", "chroma_chunking", "anthropic_codebases")
HELD = ("kept", "lay")   # What became of the documents of a question that can be answered
RIVALS = ("LlamaIndex, n-grams", "LlamaIndex, MiniLM", "BM25", "BM25, reranked by E5")
ROOM, LIMIT, BUDGET, COSTS = 400_000, 100, 4_000, (.02, .05, .1)
Row = dict[str, Any]


def without(document: Document, spans: Sequence[tuple[int, int]]) -> Document:
    """A document without the paragraphs around some spans."""
    text = document.text
    for start, end in sorted(spans, reverse=True):
        low, high = text.rfind("\n\n", 0, start + 1), text.find("\n\n", min(end, len(text)))
        text = text[:max(low, 0)] + (text[high:] if high >= 0 else "")
    return Document(id_=document.id_, text=text.strip() or "-", metadata=document.metadata)


def parted(dataset: Dataset) -> tuple[list[Document], dict[str, list[Question]]]:
    """What is indexed of a set, and questions by what became of their documents: kept, gone, or cut."""
    about, room, part = {e.doc_id for q in dataset.questions for e in q.evidence}, ROOM, dict[str, str]()
    for n, i in enumerate(sorted((i for i in dataset.documents if i in about), key=by_hash)):
        room -= len(dataset.documents[i].text)
        if n < 3 or room >= 0:
            part[i] = ("kept", "gone", "kept", "cut")[n % 4]
    asked: dict[str, list[Question]] = {"kept": [], "gone": [], "cut": []}
    for q in sorted(dataset.questions, key=lambda q: by_hash(q.query_id)):
        parts = {part.get(e.doc_id) for e in q.evidence}
        if len(parts) == 1 and (of := parts.pop()):
            asked[of].append(q)
    asked = {of: found[:LIMIT if of == "kept" else LIMIT // 2] for of, found in asked.items()}
    documents = []
    for i, of in part.items():
        spans = [(e.span.start, e.span.end) for q in asked["cut"] for e in q.evidence if e.doc_id == i]
        if of != "gone":
            documents.append(without(dataset.documents[i], spans) if of == "cut" else dataset.documents[i])
    return documents, asked


def is_answered(answer: Answer, question: Question) -> bool:
    """Is the evidence in the context?"""
    spans = [(p.doc_id, p.span) for p in answer.passages]
    found = [any(d == e.doc_id and s.contains(e.span) for d, s in spans) for e in question.evidence]
    return any(found) if question.mode == "any" else bool(found) and 2 * sum(found) >= len(found)


def others(documents: Sequence[Document], index: Any) -> dict[str, Any]:
    """Rivals: name -> question -> its score. LlamaIndex with its default chunks; BM25 of units, and the best of its ten best by E5's cosine."""
    words, e5 = WordRetriever(index.store, top_k=10), resolve_embedding("e5")

    def reranked(q: str) -> float:
        texts = [h.text for h in words.retrieve(q)]
        return float(np.max(np.array(e5.get_text_embedding_batch(texts)) @ e5.get_query_embedding(q))) if texts else 0.0

    found = {"BM25": lambda q: next((h.score for h in words.retrieve(q)), 0.0), "BM25, reranked by E5": reranked}
    nodes = SentenceSplitter().get_nodes_from_documents(list(documents))
    for name, model in {"LlamaIndex, n-grams": index.embed_model, "LlamaIndex, MiniLM": resolve_embedding(MINILM)}.items():
        retriever = VectorStoreIndex([n.model_copy() for n in nodes], embed_model=model).as_retriever(similarity_top_k=1)
        found[name] = lambda q, retriever=retriever: retriever.retrieve(q)[0].score
    return found


def asked_rows(documents: Sequence[Document], asked: dict[str, list[Question]]) -> list[Row]:
    """Ask questions of an index of some documents."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        index = index_documents(list(documents), Path(folder) / "index", show_progress=False)[0]
        pipeline, rivals = Pipeline.from_index(index, budget=BUDGET), others(documents, index)
        for of, questions in asked.items():
            for q in questions:
                answer = pipeline.ask(q.query)
                signs, units = answer.fusion.scores.signs, len(answer.fusion.index)
                rows.append({"id": q.query_id, "of": of, "y": int(of in HELD and is_answered(answer, q)), "units": units,
                             "signs": [round(x, 4) for x in signs] if signs else None,
                             **{name: round(float(score(q.query)), 4) for name, score in rivals.items()}})
    return rows


def unanswerable(part: str = "") -> list[Question]:
    """Our own questions that no document of the sample answers."""
    return [Question(q["query_id"], q["query"], ()) for q in lines(QUESTIONS / f"unanswerable{part}.jsonl")]


def rows_of(name: str, work: Path) -> list[Row]:
    """The questions of a set, asked or kept."""
    path = work / f"{name}.json"
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    dataset = sample_or_set(name.removesuffix("_held_out"))
    if name.startswith("sample"):
        part, documents = name.removeprefix("sample"), list(dataset.documents.values())
        lay = {"lay": load_questions(QUESTIONS / f"lay{part}.jsonl", dataset.texts)}
        asked = {"none": unanswerable(part)} | lay if part else {"kept": list(dataset.limit(LIMIT).questions)} | lay | {"none": unanswerable()}
    else:
        documents, asked = parted(dataset)
    rows = asked_rows(documents, asked)
    work.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows), encoding="utf-8")
    return rows


def weights(y: np.ndarray) -> np.ndarray:
    """Both classes of a set weigh the same; in all 1."""
    return np.where(y == 1, .5 / max((y == 1).sum(), 1), .5 / max((y == 0).sum(), 1))


def fitted(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Logistic regression by Newton's method on standardised signs, with a ridge of 1 for 100 questions: intercept, then a weight for each sign."""
    mean, spread = x.mean(axis=0), x.std(axis=0)
    z = np.column_stack([np.ones(len(x)), (x - mean) / spread])
    w, ridge, beta = w / w.mean(), np.diag([0.0] + [len(x) / 100] * x.shape[1]), np.zeros(x.shape[1] + 1)
    for _ in range(50):
        p = expit(z @ beta)
        beta += np.linalg.solve(z.T @ (z * (w * p * (1 - p))[:, None]) + ridge, z.T @ (w * (y - p)) - ridge @ beta)
    slopes = beta[1:] / spread
    return np.concatenate([[beta[0] - slopes @ mean], slopes])


def aurc(score: np.ndarray, y: np.ndarray) -> float:
    """Area under the risk-coverage curve; questions with equal scores share their risk."""
    w = weights(y)
    value, at = np.unique(-score, return_inverse=True)
    size, wrong = np.bincount(at, w), np.bincount(at, w * (1 - y))
    return float((np.cumsum(wrong) / np.cumsum(size) * size).sum())


def cut_off(scores: Sequence[np.ndarray], ys: Sequence[np.ndarray], cost: float) -> float:
    """The largest cut-off at which, in the mean of sets, no more than a share of the answered questions is below it."""
    values = np.unique(np.concatenate([s[y == 1] for s, y in zip(scores, ys)]))
    means = np.array([np.mean([(s[y == 1] < v).mean() for s, y in zip(scores, ys)]) for v in values])
    return float(values[np.flatnonzero(means <= cost).max()])


def left_out(data: dict[str, dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The chances of each set by a model of the other sets."""
    found = {}
    for name in data:
        rest = [d for other, d in data.items() if other != name]
        beta = fitted(*(np.concatenate([d[key] for d in rest]) for key in ("x", "y", "w")))
        found[name] = expit(beta[0] + data[name]["x"] @ beta[1:])
    return found


def costs(scores: dict[str, np.ndarray], data: dict[str, dict[str, np.ndarray]], cost: float) -> dict[str, list[float]]:
    """Set -> at the cut-off of the other sets: answered questions below it, and unanswered ones below it."""
    out = {}
    for name, d in data.items():
        rest = [other for other in data if other != name]
        at = cut_off([scores[o] for o in rest], [data[o]["y"] for o in rest], cost)
        out[name] = [round(float((scores[name][d["y"] == y] < at).mean()), 3) for y in (1, 0)]
    return out


def calibration(p: np.ndarray, y: np.ndarray, w: np.ndarray, bins: int = 10) -> list[list[float]]:
    """Of tenths of the chances: their mean, the share that was answered, and its weight."""
    at = np.minimum((p * bins).astype(int), bins - 1)
    return [[round(float(np.average(v[at == b], weights=w[at == b])), 3) for v in (p, y)] + [int((at == b).sum())] for b in range(bins) if (at == b).any()]


def report(sets: dict[str, list[Row]]) -> dict[str, Any]:
    """Fit, compare with the cut-offs of others, and choose the cut-off."""
    data = {name: {"x": np.array([r["signs"] or [0] * 4 for r in rows]), "y": np.array([r["y"] for r in rows], float)} for name, rows in sets.items()}
    for d in data.values():
        d["w"] = weights(d["y"])
    x, y, w = (np.concatenate([d[key] for d in data.values()]) for key in ("x", "y", "w"))
    scores = {"chance": left_out(data), "cosine of the best unit": {name: d["x"][:, 2] for name, d in data.items()}}
    scores |= {label: {name: np.array([r[label] for r in rows]) for name, rows in sets.items()} for label in RIVALS}
    out: dict[str, Any] = {"n": len(y), "coefficients": [round(float(b), 4) for b in fitted(x, y, w)]}
    out["sets"] = {name: {"questions": len(d["y"]), "answered": int(d["y"].sum())} for name, d in data.items()}
    out["aurc"] = {label: {name: round(aurc(s, data[name]["y"]), 4) for name, s in of.items()} for label, of in scores.items()}
    for n, sign in enumerate(Signs._fields):
        fewer = {name: d | {"x": np.delete(d["x"], n, axis=1)} for name, d in data.items()}
        out.setdefault("without", {})[sign] = round(float(np.mean([aurc(p, data[name]["y"]) for name, p in left_out(fewer).items()])), 4)
    out["costs"] = {label: {str(c): costs(of, data, c) for c in COSTS} for label, of in scores.items()}
    out["cut_offs"] = {str(c): round(cut_off(list(scores["chance"].values()), [d["y"] for d in data.values()], c), 3) for c in COSTS}
    out["calibration"] = calibration(np.concatenate(list(scores["chance"].values())), y, w)
    out["scores"] = {label: {name: np.round(s, 4).tolist() for name, s in of.items()} for label, of in scores.items()}
    out["answered"] = {name: d["y"].astype(int).tolist() for name, d in data.items()}
    out["of"] = {name: [r["of"] for r in rows] for name, rows in sets.items()}
    return out


def print_tables(found: dict[str, Any]) -> None:
    """Print what `report` found."""
    heads, rule = " | ".join([*found["sets"], "mean"]), "|---|" + "--:|" * (len(found["sets"]) + 1)
    print(f"{found['n']} questions; intercept and weights: {found['coefficients']}; cut-offs: {found['cut_offs']}\n")
    print(f"| AURC | {heads} |\n{rule}")
    for label, of in found["aurc"].items():
        print(f"| {label} | " + " | ".join(f"{v:.3f}" for v in [*of.values(), np.mean(list(of.values()))]) + " |")
    print(f"\nmean AURC of the chance without one sign: {found['without']}")
    for cost in map(str, COSTS):
        print(f"\n| wrongly called absent / rightly, cut-off for {cost} | {heads} |\n{rule}")
        for label, of in found["costs"].items():
            pairs = [*of[cost].values(), np.mean(list(of[cost].values()), axis=0)]
            print(f"| {label} | " + " | ".join(f"{a:.2f} / {b:.2f}" for a, b in pairs) + " |")
    print("\ncalibration (mean chance, share answered, questions):", found["calibration"])


def by_embedding(name: str, embed: str) -> Row:
    """A set under an embedding: the scale of its index, questions answered and not, and how many of both get the note."""
    dataset, told = sample_or_set(name), []
    documents, asked = parted(dataset)
    if name == "sample":
        documents, asked = list(dataset.documents.values()), {"kept": list(dataset.limit(LIMIT).questions), "none": unanswerable()}
    with tempfile.TemporaryDirectory() as folder:
        index = index_documents(documents, Path(folder) / "index", embed=embed, show_progress=False)[0]
        pipeline = Pipeline.from_index(index, budget=BUDGET)
        scale = index.manifest.cosine_scale or measured_scale(index.multiscale, index.store, index.embed_model)
        for of, questions in asked.items():
            for q in questions:
                answer = pipeline.ask(q.query)
                told.append((int(of in HELD and is_answered(answer, q)), bool(absent_notes(answer.chance))))
    counts = {f"y{y}": [sum(a == y for a, _ in told), sum(a == y and t for a, t in told)] for y in (1, 0)}
    return {"set": name, "embed": embed, "near": scale.near, "far": scale.far, "spread": scale.spread, **counts}


def of_package(rows: list[Row]) -> dict[str, list[Any]]:
    """What the package says of questions: by what became of their documents, how many there are, were answered, and get the note among those answered and those not."""
    out: dict[str, list[Any]] = {}
    for of in dict.fromkeys(r["of"] for r in rows):
        told = [(r["y"], bool(absent_notes(chance_of(Signs(*r["signs"]))))) for r in rows if r["of"] == of]
        out[of] = [len(told), sum(y for y, _ in told), *(sum(t for y, t in told if y == which) for which in (1, 0))]
    return out


def main() -> None:
    global ROOM, LIMIT
    args = arguments(__doc__, sets=(",".join(SETS), "separated by commas"), work=ROOT / "out" / "chance",
                     out=(Path, "store the results as JSON"),
                     scales=(False, "right and false notes with n-grams, MiniLM and E5"),
                     held_out=(False, "the held-out questions over the sample, with the model and cut-off of the package"))
    if args.scales:
        ROOM, LIMIT = 110_000, 60
        rows = [by_embedding(name, embed) for name in args.sets.split(",") for embed in ("ngram", MINILM, "e5")]
        return print("\n".join(json.dumps(row) for row in rows))
    if args.held_out:
        return print("documents: questions, answered, note though answered, note and not answered:", of_package(rows_of("sample_held_out", args.work)))
    sets = {name: rows_of(name, args.work) for name in args.sets.split(",")}
    found = report(sets)
    print_tables(found)
    if args.out:
        store(args.out, found)


if __name__ == "__main__":
    main()
