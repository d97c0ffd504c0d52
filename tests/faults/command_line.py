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
    import json
    import tempfile
    from pathlib import Path

    from llama_index.core import Document

    from ragnb import index_documents
    command = "import sys; from ragnb.cli import main; sys.exit(main(sys.argv[1:]))"
    with tempfile.TemporaryDirectory() as folder:
        index_documents([Document(text="연차는 15일이다.", id_="a.md")], folder, parser="chunks:400/0", show_progress=False)
        file = Path(folder) / "manifest.json"
        manifest = json.loads(file.read_text())
        file.write_text(json.dumps(manifest | {"parser": {"splitter": "MyNodeParser", "size": 400}}))
        done = subprocess.run([sys.executable, "-c", command, "ask", "연차", "--index", folder], capture_output=True, text=True)
    return f"exit {done.returncode}: {(done.stdout or done.stderr).strip().splitlines()[-1:]}"
