"""Plots: the data are in the picture, names can be read, files repeat, bad input is named."""
from __future__ import annotations

import json
import logging
import math
import sys
import unicodedata
import warnings
from pathlib import Path

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")

from ragnb.evaluation import plots
from ragnb.evaluation.plots import plot_position, plot_recall
from ragnb.documents.span import InputError

NAMES = ["none", "neighbors:1", "neighbors:5", "parent", "이웃 한 개씩 넓히기", "hybrid+rerank+neighbors:1, header=title",
         "LlamaIndex SentenceWindow (3)", "LlamaIndex AutoMerging", "Haystack SentenceWindowRetriever",
         "chonkie/semantic+bm25", "multiscale:u,c,p budget", "법령 조문 단위 recursive|800/100|langchain"]


def results(names=("none", "parent"), budgets=(500, 1_000, 2_000), dataset="sample", seed=0) -> dict:
    """What `ragnb eval` writes."""
    rng, strategies = np.random.default_rng(seed), {}
    for name in names:
        rows, recall = {}, rng.uniform(0.3, 0.5)
        for budget in budgets:
            recall = min(0.98, recall + rng.uniform(0, 0.12))
            rows[str(budget)] = {
                "evidence_recall": recall, "ci": [recall - 0.02, min(1, recall + 0.02)], "precision": 0.1, "iou": 0.1,
                "containment": 0.9 * recall, "characters": 0.95 * budget, "first": 10}
        strategies[name] = {"budgets": rows, "measures": {}, "seconds": float(rng.uniform(1, 50)),
                            "store_reads": int(rng.integers(100, 900))}
    return {"dataset": dataset, "n_questions": 146, "strategies": strategies}


def lines(ax) -> dict:
    """The named lines of axes, without what only helps to read them."""
    return {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}


def texts_of(ax) -> list:
    """Every text that stands in axes."""
    from matplotlib.text import Text

    return [t for t in ax.findobj(Text) if t.get_text() and t.get_visible()]


def legend(ax) -> list[str]:
    """The names below the lines."""
    return [t.get_text() for t in ax.get_legend().get_texts()]


# --- recall
def test_lines_hold_the_recalls() -> None:
    r = results()
    drawn = lines(plot_recall(r).axes[0])
    assert list(drawn) == ["none", "parent"]
    for name, line in drawn.items():
        rows = r["strategies"][name]["budgets"]
        assert line.get_ydata().tolist() == [row["evidence_recall"] for row in rows.values()]
        assert line.get_xdata().tolist() == [row["characters"] for row in rows.values()]


def test_intervals_are_drawn_as_they_are() -> None:
    r = results(["only"])
    band = plot_recall(r).axes[0].collections[0].get_paths()[0].vertices[:, 1]
    ends = [v for row in r["strategies"]["only"]["budgets"].values() for v in row["ci"]]
    assert all(np.isclose(band, v).any() for v in ends)
    many = plot_recall(results(NAMES[:5])).axes[0]
    assert len(many.collections) == 5  # error bars, no bands, when there are many


def test_lines_differ_without_colour() -> None:
    drawn = lines(plot_recall(results(NAMES)).axes[0]).values()
    assert len({line.get_marker() for line in drawn}) == 12
    neighbors = list(drawn)
    assert all(a.get_linestyle() != b.get_linestyle() or a._dash_pattern != b._dash_pattern for a, b in zip(neighbors, neighbors[1:]))


@pytest.mark.parametrize("names", [NAMES, ["아주긴이름" * 20], ["x" * 90, "a, b"]], ids=len)
def test_names_are_below_the_lines_and_inside_the_page_the_best_first(names: list[str]) -> None:
    r = results(names)
    figure = plot_recall(r)
    (ax,) = figure.axes
    best = sorted(names, key=lambda name: -r["strategies"][name]["budgets"]["2000"]["evidence_recall"])
    assert [a.rstrip("…") for a in legend(ax)] == [n[:len(a.rstrip("…"))] for n, a in zip(best, legend(ax))]
    figure.draw_without_rendering()
    page, box = figure.bbox, ax.get_legend().get_window_extent()
    assert page.x0 <= box.x0 and page.y0 <= box.y0 and box.y1 <= ax.xaxis.label.get_window_extent().y0


def test_sets_stand_one_below_the_other() -> None:
    sets = {"korquad": results(), "표본": results(seed=1)}
    figure = plot_recall(sets)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["korquad, 146 questions", "표본, 146 questions"]
    assert figure.get_figheight() > figure.get_figwidth()
    assert figure.axes[0].get_position().y0 > figure.axes[1].get_position().y1
    listed = plot_recall([results(dataset="one"), results(dataset="two")])
    assert len(listed.axes) == 2


