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

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
