"""The page "From the design documents": every line of its tables runs, and every name of the designs leads somewhere."""
from __future__ import annotations

import dataclasses
import importlib
import json
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.schema import Document, NodeWithScore
from search_server import SearchServer

import ragnb
from ragnb._modidx import d as MODULES
from ragnb.chunking.rules import parse_rules
from ragnb.expansion.policy import resolve_policy
from ragnb.models.scripted import ScriptedLLM

ROOT = Path(__file__).resolve().parents[1]
HINTS = json.loads((ROOT / "ragnb/documents/design_names.json").read_text(encoding="utf-8"))
# Keys of hits and metadata, types, collections and words of a query language: nothing to import
VALUES = {"_id", "_source", "_score", "is_neighbor", "text", "chunk_text", "file_name", "page_number", "original_filename", "doc_id", "parent_id",
          "gcb", "myservice", "should", "default", "table_aware", "qa_aware", "children", "parents", "startup_funding_db", "finance_tax_db",
          "hr_labor_db", "law_common_db", "company_policy", "TypedDict", "attempts", "max_attempts", "build", "expand", "True", "False", "Exception"}


def rows() -> list[list[str]]:
    """The rows of the tables that compare a design with ragnb."""
    found = []
    cells = json.loads((ROOT / "nbs/studies/from_design.ipynb").read_text(encoding="utf-8"))["cells"]
    for table in ("".join(c["source"]) for c in cells if c["cell_type"] == "markdown" and "| in ragnb |" in "".join(c["source"])):
        lines = [line for line in table.splitlines() if line.startswith("| ")]
        found += [[part.strip() for part in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines if not line.startswith("| in the design")]
    return found


def codes(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


ROWS = rows()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Every public name of the package, and the objects that the page calls by name."""
    names = {name.rpartition(".")[2]: home for home, own in MODULES["syms"].items() for name in own if name.count(".") == home.count(".") + 1}
    out = {name: getattr(importlib.import_module(home), name, None) for name, home in names.items()
           if not home.startswith(("ragnb.serve", "ragnb.evaluation", "ragnb.cli"))}
    out |= {name: getattr(ragnb, name) for name in ragnb.__all__}
    out |= vars(importlib.import_module("ragnb.indexing.collections")) | {"DEFAULT_RULES": importlib.import_module("ragnb.chunking.rules").DEFAULT_RULES}
    out["DEFAULT_ROUTES"] = importlib.import_module("ragnb.agent.routes").DEFAULT_ROUTES
    place = tmp_path_factory.mktemp("designs")
    question = "연차는 며칠인가요?"
    documents = [Document(text="# 휴가\n\n" + "\n\n".join(f"## {n}절\n\n연차 {n}번은 {n}일이다. 신청은 팀장에게 한다. 반차는 {n}시간이다. " * 3 for n in range(1, 12)), id_="leave.md"),
                 Document(text="전원을 끈다. 배기 밸브를 본다. 연차는 없다.\f기름을 본다.", id_="MANUAL_GN300", metadata={"page_starts": [0, 26], "doc_type": "manual"}),
                 Document(text="배기 누설로 연차 정비를 했다. 밀봉을 바꾸었다.", id_="GCB_0001", metadata={"doc_type": "gcb", "equipment": "GN-300"})]
    indexes = {name: ragnb.index_documents(documents, place / name, parser=parser, show_progress=False)[0]
               for name, parser in (("index", "parent-child"), ("units", "units"), ("sentences", "sentence"))}
    index, store = indexes["index"], indexes["index"].store
    nodes = list(store.get_chunks(store.matching()).all().values())
    hits = [NodeWithScore(node=store.get_chunks([i]).found[i], score=0.9) for i in ("leave.md#c8", "leave.md#c2", "GCB_0001#c0")]
    raw = [{"_id": h.node_id, "_source": {"document_id": h.node.ref_doc_id, "chunk_index": h.node.metadata["index"], "text": h.node.text}, "_score": h.score} for h in hits]
    llm = ScriptedLLM({"어느 것에": '{"route": "general"}', "": "15일입니다 [1]."})
    expander = ragnb.NeighborChunkExpander(store)
    expansion = ragnb.Expander(store).expand(hits)
    builder = ragnb.RankedContextBuilder()
    agent = ragnb.Agent(place / "units", llm, {"grade": None}, ask_user=True)
    state = agent.ask(question)
    waiting = state.model_copy(deep=True, update={"status": "waiting"})
    law = (ROOT / "data/corpus/law_common/shared_workshop_act.txt").read_text(encoding="utf-8")
    members = {"bm25": ragnb.Bm25Retriever(nodes), "vector": ragnb.VectorRetriever(store, index.embed_model)}
    text, law_id = law, "010719"
    return out | indexes | {
        "store": store, "client": SearchServer(raw), "index_name": "rag", "expander": expander, "hits": hits, "results": raw, "nodes": nodes,
        "expansion": expansion, "passages": expansion.passages, "question": question, "builder": builder, "prompt": "{context_str} {query_str}",
        "context": builder.build(expansion.passages, question), "policy": resolve_policy("doc_type"), "llm": llm, "doc_id": "leave.md", "pages": [1, 2],
        "tools": out["ReadingTools"](place / "index", budget=20_000), "pipeline": ragnb.Pipeline.from_index(index), "size": 400, "doc_types": ["gcb"],
        "talk": ragnb.Conversation(), "folder": place / "units", "agent": agent, "state": state, "waiting": waiting, "path": place / "state.json", "place": place / "chroma", "dataclasses": dataclasses,
        "text": text, "law_id": law_id, "item_id": "3001", "ministry": "고용노동부", "domain": "", "members": members,
        "records": out["statute_records"](text, law_id)}


def run(code: str, before: str, world: dict[str, Any]) -> None:
    """Run one line of a table: a policy by name, a command, a setting of a rule file, or an expression."""
    if re.search(r"(?:policy|policies) $", before) or re.fullmatch(r"neighbors:\d|auto-merge|doc_type", code):
        resolve_policy(code)
    elif code.startswith("ragnb "):
        command, *words = code.split()[1:]
        shown = StringIO()
        with redirect_stdout(shown):
            importlib.import_module("ragnb.cli").main([command, "--help"])
        assert all(word in shown.getvalue() for word in words if word.startswith("--")), code
    elif re.fullmatch(r"(?:split|splitter|threshold) = \w+", code):
        parse_rules(f"[rule]\nmatch = *.md\n{code}\n")
    else:
        value = eval(code, dict(world))       # the page is ours
        if code.startswith("Pipeline.from_index("):
            assert value.ask(world["question"]).text


LINES = [(before, code) for row in ROWS for before, code in re.findall(r"([^`]*)`([^`]+)`", row[1])]
AFTER = [(before, code) for row in ROWS for before, code in re.findall(r"([^`]*)`([^`]+)`", row[2])
         if re.search(r"[(.]|[a-z][A-Z]|^[A-Z]+_", code) and code != "p.?" and "…" not in code]


def test_the_tables_are_read() -> None:
    assert len(ROWS) > 70 and len(LINES) > 100 and len(AFTER) > 10


@pytest.mark.parametrize(("before", "code"), LINES + AFTER, ids=lambda part: part[-60:])
def test_every_line_of_the_tables_runs(before: str, code: str, world: dict[str, Any]) -> None:
    """The policy `sentence-window` was in a table, and does not run."""
    run(code, before, world)


def test_a_line_that_does_not_run_is_found(world: dict[str, Any]) -> None:
    for before, code in (("policy ", "sentence-window"), ("", "Pipeline.from_index(index, retriever='hierarchical', policy='auto-merge')"), ("", "ragnb index --colour"),
                         ("", "splitter = colour"), ("", "Expander(store, expand_top=5)"), ("", "state.selected_devices")):
        with pytest.raises((Exception, AssertionError)):
            run(code, before, world)


NAMES = sorted({name for row in ROWS for code in codes(row[0]) for name in re.findall(r"\w+", code)     # parameters and files too
                if re.fullmatch(r"_?[A-Za-z]\w*_\w+|[A-Z][a-z]\w*|_\w+", name)} - VALUES)


@pytest.mark.parametrize("name", sorted({*NAMES, *HINTS}))
def test_a_name_of_the_designs_is_imported_or_the_error_says_where_it_is(name: str) -> None:
    try:
        exec(f"from ragnb import {name}", {})
    except ImportError as error:
        assert error.name == "ragnb" and re.search(r"is here: .{5,}|is in a module: from ragnb\.\S+ import \w+$", str(error)), str(error)
        module = re.search(r"from (ragnb\.\S+) import", str(error))
        assert module is None or hasattr(importlib.import_module(module[1]), name)


@pytest.mark.parametrize("name", sorted(HINTS))
def test_what_an_error_names_exists(name: str) -> None:
    for path in re.findall(r"ragnb(?:\.[a-z_]+)+\.[A-Za-z_]\w*", HINTS[name]):
        home, _, attribute = path.rpartition(".")
        assert hasattr(importlib.import_module(home), attribute), path
    assert name not in ragnb.__all__


def test_other_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError):
        ragnb.no_such_name
    assert not hasattr(ragnb, "__wrapped__") and ragnb.agent and ragnb.expansion
    with pytest.raises(ImportError, match="cannot import name"):
        exec("from ragnb import no_such_name", {})
