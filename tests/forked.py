"""Commands of a copy of the package, each in a fork of one process: no command sees another, and the libraries are loaded once."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

RUN = """
import json, os, sys, tempfile, traceback
answers = os.fdopen(os.dup(1), "w")
import kiwipiepy, ragnb.cli, ragnb.indexing.update, ragnb.pipeline.pipeline, scipy.sparse

def call(words):
    if words[:1] == ["-c"]:
        try:
            exec(words[1], {})
        except BaseException:
            traceback.print_exc()
            return 1
        return 0
    try:
        return ragnb.cli.main(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1

print(json.dumps(ragnb.__file__), file=answers, flush=True)
for line in sys.stdin:
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out, tempfile.TemporaryFile("w+", encoding="utf-8") as err:
        child = os.fork()
        if not child:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            code = 1
            try:
                code = call(json.loads(line))
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        told = []
        for stream in (out, err):
            stream.seek(0)
            told.append(stream.read())
    print(json.dumps([code, *told]), file=answers, flush=True)
"""


class Forked:
    """`python -m ragnb` and `python -c` in a folder that has a copy of the package."""

    def __init__(self, place: Path) -> None:
        env = {**os.environ, "PYTHONPATH": str(place), "PYTHONUTF8": "1", "RAGNB_LANG": "en", "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen([sys.executable, "-c", RUN], cwd=place, env=env, text=True, encoding="utf-8",
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.package = Path(self._read()[0]).parent

    def _read(self) -> list:
        limit = threading.Timer(900, self.process.kill)
        limit.start()
        line = self.process.stdout.readline()
        limit.cancel()
        assert line, "it took too long, or its process ended"
        return [read] if isinstance(read := json.loads(line), str) else read

    def __call__(self, *words: object) -> subprocess.CompletedProcess:
        """The words after `python -m ragnb`, or `-c` and a line of Python."""
        self.process.stdin.write(json.dumps([str(word) for word in words]) + "\n")
        self.process.stdin.flush()
        return subprocess.CompletedProcess(words, *self._read())

    def close(self) -> None:
        """End the process."""
        self.process.communicate()
