"""The built site: every link, anchor and file is there, and nothing is asked of another host."""
from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlparse

FETCHED = {("img", "src"), ("script", "src"), ("iframe", "src"), ("source", "src"), ("video", "src"), ("audio", "src"),
           ("embed", "src"), ("object", "data")}
FETCHED_LINKS = {"stylesheet", "icon", "preload", "modulepreload", "prefetch", "preconnect", "dns-prefetch", "manifest"}
STYLE = re.compile(r"url\(\s*['\"]?([^)'\"]+)['\"]?\s*\)|@import\s+['\"]([^'\"]+)['\"]")
BASE = "http://site/"


@dataclass
class Page(HTMLParser):
    "What one page refers to, and which anchors it has."
    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)     # What a reader may click
    fetched: list[str] = field(default_factory=list)   # What a browser loads by itself
    raw: list[str] = field(default_factory=list)       # Text that should have been rendered
    _code: int = 0

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        "Note ids, links, and what is loaded."
        values = dict(attrs)
        self._code += tag in ("pre", "code", "script", "style", "textarea")
        self.ids |= {v for v in (values.get("id"), values.get("name") if tag == "a" else None) if v}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag == "link" and values.get("href") and FETCHED_LINKS & set((values.get("rel") or "").split()):
            self.fetched.append(values["href"])
        self.fetched += [v for k, v in values.items() if (tag, k) in FETCHED and v]
        if values.get("style"):
            self.fetched += in_style(values["style"])

    def handle_endtag(self, tag: str) -> None:
        "Leave a block of code."
        self._code -= tag in ("pre", "code", "script", "style", "textarea") and self._code > 0

    def handle_data(self, data: str) -> None:
        "Note Quarto's marks, and fences that were not closed."
        if not self._code:
            self.raw += re.findall(r"^:::+.*|^`{3,}.*|\{ ?\.[a-z-]+ ?\}", data, flags=re.M)


def in_style(
    text: str,  # CSS
) -> list[str]:
    "The addresses that a style sheet loads."
    return [a or b for a, b in STYLE.findall(text)]


def read(
    path: Path,  # A page
) -> Page:
    "Read one page."
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    page.close()
    return page


def problems(
    site: Path,          # The built site
    own: str = "",       # Address where it will stand; links there are links inside
) -> list[str]:          # One line each
    "Find broken links and anchors, `.invalid` hosts, and anything loaded from elsewhere."
    pages = {p.relative_to(site).as_posix(): read(p) for p in sorted(site.rglob("*.html"))}
    files = {p.relative_to(site).as_posix() for p in site.rglob("*") if p.is_file()}
    found, targets = [], {}
    for name, page in pages.items():
        if name != "404.html":     # It is served at any address, so its links start at the root
            found += [f"{name}: not rendered: {text[:60]}" for text in page.raw]
            targets[name] = [(t, False) for t in page.links] + [(t, True) for t in page.fetched]
    for path in sorted(site.rglob("*.css")):
        targets[path.relative_to(site).as_posix()] = [(t, True) for t in in_style(path.read_text(encoding="utf-8"))]
    for name, (target, loaded) in ((name, pair) for name, pairs in targets.items() for pair in dict.fromkeys(pairs)):
        if wrong := problem((name, target), loaded, (pages, files), own):
            found.append(f"{name}: {wrong}: {target}")
    return found


def problem(
    place: tuple[str, str],                       # (page, target as written)
    loaded: bool,                                 # A browser loads it by itself
    known: tuple[dict[str, Page], set[str]],      # Pages, files
    own: str,                                     # Address where the site will stand
) -> str | None:
    "What is wrong with one target."
    (name, target), (pages, files) = place, known
    if target.startswith(("data:", "mailto:", "javascript:", "blob:")):
        return None
    url = urljoin(BASE + name, target)
    if own and url.startswith(own):
        url = BASE + url[len(own):]
    if (urlparse(url).hostname or "").endswith(".invalid"):
        return "a host that does not exist"
    if not url.startswith(BASE):
        return "loaded from another host" if loaded else None
    path, anchor = urldefrag(url[len(BASE):])
    path = unquote(path).partition("?")[0]
    path = path + "index.html" if path in ("", ".") or path.endswith("/") else path
    if path not in files:
        return "no such file"
    if anchor and path in pages and unquote(anchor) not in pages[path].ids and not anchor.startswith("__"):
        return "no such anchor"
    return None
