"""A model that answers by script, for tests of indexing with a model; also run as a program that gets killed.

    python scripted_llm.py CACHE LOG KILL_AT      write contexts for the sample handbook, dying at the KILL_AT-th call (0: never)
"""
from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata


class ScriptedLLM(CustomLLM):
    """Answers with `script(prompt)`; an exception that it returns is raised."""

    name: str = "scripted"
    _script: Callable[[str], Any] = PrivateAttr()
    _asked: list[str] = PrivateAttr(default_factory=list)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)
    _most: int = PrivateAttr(default=0)
    _now: int = PrivateAttr(default=0)

    def __init__(self, script: Callable[[str], Any] = lambda prompt: "맥락이다.", **fields: Any) -> None:
        super().__init__(**fields)
        self._script = script

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name=self.name)

    @property
    def asked(self) -> list[str]:
        """Prompts, in the order of the calls."""
        return self._asked

    @property
    def most_at_once(self) -> int:
        """Calls that were under way together, at most."""
        return self._most

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        with self._lock:
            self._asked.append(prompt)
            self._now += 1
            self._most = max(self._most, self._now)
        try:
            answer = self._script(prompt)
        finally:
            with self._lock:
                self._now -= 1
        if isinstance(answer, BaseException):
            raise answer
        return CompletionResponse(text=answer)

    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        import asyncio
        return await asyncio.to_thread(self.complete, prompt, formatted, **kwargs)

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError


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
    splitter = LlmContextNodeParser(parser=ParentChildNodeParser(parent_size=120, parent_overlap=0, child_size=40, child_overlap=0, sentences="rule"),
                                    llm=ScriptedLLM(script), cache=cache, workers=1)
    nodes, _ = splitter.parse(Document(text=text, id_="a.md"))
    print(splitter.report.calls, splitter.report.cached, sum("context" in n.metadata for n in nodes), len(splitter.incomplete))


def hash_of(prompt: str) -> int:
    """A number for a prompt, the same in every process."""
    import zlib
    return zlib.crc32(prompt.encode())


if __name__ == "__main__":
    main()
