"""Updates that cannot write: a limit on the size of files (as a full disk, from the first byte on), and a folder of somebody else.

Run: python benchmarks/damage.py [--limits 0 1000 20000 100000 200000 400000 800000] [--limit-seconds 120]

Each update runs in a process of its own under RLIMIT_FSIZE. It must end with one line that says the index cannot be written; the index
before must open as it was; and the next update, without the limit, must leave what a clean one leaves. Chroma's own code sometimes waits
for ever when a write fails half way, and holds Python's lock meanwhile, so that nothing in the process can end it. Such a run is ended from
outside and counted apart: the index before must open as it was, and the next update must be right, all the same. The folder of somebody else is
tried as the user nobody, when this is run by root: reading works, an update says that it cannot write.
"""
from __future__ import annotations

import argparse
import faulthandler
import json
import os
import pwd
import resource
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from kills import Place, forked, import_once, state, text_of, toy_embedding, write_corpus


def result(work: Any, out: Path) -> Any:
    """What some work in a child gives; an error when it fails."""
    if forked(work, out)[0]:
        raise SystemExit("a part that should work failed")
    return json.loads(out.read_text(encoding="utf-8"))


def opened(folder: Path) -> Any:
    """The state of an index folder."""
    from ragnb.indexing.folder_index import Index
    return state(Index.open(folder, toy_embedding()), disk=False)


def limited(place: Place, source: Path, limit: int, seconds: float) -> str:
    """Update under a limit: the line it ends with."""
    from ragnb.documents.span import RagnbError
    faulthandler.dump_traceback_later(seconds, exit=True)      # nothing else can end what holds Python's lock
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    try:
        place.update(source, "units")
    except RagnbError as error:
        told = str(error)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.getrlimit(resource.RLIMIT_FSIZE)[1],) * 2)
        assert "cannot be written" in told and "\n" not in told and "--force" not in told, told
        return told
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.getrlimit(resource.RLIMIT_FSIZE)[1],) * 2)
        faulthandler.cancel_dump_traceback_later()
    return "done"


def as_nobody(work: Path, source: Path) -> list[str]:
    """What the user nobody is told by reading, and by updating, a folder that is not its own."""
    from ragnb.documents.span import RagnbError
    os.setgid(pwd.getpwnam("nobody").pw_gid)
    os.setuid(pwd.getpwnam("nobody").pw_uid)
    told = [f"opens with {len(opened(work / 'i')['documents'])} documents"]
    try:
        Place(work / "i", "folder").update(source, "units")
        told.append("done")
    except RagnbError as error:
        told.append(str(error))
    return told


def main() -> int:
    """Print a line for each damage; how many went otherwise than they must."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limits", nargs="*", type=int, default=[0, 1_000, 20_000, 100_000, 200_000, 400_000, 800_000])
    parser.add_argument("--limit-seconds", type=float, default=120)
    args = parser.parse_args()
    import_once()
    wrong, ended = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        os.chmod(work, 0o755)
        source, out = work / "s", work / "out.json"
        write_corpus(source, changed=False)
        base = Place(work / "i", "folder")
        old = result(lambda: state(base.update(source, "units"), disk=False), out)
        if hasattr(os, "setuid") and os.getuid() == 0:
            theirs = work / "nobody.json"
            theirs.touch()
            theirs.chmod(0o666)
            told = result(lambda: as_nobody(work, source), theirs)
            print(f"as nobody: {told[0]}; update: {told[1].replace(str(work), '')}", flush=True)
            wrong += "cannot" not in told[1]
        write_corpus(source, changed=True)
        (source / "big.md").write_text("\n\n".join(map(text_of, range(100, 160))), encoding="utf-8")
        want = result(lambda: state(Place(work / "clean", "folder").update(source, "units"), disk=False), out)
        for limit in args.limits:
            place = Place(work / f"at{limit}", "folder")
            shutil.copytree(base.folder, place.folder)
            began = time.monotonic()
            try:
                told = result(lambda: limited(place, source, limit, args.limit_seconds), out)
            except SystemExit:
                hung = time.monotonic() - began >= args.limit_seconds
                told = "Chroma did not return, the run was ended" if hung else "FAILED"
                wrong, ended = wrong + (not hung), ended + hung
            kept = told == "done" or result(lambda: opened(place.folder), out) == old
            after = result(lambda: state(place.update(source, "units"), disk=False), out) == want
            wrong += not (kept and after)
            print(f"files of {limit:>7} bytes: {told.replace(str(work), '')}; {'the old index is in force' if kept else 'THE OLD INDEX IS GONE'}; "
                  f"the next update is {'right' if after else 'WRONG'}", flush=True)
    print(f"{wrong} wrong, {ended} ended from outside")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
