"""Questions without a topic of their own: one is searched with the topic before, one with its own noun is not."""
import json
from pathlib import Path

import pytest
from llama_index.core.schema import Document

from ragnb.agent.flow import Agent
from ragnb.agent.library import Library
from ragnb.agent.tools import ReadingTools
from ragnb.cli import main
from ragnb.context.conversation import Conversation
from ragnb.indexing.update import index_documents
from ragnb.pipeline.pipeline import Pipeline
from ragnb.pipeline.trace_data import trace

KO_END = " 자세한 것은 담당 부서에 묻고, 바뀐 내용은 사내 게시판에 올린다. 이 안내는 해마다 한 번 살펴서 고치며 고친 날을 맨 끝에 적는다. 궁금한 것이 있으면 전화하거나 글을 남긴다."
EN_END = (" Details are available from the office, and changes are posted on the notice board. This page is reviewed once a year and the date of the "
          "review is written at its end. Call or write if anything is unclear.")
TEXTS = {
    "ko": {
        "휴직.md": ("휴직 규정", KO_END, {
            "육아휴직": "육아휴직은 만 8세 이하 자녀를 둔 직원이 쓴다. 기간은 최대 18개월이다. 무기계약 직원은 12개월까지 쓴다. 급여는 통상임금의 60퍼센트를 준다. 신청은 시작 30일 전까지 인사팀에 낸다.",
            "병가휴직": "병가휴직은 진단서가 있는 직원이 쓴다. 기간은 최대 6개월이다. 무기계약 직원은 3개월까지 쓴다. 급여는 통상임금의 70퍼센트를 준다. 신청은 진단을 받은 날부터 7일 안에 총무팀에 낸다.",
            "연수휴직": "연수휴직은 3년을 넘게 근속한 직원이 쓴다. 기간은 최대 24개월이다. 무기계약 직원은 쓸 수 없다. 급여는 주지 않는다. 신청은 학기 시작 두 달 전까지 교육팀에 낸다.",
        }),
        "장비.md": ("장비 대여 안내", KO_END, {
            "노트북 대여": "노트북은 한 번에 14일까지 빌린다. 연장은 한 번만 된다. 인턴은 7일까지 빌린다. 분실하면 잔존 가격을 변상한다. 반납은 자산관리실에 한다.",
            "빔프로젝터 대여": "빔프로젝터는 한 번에 2일까지 빌린다. 연장은 되지 않는다. 인턴은 빌릴 수 없다. 분실하면 구매 가격 전액을 변상한다. 반납은 시청각실에 한다.",
            "카메라 대여": "카메라는 한 번에 5일까지 빌린다. 연장은 두 번까지 된다. 인턴은 3일까지 빌린다. 분실하면 구매 가격의 절반을 변상한다. 반납은 홍보실에 한다.",
        }),
        "식당.md": ("구내식당 안내", KO_END, {
            "아침": "아침은 7시부터 8시 30분까지 낸다. 값은 3,000원이다. 손님 값은 4,500원이다. 예약은 받지 않는다.",
            "점심": "점심은 11시 30분부터 13시까지 낸다. 값은 5,000원이다. 손님 값은 7,000원이다. 열 명을 넘으면 하루 전에 예약한다.",
            "저녁": "저녁은 17시 30분부터 19시까지 낸다. 값은 4,000원이다. 손님 값은 6,000원이다. 예약은 당일 오후 2시까지 받는다.",
        }),
    },
    "en": {
        "pumps.md": ("Pump catalogue", EN_END, {
            "Garden pump": "The garden pump moves 40 litres a minute. The blue one costs 89 dollars. The red one costs 95 dollars. It runs on a 12 volt battery. The warranty lasts 24 months. Spare filters are sold in packs of three.",
            "Cellar pump": "The cellar pump moves 110 litres a minute. The blue one costs 149 dollars. The red one costs 160 dollars. It runs on mains power. The warranty lasts 36 months. Spare filters are sold one by one.",
            "Boat pump": "The boat pump moves 25 litres a minute. The blue one costs 59 dollars. The red one costs 66 dollars. It runs on a solar panel. The warranty lasts 12 months. Spare filters are not sold.",
        }),
        "leave.md": ("Leave handbook", EN_END, {
            "Parental leave": "Parental leave lasts 20 weeks at full pay. Part-time staff receive 14 weeks. Ask your manager 60 days before it begins. It can be split into two blocks.",
            "Study leave": "Study leave lasts 10 days a year without pay. Part-time staff receive 5 days. Ask the training office 30 days before it begins. It cannot be split.",
            "Jury duty": "Jury duty is paid for as long as the court needs you. Part-time staff receive the same pay. Send the summons to payroll within a week. Travel is not refunded.",
        }),
        "travel.md": ("Travel policy", EN_END, {
            "Train travel": "Train travel is booked in second class. Directors may use first class. Receipts are due within 10 days. Seats are reserved by the travel desk.",
            "Air travel": "Air travel is booked in economy. Directors may use business class on flights over six hours. Receipts are due within 20 days. One checked bag is refunded.",
            "Rental cars": "Rental cars are booked in the compact class. Directors may use the middle class. Receipts are due within 15 days. Fuel is refunded, fines are not.",
        }),
    },
}
TURNS = [     # Language, questions before, question, its sentence, without a topic of its own
    ("ko", ["육아휴직 기간은 얼마나 되나요?"], "무기계약 직원은?", "무기계약 직원은 12개월까지", True),
    ("ko", ["병가휴직은 얼마나 쓸 수 있나요?"], "그럼 급여는 얼마를 주나요?", "통상임금의 70퍼센트", True),
    ("ko", ["노트북은 며칠 빌릴 수 있나요?"], "인턴은?", "인턴은 7일까지", True),
    ("ko", ["카메라를 빌리고 싶어요", "인턴은 며칠까지인가요?"], "잃어버리면? 분실하면 얼마를 변상하나요?", "구매 가격의 절반", True),
    ("ko", ["육아휴직 기간은 얼마나 되나요?"], "연수휴직은?", "연수휴직은 3년을", False),
    ("ko", ["노트북은 며칠 빌릴 수 있나요?"], "빔프로젝터는 며칠까지 빌리나요?", "빔프로젝터는 한 번에 2일", False),
    ("ko", ["빔프로젝터 연장이 되나요?"], "점심값은 얼마인가요?", "점심은 11시", False),
    ("en", ["How much does the garden pump cost in blue?"], "And red?", "The red one costs 95", True),
    ("en", ["How long is parental leave?"], "What about part-time staff?", "Part-time staff receive 14 weeks", True),
    ("en", ["How is air travel booked?"], "When are receipts due?", "Receipts are due within 20 days", True),
    ("en", ["How much does the garden pump cost in blue?"], "What about the boat pump?", "The boat pump moves", False),
    ("en", ["How long is parental leave?"], "What about jury duty?", "Jury duty is paid", False),
    ("en", ["Which class may directors use on a train?"], "How many days of study leave are there?", "Study leave lasts 10", False),
    ("ko", ["연수휴직은 누가 쓸 수 있나요?"], "신청은 언제까지 어디에 내나요?", "학기 시작 두 달 전까지", True),
    ("ko", ["점심은 몇 시에 먹나요?"], "손님은 얼마예요?", "손님 값은 7,000원", True),
    ("ko", ["아침 값이 얼마예요?"], "거기 예약도 되나요?", "예약은 받지 않는다", True),
    ("ko", ["카메라는 며칠 빌릴 수 있나요?"], "반납은 어디에 하나요?", "반납은 홍보실", True),
    ("ko", ["연수휴직 급여를 주나요?"], "그럼 육아휴직은요?", "육아휴직은 만 8세", False),
    ("ko", ["점심은 몇 시에 먹나요?"], "저녁은?", "저녁은 17시", False),
    ("ko", ["아침 값이 얼마예요?"], "카메라를 분실하면 얼마를 변상하나요?", "카메라는 한 번에", False),
    ("en", ["How many litres does the cellar pump move?"], "How long does the warranty last?", "The warranty lasts 36", True),
    ("en", ["How are rental cars booked?"], "And for directors?", "Directors may use the middle class", True),
    ("en", ["How long is study leave?"], "Can it be split?", "It cannot be split", True),
    ("en", ["How long is jury duty paid?", "What about part-time staff?"], "Is travel refunded?", "Travel is not refunded", True),
    ("en", ["How are rental cars booked?"], "And train travel?", "Train travel is booked", False),
    ("en", ["How long is study leave?"], "How much is the blue cellar pump?", "The cellar pump moves", False),
]


