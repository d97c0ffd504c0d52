"""OpenAI's protocol over real HTTP with OpenAI's own client: whole, in parts, with tokens and filters, and refused."""
from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from markdown_it import MarkdownIt
from serve_world import app_of, build, DEVICES, Held, listening, model, NO, QUESTION, SECRET, TEXTS, TOKENS

from ragnb.models.scripted import ScriptedLLM
from ragnb.serve.access import Places


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("openai") / "world")


@pytest.fixture(scope="module")
def address(world: Path) -> Iterator[str]:
    with listening(app_of(world, model())) as place:
        yield place


@pytest.fixture(scope="module")
def guarded(world: Path) -> Iterator[str]:
    with listening(app_of(world, tokens=True)) as place:
        yield place


def client_at(place: str, key: str = "none") -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{place}v1", api_key=key, max_retries=0, timeout=60)


def asked(client: openai.OpenAI, *texts: str, **more: Any) -> Any:
    messages = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]
    return client.chat.completions.create(model="ragnb", messages=messages, **more)


def joined(stream: Any) -> tuple[str, list[Any]]:
    chunks = list(stream)
    return "".join(c.choices[0].delta.content or "" for c in chunks if c.choices), chunks


# --- the reply
def test_an_answer_has_its_sources_as_a_block_as_annotations_and_as_values(address: str) -> None:
    reply = asked(client_at(address), QUESTION)
    message, choice = reply.choices[0].message, reply.choices[0]
    text = message.content
    assert text.startswith("15일입니다 [1].\n\n**") and "\\[" not in text.partition("\n\n")[0] and choice.finish_reason == "stop"
    assert reply.model == "ragnb" and reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens > 0
    (note,) = message.annotations
    cited = note.url_citation
    assert text[cited.start_index:cited.end_index] == "[1]" and note.type == "url_citation"
    passage = httpx.get(cited.url).json()
    assert passage["text"] == TEXTS["leave.md"][3][passage["start"]:passage["end"]] and "15일" in passage["text"]
    assert message.sources[0]["doc_id"] == "leave.md" and message.sources[0]["label"] in text.replace("\\", "")


def test_a_stream_says_the_same(address: str) -> None:
    client = client_at(address)
    whole = asked(client, QUESTION).choices[0].message
    text, chunks = joined(asked(client, QUESTION, stream=True, stream_options={"include_usage": True}))
    assert text == whole.content and chunks[0].choices[0].delta.role == "assistant"
    reasons = [c.choices[0].finish_reason for c in chunks if c.choices]
    assert reasons == [None] * (len(reasons) - 1) + ["stop"] and chunks[-1].usage.total_tokens > 0 and chunks[-1].choices == []
    notes = [d.annotations for d in (c.choices[0].delta for c in chunks if c.choices) if getattr(d, "annotations", None)]
    assert notes == [[a.model_dump() for a in whole.annotations]]
    assert len({c.id for c in chunks}) == 1


async def test_the_client_that_does_not_block(address: str) -> None:
    async with openai.AsyncOpenAI(base_url=f"{address}v1", api_key="none", max_retries=0) as client:
        stream = await client.chat.completions.create(model="ragnb", messages=[{"role": "user", "content": QUESTION}], stream=True)
        text = "".join([c.choices[0].delta.content or "" async for c in stream])
    assert text.startswith("15일입니다 [1].")


def test_without_a_model_the_passages_are_the_answer(world: Path) -> None:
    with listening(app_of(world)) as place:
        message = asked(client_at(place), QUESTION).choices[0].message
        text, _ = joined(asked(client_at(place), QUESTION, stream=True))
    assert message.content.startswith("[1]") and "연차는 15일이다" in message.content and message.content == text
    assert all(message.content[a.url_citation.start_index:][:2] == "[1" for a in message.annotations[:1])


def test_an_answer_that_is_tried_again_follows_below_a_line(world: Path) -> None:
    with listening(app_of(world, model(judge=NO))) as place:
        text, _ = joined(asked(client_at(place), QUESTION, stream=True))
        whole = asked(client_at(place), QUESTION).choices[0].message.content
    assert text.split("\n\n---\n\n")[-1] == whole and text.count("15일입니다 [1].") == 2


