"""Shared fixtures: where the evaluation data is, and the sample data."""
from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "data"


def shared_data(name: str) -> Path:
    """Folder of one evaluation set; the test is skipped, with the reason, where it is absent."""
    folder = Path(os.environ.get("RAGNB_DATA", ROOT.parent / "shared" / "data")) / name
    if not folder.is_dir():
        pytest.skip(f"evaluation set {name!r} is not there; set RAGNB_DATA to the folder that holds it")
    return folder


def shared_models(name: str) -> Path:
    """Folder of one local model; the test is skipped, with the reason, where it is absent."""
    folder = Path(os.environ.get("RAGNB_MODELS", ROOT.parent / "shared" / "models")) / name
    if not folder.is_dir():
        pytest.skip(f"model {name!r} is not there; set RAGNB_MODELS to the folder that holds it")
    return folder


def small_sample(n_questions: int):
    """Questions of the sample data over the documents that answer them: as a whole corpus, but small."""
    from dataclasses import replace

    from ragnb.evaluation.datasets import load_dataset
    whole = load_dataset(SAMPLE).limit(n_questions)
    needed = {e.doc_id for q in whole.questions for e in q.evidence}
    shortest = sorted(whole.documents, key=lambda i: len(whole.documents[i].text))[:4]
    return replace(whole, documents={i: d for i, d in whole.documents.items() if i in needed or i in shortest})


@pytest.fixture
def sample() -> Path:
    """The package's own sample data."""
    return SAMPLE
