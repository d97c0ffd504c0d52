"""Files that pages need besides their text: mermaid, KaTeX, the theme's own. They lie here, with their licences."""
from __future__ import annotations

import gzip
import hashlib
import json
import shutil
from pathlib import Path

THEME = Path(__file__).parent / "theme"
LIST = "vendor.json"


def listing(
    vendor: Path,  # `docs/vendor`
) -> dict[str, str]:  # Path below the folder -> SHA-256
    "What the folder holds now, its list apart."
    files = sorted(p for p in vendor.rglob("*") if p.is_file() and p.name not in (LIST, "README.md"))
    return {p.relative_to(vendor).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def verified(vendor: Path) -> dict[str, str]:
    "Compare the folder with its list; an error names each file that differs."
    wanted = json.loads((vendor / LIST).read_text(encoding="utf-8"))["sha256"]
    found = listing(vendor)
    wrong = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    if wrong:
        raise SystemExit(f"{vendor.name}: not what {LIST} says: {', '.join(wrong)}")
    return found


def write_list(vendor: Path) -> None:
    "Write the list of what the folder holds, keeping the versions of the packages."
    path = vendor / LIST
    known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"packages": {}}
    path.write_text(json.dumps(known | {"sha256": listing(vendor)}, indent=1) + "\n", encoding="utf-8")


def copied(
    vendor: Path,  # `docs/vendor`
    out: Path,     # The site's source
) -> None:
    "Put the vendored files, unpacked, and the theme's files where pages look for them."
    for name in verified(vendor):
        target = out / "vendor" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        content = (vendor / name).read_bytes()
        if target.suffix == ".gz":
            target.with_suffix("").write_bytes(gzip.decompress(content))
        else:
            target.write_bytes(content)
    shutil.copytree(THEME, out / "assets", dirs_exist_ok=True)
