"""Memory, disk and CPU of a large corpus: indexed in full, and only read and split.

Run: python benchmarks/memory.py full [--mb 10]      peak memory, bytes on disk a character, CPU beside the sum of the parts alone
     python benchmarks/memory.py growth [--units 10000,30000,100000]   CPU, bytes and peak of ours and of LlamaIndex, by size;
                                                     nbs/studies/results/index_growth.json keeps the rows of other sizes
     python benchmarks/memory.py stream [--mb 500]   memory while reading, splitting and making units, a line every tenth

The corpus is the statutes of `ko_statutes` (below RAGNB_DATA) again and again, each time under other names, written to a folder that is
removed afterwards. LlamaIndex gets our units as nodes, our embedding and Chroma, and its own BM25. Each part is measured in a process of its own, so that peaks do not add up.
"""
from __future__ import annotations

import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import arguments, DATA, keep_row, resident, ROOT

RESULTS = ROOT / "nbs/studies/results/index_growth.json"


def statutes() -> list[tuple[str, str]]:
    """Name and text of each statute."""
    from ragnb.documents.files import read_documents
    return [(Path(d.id_).stem, d.text) for d in read_documents(DATA / "ko_statutes", []) if len(d.text) > 1_000]


def write_corpus(folder: Path, size: int) -> int:
    """Write statutes of about so many bytes; how many characters they have."""
    written = characters = turn = 0
    folder.mkdir()
    known = statutes()
    while written < size:
        for k, (name, text) in enumerate(known):
            title = text.strip().splitlines()[0].strip("# ")[:30]
            text = text.replace(title, f"{title} {turn}") if turn and title else text
            (folder / f"{turn:04}_{k:03}.md").write_text(text, encoding="utf-8")
            written, characters = written + len(text.encode()), characters + len(text)
            if written >= size:
                break
        turn += 1
    return characters


def apart(work: Callable[[Any], Any], prepare: Callable[[], Any] = lambda: None) -> tuple[float, float, Any]:
    """Do some work in a child: CPU seconds without what was prepared, peak of its memory in MB, and its result."""
    def measured() -> None:
        ready = prepare()
        start = sum(os.times()[:2])
        result = work(ready)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        told.send((sum(os.times()[:2]) - start, peak, result))

    fork = multiprocessing.get_context("fork")
    here, told = fork.Pipe(duplex=False)
    child = fork.Process(target=measured)
    child.start()
    told.close()
    try:
        return here.recv()
    except EOFError:
        raise SystemExit("a part failed") from None
    finally:
        child.join()


def unit_nodes(source: Path) -> list[Any]:
    """The units of all documents, sentences by the analyser as in an index."""
    from ragnb.chunking.units import UnitNodeParser
    from ragnb.documents.files import read_documents
    parser = UnitNodeParser()
    return [node for document in read_documents(source, []) for node in parser.parse(document)[0]]


def blocks(source: Path) -> list[str]:
    """What the analyser reads: the paragraphs of every document, those that are there again only once."""
    from ragnb.documents.files import read_documents
    from ragnb.documents.text import block_spans
    return list(dict.fromkeys(b.of(d.text) for d in read_documents(source, []) for b in block_spans(d.text)))


def parts(source: Path) -> dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]]:
    """The parts of an index run, each on its own and as its library is called best: what is prepared, what is measured."""

    def kiwi(texts: list[str]) -> int:
        from kiwipiepy import Kiwi
        found = Kiwi(load_multi_dict=False).split_into_sents(texts, return_tokens=True)
        return sum(len(sentence.tokens) for sentences in found for sentence in sentences)

    def embed(nodes: list[Any]) -> int:
        model = fitted(source)
        return sum(len(model.embed([n.text for n in nodes[at:at + 500]])) for at in range(0, len(nodes), 500))

    return {"kiwi, sentences and words": (lambda: blocks(source), kiwi), "n-grams, fit and embed": (lambda: unit_nodes(source), embed)}


def fitted(source: Path) -> Any:
    """The n-gram embedding of a corpus."""
    from ragnb.documents.files import read_documents
    from ragnb.indexing.update import fit_pieces
    from ragnb.models.embedding import NgramEmbedding
    return NgramEmbedding().fit(fit_pieces(list(read_documents(source, []))))


