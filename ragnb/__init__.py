'''Chunk, retrieve and expand documents for an LLM, and measure what each choice finds. Korean first, English as well.

An index of a folder, a question, and the passages with the reason for each:

    from ragnb import Pipeline, update_index

    index, report = update_index("data/corpus", "my-index")
    pipeline = Pipeline.from_index(index, budget=600)
    answer = pipeline.ask("입사 1년차 직원의 연차는 며칠인가요?")
    print(answer.text)

With a model, and the same line as a stock LlamaIndex query engine:

    pipeline = Pipeline.from_index(index, llm="ollama:qwen3:8b")
    engine = pipeline.query_engine()

The names of this page load when they are used. Everything else is imported from its module: `ragnb.documents`, `models`, `chunking`,
`storage`, `retrieval`, `expansion`, `context`, `indexing`, `pipeline`, `evaluation`.
'''

__version__ = "0.1.0"

import lazy_loader as _lazy

_loaded, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)


def _where(name: str) -> str:
    "Say where a name is that is not here: one of the design documents, or of a module; '' for any other."
    import json
    from pathlib import Path

    folder = Path(__file__).parent
    if name.startswith("__") or (folder / name).exists():     # a room, which the import itself finds
        return ""
    designs = json.loads((folder / "documents" / "design_names.json").read_text(encoding="utf-8"))
    if name in designs:
        return f"{name} of the design documents is here: {designs[name]}"
    from ragnb._modidx import d as index
    homes = [home for home, names in index["syms"].items() if f"{home}.{name}" in names]
    return f"{name} is in a module: from {homes[0]} import {name}" if homes else ""


def __getattr__(name: str) -> object:
    try:
        return _loaded(name)
    except AttributeError:
        if told := _where(name):
            raise ImportError(told, name=__name__) from None
        raise
