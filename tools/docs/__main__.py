"""`python -m tools.docs`: build the site from the stored notebooks, check it, and (`serve`) show it on this machine."""
from __future__ import annotations

import argparse
import functools
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from configparser import ConfigParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from . import assets, card, check, config, lessons, pages, prose, reference, rooms, words

ROOT = Path(__file__).resolve().parent.parent.parent


def sources(
    root: Path,         # The project
    out: Path,          # Where the site's source goes; emptied first
    host: config.Host,
) -> pages.Site:
    "Write the Markdown of every page, with pictures and vendored files."
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    site = pages.Site(pages.notebooks(root / "nbs"), blob=host.blob, lessons=lessons.read(root / "nbs"))
    for page, text, told, source in of_notebooks(site, out) + of_files(site, root):
        write(out / page, pages.headed(text, told, source, host.blob))
    for notebook in site.notebooks:
        if notebook.path != "index.ipynb":
            shutil.copy(root / "nbs" / notebook.path, out / notebook.path)
    for picture in sorted((root / "nbs").rglob("figures/*.png")):
        target = out / picture.relative_to(root / "nbs")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(picture, target)
    assets.copied(root / "docs" / "vendor", out)
    shutil.copy(root / card.CARD, out / "assets" / "card.png")
    return site


Written = tuple[str, str, str, str]   # Page below the site's source, Markdown, description, file that it is made from


def of_notebooks(
    site: pages.Site,
    out: Path,  # Pictures of cells go here
) -> list[Written]:
    "The pages of notebooks, of their modules and of their folders."
    made = []
    for notebook in site.notebooks:
        text, path = pages.notebook_page(notebook, site, out), f"{site.folder}/{notebook.path}"
        made.append((notebook.page, text, notebook.gain or notebook.title, path))
        if notebook.module:
            module = f"{site.package}/{notebook.module.replace('.', '/')}.py"
            told = f"Reference of {site.package}.{notebook.module}: {notebook.gain}"
            made.append((notebook.api, pages.api_page(notebook, site), told, module))
    for folder, stops in rooms.rooms(site).items():
        is_road = folder == lessons.FOLDER and site.lessons
        text = lessons.road_page(site.lessons) if is_road else rooms.room_page(folder, stops)
        made.append((f"{folder}/index.md", text, rooms.gain(stops, folder), f"{site.folder}/{folder}"))
    return made


def of_files(
    site: pages.Site,
    root: Path,  # The project
) -> list[Written]:
    "The overview of the reference, the pages of `docs/`, and the changelog."
    overview = reference.reference_page(site, root / "ragnb" / "__init__.pyi")
    made = [("api/index.md", overview, reference.TOLD, "ragnb/__init__.pyi")]
    for path in sorted((root / "docs").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        told = re.search(r"^> +(.+)$|^(?![#|>`-])(\S.+)$", text, flags=re.M)
        made.append((path.name, prose.markdown(text, site.link(path.name), site.known(path.name)) + "\n",
                     (told[1] or told[2]) if told else path.stem, f"docs/{path.name}"))
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")    # Its links start at the project, not at `docs/`
    changes = re.sub(r"\]\((?![a-z]+:|#)", "](../", changes)
    made.append(("changelog.md", prose.markdown(changes, site.link("changelog.md"), {}) + "\n",
                 "What each version gives you.", "CHANGELOG.md"))
    return made


def write(path: Path, text: str) -> None:
    "Write a page, making its folder."
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def build(
    root: Path,                  # The project
    work: Path,                  # For the site's source; rewritten
    out: Path,                   # The site; rewritten
    host: config.Host | None = None,  # Default: from the environment and settings.ini
) -> list[str]:                  # What is wrong with the result, a line each
    "Build the whole site; raises SystemExit when the generator fails."
    host = host or config.host(branch=settings(root).get("branch", "main"))
    site = sources(root, work / "pages", host)
    file = work / "zensical.yml"
    named = settings(root)
    templates = Path(__file__).parent / "templates"
    facts = {"site_description": named["description"], "version": named["version"], "templates": str(templates)}
    file.write_text(config.configuration(site, host, ("pages", "site"), facts), encoding="utf-8")
    made = work / "site"
    shutil.rmtree(made, ignore_errors=True)
    command = [str(Path(sys.executable).with_name("zensical")), "build", "-f", str(file), "--clean", "--strict"]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True)
    if done.returncode or not (made / "search.json").is_file():
        raise SystemExit(done.stdout + done.stderr)
    words.korean_index(made / "search.json")
    korean = made / "ko.html"
    write(korean, korean.read_text(encoding="utf-8").replace('<html lang="en"', '<html lang="ko"', 1))
    shutil.rmtree(out, ignore_errors=True)
    shutil.move(made, out)
    return check.problems(out, host.site)


def settings(root: Path) -> Mapping[str, str]:
    "What settings.ini says: branch, version, description."
    read = ConfigParser(delimiters=["="])
    read.read(root / "settings.ini", encoding="utf-8")
    return read["DEFAULT"]


def serve(out: Path, port: int) -> None:
    "Show a built site on this machine only, until Ctrl-C."
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(out))
    with ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        print(f"http://127.0.0.1:{server.server_port}/", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass


def main() -> None:
    "Read the command line."
    parser = argparse.ArgumentParser(prog="python -m tools.docs", description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["build", "serve", "check", "vendor", "card"],
                        help="vendor: write the list of vendored files again; card: draw the picture for links again")
    parser.add_argument("--out", type=Path, default=ROOT / "_docs", help="folder of the site (default: _docs)")
    parser.add_argument("--work", type=Path, default=ROOT / "_proc", help="folder for its source (default: _proc)")
    parser.add_argument("--port", type=int, default=8000, help="for serve; 0: any free one")
    args = parser.parse_args()
    out, work = args.out.resolve(), args.work.resolve()
    if args.command == "vendor":
        return assets.write_list(ROOT / "docs" / "vendor")
    if args.command == "card":
        return card.draw(ROOT, settings(ROOT)["description"])
    if args.command == "serve":
        return serve(out, args.port)
    found = build(ROOT, work, out) if args.command == "build" else check.problems(out, config.host().site)
    if found:
        sys.exit("\n".join([*found, f"{len(found)} problems"]))
    made = len(list(out.rglob("*.html")))
    print(f"{made} pages in {out.name}/: links, anchors and files are there, no other host is asked")


if __name__ == "__main__":
    main()
