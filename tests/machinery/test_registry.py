"""The registry: what is read from the source is what the decorators say, names of ragnb are not replaced, old metadata does no harm."""
from __future__ import annotations

import inspect
import json
import re
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

from ragnb import Address, InputError, Outline, Span
from ragnb.machinery import registry
from ragnb.machinery.registry import find_part, KINDS, make_part, Part, parts_of, PACKAGE, read_parts, register, SHEDS, told_gone, usages


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """What a test registers is gone after it."""
    parts_of("policy")
    monkeypatch.setattr(registry, "_PARTS", dict(registry._PARTS))
    monkeypatch.setattr(registry, "_LOADED", set(registry._LOADED))


def own() -> list[Part]:
    return [part for kind in KINDS for part in parts_of(kind) if part.is_own]


def test_every_part_of_ragnb_is_where_the_registry_says_and_is_told_in_both_languages():
    assert len(own()) > 20
    for part in own():
        assert callable(getattr(import_module(part.module), part.place.partition(":")[2])), part
        assert part.help and part.korean and len(part.help) <= 100, part
        assert find_part(part.kind, part.name) == part        # as the decorator says, after the import


def test_an_argument_is_shown_where_the_function_takes_one():
    given = {"llm", "catalogue", "relevance", "index", "top_k", "cut", "lookup", "base_url"}
    for part in [part for part in own() if part.kind == "policy"]:
        wanted = [p for p in inspect.signature(part.load()).parameters.values() if p.name not in given]
        assert part.argument.startswith("[:") == bool(wanted), part


def test_decorators_are_read_like_they_run(tmp_path, monkeypatch):
    source = '''
from ragnb.machinery.registry import register

@register("policy", "first", ":N", help="one (line)",
          korean="한 줄", needs=("level",))
def first(n: int): return n

@register("format", ".one")
@register("format", ".two", extra="files")
def read(path): return {"text": path.name}

@register("reranker", "kind")
class Kind: pass
'''
    (tmp_path / "some_parts.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    static = {(part.kind, part.name): part for part in read_parts(source, "some_parts")}
    import_module("some_parts")
    assert len(static) == 4 and {key: registry._PARTS[key] for key in static} == static
    assert make_part("policy", "first:3") == 3 and make_part("policy", "first") is None and make_part("policy", "first:x") is None


@pytest.mark.parametrize("kind, name", [("policy", "neighbors"), ("format", ".docx")])
def test_a_plugin_with_a_name_of_ragnb_is_refused(kind, name):
    with pytest.raises(InputError, match=f"cannot replace ragnb's {kind} '{name}': give yours another name"):
        register(kind, name)(lambda: None)
    assert find_part(kind, name).is_own


def install(place: Path, name: str, points: str) -> None:
    """A package in a folder, as far as its metadata go."""
    info = place / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)


def test_metadata_that_names_a_shed_that_is_gone_is_ignored(monkeypatch, tmp_path):
    install(tmp_path, "old-ragnb", "[ragnb.sheds]\ngone = ragnb.gone.shed\n[ragnb.plugins]\nold = ragnb.older\n")
    monkeypatch.syspath_prepend(tmp_path)
    registry._LOADED.discard("installed")
    assert find_part("policy", "nobody") is None and "installed" in registry._LOADED


def test_a_shed_of_another_package_registers_by_its_entry_point(monkeypatch, tmp_path):
    install(tmp_path, "my-shed", "[ragnb.sheds]\nmine = my_shed\n")
    (tmp_path / "my_shed.py").write_text("from ragnb.machinery.registry import register\n@register('format', '.mine')\ndef read(path): return {'text': 'mine'}\n")
    monkeypatch.syspath_prepend(tmp_path)
    registry._LOADED.discard("installed")
    assert find_part("format", ".mine").load()(Path("a.mine")) == {"text": "mine"} and ".mine" in [part.name for part in parts_of("format")]


def test_a_known_name_reads_no_metadata_and_an_unknown_one_reads_it_once(monkeypatch, tmp_path):
    install(tmp_path, "empty-shed", "[ragnb.sheds]\n")
    monkeypatch.syspath_prepend(tmp_path)
    reads = []
    monkeypatch.setattr(metadata, "entry_points", lambda group: reads.append(group) or [])
    registry._LOADED.discard("installed")
    assert make_part("policy", "neighbors:1") and reads == []
    for _ in range(3):
        assert make_part("policy", "nobody") is None
    assert reads == list(registry.PLUGIN_GROUPS)


def test_where_no_package_has_a_group_of_ragnb_no_entry_point_is_read(monkeypatch):
    monkeypatch.setattr(metadata, "entry_points", lambda group: pytest.fail("reading all entry points takes 40 ms"))
    registry._LOADED.discard("installed")
    assert len(parts_of("kind")) >= 5 and find_part("policy", "nobody") is None


def test_the_table_of_sheds_has_the_names_that_they_register():
    found: dict[str, set[str]] = {}
    for part in own():
        shed = part.module.split(".")[1]
        if shed in SHEDS:
            found.setdefault(shed, set()).add(part.name)
    listed = {shed: {*names.split()} for shed, names in SHEDS.items()}
    other = {shed: sorted(found.get(shed, set()) ^ listed.get(shed, set())) for shed in found.keys() | listed.keys()}
    assert {shed: names for shed, names in other.items() if names} == {}, "change SHEDS in nbs/95_machinery/04_registry.ipynb"


def test_a_name_of_a_deleted_shed_is_told(monkeypatch, tmp_path):
    assert told_gone(".docx") == ""
    monkeypatch.setattr(registry, "PACKAGE", tmp_path)
    assert told_gone(".docx") == ".docx belongs to ragnb.files, which this installation does not have"
    assert told_gone(".nothing") == ""


def test_names_are_listed_in_the_order_of_the_notebooks():
    assert usages("policy").startswith("none, neighbors[:N], siblings[:N], parent, segments[:PENALTY], adaptive[:TOKENIZER]")
    assert PACKAGE == Path(registry.__file__).parent.parent


def test_the_first_example_reads_from_a_hit_to_the_end_of_its_page():
    """A newcomer copies it: it read the page from its start."""
    cells = json.loads((ROOT / "nbs/95_machinery/04_registry.ipynb").read_text(encoding="utf-8"))["cells"]
    code, = re.findall(r"```python\n# my\.py\n(.*?)```", "".join(cells[2]["source"]), re.S)
    made: dict[str, Any] = {}
    exec(code, made)
    outline = Outline("d", 20, {"c": [Span(0, 4), Span(4, 8), Span(8, 20)]}, pages=((1, Span(0, 10)), (2, Span(10, 20))))
    assert made["page_end"]()(outline, Address("d", "c", 1)) == Span(4, 10)
