"""Why a filter lets nothing through: each condition that no document fulfils is told, with what there is."""
from __future__ import annotations

import pytest

from ragnb.storage.filters import asks_folders, filter_keys, resolve_where, why_nothing

DOCUMENTS = [{"doc_id": "hr/leave.md", "team": "hr", "year": 2030}, {"doc_id": "it/disk.md", "team": "it", "year": 2031}]


@pytest.mark.parametrize(("where", "told"), [
    ("team=hr", ""), ({"team": "hr", "year": 2030}, ""), ("team=law", "no document has team 'law'; there are: hr, it"),
    ({"team": "hr", "year": 2031}, "no document fulfils all of the filter"),
    ({"team": "law", "year": 1999}, "no document has team 'law'; there are: hr, it; no document has year '1999'; there are: 2030, 2031"),
    ("taem=hr", "no document has 'taem' (did you mean 'team'?)")])
def test_every_condition_that_nothing_fulfils_is_told(where, told):
    said = why_nothing(where, DOCUMENTS)
    assert said == told if not told.endswith("?)") else said.startswith(told), said


def test_the_fields_of_a_filter_are_listed():
    assert filter_keys(resolve_where({"team": "hr", "year": 2030})) == ["team", "year"]
    assert asks_folders("folder=hr") and not asks_folders("team=hr")
