"""What a context contains: tables, headings, codes, and the notes below it."""
from __future__ import annotations

from pathlib import Path

from before_after import item
from llama_index.core.schema import Document

from ragnb.agent.library import Library, library_pipeline
from ragnb.context.builders import fill_context, SimpleContextBuilder
from ragnb.documents.problems import Problem
from ragnb.documents.span import Passage, Span
from ragnb.documents.text import is_heading
from ragnb.indexing.folder_index import asked_skipped
from ragnb.indexing.update import index_documents
from ragnb.pipeline.pipeline import Pipeline
from ragnb.pipeline.trace_data import Trace


def over(folder: Path, texts: dict[str, str], **settings) -> Pipeline:
    """A pipeline over some texts."""
    documents = [Document(text=text, id_=i, metadata={"title": text.partition("\n")[0].lstrip("# ")}) for i, text in texts.items()]
    index_documents(documents, folder, show_progress=False)
    return Pipeline.from_index(folder, **settings)


def repairs(folder: Path, **settings) -> Pipeline:
    """Two collections of chunks: a long table on an order of repair, and rules that share two words of three with it."""
    def manual(title: str) -> str:
        steps = "\n".join(f"| {n} | {title} {n}단계에서 담당자가 부품과 값을 적는다 | {n}일 |" for n in range(1, 25))
        return f"# {title}\n\n{f'{title}는 고장 난 날부터 사흘 안에 한다. ' * 40}\n\n| 단계 | 할 일 | 기한 |\n|---|---|---|\n{steps}\n"
    rules = "# 시설 규칙\n\n" + "\n\n".join(f"제{n}조(수리와 접수 {n}) 시설은 수리 접수를 거쳐 고친다. 담당자는 {n}일 안에 알린다." for n in range(70, 95))
    collections = {"home": {"boiler.md": manual("보일러 수리 접수"), "tank.md": manual("물탱크 점검 접수")}, "office": {"rules.md": rules}}
    indexes = {}
    for name, texts in collections.items():
        documents = [Document(text=text, id_=i, metadata={"title": text.partition("\n")[0][2:]}) for i, text in texts.items()]
        indexes[name] = index_documents(documents, folder / name, parser="structure", show_progress=False)[0]
    return library_pipeline(Library.open(indexes, **settings))


@item(right=[24, 24, 24])
def rows_of_a_table(folder: Path) -> list[int]:
    "rows of a table over collections: by default, with the default policy named, with the policy none"
    counts = []
    for n, settings in enumerate(({}, {"policy": "doc_type"}, {"policy": "none"})):
        passages = repairs(folder / str(n), **settings).ask("보일러 수리 접수").passages
        counts.append(sum(p.text.count("단계에서") for p in passages if p.doc_id == "home/boiler.md"))
    return counts


YEARS = {f"rent{n}.md": f"# 대여 규정 ({n}년)\n\n## 보증금\n\n보증금은 하루 {n}원이며 반납한 날에 돌려준다.\n\n## 반납\n\n저녁 {n % 5 + 4}시까지 낸다."
         for n in range(2001, 2015)}


@item(right=0)
def passages_of_headings_alone(folder: Path) -> int:
    "passages that are headings alone, at 100 to 400 characters"
    pipeline = over(folder, YEARS)
    ranking = pipeline.find("대여 규정")
    return sum(is_heading(p.text) for budget in range(100, 400, 25) for p in ranking.at(budget))


MANUALS = {f"m{n}.txt": "".join(f"{i} {name}\n\n{name} of model {n}: {text}\n\n" for i, (name, text) in zip(("1", "1.1", "1.2"), (
    ("Introduction", "this manual tells how the pump is used every day."), ("Safety", "never open the lid while the motor is running."),
    ("Cleaning", "clean the filter with cold water each week and let it dry.")))) for n in range(3)}


