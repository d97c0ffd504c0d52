"""What `chat` delivers beside `ask`: the share of the gold quotes that are in the answer of the agent without a model, over the sample.

Run: python benchmarks/agent_reads.py [--budgets 1000 4000]

Each question is asked by itself, and nobody is asked back. `ask` is `Pipeline.ask`; `chat` is the agent over `Library.open` as it comes; `doc_type` is
the same with the policy "doc_type", a ceiling of .4 and 20 hits; `narrowed` has the route's types of documents as a filter, chosen by the rule.
"""
from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from unittest.mock import patch

from common import arguments, sample_or_set
from ragnb.agent import flow
from ragnb.agent.flow import Agent
from ragnb.agent.library import DOCUMENT_SHARE, Library
from ragnb.evaluation.datasets import Question
from ragnb.indexing.update import index_documents
from ragnb.pipeline.pipeline import Pipeline


def quoted(question: Question, text: str) -> float:
    """The share of its quotes that a text has."""
    return sum(e.text in text for e in question.evidence) / max(1, len(question.evidence))


@contextmanager
def narrowing(agent: Agent) -> Iterator[None]:
    """Let the types of a route narrow the search although the rule has chosen it."""
    gate, types = flow.gate_question, {r.name: r.doc_types for r in agent.flow.parts.routes}
    with patch.object(flow, "gate_question", lambda state, _, rows: gate(state, types.get(state.route, ()), rows)):
        yield


def main() -> None:
    args = arguments(__doc__, budgets=[1_000, 4_000])
    sample = sample_or_set("sample")
    questions = [q for q in sample.questions if q.evidence]
    print("| budget | ask | chat | narrowed | doc_type, narrowed |\n|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        index_documents(list(sample.documents.values()), folder, show_progress=False)
        for budget in args.budgets:
            pipeline = Pipeline.from_index(folder, budget=budget)
            means = [sum(quoted(q, pipeline.ask(q.query).text) for q in questions) / len(questions)]
            old = {"policy": "doc_type", "document_share": DOCUMENT_SHARE, "top_k": 20}
            for settings, narrowed in (({}, False), ({}, True), (old, True)):
                agent = Agent(Library.open(folder, budget=budget, **settings), None, {"grade": None}, ask_user=False)
                with narrowing(agent) if narrowed else nullcontext():
                    means.append(sum(quoted(q, agent.ask(q.query).answer or "") for q in questions) / len(questions))
            print(f"| {budget:,} | " + " | ".join(f"{m:.3f}" for m in means) + " |", flush=True)


if __name__ == "__main__":
    main()
