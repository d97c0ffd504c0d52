"""Every value of `tests/wrong_values`, which was wrong without a word, is right now."""
from __future__ import annotations

import pytest
from before_after import Item, load


@pytest.mark.parametrize("entry", load().values(), ids=lambda entry: entry.name)
def test_is_right_now(entry: Item, tmp_path):
    assert entry.run(tmp_path) == entry.right
