"""One version: settings.ini has it, and the command, the site, an index, its results, pages and a server show it."""
from __future__ import annotations

import configparser
import json
import re
from pathlib import Path

import yaml
from conftest import ROOT, write

import ragnb
from ragnb.serve.app import create_app
from tools.docs import __main__ as docs, config, pages

QUESTION = {"query_id": "q1", "query": "연차는 며칠인가?", "evidence": [{"doc_id": "leave.md", "text": "연차는 15일이다."}]}


def shown_versions(run, folder: Path) -> dict[str, str]:
    """Each place that names a version of ragnb, and the version that it names."""
    write(folder, {"docs/leave.md": "# 연차\n\n연차는 15일이다.\n", "questions.jsonl": json.dumps(QUESTION, ensure_ascii=False) + "\n"})
    index, out, page = folder / "index", folder / "out", folder / "why.html"
    for words in (("index", folder / "docs", "--index", index, "--quiet"), ("ask", "연차는 며칠인가?", "--index", index, "--html", page),
                  ("eval", folder / "docs", folder / "questions.jsonl", "--strategy", "bm25", "--out", out, "--quiet")):
        code, _, err = run(*words)
        assert code == 0, err
    facts = {"site_description": "", "version": docs.settings(ROOT)["version"], "templates": ""}
    site = config.configuration(pages.Site([]), config.Host(), ("pages", "site"), facts)
    footer = (ROOT / "tools/docs/templates/partials/copyright.html").read_text(encoding="utf-8")
    texts = {
        "ragnb --version": (r"ragnb (\S+)", run("--version")[1]),
        "ragnb": (r"ragnb (\S+):", run()[1]),
        "ragnb info": (r"^ragnb +(\S+)$", run("info", "--index", index)[1]),
        "a page of ask": (r'content="ragnb ([^"]+)"', page.read_text(encoding="utf-8")),
        "the site": (r"^ +release: (\S+)$", site if "config.extra.release" in footer else ""),
        "CHANGELOG.md": (r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))}
    return {name: re.findall(*sought, flags=re.M)[0] for name, sought in texts.items()} | {
        "Python": ragnb.__version__,
        "ragnb info --json": json.loads(run("info", "--index", index, "--json")[1])["ragnb"],
        "results.json": json.loads((out / "results.json").read_text(encoding="utf-8"))["ragnb"],
        "the API of serve": create_app(index).version,
        "CITATION.cff": yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"]}


def test_every_place_shows_the_version_of_settings(run, tmp_path):
    settings = configparser.ConfigParser(delimiters=["="])
    settings.read(ROOT / "settings.ini", encoding="utf-8")
    shown = shown_versions(run, tmp_path)
    assert set(shown.values()) == {settings["DEFAULT"]["version"]}, shown
    assert 'version=cfg["version"]' in (ROOT / "setup.py").read_text(encoding="utf-8")   # of the wheel


def test_an_index_names_the_version_that_wrote_it_last(tmp_path, monkeypatch):
    for written, version in (("0.0.8", "0.0.8"), ("0.0.9", "0.0.9"), ("0.0.9", "0.1.0")):
        write(tmp_path / "docs", {f"{written}.md": "# 연차\n\n연차는 15일이다.\n"})    # the last run changes nothing
        monkeypatch.setattr("ragnb.indexing.folder_index.__version__", version)
        ragnb.update_index(tmp_path / "docs", tmp_path / "index", show_progress=False)
        assert ragnb.Index.open(tmp_path / "index").manifest.ragnb == written