# --- conversations
def test_a_follow_up_is_completed_and_nothing_is_kept(world: Path) -> None:
    app = app_of(world, model(rewrite="낙하산 점검은 언제 하나요?"), ask_user=True)
    service = app.state.service
    with listening(app) as place:
        client = client_at(place)
        before = asked(client, "그건 언제 하나요?").choices[0].message
        after = asked(client, "낙하산은 누가 점검하나요?", "모릅니다.", "그건 언제 하나요?").choices[0].message
        other = asked(client, DEVICES).choices[0].message              # two devices: nobody is asked to choose
    assert after.sources[0]["doc_id"] == "hostile.md" and after.sources != before.sources
    assert {"GN.md", "TR.md"} <= {s["doc_id"] for s in other.sources}
    assert service._busy == {} and service.places.taken.total() == 0 and service.talks._talks == {}


def test_messages_of_other_roles_and_parts_of_text(address: str) -> None:
    parts = [{"type": "text", "text": "연차는"}, {"type": "text", "text": "며칠인가요?"}]
    messages = [{"role": "system", "content": "영어로 답하라"}, {"role": "user", "content": parts}]
    reply = client_at(address).chat.completions.create(model="ragnb", messages=messages, temperature=0.3, max_tokens=5, user="kim")
    assert reply.choices[0].message.content.startswith("15일입니다")


# --- tokens and filters
def test_a_token_sees_its_documents_only(guarded: str) -> None:
    for name, sees in (("clerk", False), ("chief", True)):
        message = asked(client_at(guarded, TOKENS[name]), "사장의 연차 보상은 얼마인가요?").choices[0].message
        assert (SECRET in message.content) == sees and ("pay.md" in {s["doc_id"] for s in message.sources}) == sees
    with pytest.raises(openai.AuthenticationError, match="token is not known") as caught:
        asked(client_at(guarded), QUESTION)
    assert caught.value.code == "invalid_api_key"
    with pytest.raises(openai.AuthenticationError):
        client_at(guarded).models.list()
    with pytest.raises(openai.AuthenticationError):            # nothing is said of the body
        client_at(guarded).chat.completions.create(model="ragnb", messages=[])


def test_a_filter_narrows_and_never_widens(guarded: str) -> None:
    client = client_at(guarded, TOKENS["clerk"])
    found = asked(client, DEVICES, extra_body={"where": "equipment=TR-7"}).choices[0].message
    assert {s["doc_id"] for s in found.sources} == {"TR.md"}
    secret = asked(client, "사장의 연차 보상은 얼마인가요?", extra_body={"where": {"doc_type": "secret"}}).choices[0].message
    assert SECRET not in secret.content and secret.sources == []


def test_limits_are_told_with_when_to_try_again(world: Path) -> None:
    held = Held()
    with listening(app_of(world, ScriptedLLM(held), places=Places(running=1, waiting=0))) as place:
        first = threading.Thread(target=lambda: asked(client_at(place), QUESTION), daemon=True)
        first.start()
        while not held.n:
            pass
        with pytest.raises(openai.InternalServerError) as caught:
            asked(client_at(place), QUESTION)
        assert caught.value.status_code == 503 and caught.value.response.headers["retry-after"] == "5" and caught.value.type == "server_error"
        held.go.set()
        first.join(30)
        assert asked(client_at(place), QUESTION)


