"""Questions as people type them: follow-ups, copies and editions, fields of lists, the chance with any embedding, everyday words."""
from __future__ import annotations

import dataclasses
import json
import zlib
from pathlib import Path

from before_after import item
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import Document

from ragnb.context.conversation import Conversation
from ragnb.indexing.folder_index import Index
from ragnb.indexing.update import index_documents, update_index
from ragnb.models.scripted import ScriptedLLM
from ragnb.pipeline.pipeline import Pipeline

CARE = " 자세한 것은 담당자에게 묻고, 바뀐 것은 게시판에 올린다. 이 글은 해마다 고친다. 궁금하면 전화하거나 글을 남긴다."
LOANS = {"대여.md": "# 물품 대여\n\n" + "\n\n".join(
    f"## {name} 대여\n\n{name}{of} {days}일 동안 빌린다. 실습생은 {less}일 동안 빌린다. 잃어버리면 값의 {share}퍼센트를 낸다. 돌려줄 곳은 {room}이다.{CARE}"
    for name, of, days, less, share, room in (("녹음기", "는", 9, 4, 80, "자료실"), ("천막", "은", 3, 1, 60, "시설과"), ("확성기", "는", 2, 1, 70, "행사과")))}
CLASSES = {"classes.md": "# Evening classes\n\n" + "\n\n".join(
    f"## {name}\n\n{name} meets in room {room} on {day}. Members pay {fee} euros. Guests pay {more} euros. Bring your own {tool}."
    " The office answers questions, and changes are posted on the board. This page is reviewed every year."
    for name, room, day, fee, more, tool in (("Pottery", 4, "Monday", 30, 45, "apron"), ("Fencing", 7, "Friday", 60, 90, "gloves"),
                                             ("Drawing", 2, "Sunday", 20, 35, "pencils")))}


def over(folder: Path, texts: dict[str, str], **settings) -> Pipeline:
    """A pipeline over some texts."""
    documents = [Document(text=text, id_=i, metadata={"title": text.partition("\n")[0].lstrip("# ")}) for i, text in texts.items()]
    index_documents(documents, folder, show_progress=False)
    return Pipeline.from_index(folder, **settings)


def firsts(pipeline: Pipeline, turns: list[tuple[list[str], str, str]]) -> int:
    """How many last questions of conversations find their sentence in the first passage."""
    n = 0
    for earlier, question, sentence in turns:
        talk = Conversation()
        for before in earlier:
            talk.add(before, "", pipeline.ask(before).passages)
        n += sentence in pipeline.ask(question, talk).passages[0].text
    return n


@item(right=4)
def korean_follow_ups(folder: Path) -> int:
    "Korean follow-ups without a topic: first passages of 4"
    return firsts(over(folder, LOANS, budget=240), [
        (["천막은 며칠 빌려요?"], "실습생은?", "실습생은 1일"), (["확성기는 며칠 빌려요?"], "그럼 돌려줄 곳은?", "행사과"),
        (["녹음기는 며칠 빌려요?", "실습생은?"], "잃어버리면 값의 몇 퍼센트를 내나요?", "80퍼센트"), (["천막은 며칠 빌려요?"], "돌려줄 곳은 어디예요?", "시설과")])


@item(right=3)
def english_follow_ups(folder: Path) -> int:
    "English follow-ups without a topic: first passages of 3"
    return firsts(over(folder, CLASSES, budget=200), [
        (["How much is fencing for members?"], "And guests?", "Guests pay 90"), (["Where does pottery meet?"], "What about guests?", "Guests pay 45"),
        (["How much is drawing?"], "What do guests pay?", "Guests pay 35")])


def allowances(folder: Path, **settings) -> Pipeline:
    """Six yearly editions of one rule, which differ in an amount and share a sentence."""
    return over(folder, {f"식대규정_{year}.md": f"# 식대 규정 ({year}년판)\n\n## 금액\n\n식대는 하루 {year - 2000}천 원까지 준다.\n\n## 신청\n\n"
                         "식대는 다음 달 닷새째까지 총무과에 신청한다.\n" for year in range(2019, 2025)}, **settings)


@item(right=["식대규정_2024.md", "식대규정_2021.md"])
def editions(folder: Path) -> list[str]:
    "The edition that is asked for comes first: the newest, that of 2021"
    pipeline = allowances(folder)
    return [pipeline.passages(q)[0].doc_id for q in ("가장 최근 식대 금액은 얼마인가요?", "2021년 식대 금액은 얼마인가요?")]


@item(right=1)
def one_sentence_once(folder: Path) -> int:
    "A sentence of six editions: how often the context has it"
    return allowances(folder).ask("식대는 언제까지 신청하나요?").context.text.count("닷새째까지")


