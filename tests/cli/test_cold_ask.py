"""What one question on the command line imports and opens: counted, not timed."""
from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from llama_index.core.schema import Document

from ragnb.indexing.update import index_documents

NOT_FOR_A_QUESTION = (
    "chromadb", "onnxruntime", "opensearchpy", "sqlalchemy", "workflows", "nltk", "tiktoken", "pandas", "sklearn",
    "matplotlib", "scipy.linalg", "scipy.stats", "openai", "ollama", "httpx", "aiohttp", "urllib3", "mcp", "numpy.f2py.crackfortran",
    "llama_index.core.memory.memory", "llama_index.core.chat_engine.types", "llama_index.core.indices.base",
    "llama_index.core.query_engine.retriever_query_engine", "llama_index.vector_stores.chroma",
    "ragnb.evaluation.comparison", "ragnb.serve.app", "ragnb.agent.flow", "pypdfium2", "rich")

PROGRAM = """
import json, sys
from ragnb.cli import main
code = main(json.loads(sys.argv[1]))
print("modules", json.dumps([code, sorted(sys.modules)]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index of two pages."""
    place = tmp_path_factory.mktemp("cold") / "index"
    pages = ["The chiller must be drained before maintenance. The pump is checked every month.",
             "Travel expenses are settled within seven days. Receipts are kept for five years."]
    index_documents([Document(text=t, id_=f"{i}.md") for i, t in enumerate(pages)], place, show_progress=False)
    return place


def asked(*words: str) -> tuple[str, list[str]]:
    """What a command of a new process says, and the modules that it has imported."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, json.dumps(words)], capture_output=True, text=True, check=True)
    said, _, told = done.stdout.rpartition("modules ")
    code, modules = json.loads(told)
    assert code == 0, done.stderr
    return said, modules


def test_a_cold_question_imports_none_of_what_it_does_not_use(folder: Path) -> None:
    said, modules = asked("ask", "When are travel expenses settled?", "--index", str(folder))
    assert "within seven days" in said
    assert not set(NOT_FOR_A_QUESTION).intersection(modules)
    assert {"llama_index.core.schema", "ragnb.pipeline.pipeline"} <= set(modules)


@pytest.mark.heavy
@pytest.mark.parametrize("words", [["--retrieve", "vector"], ["--retrieve", "hybrid"]])
def test_a_search_by_vector_leaves_chroma_closed(folder: Path, words: list[str]) -> None:
    """The units have the vectors, so the library is not needed for any retriever."""
    said, modules = asked("ask", "When are travel expenses settled?", "--index", str(folder), *words)
    assert "within seven days" in said and "chromadb" not in modules


@pytest.mark.heavy
def test_every_module_is_imported_in_a_process_that_defers() -> None:
    """Names of LlamaIndex are those of a process that imports all of it at once."""
    program = """
from ragnb.machinery.deferred import defer_for_question
assert "llama_index.core" in defer_for_question()
import ragnb.pipeline.pipeline, ragnb.pipeline.engines, ragnb.agent.flow, ragnb.serve.app, ragnb.indexing.update
import ragnb.models.ollama, llama_index.core, numpy, requests
from llama_index.core import PromptTemplate, Settings, VectorStoreIndex
from llama_index.core.chat_engine import ContextChatEngine
from llama_index.core.prompts import PromptTemplate as same
assert PromptTemplate is same and llama_index.core.global_handler is None and llama_index.core.__version__
from llama_index.core.postprocessor import SimilarityPostprocessor
assert numpy.testing.assert_equal and numpy.ma.masked_array and requests.Session
"""
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
