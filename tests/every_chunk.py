"""A text of forty sentences, a splitter that cuts it into equal chunks, and stores of them."""
from __future__ import annotations

from llama_index.core.schema import Document, TextNode

from ragnb.chunking.base import SpanNodeParser
from ragnb.documents.span import Span
from ragnb.storage.store import MemoryStore

TEXT = " ".join(f"{i}번째 문장이다." for i in range(40))


class Every(SpanNodeParser):
    """Chunks of a level, so many characters each."""
    size: int = 20
    level: str = "c"

    def split(self, text: str) -> dict[str, list[Span]]:
        ends = [*range(self.size, len(text), self.size), len(text)]
        return {self.level: [Span(a, b) for a, b in zip([0, *ends], ends)]}


def filled(parser: SpanNodeParser, *documents: Document | str) -> tuple[MemoryStore, dict[str, TextNode]]:
    """A store of documents, or of the text under some ids; and its nodes by id."""
    store, nodes = MemoryStore(), {}
    for document in documents:
        made, outline = parser.parse(Document(text=TEXT, id_=document) if isinstance(document, str) else document)
        for node in made:
            node.embedding = [1.0]
        store.put(made, [outline])
        nodes |= {n.node_id: n for n in made}
    return store, nodes
