"""Every parameter of the front door, found by signature, given values that it cannot have: an error that names it, at once.

What a parameter takes is read from its annotation. Numbers get -1, nan, inf, 10**30, '' and text; texts get numbers, bytes and lists; truth
values get text; objects get a number, a text and an object without methods. None goes to each that is not optional.
"""
from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.embeddings import MockEmbedding
from search_server import SearchServer

import ragnb
from ragnb.agent.library import Library
from ragnb.chunking.parent_child import ParentChildNodeParser
from ragnb.chunking.units import UnitNodeParser
from ragnb.context.builders import Context
from ragnb.documents.span import RagnbError
from ragnb.expansion.expander import Expansion, ExpansionStats
from ragnb.documents.kinds import Catalogue
from ragnb.indexing.folder_index import Manifest
from ragnb.models.scripted import ScriptedLLM
from ragnb.retrieval.hierarchical import build_tree
from ragnb.retrieval.hybrid import Hits, VectorRetriever
from ragnb.retrieval.sqlite_units import SqliteUnits
from ragnb.storage.store import MemoryStore

TEXT = "Leave is 15 days.\n\nSick leave is 60 days."
NAN, INF, HUGE = float("nan"), float("inf"), 10**30
WRONG: dict[type, list[Any]] = {
    int: [-1, NAN, INF, HUGE, 2.5, "", "many", b"1", [1], True], float: [-1, NAN, INF, "", "much", b"1", [1.0], True],
    str: [0, NAN, b"text", ["text"], object()], bool: ["", "no", 2, NAN, []], object: [0, NAN, "", "\x00", object()]}
NEGATIVE = {"score"}                       # Numbers that may be below 0
AT_LEAST_ONE = set("""article_size budget candidates depth dims document_share history_share k korean_size max_attempts max_chunks max_document max_fit
max_length max_results max_size max_tokens most_characters most_passages most_turns n_columns n_documents n_queries n_sections passage_size
pool_size run_batch_size stretch text_size threads threshold top_k top_n workers""".split())   # Numbers that may not be 0
PLAIN = {"int": int, "float": float, "str": str, "bool": bool}
LLAMA = {"callback_manager", "id_func", "include_metadata", "include_prev_next_rel", "model_name", "embed_batch_size", "num_workers",
         "embeddings_cache", "rate_limiter"}      # LlamaIndex's own fields and what it makes of them
ANY_OBJECT = {"metadata", "where", "on_report", "on_plan", "cache", "client"}   # Judged by what they hold, when they are used


class _Store(MemoryStore):
    """With two documents."""
    units = ()

    def __init__(self) -> None:
        super().__init__()
        self.add_documents([Document(text=TEXT, id_="a")], ParentChildNodeParser(), MockEmbedding(embed_dim=3))


def _valid() -> dict[str, Any]:
    """A value for every required parameter, by name."""
    store, embed = _Store(), MockEmbedding(embed_dim=3)
    retriever, parser = VectorRetriever(store, embed), UnitNodeParser()
    span = ragnb.Span(0, 3)
    return {
        "doc_id": "a", "level": "c", "index": 0, "question": "leave", "text": "a", "context": Context("", ()),
        "expansion": Expansion([], ExpansionStats()), "fusion": Hits([]), "nodes": [], "path": None, "size": 10,
        "parser": parser, "store": store, "tree": build_tree([Document(text=TEXT, id_="a")], embed), "embed_model": embed,
        "members": {"v": retriever}, "retriever": retriever, "llm": ScriptedLLM(lambda prompt: "1"), "folder": Path("nowhere"),
        "manifest": Manifest({}), "read_catalogue": Catalogue, "n_characters": 3, "expander": ragnb.Expander(store),
        "library": Library({"": ragnb.Pipeline(retriever, ragnb.Expander(store))}), "prompt": "{context_str} {query_str}",
        "answer": ragnb.Answer("leave", "", Context("", ()), Expansion([], ExpansionStats()), Hits([])),
        "span": span, "start": 0, "end": 3, "hits": (), "outline": ragnb.Outline("a", 3), "hit": ragnb.Address("a", "c", 0),
    }


VALID = _valid()
SPECIAL = {("NeighborChunkExpander", "client"): SearchServer([]), ("AdaptiveChunkExpander", "client"): SearchServer([]),
           ("NeighborChunkExpander", "index_name"): "rag", ("AdaptiveChunkExpander", "index_name"): "rag",
           ("MultiScaleRetriever", "index"): SqliteUnits(), ("OnnxEmbedding", "folder"): "nowhere", ("resolve_llm", "spec"): None}
MAKERS = ("adaptive", "by_doc_type", "neighbors", "pages", "section", "siblings", "resolve_embedding", "resolve_llm")


def callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The classes of the front door, and the functions that make parts."""
    for name in sorted(set(ragnb.__all__) - {"__version__"}):
        value = getattr(ragnb, name)
        if name in MAKERS or inspect.isclass(value) and not issubclass(value, Exception):
            yield name, value


def kinds(annotation: Any) -> tuple[set[type], bool]:
    """The plain types that an annotation allows (`object` for any other), and whether None is allowed."""
    while typing.get_origin(annotation) is typing.Annotated:
        annotation = annotation.__origin__
    parts = typing.get_args(annotation) if not isinstance(annotation, str) and type(None) in typing.get_args(annotation) else ()
    names = [getattr(p, "__name__", str(p)) for p in parts] if parts else re.split(r" \| (?![^\[]*\])", getattr(annotation, "__name__", str(annotation)))
    return {PLAIN.get(n, object) for n in names if n not in ("None", "NoneType")}, "None" in names or "NoneType" in names or "Any" in names


def wrong_values(name: str, parameter: inspect.Parameter) -> list[Any]:
    """Values that a parameter cannot have."""
    allowed, optional = kinds(parameter.annotation)
    if name in ANY_OBJECT:
        return []
    least = WRONG[min(allowed, key=[bool, int, float, str, object].index)] if len(allowed) == 1 else [NAN, b"1"]
    out = [v for v in least if not (v == -1 and name in NEGATIVE)]
    out += [0] if name in AT_LEAST_ONE else []
    return out + ([] if optional or parameter.default is None else [None])


CASES = [(owner, name) for owner, value in callables() for name, p in inspect.signature(value).parameters.items()
         if name not in LLAMA and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]


def given(owner: str, value: Callable[..., Any]) -> dict[str, Any]:
    """Values for the required parameters of a callable."""
    required = [n for n, p in inspect.signature(value).parameters.items() if (owner, n) in SPECIAL or
                p.default is p.empty and str(p.default) != "<factory>" and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    return {n: SPECIAL.get((owner, n), VALID.get(n)) for n in required if n in VALID or (owner, n) in SPECIAL}


@pytest.mark.parametrize(("owner", "name"), CASES, ids=lambda x: x)
def test_a_value_that_a_parameter_cannot_have_is_refused_by_name(owner: str, name: str) -> None:
    made = dict(callables())[owner]
    said = {}
    for value in wrong_values(name, inspect.signature(made).parameters[name]):
        try:
            made(**given(owner, made) | {name: value})
            said[repr(value)[:40]] = "taken"
        except (RagnbError, TypeError, ValueError) as error:
            if name not in str(error):
                said[repr(value)[:40]] = f"{type(error).__name__}: {error}"[:150]
        except Exception as error:
            said[repr(value)[:40]] = f"{type(error).__name__}: {error}"[:150]
    assert not said, said
