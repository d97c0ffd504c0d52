"""The best nodes at both ends, whatever their scores say."""
from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.schema import NodeWithScore, TextNode
from strategies import examples

from ragnb.context.reorder import LongContextReorderPostprocessor


@given(st.lists(st.none() | st.floats(-1, 1), max_size=9))
@examples(60)
def test_order_is_by_rank_and_nothing_is_touched(scores):
    nodes = [NodeWithScore(node=TextNode(id_=str(rank), text=f"text {rank}"), score=score) for rank, score in enumerate(scores, 1)]
    before = [n.model_dump() for n in nodes]
    out = LongContextReorderPostprocessor().postprocess_nodes(nodes)
    assert [n.model_dump() for n in nodes] == before
    assert sorted(map(id, out)) == sorted(map(id, nodes))
    assert [int(n.node_id) for n in out] == [*range(1, len(nodes) + 1, 2), *reversed(range(2, len(nodes) + 1, 2))]
    assert asyncio.run(LongContextReorderPostprocessor().apostprocess_nodes(nodes)) == out
