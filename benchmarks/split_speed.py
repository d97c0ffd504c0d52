"""Characters a second of ragnb's splitters, LlamaIndex's and (where it is installed) chonkie's, on the same text in one run.

    python benchmarks/split_speed.py                       # Korean: the sample corpus, repeated
    python benchmarks/split_speed.py --one                 # the same text as one document
    python benchmarks/split_speed.py --data squad2         # English Wikipedia articles
    python benchmarks/split_speed.py --data squad2 --pieces 2500 --size 400   # the same text in short documents

`texts` rows give the pieces of text, as chonkie does; `nodes` rows give LlamaIndex nodes.
kiwipiepy finds Korean sentences; its own time is measured apart, and `without kiwi` is what ragnb itself needs.
chonkie is not a requirement: `pip install --target .chonkie chonkie`, then `PYTHONPATH=.chonkie python benchmarks/split_speed.py`.
"""
from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

from llama_index.core.node_parser import NodeParser, SentenceSplitter
from llama_index.core.schema import Document
from tqdm import tqdm

from common import arguments, DATA, lines, ROOT
import ragnb.documents.text
from ragnb.chunking.structure import HeadingNodeParser, StructureNodeParser, TableNodeParser, TextNodeParser


class Clock:
    """Adds up the time spent in one function."""

    def __init__(self, function: Callable) -> None:
        self.function, self.seconds = function, 0.0

    def __call__(self, *arguments: object) -> object:
        start = time.perf_counter()
        try:
            return list(self.function(*arguments))
        finally:
            self.seconds += time.perf_counter() - start


def read(name: str, n_characters: int) -> list[Document]:
    """Documents of the sample corpus or of an evaluation set, repeated or cut to about so many characters."""
    if name == "sample":
        texts = [p.read_text(encoding="utf-8") for p in sorted((ROOT / "data" / "corpus").rglob("*.*")) if p.suffix in (".md", ".txt") and p.parent.name != "english"]
    else:
        texts = [record["text"] for record in lines(DATA / name / "corpus.jsonl")]
    out: list[Document] = []
    total = 0
    while total < n_characters:
        out.append(Document(text=texts[len(out) % len(texts)], id_=f"d{len(out)}.md"))
        total += len(out[-1].text)
    return out


def in_pieces(documents: list[Document], size: int) -> list[Document]:
    """Documents of some paragraphs each, of at least so many characters."""
    out, text = [], ""
    for paragraph in (p for d in documents for p in d.text.split("\n\n")):
        text += paragraph + "\n\n"
        if len(text) >= size:
            out.append(Document(text=text, id_=f"p{len(out)}.md"))
            text = ""
    return out


def splitters(size: int, overlap: int) -> dict[str, Callable[[list[Document]], int]]:
    """Name -> a function that splits documents and counts the chunks."""
    def texts(parser: StructureNodeParser) -> Callable[[list[Document]], int]:
        return lambda d: sum(len([c.span.of(x.text) for c in parser.chunks(x)]) for x in d)

    def nodes(parser: NodeParser) -> Callable[[list[Document]], int]:
        return lambda d: len(parser.get_nodes_from_documents(d))

    sizes = {"size": size, "overlap": overlap}
    out = {f"texts, ragnb TextNodeParser, {how}": texts(TextNodeParser(**sizes, sentences=how)) for how in ("rule", "kiwi")}
    for kind in (TextNodeParser, TableNodeParser, HeadingNodeParser):
        out |= {f"nodes, ragnb {kind.__name__}, {how}": nodes(kind(**sizes, sentences=how)) for how in ("rule", "kiwi")}
    out["nodes, LlamaIndex SentenceSplitter, characters"] = nodes(SentenceSplitter(chunk_size=size, chunk_overlap=overlap, tokenizer=list))
    out["nodes, LlamaIndex SentenceSplitter, tokens"] = nodes(SentenceSplitter(chunk_size=size // 2, chunk_overlap=overlap // 2))
    try:
        from chonkie import SentenceChunker
    except ImportError:
        print("chonkie is not installed: see the head of this file", file=sys.stderr)
        return out
    sentence = SentenceChunker(tokenizer="character", chunk_size=size, chunk_overlap=overlap)
    out["texts, chonkie SentenceChunker"] = lambda d: sum(len(sentence.chunk(x.text)) for x in d)
    return out


def main() -> None:
    given = arguments(__doc__, data=("sample", "sample, or the name of an evaluation set"),
                      characters=(1_000_000, "text to split, in all"), one=(False, "join the text into one document"),
                     pieces=(int, "cut the text into documents of about so many characters"), size=1500, overlap=150,
                      repeats=(3, "the median counts"))
    documents = read(given.data, given.characters)
    if given.one:
        documents = [Document(text="\n\n".join(d.text for d in documents), id_="one.md")]
    if given.pieces:
        documents = in_pieces(documents, given.pieces)
    n = sum(len(d.text) for d in documents)
    clock = ragnb.documents.text.analysed = Clock(ragnb.documents.text.analysed)
    rows = []
    for name, split in tqdm(splitters(given.size, given.overlap).items(), desc="split"):
        split([Document(text="불러온다. " * 400, id_="first")])  # load what is loaded once
        runs = []
        for _ in range(given.repeats):
            clock.seconds, start, cpu = 0.0, time.perf_counter(), time.process_time()
            chunks = split(documents)
            runs.append((time.perf_counter() - start, clock.seconds, time.process_time() - cpu))
        total, kiwi, cpu = (statistics.median(r[k] for r in runs) for k in (0, 1, 2))
        rows.append(f"| {name} | {chunks:,} | {n / total / 1e6:.1f} | {kiwi:.2f} | {n / (total - kiwi) / 1e6:.1f} | {1_000 * cpu:.0f} |")
    print(f"{n:,} characters of {given.data} in {len(documents)} documents, chunks of {given.size} with overlap {given.overlap}, median of {given.repeats} runs\n")
    print("| splitter | chunks | million characters a second | kiwi, s | without kiwi | CPU, ms |\n|---|--:|--:|--:|--:|--:|\n" + "\n".join(rows))


if __name__ == "__main__":
    main()