# --- errors
@pytest.mark.parametrize(("body", "status", "told"), [
    ({"model": "gpt-4o", "messages": [{"role": "user", "content": "?"}]}, 404, "use ragnb"),
    ({"model": "ragnb", "messages": []}, 400, "messages"),
    ({"model": "ragnb", "messages": [{"role": "system", "content": "x"}]}, 400, "role 'user'"),
    ({"model": "ragnb", "messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, 400, "image_url"),
    ({"model": "ragnb", "messages": [{"role": "user", "content": "?"}], "n": 2}, 400, "n:"),
    ({"model": "ragnb", "messages": [{"role": "user", "content": "x" * 10_001}]}, 400, "10000"),
    ({"model": "ragnb", "messages": [{"role": "user", "content": "?"}], "where": 3}, 400, "where"),
    ({"model": "ragnb", "messages": [{"role": "user", "content": "x" * 100_001}]}, 413, "100,000 bytes")])
def test_errors_are_in_the_form_of_openai(address: str, body: dict[str, Any], status: int, told: str) -> None:
    reply = httpx.post(f"{address}v1/chat/completions", json=body)
    error = reply.json()["error"]
    assert reply.status_code == status and told in error["message"] and set(error) == {"message", "type", "param", "code"}


def test_the_client_raises_its_own_errors(address: str) -> None:
    with pytest.raises(openai.NotFoundError, match="does not exist"):
        client_at(address).chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "?"}])
    with pytest.raises(openai.BadRequestError):
        client_at(address).chat.completions.create(model="ragnb", messages=[])
    with pytest.raises(openai.NotFoundError):
        client_at(address).completions.create(model="ragnb", prompt="?")       # the older call is not there
    for headers, status in (({"host": "evil.example"}, 421), ({"origin": "http://evil.example"}, 403)):
        refused = httpx.get(f"{address}v1/models", headers=headers)
        assert refused.status_code == status and "error" in refused.json()
    assert httpx.post(f"{address}v1/embeddings", content="x", headers={"content-type": "text/plain"}).json()["error"]["type"] == "invalid_request_error"


def test_a_model_that_fails_leaves_the_passages_and_says_so(world: Path) -> None:
    def down(prompt: str) -> str:
        raise RuntimeError("the model is down")

    with listening(app_of(world, ScriptedLLM(down))) as place:
        message = asked(client_at(place), QUESTION).choices[0].message
    assert "연차는 15일이다" in message.content and "model is down" in message.content


def test_half_a_character_is_replaced(address: str) -> None:
    body = '{"model": "ragnb", "messages": [{"role": "user", "content": "연차 \\ud83d는 며칠인가요?"}]}'
    reply = httpx.post(f"{address}v1/chat/completions", content=body.encode(), headers={"content-type": "application/json"})
    assert reply.status_code == 200 and reply.json()["choices"][0]["message"]["content"]


def test_a_picture_is_written_as_text_and_the_list_shows_no_markup(world: Path) -> None:
    with listening(app_of(world, model("낙하산은 매년 [1] ![x](http://evil.invalid/?q=1)"))) as place:
        whole = asked(client_at(place), "낙하산 점검은 언제 하나요?").choices[0].message.content
        text, _ = joined(asked(client_at(place), "낙하산 점검은 언제 하나요?", stream=True))
    assert text == whole and "![" not in whole
    shown = MarkdownIt("commonmark", {"html": True}).render(whole)
    assert "매년 한다" in shown and not re.search(r"<(?:img|script|a|svg|h1|div|iframe)\b", shown)


# --- embeddings and models
def test_embeddings_are_those_of_the_index(world: Path, address: str) -> None:
    client = client_at(address)
    assert [m.id for m in client.models.list().data] == ["ragnb", "ragnb-embedding"]
    assert client.models.retrieve("ragnb").owned_by == "ragnb"
    texts = ["연차는 15일이다.", "밸브를 점검한다."]
    made = client.embeddings.create(model="ragnb-embedding", input=texts)                               # base64, as this client asks for
    plain = client.embeddings.create(model="ragnb-embedding", input=texts[0], encoding_format="float")
    assert [d.index for d in made.data] == [0, 1] and made.usage.total_tokens > 0
    assert made.data[0].embedding == pytest.approx(plain.data[0].embedding, rel=1e-6)
    assert any(made.data[0].embedding) and made.data[0].embedding != made.data[1].embedding
    for wrong in ({"model": "ragnb", "input": "x"}, {"model": "ragnb-embedding", "input": ["x"] * 257}, {"model": "ragnb-embedding", "input": []}):
        with pytest.raises((openai.NotFoundError, openai.BadRequestError)):
            client.embeddings.create(**wrong)


def test_a_fitted_embedding_tells_a_narrow_token_nothing(guarded: str) -> None:
    with pytest.raises(openai.PermissionDeniedError, match="fitted to all documents"):
        client_at(guarded, TOKENS["clerk"]).embeddings.create(model="ragnb-embedding", input=SECRET)
    assert client_at(guarded, TOKENS["chief"]).embeddings.create(model="ragnb-embedding", input=SECRET).data