@item(right=0)
def passages_of_numbered_headings_alone(folder: Path) -> int:
    "passages that are numbered headings of plain text alone, at 100 to 400 characters"
    pipeline = over(folder, MANUALS)
    passages = [p for question in ("Safety", "Cleaning", "Introduction") for budget in range(100, 400, 25) for p in pipeline.find(question).at(budget)]
    return sum(p.text.strip() in ("1 Introduction", "1.1 Safety", "1.2 Cleaning") for p in passages)


@item(right=0)
def less_text_at_a_larger_budget(folder: Path) -> int:
    "budgets up to 700 characters that deliver less text than a smaller one"
    ranking, most, n_less = over(folder, YEARS).find("보증금과 반납"), 0, 0
    for budget in range(100, 700, 20):
        n = sum(len(p.text) for p in fill_context(SimpleContextBuilder(budget=budget), ranking))
        n_less += n < most
        most = max(most, n)
    return n_less


@item(right=["표는 비어 있다."])
def empty_cells(folder: Path) -> list[str]:
    "passages of empty cells"
    passages = [Passage("a.md", Span(0, len(text)), text, hits=("a.md#c0",)) for text in ("|  |  |  |", "표는 비어 있다.")]
    return [p.text for p in SimpleContextBuilder().build(passages).passages]


PARTS = {
    "parts.md": "# Parts list\n\n| part | state |\n|---|---|\n" + "\n".join(f"| K{n} | <*> {('belt torn', 'lamp dark', 'seal cold')[n % 3]} |" for n in range(1, 240)),
    "terms.md": "# Meaning of terms\n\nThe meaning of a term is given by its list. What a word means for a reader is said in section 3."}


def has_k14(pipeline: Pipeline, question: str) -> list:
    """Is the row of K14 in the first passage; kinds of the notes."""
    answer = pipeline.ask(question)
    return ["| K14 |" in answer.passages[0].text, sorted({note.kind for note in answer.context.notes})]


@item(right=[[True, []], [True, []], [True, []]])
def a_code_in_one_row(folder: Path) -> list:
    "a code that stands in one row"
    pipeline = over(folder, PARTS, budget=300)
    return [has_k14(pipeline, question) for question in ("K14가 뭐야?", "K14 뜻", "What does K14 mean?")]


@item(right=[True, True, True, True])
def a_code_by_words(folder: Path) -> list:
    "a code that stands in one row, by bm25 and hybrid retrieval"
    over(folder, PARTS)
    return [has_k14(Pipeline.from_index(folder, retriever=kind, budget=300), question)[0]
            for kind in ("bm25", "hybrid") for question in ("K14의 뜻은?", "What does K14 mean?")]


@item(right=[[], [], []])
def denied_words(folder: Path) -> list:
    "words of the documents that a note denies"
    pipeline = over(folder, {"work.md": "# Working at 9harbors\n\n9harbors pays up to 5 % into a pension. The 2nd floor closes at 10pm.", **YEARS})
    questions = "What does 9harbors pay into a pension?", "When does the 2nd floor close?", "What does pension mean?"
    return [[note.text for note in pipeline.ask(question).context.notes] for question in questions]


@item(right=[0, 1])
def a_year_and_a_file(folder: Path) -> list[int]:
    "a year names no skipped file, the name of the file does"
    class Told(list):     # then a list of problems, now a record with `skipped`
        skipped = property(list)
    skipped = {"": Told([Problem("2031.hwpx", "no reader", n=1)])}
    return [len(asked_skipped(skipped, question)) for question in ("2031년 보증금은?", "2031.hwpx에는 무엇이 있나?")]


@item(right="8")
def characters_read(folder: Path) -> str:
    "the trace of a chunk that was read in part"
    text = "보증금은 3천 원이다. 반납은 저녁에 한다."
    whole = Passage("a.md", Span(0, len(text)), text, hits=("a.md#c0",), scores=(1.0,), rank=1)
    part = Passage("a.md", Span(0, 8), text[:8], hits=("a.md#c0",), scores=(1.0,), rank=1)
    return Trace("보증금", (whole,), (part,)).table().splitlines()[1].split()[5]
