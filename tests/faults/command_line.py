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