@item(right=1)
def one_text_in_two_files(folder: Path) -> int:
    "The same text under two names and with other spaces: how often the context has it"
    text = "# 열쇠 관리\n\n비상 열쇠는 경비실 금고에 두고, 꺼낼 때마다 장부에 이름을 쓴다.\n"
    return over(folder, {"열쇠.hwp": text, "열쇠.hwpx": text.replace("꺼낼 때마다", "꺼낼  때마다")}).ask("비상 열쇠는 어디에 두나요?").context.text.count("경비실")


@item(right=[True, True, True])
def members_of_lists(folder: Path) -> list:
    "Filters find a member of a list: tags in one line, contains, any"
    (folder / "a.md").write_text("---\ntags: 안전, 소방\n---\n# 소화기\n\n소화기는 층마다 둔다.\n", encoding="utf-8")
    update_index(folder, folder / "index", show_progress=False)
    out = []
    for where in ("tags=소방", "tags contains 안전", "tags any 소방,급식"):
        try:
            out.append(bool(Pipeline.from_index(folder / "index", where=where).ask("소화기").passages))
        except ValueError as error:
            out.append(str(error)[:30])
    return out


class Letters(BaseEmbedding):
    """Vectors of letter pairs in which any two texts are near: another scale than that of n-grams."""

    def _vector(self, text: str) -> list[float]:
        out = [0.0] * 256 + [9.0]
        for a, b in zip(text, text[1:]):
            out[zlib.crc32((a + b).encode()) % 256] += 1.0
        return out

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._vector(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._vector(text)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._vector(query)


@item(right=[True, False, True])
def chance_of_any_embedding(folder: Path) -> list:
    "With another embedding: a chance is known, is low for a question with an answer, for one without"
    goods = [f"{name} 상자는 {place} 창고 {n}번 칸에 있고, 무게는 {n * 3}킬로그램이다." for n, (name, place) in enumerate(
        ((name, place) for name in ("사과", "감자", "양파", "수박", "마늘", "포도") for place in ("북쪽", "남쪽", "동쪽", "서쪽")), 1)]
    documents = [Document(text="\n\n".join(goods[i:i + 4]), id_=f"{i}.md", metadata={"title": f"창고 {i}"}) for i in range(0, 24, 4)]
    index = index_documents(documents, folder, embed=Letters(), show_progress=False)[0]
    pipeline = Pipeline.from_index(index)
    there, absent = (pipeline.ask(q).chance for q in ("수박 상자는 동쪽 창고 몇 번 칸에 있나요?", "대통령 선거는 어느 해에 처음 열렸나요?"))
    return [there is not None, there is not None and there < .119, absent is not None and absent < .119]


@item(right=[3, True])
def patterns_of_the_last_run(folder: Path) -> list:
    "A remembered --exclude is told in runs 2 to 4 (times of 3), and is not counted as known"
    (folder / "old").mkdir()
    for name in ("a.md", "old/b.md"):
        (folder / name).write_text(f"# {name}\n\n회의실은 하루 전에 잡는다.\n", encoding="utf-8")
    reports = [update_index(folder, folder / ".index", exclude=["old/"] if not n else None, show_progress=False)[1] for n in range(4)]
    told = [[p for p in report.problems if p.where == "--exclude" and p not in report.known] for report in reports[1:]]
    return [sum(map(len, told)), "old/" in str(told[-1])]


@item(right=False)
def advice_for_a_file(folder: Path) -> bool:
    "A file in place of an index: is an index inside the file advised"
    (folder / "a.md").write_text("회의", encoding="utf-8")
    try:
        Index.open(folder / "a.md")
    except ValueError as error:
        return f"--index {folder / 'a.md'}" in str(error)
    return True


@item(right=["tenancy.md", 2])
def everyday_words(folder: Path) -> list:
    "Everyday words with a model: the first document, and calls of the model"
    texts = {f"{name}.md": f"# {name}\n\n" + "\n\n".join(f"{a} {n} {b} in {name} office {n}." for n, (a, b) in enumerate(
        ((a, b) for a in ("Forms", "Letters", "Permits", "Records") for b in ("are kept", "are sent", "are signed")), 1)) for name in ("north", "south")}
    texts["south.md"] += "\n\nThe cash of the canteen is kept in a safe at the desk.\n"
    texts["tenancy.md"] = "# Tenancy\n\nThe lessor returns the deposit within thirty days after the lease has ended.\n"
    answers = iter([json.dumps(["When does the lessor return the deposit?", "deposit after the lease has ended"]), "Within thirty days [1]."])
    llm = ScriptedLLM(lambda prompt: next(answers) if "JSON" in prompt else "Within thirty days [1].")
    pipeline = over(folder, texts, llm=llm)
    if hasattr(pipeline, "other_words"):
        pipeline = dataclasses.replace(pipeline, other_words=True)
    answer = pipeline.ask("I moved out and the guy who owns my flat keeps my cash")
    return [answer.passages[0].doc_id, len(llm.prompts)]