@pytest.fixture(scope="module", params=["ko", "en"])
def asked(request, tmp_path_factory) -> tuple[str, Pipeline, Path]:
    """A language, and a pipeline over its documents."""
    documents = []
    for name, (title, end, sections) in TEXTS[request.param].items():
        parts = (f"## {head}\n\n{text}{end}" for head, text in sections.items())
        documents.append(Document(text=f"# {title}\n\n" + "\n\n".join(parts), id_=name, metadata={"title": title}))
    folder = tmp_path_factory.mktemp(request.param)
    return request.param, Pipeline.from_index(index_documents(documents, folder / "index", show_progress=False)[0], budget=260), folder / "index"


def talk_of(pipeline: Pipeline, questions: list[str]) -> Conversation:
    """A conversation of questions."""
    talk = Conversation()
    for question in questions:
        talk.add(question, "", pipeline.ask(question).passages)
    return talk


def test_a_question_without_a_topic_finds_the_topic_before_and_others_stay_as_they_are(asked):
    language, pipeline, _ = asked
    wrong = []
    for _, earlier, question, sentence, follows in (turn for turn in TURNS if turn[0] == language):
        answer = pipeline.ask(question, talk_of(pipeline, earlier))
        if sentence not in answer.passages[0].text or bool(answer.searched) != follows:
            wrong.append((question, answer.searched, answer.passages[0].text[:60]))
    assert not wrong


