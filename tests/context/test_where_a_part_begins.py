"""What stands above a passage, and the article its source names, are those of the place where it begins, however it was cut."""
from __future__ import annotations

import json
import re
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragnb.context.builders import cut_passage, cut_to_sentences
from ragnb.context.labels import passage_article
from ragnb.documents.markdown import find_tables
from ragnb.documents.provisions import provision_label
from ragnb.documents.span import Passage, Span
from ragnb.indexing.folder_index import Index
from ragnb.indexing.update import update_index
from ragnb.pipeline.pipeline import Pipeline

DATA = Path(__file__).resolve().parents[2] / "data"
QUESTIONS = [json.loads(line)["query"] for name in ("hr", "law") for line in (DATA / "questions" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
CUTS = (cut_passage, cut_to_sentences)


@pytest.fixture(scope="module", params=["units", "structure"])
def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Index:
    parser = None if request.param == "units" else request.param
    folder = tmp_path_factory.mktemp(request.param)
    for name in ("hr_labor", "law_common"):
        shutil.copytree(DATA / "corpus" / name, folder / "corpus" / name)
    return update_index(folder / "corpus", folder / "index", parser=parser, show_progress=False)[0]


@pytest.fixture(scope="module")
def passages(index: Index) -> list[Passage]:
    """What a reader sees of every tenth question at three budgets, and the same cut further."""
    out = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")   # small budgets
        for budget in (150, 400, 1_500):
            pipe = Pipeline.from_index(index, budget=budget)
            out += [p for question in QUESTIONS[::10] for p in pipe.ask(question).context.passages]
    return [*out, *(cut(p, size) for p in out for cut in CUTS for size in (40, 90, 200))]


def lines(passage: Passage) -> Iterator[str]:
    return (line for line in passage.prefix.split("\n") if line and not line.startswith("|"))


def test_no_other_section_is_named(index: Index, passages: list[Passage]) -> None:
    seen = 0
    for p in passages:
        sections = index.store.get_outlines([p.doc_id]).found[p.doc_id].sections
        here = [name for name, span in sections if span.start <= p.span.start < span.end]
        others = {name for name, _ in sections if not any(h.startswith(name) for h in here)}
        seen += bool(here and p.prefix)
        wrong = [line for line in lines(p) if here and any(line.endswith(name) for name in others)]
        assert not wrong, (p.doc_id, p.span, here, wrong)
    assert seen > 100


def test_the_article_is_the_one_the_hit_is_in(index: Index, passages: list[Passage]) -> None:
    seen = 0
    for p in passages:
        focus, holding = p.focus or p.span, index.catalogue.holdings.get(p.doc_id)
        if holding is None or not holding.spans or not (place := index.catalogue.place(p.doc_id, focus.start)):
            continue
        article, named = provision_label(place.partition("/")[0]), passage_article(p)
        if named.startswith("["):      # an annex is named as it is printed
            continue
        seen += 1
        assert re.match(re.escape(article) + r"(?!의\d)", named), (p.doc_id, p.span, p.focus, article, named, p.prefix)
    assert seen > 50


def test_a_header_stands_above_its_rows_only(passages: list[Passage]) -> None:
    for p in passages:
        assert "\n|" not in f"\n{p.prefix}" or p.text.lstrip().startswith("|"), (p.doc_id, p.span)
        for part in (cut(p, len(p.text) - 1) for cut in CUTS if len(p.text) > 1):
            headers = [t.header for t in find_tables(part.text) if t.header and not part.text[t.header.end:].strip()]
            for header in headers:   # it was found, or the text ended with it
                at = Span(part.span.start + header.start, part.span.start + header.end)
                assert part.focus and part.focus.overlap(at) or part.span.end >= p.span.end, (p.doc_id, p.span)
