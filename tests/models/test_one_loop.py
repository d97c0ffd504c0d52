"""Synchronous calls to a model server wait in one event loop: a connection belongs to the loop that opened it."""
from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import asyncio, sys, threading
from ragnb.models.replies import waited

async def running(): return id(asyncio.get_running_loop())

def begin():
    barrier.wait()
    found.append(waited(running()))

sys.setswitchinterval(1e-6)
barrier, found = threading.Barrier(16), []
threads = [threading.Thread(target=begin) for _ in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(found), len(set(found)))
"""


def test_threads_that_begin_together_share_one_loop() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["16", "1"]
