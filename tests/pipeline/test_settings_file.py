"""Settings in a file: what is written is read back, in the folder of an index or in a file of its own."""
from __future__ import annotations

from pathlib import Path

import pytest

from ragnb.documents.span import InputError
from ragnb.pipeline.settings import load_settings, write_settings


def test_written_settings_are_read_back(tmp_path: Path):
    settings = {"policy": "neighbors:1", "budget": 900, "cut": 0.5, "lookup": False}
    for place in (tmp_path / "index", tmp_path / "mine.toml"):
        file = write_settings(place, settings, "tuned on 20 questions\nby hand")
        assert file.is_file() and file in (place, place / "ragnb.toml")
        assert file.read_text(encoding="utf-8").startswith("# tuned on 20 questions\n# by hand\npolicy = ")
        assert load_settings(file) == settings
    with pytest.raises(InputError, match="colour"):
        write_settings(tmp_path / "mine.toml", {"colour": "red"})
