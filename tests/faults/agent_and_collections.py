"""What the agent and the collections do with what people write, with judges that fail, and with passages of equal score."""
from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parents[2] / "data" / "corpus"


def _collections(work: Path) -> Any:
    "Three collections with a statute each."
    from ragnb.agent.library import Library
    from ragnb.indexing.collections import index_collections
    for folder, source in (("laws", "law_common/shared_workshop_act.txt"), ("notes", "law_common/care_robot_act.txt"), ("hr_labor", "hr_labor/work_rules.md")):
        (work / "corpus" / folder).mkdir(parents=True)
        shutil.copy(CORPUS / source, work / "corpus" / folder)
    table = {"laws_db": ["laws"], "notes_db": ["notes"], "hr_db": ["hr_labor"]}
    index_collections(work / "corpus", work / "all", table, show_progress=False)
    return Library.open(work / "all", budget=600, top_k=5)


def a_named_article_over_several_collections() -> str:
    "`공유작업장법 제N조` over three collections: how often the article is not in 600 characters"
    from ragnb.agent.library import library_pipeline
    with tempfile.TemporaryDirectory() as place:
        pipeline, missed, asked = library_pipeline(_collections(Path(place)), top_k=5), 0, range(3, 43, 5)
        for number in asked:
            said = [f"제{number}조(" in p.text and "laws_db" in p.doc_id for p in pipeline.ask(f"공유작업장법 제{number}조는 무엇을 정하나요?").passages]
            missed += not any(said)
    return f"not there: {missed} of {len(asked)}"


def _many(place: str, n: int = 12, **metadata: str) -> Any:
    "A library of short documents that all fit a context."
    from llama_index.core.schema import Document
    from ragnb.agent.library import Library
    from ragnb.indexing.update import index_documents
    documents = [Document(text=f"# 부서 {i}\n\n연차는 부서 {i}에서 {i}일이다.\n", id_=f"d{i:02}.md", metadata={"title": f"부서 {i}"}) for i in range(1, n + 1)]
    index_documents(documents, place, show_progress=False)
    return Library.open(place, reorder=False)


def _script(answer: str, judge: Any) -> Any:
    "A model that judges as given."
    from ragnb.models.scripted import ScriptedLLM
    return ScriptedLLM({"어느 것에 속하는지": '{"route": "general"}', "바꿔 쓰세요": "[]", "비추어 판정": judge, "": answer})


def a_true_answer_that_cites_the_ninth_source() -> str:
    "An answer that cites [9] is judged without [9] and retried"
    from ragnb.agent.flow import Agent
    with tempfile.TemporaryDirectory() as place:
        said = lambda prompt: '{"grounded": %s, "answered": true}' % ("true" if "[9]" in prompt.split("</자료>")[0] else "false")
        state = Agent(_many(place), _script("그 부서의 연차입니다 [9].", said), {"grade": None}).ask("부서의 연차는 며칠인가요?")
    return f"{state.status} after {state.attempts} attempts"


def a_judge_that_talks_nonsense() -> str:
    "A judge that says nothing of use: what the state and its last event say"
    from ragnb.agent.flow import Agent
    with tempfile.TemporaryDirectory() as place:
        state = Agent(_many(place), _script("그 부서의 연차입니다 [1].", "글쎄요."), {"grade": None}).ask("부서의 연차는 며칠인가요?")
    return f"{state.events[-1]}; verdict: {getattr(state, 'verdict', 'no such field')}"


def what_a_person_adds() -> str:
    "The rank of the chunk that fits what a person added, and whether planner and answer were told"
    from llama_index.core.schema import Document
    from ragnb.agent.flow import Agent
    from ragnb.agent.library import Library
    from ragnb.agent.state import Choice
    from ragnb.indexing.update import index_documents
    documents = [Document(text=f"# 알람 {i}\n\nE-117 알람의 원인은 배기 {i}이다. 배기 {i}를 점검한다.\n", id_=f"a{i:02}.md", metadata={"title": f"알람 {i}"}) for i in range(25)]
    documents.append(Document(text="# 축\n\n축이 걸리면 기름을 바른다.\n", id_="axis.md", metadata={"title": "축"}))
    with tempfile.TemporaryDirectory() as place:
        index_documents(documents, place, show_progress=False)
        llm = _script("기름을 바릅니다 [1].", '{"grounded": true, "answered": true}')
        agent = Agent(Library.open(place), llm, {"grade": None}, ask_user=True)
        state = agent.ask("E-117 알람의 원인과 점검")
        before = len(llm.prompts)
        done = agent.resume(state, Choice(text="축이 걸림"))
    ranks = [rank for rank, hit in enumerate(done.hits, 1) if hit.doc_id == "axis.md"]
    told = sum("축이 걸림" in prompt for prompt in llm.prompts[before:])
    return f"rank {ranks[0] if ranks else 'none'} of {len(done.hits)}, in {told} of {len(llm.prompts) - before} prompts"


