"""A program that writes contexts with a scripted model and gets killed.

    python scripted_llm.py CACHE LOG KILL_AT      contexts for ten chapters, dying at the KILL_AT-th call (0: never)
"""
from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from ragnb.models.scripted import ScriptedLLM


def main() -> None:
    from llama_index.core.schema import Document

    from ragnb.chunking.contextual import LlmContextNodeParser
    from ragnb.chunking.parent_child import ParentChildNodeParser

    cache, log, kill_at = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    count = 0

    def script(prompt: str) -> str:
        nonlocal count
        count += 1
        if count == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        with log.open("a", encoding="utf-8") as file:
            file.write(str(hash_of(prompt)) + "\n")
        return f"맥락 {hash_of(prompt)}."

    text = "".join(f"# 제{i}장\n\n{i}번째 장의 내용이다. 모두 열 개의 장이 있다.\n\n" for i in range(1, 11))
    parser = ParentChildNodeParser(parent_size=120, parent_overlap=0, child_size=40, child_overlap=0, sentences="rule")
    splitter = LlmContextNodeParser(parser=parser, llm=ScriptedLLM(script), cache=cache, workers=1)
    nodes, _ = splitter.parse(Document(text=text, id_="a.md"))
    report, written = splitter.report, sum("context" in n.metadata for n in nodes)
    print(report.calls, report.cached, written, len(splitter.incomplete))


def hash_of(prompt: str) -> int:
    """A number for a prompt, the same in every process."""
    import zlib
    return zlib.crc32(prompt.encode())


if __name__ == "__main__":
    main()
