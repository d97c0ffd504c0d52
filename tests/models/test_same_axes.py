"""An n-gram embedding, its vectors and a ranking are the same on every processor and with every number of threads.

With axes computed in 32 bits, 475 stored numbers of the sample and a tenth of its rankings differed between two kernels.
"""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2] / "data"

PROGRAM = """
import hashlib, sys
from pathlib import Path
import numpy as np
from ragnb.models.embedding import NgramEmbedding
from ragnb.retrieval.unit_vectors import code_dots, to_codes

texts = [line for path in sorted(Path(sys.argv[1]).rglob("*.md")) for line in path.read_text("utf-8").splitlines() if line]
embedding = NgramEmbedding().fit(texts)
codes = to_codes(embedding.embed(texts))
dots = [code_dots(codes, embedding.embed([text])[0], np.arange(len(codes))) for text in texts[:40]]
order = np.argsort(-np.stack(dots), axis=1, kind="stable")[:, :50]
print(len(texts), embedding.describe()["fingerprint"], hashlib.sha256(order.tobytes()).hexdigest())
"""


def told(**variables: str) -> str:
    "What the program prints in a process with these variables."
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"} | variables
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(DATA)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def usual() -> str:
    "The same with one thread and the kernels of this processor."
    return told()


@pytest.mark.parametrize("variables", [
    {"OPENBLAS_CORETYPE": "Haswell"}, {"OPENBLAS_CORETYPE": "Sandybridge"},   # ignored where there is no such kernel
    {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"},
], ids=lambda v: next(iter(v.values())))
def test_fingerprint_and_rankings_do_not_depend_on_the_machine(variables, usual):
    assert told(**variables) == usual
