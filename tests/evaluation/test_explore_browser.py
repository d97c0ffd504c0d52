"""`explore` in a real JupyterLab in Chromium: a question is typed, a knob is turned, and the page shows what was read."""
from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser
CODE = """from ragnb.evaluation.explore import explore
explore({folder!r}, '경조휴가는 며칠인가요?')"""


@pytest.fixture
def lab(tmp_path, hr_units):
    """The address of a JupyterLab with one notebook; ended by its own process id."""
    cells = [{"cell_type": "code", "id": "a", "metadata": {}, "execution_count": None, "outputs": [],
              "source": CODE.format(folder=str(hr_units.folder))}]
    spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    book = {"cells": cells, "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "try.ipynb").write_text(json.dumps(book), encoding="utf-8")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    options = ["--no-browser", f"--port={port}", "--ServerApp.token=", "--ServerApp.password=", "--allow-root",
               f"--ServerApp.root_dir={tmp_path}", "--LabApp.extension_manager=readonly"]
    widgets = Path(pytest.importorskip("jupyterlab_widgets").__file__).parents[4] / "share" / "jupyter"
    own = {"JUPYTER_PATH": str(widgets), "JUPYTER_CONFIG_DIR": str(tmp_path / "config"),
           "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"),
           "JUPYTERLAB_SETTINGS_DIR": str(tmp_path / "settings"), "JUPYTERLAB_WORKSPACES_DIR": str(tmp_path / "spaces")}
    with (tmp_path / "lab.log").open("w") as log:
        process = subprocess.Popen([sys.executable, "-m", "jupyter", "lab", *options], cwd=tmp_path, stdout=log,
                                   stderr=log, env={**os.environ, **own})
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/api", timeout=2).read()
                break
            except OSError:
                time.sleep(0.5)
        else:
            pytest.fail((tmp_path / "lab.log").read_text()[-2_000:])
        yield f"http://127.0.0.1:{port}/lab/tree/try.ipynb"
    finally:
        process.terminate()
        process.wait(30)


def run_first_cell(page, lab, field) -> None:
    """Open the notebook and run its cell; again where JupyterLab did not reach its kernel, which it says in a dialog."""
    from playwright.sync_api import TimeoutError
    told = []
    for _ in range(6):
        page.goto(lab)
        page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for()
        try:                                       # a cell that is run before the kernel is there is not run at all
            page.locator(".jp-Notebook .jp-Cell .cm-content").first.click(timeout=10_000)
            page.keyboard.press("Shift+Enter")
            return field.wait_for(timeout=60_000)
        except TimeoutError:
            told.append(" / ".join(page.locator(".jp-Dialog").all_inner_texts()) or "no dialog")
    pytest.fail(f"the cell never ran; JupyterLab said: {told}")


def test_a_question_is_typed_and_a_retriever_chosen_in_jupyterlab(chromium, lab, tmp_path):
    shots = Path(os.environ.get("RAGNB_SHOTS", tmp_path))
    page = chromium.new_page(viewport={"width": 1200, "height": 1500})
    page.set_default_timeout(180_000)
    field = page.locator("input[placeholder='질문 / question']")
    run_first_cell(page, lab, field)
    page.get_by_text("passages,").first.wait_for()
    page.screenshot(path=str(shots / "explore-1.png"))
    field.fill("입사 1년차 직원의 연차는 며칠인가요?")
    field.press("Enter")
    page.locator(".rt h3", has_text="입사 1년차").wait_for()
    cards = page.locator(".jp-RenderedHTML b", has_text="passages,")
    before = cards.all_inner_texts()
    page.locator(".jupyter-widgets select").first.select_option("bm25")
    page.wait_for_function("old => [...document.querySelectorAll('.jp-RenderedHTML b')].map(b => b.innerText)"
                           ".filter(t => t.includes('passages,')).join() !== old", arg=",".join(before))
    page.get_by_role("button", name="B", exact=True).click()
    page.get_by_role("button", name="Ask").click()
    page.wait_for_timeout(1_500)
    page.screenshot(path=str(shots / "explore-2.png"))
    assert cards.all_inner_texts() != before
    boxes = page.locator(".rt .wide")
    for n in range(boxes.count()):                 # tables stay inside their boxes
        inner = boxes.nth(n).evaluate("b => [...b.querySelectorAll('td')].every(t => t.scrollWidth <= t.clientWidth + 1)")
        assert inner, "a cell is wider than its column"
    page.close()