def llama_index(nodes: list[Any], source: Path, place: Path) -> None:
    """Write the index that LlamaIndex makes of nodes: its vector index over Chroma, and its BM25."""
    import chromadb
    from llama_index.core import StorageContext, VectorStoreIndex
    from llama_index.retrievers.bm25 import BM25Retriever
    from llama_index.vector_stores.chroma import ChromaVectorStore

    from ragnb.models.embedding import save_embedding
    model = fitted(source)
    client = chromadb.PersistentClient(str(place / "chroma"), chromadb.Settings(anonymized_telemetry=False))
    vectors = ChromaVectorStore(chroma_collection=client.create_collection("units", configuration={"hnsw": {"space": "cosine"}}))
    VectorStoreIndex(nodes, storage_context=StorageContext.from_defaults(vector_store=vectors), embed_model=model)
    BM25Retriever.from_defaults(nodes=nodes, skip_stemming=True).persist(str(place / "bm25"))
    save_embedding(model, place / "embedding")


def bytes_of(folder: Path) -> int:
    """Size of all files below a folder."""
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())


def growth(sizes: list[int]) -> None:
    """Note what indexes of so many units cost, ours and that of LlamaIndex."""
    from ragnb.indexing.update import update_index
    for size in sizes:
        with tempfile.TemporaryDirectory() as place:
            work, source = Path(place), Path(place, "corpus")
            characters = write_corpus(source, int(size * 180))     # a unit of the statutes has 78 characters in 178 bytes
            runs = {"ragnb": (lambda: None, lambda _: update_index(source, work / "ragnb", show_progress=False)),
                    "llamaindex": (lambda: unit_nodes(source), lambda nodes: llama_index(nodes, source, work / "llamaindex"))}
            for system, (prepare, run) in runs.items():
                seconds, peak, _ = apart(lambda ready: bool(run(ready)), prepare)
                row = {"units": size, "system": system, "cpu_s": round(seconds, 1), "characters": characters, "peak_mb": round(peak),
                       "bytes": bytes_of(work / system)}
                print(json.dumps(row), flush=True)
                keep_row(RESULTS, row, ("units", "system"))


def full(megabytes: float) -> None:
    """Print what an index of so many MB costs."""
    from ragnb.indexing.update import update_index
    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        characters = write_corpus(work / "corpus", int(megabytes * 2**20))
        seconds, peak, chunks = apart(lambda _: update_index(work / "corpus", work / "index", show_progress=False)[1].chunks)
        sizes: dict[str, int] = {}
        for file in (f for f in (work / "index").rglob("*") if f.is_file()):
            name = file.relative_to(work / "index").parts[0].split("-")[0].split(".")[0]
            sizes[name] = sizes.get(name, 0) + file.stat().st_size
        whole = sum(sizes.values())
        print(f"{megabytes:g} MB, {characters:,} characters, {chunks:,} chunks: {seconds:.0f} CPU s, peak {peak:.0f} MB, "
              f"{whole / 2**20:.0f} MB on disk, {whole / characters:.1f} bytes a character", flush=True)
        print("  on disk, bytes a character: " + ", ".join(f"{n} {s / characters:.1f}" for n, s in sorted(sizes.items(), key=lambda p: -p[1]) if s > characters / 20))
        total = 0.0
        for name, (prepare, part) in parts(work / "corpus").items():
            took, most, _ = apart(part, prepare)
            total += took
            print(f"  {name:<38} {took:>6.0f} CPU s, peak {most:>5.0f} MB", flush=True)
        print(f"  sum of the parts {total:.0f} CPU s: the index takes {seconds / total:.2f} times that")


def stream(megabytes: float) -> int:
    """Print memory while a corpus is read, split and cut into units, nothing kept; 1 when it is not flat."""
    from ragnb.chunking.units import UnitNodeParser
    from ragnb.documents.files import read_documents
    with tempfile.TemporaryDirectory() as place:
        source = Path(place, "corpus")
        characters = write_corpus(source, int(megabytes * 2**20))
        parser, seen, chunks, marks, start = UnitNodeParser(sentences="rule"), 0, 0, [], time.process_time()
        for document in read_documents(source, []):
            nodes, _ = parser.parse(document)
            seen, chunks = seen + len(document.text), chunks + len(nodes)
            if seen >= (len(marks) + 1) * characters / 10:
                marks.append(resident())
                print(f"  {seen:>13,} characters, {chunks:>10,} units, {marks[-1]:>6.0f} MB, {time.process_time() - start:>6.0f} CPU s", flush=True)
    growth = max(marks[1:]) / marks[1] - 1
    print(f"{megabytes:g} MB through reading, splitting and units: memory between the second tenth and the end grows by {growth:.1%}")
    return growth > 0.1


def main() -> int | None:
    """Measure one way."""
    args = arguments(__doc__, what=("full", "growth", "stream"), mb=float, units=("10000,30000,100000", "growth: sizes"))
    if args.what == "growth":
        return growth(list(map(int, args.units.split(","))))
    return full(args.mb or 10) if args.what == "full" else stream(args.mb or 500)


if __name__ == "__main__":
    sys.exit(main())
