"""Read a folder with one reader, as a process of its own: python read_with.py READER FOLDER OUT [QUESTIONS].

Writes JSON: the text and the notes (or the error) of each file, the answers of ragnb to the questions, versions, CPU seconds and peak memory.
"""
from __future__ import annotations

import json
import logging
import resource
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

Reading = tuple[str, list[str] | None]
BUDGET = 500   # Characters of an answer


def with_ragnb() -> Callable[[Path], Reading]:
    "The reader of this package; its notes are remarks on files that were read."
    from ragnb import read_documents

    def read(path: Path) -> Reading:
        problems: list[Any] = []
        documents = list(read_documents(path, problems))
        if not documents:
            raise ValueError("; ".join(map(str, problems)) or "no document")
        return "\n\n".join(d.text for d in documents), [str(p) for p in problems]
    return read


def with_markitdown() -> Callable[[Path], Reading]:
    "Microsoft's converter to Markdown."
    from markitdown import MarkItDown
    converter = MarkItDown()
    return lambda path: (converter.convert(str(path)).text_content, None)


def with_kreuzberg() -> Callable[[Path], Reading]:
    "kreuzberg, asked for Markdown."
    import kreuzberg
    config = kreuzberg.ExtractionConfig(output_format="markdown")

    def read(path: Path) -> Reading:
        found = kreuzberg.extract_file_sync(str(path), config=config)
        return found.content, None
    return read


def with_docling() -> Callable[[Path], Reading]:
    "The backends of docling-slim for office files; its PDF pipeline needs models, which are not installed."
    from importlib import import_module
    from docling.datamodel.base_models import InputFormat
    from docling.datamodel.document import InputDocument
    backends = {".docx": ("msword_backend", "MsWordDocumentBackend", "DOCX"), ".xlsx": ("msexcel_backend", "MsExcelDocumentBackend", "XLSX"),
                ".html": ("html_backend", "HTMLDocumentBackend", "HTML"), ".pptx": ("mspowerpoint_backend", "MsPowerpointDocumentBackend", "PPTX"),
                ".csv": ("csv_backend", "CsvDocumentBackend", "CSV"), ".md": ("md_backend", "MarkdownDocumentBackend", "MD")}

    def read(path: Path) -> Reading:
        module, name, kind = backends[path.suffix.lower()]
        backend = getattr(import_module(f"docling.backend.{module}"), name)
        document = InputDocument(path_or_stream=path, format=InputFormat[kind], backend=backend)
        return document._backend.convert().export_to_markdown(), None
    return read


READERS: dict[str, tuple[str, Callable[[], Callable[[Path], Reading]]]] = {
    "ragnb": ("ragnb", with_ragnb), "markitdown": ("markitdown", with_markitdown), "kreuzberg": ("kreuzberg", with_kreuzberg),
    "docling": ("docling-slim", with_docling),
}


def answers_of(folder: Path, questions: dict[str, str]) -> dict[str, str]:
    "What `ragnb ask --budget 500` delivers for each question over an index of the folder."
    from ragnb import Pipeline, update_index
    with tempfile.TemporaryDirectory() as place:
        index = update_index(folder, Path(place) / "index")[0]
        pipeline = Pipeline.from_index(index, budget=BUDGET)
        return {name: pipeline.ask(question).text for name, question in questions.items()}


def main() -> None:
    "Read every file."
    reader, folder, out = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    logging.disable(logging.CRITICAL)
    package, make = READERS[reader]
    files: dict[str, Any] = {}
    read = make()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        try:
            text, notes = read(path)
            files[path.relative_to(folder).as_posix()] = {"text": text, "notes": notes}
        except Exception as error:
            files[path.relative_to(folder).as_posix()] = {"error": f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]}
    used = resource.getrusage(resource.RUSAGE_SELF)
    report = {"version": version(package), "cpu_seconds": round(used.ru_utime + used.ru_stime, 2), "peak_megabytes": round(used.ru_maxrss / 1024, 1), "files": files}
    if len(sys.argv) > 4:
        report["answers"] = answers_of(folder, json.loads(Path(sys.argv[4]).read_text()))
    out.write_text(json.dumps(report, ensure_ascii=False))


if __name__ == "__main__":
    main()
