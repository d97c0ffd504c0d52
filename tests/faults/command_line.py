"""What the command line does with odd calls."""
from __future__ import annotations

import subprocess
import sys


def python_m_ragnb() -> str:
    "`python -m ragnb ls --help`"
    done = subprocess.run([sys.executable, "-m", "ragnb", "ls", "--help"], capture_output=True, text=True)
    return f"exit {done.returncode}: {(done.stdout or done.stderr).strip().splitlines()[-1:]}"


def module_of_the_command_line() -> str:
    "`python -m ragnb.cli anything`"
    done = subprocess.run([sys.executable, "-m", "ragnb.cli", "anything"], capture_output=True, text=True)
    return f"exit {done.returncode}: {(done.stdout or done.stderr).strip().splitlines()[-1:]}"


def asking_an_index_of_another_splitter() -> str:
    "`ragnb ask` on an index that a splitter of one's own has made"
    import tempfile

    from llama_index.core import Document

    from ragnb import Span, index_documents
    from ragnb.chunking.base import SpanNodeParser

    class Halves(SpanNodeParser):
        def split(self, text: str) -> dict[str, list[Span]]:
            return {"c": [Span(0, len(text) // 2), Span(len(text) // 2, len(text))]}

    command = "import sys; from ragnb.cli import main; sys.exit(main(sys.argv[1:]))"
    with tempfile.TemporaryDirectory() as folder:
        index_documents([Document(text="연차는 15일이다.", id_="a.md")], folder, parser=Halves(), show_progress=False)
        done = subprocess.run([sys.executable, "-c", command, "ask", "연차", "--index", folder], capture_output=True, text=True)
    return f"exit {done.returncode}: {(done.stdout or done.stderr).strip().splitlines()[-1:]}"
