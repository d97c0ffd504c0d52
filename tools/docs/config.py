"""The generator's configuration: navigation, extensions, and where the site will stand."""
from __future__ import annotations

import json
import os
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby

import yaml

from .pages import Site, room, room_title

HEAD = """
site_name: ragnb
use_directory_urls: false
theme:
  variant: classic
  custom_dir: TEMPLATES
  font: false
  language: en
  features: [navigation.tabs, navigation.indexes, navigation.prune, navigation.footer, navigation.top, navigation.path,
             toc.follow, content.code.copy, search.highlight]
  palette:
    - media: "(prefers-color-scheme: light)"
      scheme: default
      primary: indigo
      toggle: {icon: lucide/sun, name: Dark}
    - media: "(prefers-color-scheme: dark)"
      scheme: slate
      primary: indigo
      toggle: {icon: lucide/moon, name: Light}
extra:
  generator: false
  release: VERSION
  card: assets/card.png
  alternate:
    - {name: English, link: ./index.html, lang: en}
    - {name: 한국어, link: ./ko.html, lang: ko}
plugins:
  - search: {}
validation: {links: {anchors: warn, not_found: warn}}
markdown_extensions:
  - admonition
  - attr_list
  - md_in_html
  - tables
  - footnotes
  - toc:
      permalink: true
      slugify: !!python/object/apply:pymdownx.slugs.slugify
        kwds: {case: lower}
  - pymdownx.details
  - pymdownx.highlight
  - pymdownx.arithmatex: {generic: true}
  - pymdownx.superfences:
      custom_fences:
        - name: mermaid
          class: diagram
          format: !!python/name:pymdownx.superfences.fence_code_format
extra_css: [vendor/katex/katex.min.css, assets/extra.css]
extra_javascript: [assets/extra.js]
"""


@dataclass
class Host:
    "Where the repository and the site stand; all empty on a machine of one's own."
    repository: str = ""  # `https://github.com/OWNER/NAME`
    site: str = ""        # `https://OWNER.github.io/NAME/`
    branch: str = "main"

    @property
    def blob(self) -> str:
        "Start of the address of a file."
        return f"{self.repository}/blob/{self.branch}" if self.repository else ""


def host(
    environment: Mapping[str, str] = os.environ,
    branch: str = "main",  # Where the environment names none
) -> Host:
    "Read from the environment of a GitHub workflow where the repository is; nowhere without one."
    name = environment.get("GITHUB_REPOSITORY", "")
    if "/" not in name:
        return Host(branch=branch)
    server = environment.get("GITHUB_SERVER_URL", "https://github.com").rstrip("/")
    owner, _, project = name.partition("/")
    pages = environment.get("RAGNB_DOC_HOST") or f"https://{owner.lower()}.github.io/{project}/"
    return Host(f"{server}/{name}", pages.rstrip("/") + "/", environment.get("GITHUB_SHA") or branch)


def navigation(site: Site) -> list[dict]:
    "Front pages, tutorials, lessons, rooms in their order, studies, the reference by rooms, glossary, changelog."
    rooms = [(name, list(group)) for name, group in groupby(filter(room, site.notebooks), key=room)]
    sections = {name: [f"{name}/index.md", *({n.title: n.page} for n in group)] for name, group in rooms}
    numbered = [{room_title(name): pages} for name, pages in sections.items() if name[:1].isdigit()]
    others = {name: pages for name, pages in sections.items() if not name[:1].isdigit()}
    start = {"ragnb": "index.md", "한국어": "ko.md", "Glossary 용어": "glossary.md", "Changes": "changelog.md"}
    nav: list[dict] = [{"Start": [{title: page} for title, page in start.items()]}]
    nav += [{room_title(name): others.pop(name)} for name in ("tutorials", "lessons") if name in others]
    nav.append({"Notebooks": numbered})
    nav += [{room_title(name): pages} for name, pages in others.items()]
    api: list = [{"Overview": "api/index.md"}]
    for name, group in rooms:
        modules = [{n.module.rpartition(".")[2]: n.api} for n in group if n.module]
        api += [{room_title(name): modules}] if modules else []
    return [*nav, {"Reference": api}]


def configuration(
    site: Site,
    host: Host,
    folders: tuple[str, str],  # Source and result, seen from the configuration's folder
    facts: Mapping[str, str],  # `site_description`, `version`, `templates`
) -> str:
    "The configuration as YAML."
    head = HEAD.replace("VERSION", facts["version"]).replace("TEMPLATES", json.dumps(facts["templates"]))
    where = {"docs_dir": folders[0], "site_dir": folders[1], "site_description": facts["site_description"]}
    if host.site:
        where["site_url"] = host.site
    if host.repository:
        where |= {"repo_url": host.repository, "repo_name": posixpath.basename(host.repository)}
    written = yaml.safe_dump(where, allow_unicode=True, sort_keys=False)
    return written + head + yaml.safe_dump({"nav": navigation(site)}, allow_unicode=True, sort_keys=False, width=120)
