"""A search server that is a list: it answers the queries that this package sends over indexes made by others."""
from __future__ import annotations

import copy
from typing import Any


def _value(source: dict, name: str) -> Any:
    head, dot, rest = name.removesuffix(".keyword").partition(".")
    held = source.get(head)
    return _value(held, rest) if dot and isinstance(held, dict) else held


class SearchServer:
    """Rows, and every request that was made; `text` names fields that only have a `.keyword` to compare."""

    def __init__(self, rows: list[dict], text: tuple[str, ...] = ()) -> None:
        self.rows, self.text, self.requests = rows, text, []
        self.fails: Exception | dict | None = None

    def field_caps(self, index: str, fields: str) -> dict:
        self.requests.append("field_caps")
        self._fail()
        out = {}
        for name in fields.split(","):
            held = [v for r in self.rows if (v := _value(r["_source"], name)) is not None]
            plain = name.removesuffix(".keyword")
            if held and (name == plain or plain in self.text):
                kind = "keyword" if isinstance(held[0], str) else "long"
                out[name] = {"text" if name in self.text else kind: {"searchable": True}}
        return {"fields": out}

    def _fail(self) -> None:
        if isinstance(self.fails, Exception):
            raise self.fails

    def _holds(self, query: dict, source: dict) -> bool:
        (kind, said), = query.items()
        if kind == "bool":
            some = said.get("should", [])
            return (all(self._holds(q, source) for q in said.get("filter", []))
                    and (not some or any(self._holds(q, source) for q in some)))
        (name, wanted), = said.items()
        assert name not in self.text, f"{name} is a text field"
        value = _value(source, name)
        if kind == "range":
            return value is not None and wanted["gte"] <= value <= wanted["lte"]
        return value == wanted if kind == "term" else value in wanted

    def _found(self, body: dict) -> dict:
        if isinstance(self.fails, dict):
            return self.fails
        assert body["size"] <= 10_000
        found = [r for r in self.rows if self._holds(body["query"], r["_source"])]
        hidden = body["_source"]["excludes"]
        hits = [copy.deepcopy(r) | {"_index": "rag", "_score": 0.0, "_source": {
            k: copy.deepcopy(v) for k, v in r["_source"].items() if k not in hidden}} for r in found[:body["size"]]]
        return {"timed_out": False, "_shards": {"total": 1, "failed": 0},
                "hits": {"total": {"value": len(found), "relation": "eq"}, "hits": hits}}

    def search(self, index: str, body: dict) -> dict:
        self.requests.append(body)
        self._fail()
        return self._found(body)

    def msearch(self, body: list) -> dict:
        self.requests.append(body)
        self._fail()
        return {"responses": [self._found(b) for b in body[1::2]]}