def test_what_was_searched_is_told(asked):
    language, pipeline, _ = asked
    _, earlier, question, *_ = next(turn for turn in TURNS if turn[0] == language)
    answer = pipeline.ask(question, talk_of(pipeline, earlier))
    assert answer.question == question and answer.searched.endswith(question) and answer.asked == answer.searched
    assert answer.searched in answer.note and any(answer.searched in fact for fact in trace(answer).facts)
    assert pipeline.ask(question).searched == "" and pipeline.ask(question).asked == question


def test_the_agent_and_the_tools_search_the_same(asked):
    language, pipeline, folder = asked
    library = Library.open(folder, budget=260)
    for _, earlier, question, *_, follows in [turn for turn in TURNS if turn[0] == language][:5]:
        talk = talk_of(pipeline, earlier)
        searched = pipeline.ask(question, talk).asked
        state = Agent(library).ask(question, talk)
        assert state.query == searched
        assert not follows or any(searched in event.detail for event in state.events if event.step == "rewrite")
        read = ReadingTools(library).search(question, earlier=earlier[0])
        assert read.startswith(f"Searched: {searched}") == follows or len(earlier) > 1


def test_the_command_line_with_a_history_searches_the_same(asked, tmp_path, capsys):
    language, pipeline, folder = asked
    _, earlier, question, *_, follows = next(turn for turn in TURNS if turn[0] == language and turn[-1])
    options = ["--index", str(folder), "--budget", "260", "--history", str(tmp_path / "talk.jsonl"), "--json"]
    notes = []
    for text in [*earlier, question]:
        capsys.readouterr()
        assert main(["ask", text, *options]) == 0
        notes.append(json.loads(capsys.readouterr().out)["note"])
    searched = pipeline.ask(question, talk_of(pipeline, earlier)).searched
    assert follows and searched in notes[-1] and "searched with the topic before" not in notes[0]


NOTICES = {
    "노트북.md": "# 노트북 지급\n\n노트북은 입사한 날에 받는다. 모델은 두 가지이다.\n\n고장 난 노트북은 정보팀이 고친다. 바꾸는 기한은 지급한 날부터 4년이다.",
    "출장.md": "# 출장 정산\n\n출장비는 영수증으로 정산한다.\n\n내는 기한은 돌아온 날부터 7일이다.",
    "교육.md": "# 교육 신청\n\n교육은 분기마다 연다.\n\n접수 기한은 달의 첫 월요일이다.",
    "셔틀.md": "# 통근 차\n\n셔틀은 역에서 7시 30분에 떠난다.",
    "laptop.md": "# Laptops\n\nA laptop is handed out on the first day.\n\nA broken laptop goes to the help desk. The deadline for a swap is four years.",
    "trips.md": "# Trips\n\nTrips are paid by receipt.\n\nThe deadline is seven days after the return.",
    "bus.md": "# Ride\n\nThe shuttle leaves the station at 7:30.",
}


@pytest.mark.parametrize(("before", "question", "sentence", "follows"), [
    ("노트북은 언제 받나요?", "그럼 기한은요?", "지급한 날부터 4년", True), ("출장비 정산은 무엇으로 하나요?", "그러면 기한은?", "돌아온 날부터 7일", True),
    ("When is a laptop handed out?", "And the deadline?", "swap is four years", True), ("How are trips paid?", "What about the deadline?", "seven days after", True),
    ("노트북은 언제 받나요?", "그럼 셔틀은요?", "역에서 7시", False), ("노트북은 언제 받나요?", "그럼 교육은요?", "분기마다", False), ("노트북은 언제 받나요?", "기한은 어디에 적혀 있나요?", "기한", False),
    ("When is a laptop handed out?", "And the shuttle?", "leaves the station", False),
])
def test_a_connective_and_one_common_noun(tmp_path: Path, before: str, question: str, sentence: str, follows: bool) -> None:
    documents = [Document(text=text, id_=name, metadata={"title": text[2:text.index("\n")]}) for name, text in NOTICES.items()]
    pipeline = Pipeline.from_index(index_documents(documents, tmp_path / "index", show_progress=False)[0], budget=200)
    answer = pipeline.ask(question, talk_of(pipeline, [before]))
    assert bool(answer.searched) == follows
    assert sentence in answer.context.text
