"""Every tutorial runs top to bottom: on the folder it shows, and on one it was not written for."""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from conftest import write
from ollama_server import OllamaServer
from strategies import SLOW

ROOT = Path(__file__).resolve().parent.parent
TUTORIALS = sorted((ROOT / "nbs/tutorials").glob("*.ipynb"))
RUN = """
import json, os, sys
from pathlib import Path
from execnb.shell import CaptureShell
answers, environment = os.fdopen(os.dup(1), "w"), dict(os.environ)
os.dup2(2, 1)
for line in sys.stdin:
    path, more = json.loads(line)
    os.environ.clear()
    os.environ.update(environment | more)
    os.chdir(Path(path).parent)
    shell, wrong = CaptureShell(Path(path)), ""
    try:
        shell.execute(Path(path), os.devnull, exc_stop=True)
    except Exception:
        wrong = shell.prettytb(fname=Path(path).name)
    print(json.dumps(wrong), file=answers, flush=True)
"""

GARDEN = """---
title: 온실 관리 안내
team: garden
---
# 온실 관리 안내

## 물 주기

여름에는 아침 여섯 시에 물을 준다. 겨울에는 사흘에 한 번, 정오에 준다. 잎이 젖은 채로 밤을 넘기지 않게 한다.

| 식물 | 물의 양 | 간격 |
|---|---|---|
| 레몬나무 | 3리터 | 2일 |
| 다육식물 | 200밀리리터 | 14일 |

## 온도

밤 온도는 12도 아래로 내려가지 않게 한다. 난방기가 멈추면 당번은 20분 안에 보온막을 친다.

Q. 화분은 언제 옮겨 심나요?
A. 뿌리가 밑구멍으로 나온 뒤 첫 봄에 옮겨 심습니다.

Q. 벌레가 생기면 어떻게 하나요?
A. 잎을 비눗물로 닦고 사흘 동안 따로 둡니다.
"""
LAW = """등대지기 복무에 관한 법률 (약칭: 등대법)
[시행 2040. 3. 1.] [법률 제40001호, 2039. 9. 9., 제정]
바다부(항로과)

제1장 총칙

제1조(목적) 이 법은 등대지기의 복무에 필요한 사항을 정함을 목적으로 한다.

제2조(정의) 이 법에서 사용하는 용어의 뜻은 다음과 같다.
  1. “등대지기”란 등대에 머물며 불을 켜고 끄는 사람을 말한다.
  2. “당직”이란 해가 진 뒤부터 뜰 때까지 등대를 지키는 일을 말한다.

제2장 복무

제3조(당직) ① 등대지기는 이틀에 한 번 당직을 선다.
② 안개가 짙은 날에는 제1항에도 불구하고 두 사람이 당직을 선다.

제4조(휴식) 제3조에 따른 당직을 마친 사람에게는 10시간의 휴식을 준다. 휴식의 기준은 별표 1과 같다.

제4조의2(배의 요청) 「항로표지법」 제7조에 따른 요청이 있으면 등대지기는 15분 안에 불을 켠다.

부칙 <제40001호, 2039. 9. 9.>
제1조(시행일) 이 법은 2040년 3월 1일부터 시행한다.

[별표 1] 휴식의 기준(제4조 관련)

구분 | 휴식
맑은 날 | 10시간
안개가 짙은 날 | 14시간
"""
ENGLISH = """# Night shift handbook

## Handover

The outgoing keeper writes the oil level into the log before leaving. The incoming keeper checks the lamp within ten minutes.

## Alarms

A horn of two long tones means that the lamp is out. Call the harbour office on channel 9 and light the spare lamp.
"""
PAGED = {"doc_id": "LAMP_1", "title": "등명기 점검 기록", "doc_type": "manual", "pages": [
    "[현상] 등명기의 회전이 하루에 세 번 멈추었다. 모터의 온도는 71도였다.",
    "[조치] 기어에 낀 소금을 닦고 기름을 40밀리리터 채웠다. 그 뒤 닷새 동안 멈추지 않았다.",
    "[부품]\n\n| 부품 | 번호 | 수량 |\n|---|---|---|\n| 회전 기어 | LG-204 | 1 |\n| 밀봉 고리 | LS-77 | 2 |"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder of another kind: a guide, a statute, records with pages, English, a PDF, and a file of no use."""
    from reportlab.pdfgen.canvas import Canvas

    place = tmp_path_factory.mktemp("other")
    write(place, {"garden.md": GARDEN, "rules/lighthouse_act.txt": LAW, "rules/handbook.md": ENGLISH,
                  "lamp.jsonl": json.dumps(PAGED, ensure_ascii=False) + "\n", "photo.png": b"\x89PNG\r\n"})
    canvas = Canvas(str(place / "report.pdf"))
    for line in ("The keeper measured 32 metres of visibility.", "The spare lamp burns for 18 hours."):
        canvas.drawString(72, 720, line)
        canvas.showPage()
    canvas.save()
    return place


@pytest.fixture(scope="module")
def execute() -> Iterator[Callable[..., None]]:
    """Run notebooks, slow cells too, one after another in a process that loads the libraries once; nothing is stored."""
    environment = {k: v for k, v in os.environ.items() if k not in ("RAGNB_TUTORIAL_FOLDER", "RAGNB_TUTORIAL_MODEL", "RAGNB_OPENSEARCH")}
    environment |= {"PYTHONIOENCODING": "utf-8", "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-c", RUN], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")

    def run(notebook: Path, folder: Path | None, **more: str) -> None:
        if folder is not None:
            more["RAGNB_TUTORIAL_FOLDER"] = str(folder)
        limit = threading.Timer(600, process.kill)
        limit.start()
        process.stdin.write(json.dumps([str(notebook), more]) + "\n")
        process.stdin.flush()
        wrong = process.stdout.readline()
        limit.cancel()
        assert wrong and not json.loads(wrong), wrong and json.loads(wrong)[-3_000:] or "it took ten minutes, or its process ended"
    yield run
    process.communicate()


def needs(notebook: Path) -> None:
    """Skip what needs a package that is not there."""
    if "fastapi" in notebook.stem and not (find_spec("fastapi") and find_spec("httpx")):
        pytest.skip("fastapi is not installed")


@pytest.mark.heavy
@pytest.mark.parametrize("notebook", TUTORIALS, ids=lambda p: p.stem)
def test_a_tutorial_runs_on_another_folder(execute, notebook, folder):
    """Slow cells too; `nbdev_test` runs the others on the folder that the tutorial shows."""
    needs(notebook)
    own, before = notebook.read_bytes(), sorted((p, p.stat().st_mtime_ns) for p in folder.rglob("*"))
    execute(notebook, folder)
    assert notebook.read_bytes() == own
    assert sorted((p, p.stat().st_mtime_ns) for p in folder.rglob("*")) == before   # a reader's folder is only read


@pytest.mark.heavy
@pytest.mark.parametrize("notebook", TUTORIALS if SLOW else TUTORIALS[::3], ids=lambda p: p.stem)
def test_a_tutorial_runs_on_a_folder_without_structure(execute, notebook, tmp_path):
    """One short text: no heading, table, law or question can be made of it."""
    needs(notebook)
    (tmp_path / "note.txt").write_text("창고 열쇠는 서랍에 있다.\n", encoding="utf-8")
    execute(notebook, tmp_path)


@pytest.mark.heavy
@pytest.mark.parametrize("sensible", [True, False])
def test_the_agent_tutorial_with_a_model_behind_ollama(execute, sensible):
    """One variable changed: a model that follows the prompts, and one that answers beside them."""
    answers = {"바꿔 쓰세요": '["휴가 안내"]', '"route"': '{"route": "general"}', '"grounded"': '{"grounded": true, "answered": true}',
               "": "자료에 있는 대로입니다 [1]."}

    def said(messages: list[dict]) -> str:
        told = "\n".join(m["content"] for m in messages)
        return next(answer for words, answer in answers.items() if words in told)

    with OllamaServer(models=("qwen3:8b",)) as server:
        if sensible:
            server.said = said
        execute(ROOT / "nbs/tutorials/09_agent.ipynb", None, RAGNB_TUTORIAL_MODEL="ollama:qwen3:8b", OLLAMA_HOST=server.url)
        assert len(server.asked("/api/chat")) >= 8


@pytest.mark.cluster
def test_the_cluster_tutorial_on_a_real_cluster(execute, opensearch_url, opensearch_client, folder):
    execute(ROOT / "nbs/tutorials/08_opensearch.ipynb", folder, RAGNB_OPENSEARCH=opensearch_url)
    assert not opensearch_client.indices.get(index="tutorial-*", ignore_unavailable=True)


@pytest.mark.parametrize("notebook", TUTORIALS, ids=lambda p: p.stem)
def test_a_tutorial_is_short_and_has_one_path(notebook):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(c["source"]) for c in cells]
    code = [s for s, c in zip(sources, cells) if c["cell_type"] == "code" and "#| hide" not in s]
    assert len(code) <= 15 and sum("FOLDER = " in s for s in code) == 1
    assert "RAGNB_TUTORIAL_FOLDER" in code[0] and "FOLDER" in "".join(code[1:])
    assert sum(len(re.findall(r"^ *assert ", s, re.M)) for s in code) >= 3
    assert re.search(r"[가-힣]", sources[0]) and len(TUTORIALS) == 10
