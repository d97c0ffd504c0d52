"""Questions in English over a small folder: words that only ask find nothing, numbers of sections and codes do."""
from __future__ import annotations


import pytest
from conftest import write
from hypothesis import given, strategies as st

from ragnb import Agent, Pipeline, update_index
from ragnb.agent.library import Library
from ragnb.retrieval.missing_words import code_match, codes_in, content_words, spelled_alike, without_asking

FAQ = """{"doc_id": "faq-3", "title": "How long is the warranty?", "text": "Q: How long is the warranty?\\nA: 36 months for pumps, from the day of delivery."}
{"doc_id": "faq-4", "title": "Which browsers does the portal support?", "text": "Q: Which browsers does the portal support?\\nA: Firefox, Chrome and Edge."}
{"doc_id": "faq-5", "title": "How do I get a loaner?", "text": "Q: How do I get a loaner?\\nA: Call the depot of your region before noon."}
"""
MANUAL = """Service manual of the pump

1 Error codes

E-217  Encoder mismatch
Meaning: The position of the two encoders differs.

E-218  Encoder missing
Meaning: The cable of the encoder is loose.
"""
SECURITY = "# Security\n\n## Passwords\n\nA new password comes from the service desk.\n\n## Badges\n\nWear the badge.\n"
CONTRACT = """# Service contract

## 3. Fees

### 3.1 Amount

The yearly fee is 900 euros.

## 4. Liability

### 4.1 Limit

Liability ends at the yearly fee.

### 4.2 Force majeure

Neither side answers for floods.
"""
TRAVEL = "# Travel policy\n\n## 4. Costs\n\n### 4.1 Meals\n\nMeals are paid up to 58 euros.\n\n### 4.2 Receipts\n\nReceipts are needed above 15 euros.\n"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("english")
    write(folder, {"docs/faq.jsonl": FAQ, "docs/manual.txt": MANUAL, "docs/security.md": SECURITY, "docs/contract.md": CONTRACT, "docs/travel.md": TRAVEL})
    return update_index(folder / "docs", folder / "index", show_progress=False)[0]


def first(index, question: str, budget: int = 300) -> str:
    return Pipeline.from_index(index, budget=budget, reorder=False).ask(question).passages[0].text


@pytest.mark.parametrize("question, wanted", [
    ("What does error E-217 mean?", "Encoder mismatch"), ("How do I get a new password?", "service desk"), ("How long is the warranty?", "36 months"),
    ("Which browsers does the portal support?", "Firefox"), ("E217 meaning", "Encoder mismatch"), ("What does e 218 mean?", "Encoder missing")])
def test_a_title_that_is_a_question_does_not_answer_another_one(index, question, wanted):
    assert wanted in first(index, question), first(index, question)


@pytest.mark.parametrize("question, wanted", [
    ("What does section 4.2 of the service contract say?", "floods"), ("service contract § 4.2", "floods"), ("clause 4.1 of the contract", "ends at"),
    ("What is in Section 4.2 of the travel policy?", "Receipts are"), ("travel policy 4.1절", "58 euros")])
def test_a_section_that_the_question_numbers_comes_first(index, question, wanted):
    assert wanted in first(index, question), first(index, question)


def test_a_section_is_that_of_the_product_named(tmp_path):
    manual = "# {} manual\n\n## 4. Care\n\n### 4.1 Storage\n\nKeep it dry.\n\n### 4.2 {}\n\n{}\n"
    write(tmp_path, {"docs/hb300.md": manual.format("HB-300", "Battery", "Charge it once a month."),
                     "docs/hb500.md": manual.format("HB-500", "Cleaning", "Cleaning: read section 4.2 first. The HB-300 is cleaned with oil, the HB-500 with water.")})
    index = update_index(tmp_path / "docs", tmp_path / "index", show_progress=False)[0]
    for question, wanted in (("HB-300 section 4.2", "once a month"), ("HB-500 section 4.2", "with water"), ("What is in section 4.2 of the HB-300, about cleaning?", "once a month")):
        assert wanted in first(index, question, 150), question


def test_a_section_that_is_not_there_is_named(index):
    note = Pipeline.from_index(index, budget=300).ask("What does section 7.3 of the service contract say?").note
    assert "no document contains these words of the question: 7.3" in note and "Section" not in note and "say" not in note


def test_a_section_of_nothing_that_was_found_is_no_error(index):
    assert Pipeline.from_index(index, budget=300, cut=0.2).ask("Section 9.9 about sextants?").passages == []


def test_numbers_of_sections():
    assert codes_in("Section 4.2 and clause 10.2.1, § 3.4; sec. 1.1") == ["4.2", "10.2.1", "3.4", "1.1"]
    assert codes_in("the rate of 1.5, 2.4 tons, version 3.10") == [] == codes_in("1.5배 가산수당")
    names = ("4.2 Limits", "4.2.1 Sub", "4.3 Other", "42 Things", "3.4.2 Deep", "14.2 More", "on 4 2")
    assert [code_match(["4.2"], name) for name in names] == [1, 1, -1, 0, 0, 0, 0]


def test_a_large_number_is_no_section(tmp_path):
    write(tmp_path, {"docs/tax.md": "세율은 1,400만원까지 6퍼센트이고, 4,000만원까지 15퍼센트이다."})
    index, _ = update_index(tmp_path / "docs", tmp_path / "index", show_progress=False)
    assert Pipeline.from_index(index).ask("1,400만원까지 세율과 4,000만원까지 세율").note == ""


@given(st.text())
def test_a_question_keeps_something_and_its_korean(text: str):
    left = without_asking(text)
    assert left == text or left.strip() and set(left) <= {*text, " "}
    assert [c for c in left if "가" <= c <= "힣"] == [c for c in text if "가" <= c <= "힣"]


def test_what_is_left_of_a_question():
    assert without_asking("Where is the IT desk of the US office?") == "the IT desk of the US office?"
    assert without_asking("who are they") == "who are they" and content_words("I'm sure it's what you've said") == ["sure", "said"]


def test_english_words_that_are_not_spelled_alike():
    """`money: month`, `fast: fa`, `cancel: can, cell`, `section: station` were offered."""
    for word, other in (("money", "month"), ("fast", "fa"), ("cancel", "can"), ("cancel", "cell"), ("section", "station"), ("food", "foot"), ("heavy", "heard")):
        assert spelled_alike(word, [other]) == [], word
    assert spelled_alike("recieve", ["receive"]) == ["receive"] and spelled_alike("secuirty", ["secur"]) == ["secur"]


def test_the_agent_notes_words_that_are_in_no_document_when_it_finds_nothing(index):
    library = Library({"": Pipeline.from_index(index, where="file_name=travel.md")})
    state = Agent(library).ask("Where is the sextant?")
    assert (len(state.hits), state.answer) == (0, "Not in the documents.")
    assert state.note == "no document that may be read contains any word of the question (sextant)"