def one_long_record() -> str:
    "A long gcb before a manual: characters of each in the context of the agent's pipeline"
    from llama_index.core.schema import Document
    from ragnb.agent.library import Library, library_pipeline
    from ragnb.indexing.update import index_documents
    diary = "# 정비 일지\n\n" + "\n\n".join(f"{i}일: 배기 밸브 누설로 알람이 떠서 밀봉을 바꾸었다. " + "담당자는 압력을 세 번 재고 값을 적은 다음 밸브를 다시 닫고 한 시간 뒤에 같은 자리를 보았다. " * 2 for i in range(150))
    manual = "# 설명서\n\n" + "\n\n".join(f"{i}번 나사는 {i} N·m로 조인다. 그다음 압력을 한 시간 동안 본다." for i in range(30))
    documents = [Document(text=text, id_=i, metadata={"title": i, "doc_type": i}) for i, text in (("gcb", diary), ("manual", manual))]
    with tempfile.TemporaryDirectory() as place:
        index_documents(documents, place, show_progress=False)
        hits = ["gcb#u20", "gcb#u90", "gcb#u130", "manual#u20"]
        passages = library_pipeline(Library.open(place)).answer("나사는 어떻게 조이나요?", hits).passages
    return ", ".join(f"{i} {sum(len(p.span) for p in passages if p.doc_id == i):,}" for i in ("gcb", "manual"))


def neighbors_when_there_is_little_room() -> str:
    "get_neighbor_chunks around chunk 20, four chunks at most, numbers as text, by the design's names"
    from llama_index.core.schema import Document
    from ragnb.agent.library import Library
    from ragnb.agent.tools import ReadingTools
    from ragnb.indexing.update import index_documents
    rules = "# 휴가\n\n" + "\n\n".join(f"## {n}. 제{n}절\n\n연차 {n}번 규정이다. 휴가 {n}일을 준다. 신청은 팀장에게 한다." for n in range(1, 31))
    said = []
    with tempfile.TemporaryDirectory() as place:
        index_documents([Document(text=rules, id_="rules.md")], place, show_progress=False)
        for arguments in ((("rules.md", 20, "both", 4), {}), (("rules.md", "20", "both", "4"), {}), ((), {"doc_id": "rules.md", "chunk_idx": 20, "count": 4})):
            try:
                tools = ReadingTools(Library.open(place), most_chunks=4)
                tools.get_neighbor_chunks(*arguments[0], **arguments[1])
                said.append(str(sorted(int(i.rpartition("u")[2]) for i in tools.read)))
            except TypeError:
                said.append("TypeError")
    return "; ".join(said)


def equal_scores_across_collections() -> str:
    "Two collections that hold the same: whether the order of hits is that in which they were given"
    import asyncio
    from llama_index.core.schema import Document
    from ragnb.agent.library import Library
    from ragnb.indexing.update import index_documents
    from ragnb.pipeline.pipeline import Pipeline
    with tempfile.TemporaryDirectory() as place:
        for name in ("a_db", "b_db"):
            index_documents([Document(text="# 휴가\n\n연차는 15일이다. 신청은 팀장에게 한다.\n", id_="leave.md")], Path(place) / name, show_progress=False)
        pipelines = {name: Pipeline.from_index(Path(place) / name, policy="doc_type", top_k=20) for name in ("a_db", "b_db")}
        orders = [pipelines, dict(reversed(pipelines.items()))]
        found = [[h.node_id for h in asyncio.run(Library(given).search(["연차는 며칠인가요?"], 20)).hits] for given in orders]
    return "the same order" if found[0] == found[1] else "two orders"
