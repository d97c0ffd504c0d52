"""Updates that cannot write: a limit on the size of files, a disk that is full, and a folder of somebody else.

Run: python benchmarks/damage.py [--limits 0 1000 20000 100000 200000 400000 800000] [--free 0 20000 …] [--limit-seconds 120]

Each update runs in a process of its own under RLIMIT_FSIZE. It must end with one line that says the index cannot be written; the index
before must open as it was; and the next update, without the limit, must leave what a clean one leaves. A run that does not end is ended from
outside, and counted: Chroma can wait for ever, holding Python's lock, when it is asked for something after a write of its has failed.
The folder of somebody else is tried as the user nobody, when this is run by root: reading works, an update says that it cannot write.
Disks that are full are made by root too: the index lies on a file system in memory (tmpfs) with so many free bytes, in a mount namespace
of its own. With none at all free even opening needs a few pages: a question is then answered, or told that nothing can be written.
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
import subprocess
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


def opened_or_told(folder: Path) -> str | None:
    """None when an index opens, else the line that says why not."""
    from ragnb.documents.atomic import WriteError
    try:
        opened(folder)
    except WriteError as error:
        return str(error)
    return None


def limited(place: Place, source: Path, limit: int | None, seconds: float) -> str:
    """Update under a limit, or on a disk that is full: the line it ends with."""
    from ragnb.documents.span import RagnbError
    faulthandler.dump_traceback_later(seconds, exit=True)      # nothing else can end what holds Python's lock
    if limit is not None:
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


def room_for(folder: Path, free: int | None) -> None:
    """Make the file system of a folder one of its own with so many free bytes; more than enough for None."""
    used = sum(f.stat().st_blocks * 512 for f in folder.rglob("*")) if folder.is_dir() else 0
    size, page = (1 << 30) if free is None else used + free, os.sysconf("SC_PAGE_SIZE")
    folder.mkdir(exist_ok=True)
    options = f"size={-(-size // page) * page}" + (",remount" if os.path.ismount(folder) else "")
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)


class Round:
    """One damaged update after another, each on a copy of the same index."""

    def __init__(self, base: Place, source: Path, out: Path, old: Any, want: Any, seconds: float) -> None:
        self.base, self.source, self.out, self.old, self.want, self.seconds = base, source, out, old, want, seconds
        self.wrong, self.ended = 0, 0

    def try_one(self, name: str, limit: int | None = None, free: int | None = None) -> None:
        """Update under a limit, or with so many bytes free; look at what is left, and update again."""
        place = Place(self.out.parent / "damaged" / "i", "folder")
        shutil.rmtree(place.folder.parent, ignore_errors=True)
        place.folder.parent.mkdir()
        if free is not None:
            room_for(place.folder.parent, None)
        shutil.copytree(self.base.folder, place.folder)
        if free is not None:
            room_for(place.folder.parent, free)
        began = time.monotonic()
        try:
            told = result(lambda: limited(place, self.source, limit, self.seconds), self.out)
        except SystemExit:
            hung = time.monotonic() - began >= self.seconds
            told = "Chroma did not return, the run was ended" if hung else "FAILED"
            self.wrong, self.ended = self.wrong + (not hung), self.ended + hung
        if free is not None:
            full = result(lambda: opened_or_told(place.folder), self.out)
            told += "; questions on it " + ("are answered" if full is None else f"are told: {full}")
            room_for(place.folder.parent, None)
        kept = told.startswith("done") or result(lambda: opened(place.folder), self.out) == self.old
        after = result(lambda: state(place.update(self.source, "units"), disk=False), self.out) == self.want
        if free is not None:
            subprocess.run(["umount", str(place.folder.parent)], check=True)
        self.wrong += not (kept and after)
        print(f"{name}: {told.replace(str(self.out.parent), '')}; {'the old index is in force' if kept else 'THE OLD INDEX IS GONE'}; "
              f"the next update is {'right' if after else 'WRONG'}", flush=True)


def main() -> int:
    """Print a line for each damage; how many went otherwise than they must."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limits", nargs="*", type=int, default=[0, 1_000, 20_000, 100_000, 200_000, 400_000, 800_000])
    parser.add_argument("--free", nargs="*", type=int, default=[0, 20_000, 100_000, 400_000, 1_000_000, 2_000_000], help="needs root")
    parser.add_argument("--limit-seconds", type=float, default=120)
    args = parser.parse_args()
    if args.free and not (hasattr(os, "getuid") and os.getuid() == 0):
        print("not root: no full disks", flush=True)
        args.free = []
    if args.free and "RAGNB_MOUNTS" not in os.environ:      # again, where mounts are seen by nobody else
        os.execvpe("unshare", ["unshare", "-m", sys.executable, *sys.argv], os.environ | {"RAGNB_MOUNTS": "own"})
    import_once()
    wrong = 0
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
        rounds = Round(base, source, out, old, want, args.limit_seconds)
        for limit in args.limits:
            rounds.try_one(f"files of {limit:>7} bytes", limit=limit)
        for free in args.free:
            rounds.try_one(f"{free:>9} bytes free", free=free)
    wrong += rounds.wrong
    print(f"{wrong} wrong, {rounds.ended} ended from outside")
    return wrong + rounds.ended > 0


if __name__ == "__main__":
    sys.exit(main())