def test_results_are_read_from_files(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text(json.dumps(results()), encoding="utf-8")
    for source in (tmp_path, tmp_path / "results.json", {"a": tmp_path}):
        assert list(lines(plot_recall(source).axes[0])) == ["none", "parent"]
    with pytest.raises(InputError, match="no results at .*absent.json"):
        plot_recall(tmp_path / "absent.json")


@pytest.mark.parametrize(("bad", "message"), [
    ({}, "results must be"), (3, "results must be"), ({"strategies": {}}, "have no 'strategies'"),
    ({"a": {"scores": 1}}, "results of 'a' have no 'strategies'"),
    ({"strategies": {"x": {"measures": {"nDCG@10": 0.3}}}}, "strategy 'x' has no 'budgets'")])
def test_bad_results_are_named(bad: object, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        plot_recall(bad)


def test_axes_of_a_study_are_used() -> None:
    from matplotlib.figure import Figure

    own = Figure().subplots(2, 2)
    assert plot_recall([results(dataset=name) for name in "ab"], ax=own.flat[:2]) is own[0, 0].figure
    assert [bool(ax.lines) for ax in own.flat] == [True, True, False, False]


# --- fonts
def test_korean_names_have_no_boxes(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    some = [NAMES[0], NAMES[4], NAMES[11]]
    sets = {"인사 규정": results(some), "법령": results(some, seed=1)}
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING):
        warnings.simplefilter("error")
        plot_recall(sets, save=tmp_path / "a.png")
        plot_position({"이웃": [0.1, 0.9], "없음": [0.5]}, save=tmp_path / "d.png")
    assert not caplog.records
    assert all(f.stat().st_size > 5_000 for f in tmp_path.iterdir())


@pytest.fixture
def no_korean_font(monkeypatch: pytest.MonkeyPatch):
    """A machine without a Korean font and without the extra; what is remembered of fonts is forgotten before and after."""
    from matplotlib.font_manager import fontManager

    def forget() -> None:
        for kept in vars(plots).values():
            getattr(kept, "cache_clear", int)()

    monkeypatch.setattr(plots, "find_spec", lambda name: None)
    monkeypatch.setattr(fontManager, "ttflist", [f for f in fontManager.ttflist if f.name.startswith("DejaVu")])
    forget()
    yield
    forget()


def test_without_a_korean_font_the_log_says_so_once(no_korean_font, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING):
        warnings.simplefilter("error")
        for name in "ab":
            ax = plot_recall(results(["이웃 ±1", "漢字 x"]), save=tmp_path / f"{name}.png").axes[0]
    assert set(legend(ax)) == {"?? ±1", "?? x"}
    (record,) = caplog.records
    assert "[plots]' installs one for Korean" in record.message


def test_composed_and_decomposed_hangul_read_the_same() -> None:
    ax = plot_recall(results([unicodedata.normalize("NFD", "이웃")])).axes[0]
    assert legend(ax) == ["이웃"]


@pytest.mark.parametrize("name", ["$x_1$ and $", "a_b^c", "cost $5", "100 %", "a\\b"])
def test_names_are_not_read_as_formulas(name: str, tmp_path: Path) -> None:
    plot_recall({name: results([name])}, save=tmp_path / "a.png")
    plot_position({name: [0.5]}, save=tmp_path / "c.png")


# --- positions
def test_positions_are_counted() -> None:
    rows = [{"order": "best first", "position": 0.0}, {"order": "best first", "position": 0.05},
            {"order": "best first", "position": 1.0}, {"order": "other", "position": 0.5},
            {"order": "other", "position": None}]
    first, second = plot_position(rows).axes
    assert [b.get_height() for b in first.containers[0]] == pytest.approx([2 / 3, *[0] * 10, 1 / 3])
    assert [t.get_text() for t in first.texts] == ["67%", "0%", "33%"]
    assert (first.get_title(loc="left"), second.get_title(loc="left")) == ("best first, 3 pieces", "other, 1 piece, 1 absent")
    assert len(plot_position([0.1, 0.2]).axes) == 1
    assert len(plot_position({"a": [math.nan, 0.2], "b": []}).axes) == 2
    assert (
        plot_position([None, None]).axes[0].get_title(loc="left") == "0 pieces, 2 absent"
    )  # nothing was found: that is a result too


def test_positions_from_rows_of_an_evaluation() -> None:
    rows = [{"query_id": "1", "strategy": "x", "budgets": {"500": {"first": 250, "characters": 500}}},
            {"query_id": "2", "strategy": "x", "budgets": {"500": {"first": None, "characters": 480}}}]
    ax = plot_position(rows, budget=500).axes[0]
    assert [b.get_height() for b in ax.containers[0]] == [0] * 6 + [1] + [0] * 5
    assert ax.get_title(loc="left") == "x, 1 piece, 1 absent"
    with pytest.raises(InputError, match=r"needs 'position', or 'first' and 'characters' \(budget 700\)"):
        plot_position(rows, budget=700)


@pytest.mark.parametrize(("rows", "message"), [
    ([], "rows are empty"), ({}, "rows are empty"), ({"a": []}, "rows are empty"), ([{"score": 1}], "a row needs 'position'"),
])
def test_bad_positions_are_named(rows: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        plot_position(rows)


# --- figures and files
CALLS = {"recall": lambda **kw: plot_recall(results(NAMES[:4]), **kw), "position": lambda **kw: plot_position([0.1, 0.5, 0.9], **kw)}


@pytest.mark.heavy
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_files_repeat_to_the_byte(call: str, kind: str, tmp_path: Path) -> None:
    one, two = tmp_path / f"one.{kind}", tmp_path / f"two.{kind}"
    CALLS[call](save=one)
    CALLS[call](save=two)
    data = one.read_bytes()
    assert data == two.read_bytes()
    assert not any(word in data for word in (b"dc:date", b"CreationDate", b"Matplotlib v"))
    assert data.startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[kind])


@pytest.mark.parametrize("call", CALLS)
def test_a_figure_can_be_read_on_a_phone_shows_itself_and_leaves_no_trace(call: str) -> None:
    figure = CALLS[call]()
    assert figure._repr_png_().startswith(b"\x89PNG") and len(figure._repr_png_()) < 90_000
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()
    assert figure.get_figwidth() <= 4.8
    for ax in figure.axes:
        for t in texts_of(ax):
            assert t.get_fontsize() * 360 / (72 * figure.get_figwidth()) >= 10, t.get_text()  # pixels at a width of 360


@pytest.mark.parametrize("call", CALLS)
def test_without_matplotlib_the_extra_is_named(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"pip install .*\[plots\]'"):
        CALLS[call]()
