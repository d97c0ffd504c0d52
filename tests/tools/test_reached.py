"""What a plain question needs of the package: what `tools/rooms.py` counts, and no module more when it is asked."""
from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from conftest import ROOT
from llama_index.core.schema import Document

from ragnb.indexing.update import index_documents
from ragnb.machinery.registry import parts_of
from tools import rooms

MOST_MODULES, MOST_LINES = 60, 17_200
# Each belongs to a part with a name, or to what writes an index; a question without that name does not load it
NAMED = ("retrieval.rerank", "retrieval.planning", "retrieval.hierarchical", "retrieval.bm25", "context.compress", "context.layouts",
         "context.question_kinds", "context.conversation", "context.display", "expansion.policies", "expansion.segments", "expansion.fetch",
         "models.ollama", "models.openai_like", "models.onnx", "models.local", "models.calls", "models.asking", "chunking.parsers",
         "chunking.structure", "indexing.writing", "indexing.update", "pipeline.engines", "pipeline.layers")
PROGRAM = """
import json, sys
from ragnb.indexing.folder_index import Index
from ragnb.pipeline.pipeline import Pipeline
answer = Pipeline.from_index(Index.open(sys.argv[1])).ask("When are travel expenses settled?")
print(json.dumps([answer.text, [name for name in sys.modules if name.startswith("ragnb.")]]))
"""


@cache
def names(start: str) -> set[str]:
    """The modules that one needs."""
    return {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in rooms.reached(start)}


def test_a_question_reaches_a_house_that_one_can_hold_in_the_head():
    reached = rooms.reached()
    assert len(reached) <= MOST_MODULES
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in reached) <= MOST_LINES


@pytest.mark.parametrize("name", NAMED)
def test_what_has_a_name_is_not_reached(name):
    assert (ROOT / "ragnb").joinpath(*name.split(".")).with_suffix(".py").is_file()
    assert f"ragnb.{name}" not in names("ragnb.pipeline.pipeline")


def test_a_question_loads_what_it_reaches_and_the_kinds_of_documents(tmp_path: Path):
    """Kinds and their places are asked whatever the documents are; each is a part with a name."""
    pages = ["The chiller must be drained before maintenance.", "Travel expenses are settled within seven days."]
    index_documents([Document(text=text, id_=f"{n}.md") for n, text in enumerate(pages)], tmp_path / "index", show_progress=False)
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path / "index")], capture_output=True, text=True, check=True)
    text, loaded = json.loads(done.stdout)
    assert "within seven days" in text
    kinds = {name for kind in ("kind", "places") for part in parts_of(kind) if part.is_own for name in names(part.module)}
    packages = {name for name in loaded if (ROOT / Path(*name.split("."), "__init__.py")).is_file()}
    assert set(loaded) - packages <= names("ragnb.pipeline.pipeline") | kinds
