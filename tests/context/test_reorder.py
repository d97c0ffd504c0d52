"""The best nodes at both ends, whatever their scores say."""
from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.schema import NodeWithScore, TextNode
from strategies import examples

from ragnb.context.reorder import LongContextReorderPostprocessor


def node(rank: int, score: float | None, **metadata: object) -> NodeWithScore:
    """A node that is named by its rank."""
    return NodeWithScore(node=TextNode(id_=str(rank), text=f"text {rank}", metadata=metadata), score=score)


def ranks(nodes: list[NodeWithScore]) -> list[int]:
    return [int(n.node_id) for n in nodes]


@given(st.lists(st.none() | st.floats(-1, 1), max_size=9))
@examples(60)
def test_order_is_by_rank_and_nothing_is_touched(scores):
    nodes = [node(rank, score) for rank, score in enumerate(scores, 1)]
    before = [n.model_dump() for n in nodes]
    out = LongContextReorderPostprocessor().postprocess_nodes(nodes)
    assert [n.model_dump() for n in nodes] == before
    assert sorted(map(id, out)) == sorted(map(id, nodes))
    assert ranks(out) == [*range(1, len(nodes) + 1, 2), *reversed(range(2, len(nodes) + 1, 2))]
    assert asyncio.run(LongContextReorderPostprocessor().apostprocess_nodes(nodes)) == out


def test_parts_of_a_source_move_as_one():
    nodes = [node(1, 1.0, source=1), node(2, 1.0, source=2), node(3, 1.0, source=1), node(4, 1.0), node(5, 1.0)]
    assert ranks(LongContextReorderPostprocessor(together="source").postprocess_nodes(nodes)) == [1, 3, 4, 5, 2]
    assert ranks(LongContextReorderPostprocessor().postprocess_nodes(nodes)) == [1, 3, 5, 4, 2]
