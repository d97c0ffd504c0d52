"""Shared fixtures: where the evaluation data is, and the sample data."""
from __future__ import annotations

import ast
import asyncio
import gc
import inspect
import os
import re
import shutil
import socket
import ssl
import sys
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import settings
from strategies import examples

settings.register_profile("ragnb", examples(500))   # no deadline: the first example of a test may load a model
settings.load_profile("ragnb")

os.environ["RAGNB_LANG"] = "en"   # on any machine
ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "data"
ssl.create_default_context = cache(ssl.create_default_context)   # a client reads the certificates of all authorities: 20 ms
gc.set_threshold(20_000, 20, 20)   # tests make many objects: fewer and longer collections
sys.path += [str(ROOT), str(ROOT / "benchmarks")]   # some tests are of a tool or a benchmark


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import a file when no test with some of the marks that it writes fits `-m`."""
    wanted = config.getoption("markexpr")
    if not re.fullmatch(r"[\w\s()]+", wanted) or not collection_path.name.startswith("test_") or collection_path.suffix != ".py":
        return None
    names = set(re.findall(r"\w+", wanted)) - {"and", "or", "not"}
    text = collection_path.read_text(encoding="utf-8")
    written = sorted(name for name in names if name in text)
    fits = compile(" ".join(wanted.split()), "-m", "eval")
    sets = (dict.fromkeys(names, False) | dict.fromkeys(some, True) for n in range(len(written) + 1) for some in combinations(written, n))
    return None if any(eval(fits, {}, marks) for marks in sets) else True


@pytest.fixture(autouse=True)
def _english():
    """The language that a test chooses, also by `--lang`, ends with it."""
    yield
    from ragnb.machinery.messages import use_language
    use_language("")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test that is a coroutine runs in its own loop."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}))
    return True


def pytest_collection_finish(session: pytest.Session) -> None:
    """What was collected lives to the end: no collection of garbage looks through it."""
    gc.collect()
    gc.freeze()


LONGEST = {"test_every_page_on_a_narrow_screen", "test_the_tests_of_the_house_pass_without_any_shed", "test_no_damage_changes_an_answer_silently",
           "test_the_korean_page_shows_what_the_demo_prints", "test_the_picture_shows_what_the_demo_prints",
           "test_the_site_of_a_hosted_repository_has_no_broken_link"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest tests come first, then files with long ones: at the end the workers share short tests."""
    long = {item.path for item in items if item.get_closest_marker("heavy") or item.get_closest_marker("browser")}
    items.sort(key=lambda item: (getattr(item, "originalname", "") not in LONGEST, item.path not in long))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item):
    """Workers share one cluster: a test marked `cluster(alone=True)`, which changes all of it, waits for the others and they for it."""
    mark = item.get_closest_marker("cluster")
    if mark is None:
        return (yield)
    import fcntl
    folder = item.config.cache.mkdir("cluster")
    with open(folder / "turn", "w") as turn, open(folder / "use", "w") as use:
        fcntl.flock(turn, fcntl.LOCK_EX)  # first come, first served: who waits to be alone is not overtaken for ever
        alone = mark.kwargs.get("alone", False)
        fcntl.flock(use, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(turn, fcntl.LOCK_UN)
        return (yield)


def shared_data(name: str) -> Path:
    """Folder of one evaluation set; the test is skipped, with the reason, where it is absent."""
    folder = Path(os.environ.get("RAGNB_DATA", ROOT.parent / "shared" / "data")) / name
    if not folder.is_dir():
        pytest.skip(f"evaluation set {name!r} is not there; set RAGNB_DATA to the folder that holds it")
    return folder


def shared_models(name: str) -> Path:
    """Folder of one local model; the test is skipped, with the reason, where it is absent."""
    folder = Path(os.environ.get("RAGNB_MODELS", ROOT.parent / "shared" / "models")) / name
    if not folder.is_dir():
        pytest.skip(f"model {name!r} is not there; set RAGNB_MODELS to the folder that holds it")
    return folder


@cache
def syntax() -> dict[str, list[ast.AST]]:
    """The nodes of every module of the package, the module first, by its path in the package."""
    package = ROOT / "ragnb"
    return {path.relative_to(package).as_posix(): list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
            for path in sorted(package.rglob("*.py"))}


def write(folder: Path, files: dict[str, str | bytes | None]) -> Path:
    """Write (or, for None, delete) files of a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return folder


def small_sample(n_questions: int):
    """Questions of the sample data over the short documents that answer them: as a whole corpus, but small."""
    from dataclasses import replace

    from ragnb.evaluation.datasets import load_dataset
    whole = load_dataset(SAMPLE)
    lengths = {i: len(d.text) for i, d in whole.documents.items()}
    short = [q for q in whole.questions if q.evidence and all(lengths[e.doc_id] <= 4_500 for e in q.evidence)]
    asked = replace(whole, questions=short).limit(n_questions)
    needed = {e.doc_id for q in asked.questions for e in q.evidence}
    others = sorted(lengths, key=lengths.__getitem__)[:4]
    return replace(asked, documents={i: d for i, d in whole.documents.items() if i in needed or i in others})


def new_address(url: str, client, name: str):
    """The address of an index on a cluster that is not there yet, for the `yield from` of a fixture; it is deleted afterwards."""
    client.indices.delete(index=f"{name}-*", ignore_unavailable=True)
    yield f"opensearch://{url.split(',')[0].partition('://')[2]}/{name}"
    client.indices.delete(index=f"{name}-*", ignore_unavailable=True)


def commands(run) -> list[str]:
    """The commands that `ragnb --help` lists."""
    return re.findall(r"^  ([a-z]+)  ", run("--help")[1].partition("Commands:")[2], re.M)


def whole_help(run, *words: str) -> str:
    """All options of a command: of a long one `--help` shows the first."""
    code, told, _ = run(*words, "--help-all")
    return told if code == 0 else run(*words, "--help")[1]


@pytest.fixture
def run(capsys):
    """Run a command in this process; (exit code, standard output, standard error)."""
    from ragnb.cli import main

    def run(*argv: object) -> tuple[int, str, str]:
        capsys.readouterr()
        try:
            code = main([str(a) for a in argv])
        except SystemExit as end:  # from argparse
            code = end.code
        return (code, *capsys.readouterr())
    return run


def one_line(result: tuple[int, str, str], code: int = 2) -> str:
    """Check that a command failed as it should; its line."""
    assert result[:2] == (code, "") and result[2].startswith("ragnb") and result[2].count("\n") == 1 and result[2].endswith("\n"), result
    return result[2]


@pytest.fixture(scope="session")
def nobody() -> str:
    """A URL where nothing listens."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{s.getsockname()[1]}"


@pytest.fixture(scope="module")
def chromium():
    """A real Chromium, driven by playwright; without one the test fails. `RAGNB_CHROMIUM` names another than that on the path."""
    from playwright.sync_api import sync_playwright
    found = filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    path = os.environ.get("RAGNB_CHROMIUM") or next(found, None)
    if not path:
        pytest.fail("no Chromium: install it (Debian: apt install chromium), or set RAGNB_CHROMIUM to one")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


@pytest.fixture
def sample() -> Path:
    """The package's own sample data."""
    return SAMPLE


@pytest.fixture(scope="session")
def hr_units(tmp_path_factory):
    """An index of the sample's HR rules as units, in a real Chroma; to be read only."""
    from ragnb.indexing.update import update_index
    return update_index(SAMPLE / "corpus/hr_labor", tmp_path_factory.mktemp("hr") / "units", show_progress=False)[0]


@pytest.fixture(scope="session")
def hr_chunks(tmp_path_factory):
    """The same rules as parents and children; to be read only."""
    from ragnb.indexing.update import update_index
    folder = tmp_path_factory.mktemp("hr") / "chunks"
    return update_index(SAMPLE / "corpus/hr_labor", folder, parser="parent-child", show_progress=False)[0]


@pytest.fixture(scope="session")
def opensearch_url() -> str:
    """The address of a real OpenSearch; a test marked `cluster` fails where there is none."""
    import subprocess
    import sys
    url = os.environ.get("RAGNB_OPENSEARCH", "")
    if not url:
        told = subprocess.run([sys.executable, str(ROOT / "tools/opensearch.py"), "url"], capture_output=True, text=True)
        url = told.stdout.strip()
    if not url:
        pytest.fail("no OpenSearch: start one with `make opensearch`, or set RAGNB_OPENSEARCH=http://host:port")
    return url


@pytest.fixture(scope="session")
def opensearch_client(opensearch_url):
    """A client of it."""
    from opensearchpy import OpenSearch
    return OpenSearch(opensearch_url.split(","), timeout=60)
