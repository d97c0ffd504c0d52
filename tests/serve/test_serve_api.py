"""The JSON API: events, choices, history, citations, and what a caller cannot do."""
from __future__ import annotations

import asyncio
import contextlib
import io
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from serve_world import (app_of, ask, build, choose, client_of, DEVICES, draw_pdf, Held, HOSTILE, library_of, model, NO, QUESTION,
                         read_events, SECRET, TEXTS, TOKENS, until)

from ragnb import index_documents, InputError, resolve_llm
from ragnb.agent.library import Library
from ragnb.serve.access import Access, Places, read_tokens, SECURITY_HEADERS
from ragnb.serve.app import create_app, page_html, page_policy
from ragnb.serve.talks import Talks
from ragnb.serve.views import may_draw
from ragnb.storage.store import Found


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("serve") / "world")


# --- asking
async def test_steps_come_as_events_and_the_answer_in_parts(world: Path) -> None:
    client = client_of(app_of(world, model()))
    events = await ask(client)
    assert [e.get("step", e["event"]) for e in events if e["event"] != "part"] == [
        "begin", "route", "plan", "gate", "retrieve", "expand", "answer", "judge", "turn"]
    expand = next(e for e in events if e.get("step") == "expand")
    assert "passages" in expand["detail"] and "reads" in expand["detail"]
    turn = events[-1]["turn"]
    assert "".join(e["text"] for e in events if e["event"] == "part") == turn["answer"] == "15일입니다 [1]."
    assert (turn["status"], turn["number"], turn["trouble"], turn["unknown"]) == ("answered", 1, "", [])


async def test_citations_lead_to_characters_of_the_document(world: Path) -> None:
    client = client_of(app_of(world, model("연차는 미리 신청합니다 [1][9].")))
    turn = (await ask(client))[-1]["turn"]
    (cited,) = turn["citations"]
    start, end = cited["spans"][0]
    reply = await client.get("/api/passage", params={"doc_id": cited["doc_id"], "start": start, "end": end})
    assert reply.json()["text"] == TEXTS[cited["doc_id"]][3][start:end] and turn["unknown"] == [9]
    source = turn["sources"][0]
    assert source["text"] == TEXTS[source["doc_id"]][3][source["start"]:source["end"]]
    for wrong in ({"start": 5, "end": 5}, {"start": 0, "end": 20_001}, {"start": -1, "end": 5}, {"start": 0, "end": 9_999}):
        refused = await client.get("/api/passage", params={"doc_id": cited["doc_id"], **wrong})
        assert refused.status_code in (404, 422), wrong


async def test_a_source_says_what_matches_strongly_and_where_it_is_cut(world: Path) -> None:
    """The same with a model and without one, and when the conversation is opened again."""
    for llm, most in ((None, 1), (model(), 2)):   # its other query, "유급 휴가", is the title's
        client = client_of(app_of(world, llm))
        events = await ask(client, "연차는 미리 신청하나요?")
        turn = events[-1]["turn"]
        source = turn["sources"][0]
        marked = [source["text"][a:b] for a, b in source["strong"]]
        assert marked[-1] == TEXTS["leave.md"][3].strip().split("\n\n")[1] and len(marked) <= most
        assert len(turn["sources"]) > 1 and all(s["strong"] == [] for s in turn["sources"][1:])
        for s in (s for s in turn["sources"] if s["doc_id"] in TEXTS):
            text = TEXTS[s["doc_id"]][3].strip()
            assert s["cut"] == [s["start"] > 0, s["end"] < len(text)]
        (kept,) = (await client.get(f"/api/conversations/{events[0]['conversation']}")).json()["turns"]
        assert kept["sources"] == turn["sources"]


async def test_a_source_that_is_cut_on_both_sides_marks_the_same_sentence(tmp_path: Path) -> None:
    """Its passage is longer than the 500 characters that are shown of it, and some of these have two halves."""
    from llama_index.core.schema import Document

    lines, answer = "\n\n".join(f"🌳 {n}번 밭에 심은 것: 𠮷野 배추" for n in range(60)), "🌿 어린 소나무는 사흘마다 물을 준다."
    text = f"{lines}\n\n{answer}\n\n{lines}"
    index_documents([Document(text=text, id_="field.md")], tmp_path / "i", show_progress=False)

    app = create_app(Library.open(tmp_path / "i", policy="neighbors:30", passage_size=None), models={"grade": None})
    turn = (await ask(client_of(app), "어린 소나무는 며칠마다 물을 주나요?"))[-1]["turn"]
    source = next(s for s in turn["sources"] if answer in s["text"])
    assert [source["text"][a:b] for a, b in source["strong"]] == [answer] and source["cut"] == [True, True]
    assert source["text"] == text[source["start"]:source["end"]] and source["start"] > 100 and len(source["text"]) <= 500
    assert source["text"][source["best"]:].startswith(answer), "a part of it begins there"


async def test_a_follow_up_goes_on_in_its_conversation(world: Path) -> None:
    client = client_of(app_of(world, model()))
    first = await ask(client)
    second = await ask(client, "그럼 이월은?", first[0]["conversation"])
    assert second[-1]["turn"]["number"] == 2 and second[0]["conversation"] == first[0]["conversation"]
    assert any(e.get("step") == "rewrite" and e["kind"] == "done" for e in second)
    (row,) = (await client.get("/api/conversations")).json()
    assert (row["title"], row["turns"], row["waiting"]) == (QUESTION, 2, False)


async def test_an_answer_that_the_judge_refuses_is_written(world: Path) -> None:
    unsure = (await ask(client_of(app_of(world, model(judge=NO), max_attempts=1))))[-1]["turn"]
    assert (unsure["status"], unsure["written"]) == ("unsure", True)


async def test_a_fault_of_ours_is_an_event_and_gives_the_place_back(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = app_of(world, model())
    service = app.state.service
    monkeypatch.setattr(service.talks, "save", lambda talk: (_ for _ in ()).throw(OSError("disk full: secret place")))
    events = await ask(client_of(app))
    assert events[-1] == {"event": "error", "message": "OSError"}
    assert service.places.taken.total() == 0 and not service._busy


# --- choosing
async def test_a_person_chooses_documents(world: Path) -> None:
    client = client_of(app_of(world, model("축을 점검합니다 [1]."), ask_user=True))
    asked = (await ask(client, DEVICES))[-1]
    assert asked["event"] == "choose" and {"GN.md", "TR.md"} <= {o["doc_id"] for o in asked["options"]}
    assert all(set(o) == {"doc_id", "title", "doc_type", "equipment", "collection", "section", "snippet"} for o in asked["options"])
    kept = (await client.get(f"/api/conversations/{asked['conversation']}")).json()
    assert kept["waiting"]["waiting"] == asked["waiting"] and kept["turns"] == []
    turn = (await choose(client, asked, documents=["TR.md"]))[-1]["turn"]
    assert turn["status"] == "answered" and {s["doc_id"] for s in turn["sources"]} == {"TR.md"}
    again = await client.post(f"/api/conversations/{asked['conversation']}/choice", json={"waiting": asked["waiting"], "skip": True})
    assert again.status_code == 409


async def test_free_text_and_an_unknown_choice(world: Path) -> None:
    llm = model("밸브를 점검합니다 [1].")
    client = client_of(app_of(world, llm, ask_user=True))
    written = await choose(client, (await ask(client, DEVICES))[-1], text="배기 밸브")
    assert written[-1]["event"] == "turn" and any(e.get("kind") == "text" and e["detail"] == "배기 밸브" for e in written)
    asked = (await ask(client, DEVICES))[-1]
    unknown = await choose(client, asked, documents=["nowhere.md"])
    assert unknown[-1]["event"] == "choose" and unknown[-1]["waiting"] != asked["waiting"]
    assert (await choose(client, unknown[-1], documents=["GN.md"]))[-1]["turn"]["status"] == "answered"


async def test_a_second_question_closes_the_choice_and_searches_all(world: Path, tmp_path: Path) -> None:
    """Also on disk, before it has an answer; a choice that comes late is refused, and a refused question closes nothing."""
    held = Held("밸브를 점검합니다 [1].")
    app = app_of(world, model(held), ask_user=True, talks=Talks(tmp_path), places=Places(running=2, waiting=0, each=1))
    client, service = client_of(app), app.state.service
    asked = (await ask(client, DEVICES))[-1]
    talk = asked["conversation"]
    service.places.take("local")
    assert (await client.post("/api/ask", json={"question": DEVICES, "conversation": talk})).status_code == 429
    service.places.leave("local")
    assert (await client.get(f"/api/conversations/{talk}")).json()["waiting"]["waiting"] == asked["waiting"]
    second = asyncio.create_task(ask(client, DEVICES, talk))
    await until(lambda: held.n == 1)
    assert json.loads((tmp_path / f"{talk}.json").read_text(encoding="utf-8"))["waiting"] is None
    held.go.set()
    events = await second
    assert events[-1]["event"] == "turn" and {"GN.md", "TR.md"} <= {s["doc_id"] for s in events[-1]["turn"]["sources"]}
    late = await client.post(f"/api/conversations/{talk}/choice", json={"waiting": asked["waiting"], "skip": True})
    assert late.status_code == 409
    assert (await ask(client, DEVICES, talk))[-1]["event"] == "choose", "the next one is asked back again"


async def test_a_choice_says_where_its_text_is(tmp_path: Path) -> None:
    """The path, the headings above the hit without the title, and the text without signs of Markdown."""
    from llama_index.core.schema import Document

    def text(name: str) -> str:
        return f"# {name} 설명서\n\n## 1. 안전\n\n장갑을 낀다.\n\n## 2. 경보\n\n### 2.1 배기\n\n**E-117** 알람이 뜨면 {name} 밸브를 점검한다.\n\n| 번호 | 뜻 |\n|---|---|\n| E-9 | 끝 |\n"
    documents = [Document(text=text(name), id_=f"manuals/{name}.md", metadata={"title": f"{name} 설명서"}) for name in ("GN", "TR")]
    index_documents([*documents, Document(text="E-117 알람은 밤에도 확인한다.", id_="night.txt")], tmp_path / "i", show_progress=False)
    app = create_app(tmp_path / "i", model(), models={"grade": None}, ask_user=True)
    options = {o["doc_id"]: o for o in (await ask(client_of(app), DEVICES))[-1]["options"]}
    assert {i: o["section"] for i, o in options.items() if i != "night.txt"} == dict.fromkeys(("manuals/GN.md", "manuals/TR.md"), "2. 경보 > 2.1 배기")
    assert options["manuals/GN.md"]["snippet"].startswith("E-117 알람이 뜨면 GN 밸브를 점검한다.")
    assert all(o["section"] == "" and not set(o["snippet"]) & set("*#|") for o in options.values() if o["doc_id"] == "night.txt")


async def test_a_question_waits_over_a_restart(world: Path, tmp_path: Path) -> None:
    first = client_of(app_of(world, model(), ask_user=True, talks=Talks(tmp_path), tokens=True), "clerk")
    asked = (await ask(first, DEVICES))[-1]
    second = client_of(app_of(world, model(), ask_user=True, talks=Talks(tmp_path), tokens=True), "clerk")
    (row,) = (await second.get("/api/conversations")).json()
    assert row["waiting"]
    turn = (await choose(second, asked, documents=["GN.md"]))[-1]["turn"]
    assert {s["doc_id"] for s in turn["sources"]} == {"GN.md"}


async def test_a_lost_connection_gives_the_place_back_and_the_question_still_waits(world: Path) -> None:
    held = Held()
    app = app_of(world, model(held), ask_user=True)
    service, client = app.state.service, client_of(app)
    asked = (await ask(client, DEVICES))[-1]
    gone = asyncio.create_task(choose(client, asked, documents=["GN.md"]))
    await until(lambda: held.n == 1)
    busy = await client.post(f"/api/conversations/{asked['conversation']}/choice", json={"waiting": asked["waiting"], "skip": True})
    removed = await client.delete(f"/api/conversations/{asked['conversation']}")
    assert (busy.status_code, removed.status_code) == (409, 409) and service.places.taken.total() == 1
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    held.go.set()
    await until(lambda: service.places.taken.total() == 0 and not service._busy)
    assert (await choose(client, asked, documents=["GN.md"]))[-1]["turn"]["status"] == "answered"


async def test_what_comes_right_after_a_question_waits_for_its_end(world: Path) -> None:
    """A reader has the last event, or has stopped, a moment before the service knows: neither is "still answering"."""
    app = app_of(world, model("밸브를 점검합니다 [1]."), ask_user=True)
    service, client, end = app.state.service, client_of(app), app.state.service.end

    def late(asked: Any) -> None:
        asyncio.get_running_loop().call_later(.2, end, asked)
    service.end = late
    asked = (await ask(client, DEVICES))[-1]
    assert asked["conversation"] in service._busy
    assert (await choose(client, asked, documents=["GN.md"]))[-1]["turn"]["status"] == "answered"
    assert (await ask(client, "연차는 며칠인가요?", asked["conversation"]))[-1]["event"] in ("turn", "choose")
    assert (await client.delete(f"/api/conversations/{asked['conversation']}")).status_code == 204


# --- history
async def test_conversations_come_back_identically_after_a_restart(world: Path, tmp_path: Path) -> None:
    async def everything(client: Any, talk: str) -> list[Any]:
        turns = f"/api/conversations/{talk}"
        paths = (turns, f"{turns}/turns/1/documents", f"{turns}/turns/2/documents", f"{turns}/turns/1/trace",
                 f"{turns}/turns/2/trace?doc_id=valve.pdf&number=1")
        replies = [await client.get(path) for path in paths]
        assert [r.status_code for r in replies] == [200] * 5
        return [r.text for r in replies]

    first = client_of(app_of(world, model("30 days [1].", rewrite="How often is the valve inspected?"), talks=Talks(tmp_path)))
    talk = (await ask(first))[0]["conversation"]
    turn = (await ask(first, "How often is the valve inspected?", talk))[-1]["turn"]
    assert turn["sources"][0]["doc_id"] == "valve.pdf"
    before = await everything(first, talk)
    again = client_of(app_of(world, None, talks=Talks(tmp_path)))
    assert await everything(again, talk) == before
    docs = (await again.get(f"/api/conversations/{talk}/turns/2/documents")).json()
    page = next(p for d in docs if d["doc_id"] == "valve.pdf" for p in d["pages"] if p["number"] == 1)
    assert page["picture"] and page["hits"] and "every 30 days" in page["text"]
    assert (await again.get(f"/api/conversations/{talk}/turns/3/documents")).status_code == 404
    assert (await again.delete(f"/api/conversations/{talk}")).status_code == 204
    assert (await again.get("/api/conversations")).json() == [] and not list(tmp_path.glob("*.json"))


def test_files_of_conversations_are_private(world: Path, tmp_path: Path) -> None:
    asyncio.run(ask(client_of(app_of(world, model(), talks=Talks(tmp_path / "kept")))))
    (path,) = (tmp_path / "kept").glob("*.json")
    if sys.platform != "win32":
        assert path.stat().st_mode & 0o077 == 0
    path.write_text(path.read_text(encoding="utf-8")[:-20], encoding="utf-8")
    damaged = Talks(tmp_path / "kept")
    assert len(damaged.problems) == 1 and path.exists()


async def test_metrics_are_written_as_prometheus_reads_them(world: Path) -> None:
    reply = await client_of(app_of(world, model())).get("/metrics")
    assert reply.status_code == 200 and re.fullmatch(r'(# TYPE ragnb_\w+ gauge\n(ragnb_\w+\{collection="[^"]*"\} [\d.]+\n)+)+', reply.text), reply.text


# --- who may do what
async def test_no_route_answers_without_a_known_token(world: Path) -> None:
    app = app_of(world, model(), tokens=True)
    paths = {path: methods for path, methods in app.openapi()["paths"].items() if path != "/health"}
    assert len(paths) >= 12
    for token in (None, "wrong-0123456789abcdef", ""):
        client = client_of(app, **({} if token is None else {"authorization": f"Bearer {token}"}))
        for path, methods in paths.items():
            for method in methods:
                filled = path.replace("{conversation}", "x").replace("{turn}", "1")
                body = {"json": {}} if method == "post" else {}
                reply = await client.request(method, filled, **body)
                assert reply.status_code == 401 and reply.headers["www-authenticate"] == "Bearer", (method, path, reply.text)


WIDER: list[Any] = [None, "doc_type=secret", "doc_type!=x", {"doc_type": "secret"}, {"doc_type": ["secret", "rule"]}, ["doc_type=secret"],
                    {"doc_id": "pay.md"}, []]


async def test_a_filter_cannot_be_got_round(world: Path) -> None:
    """Everything a clerk can send, aimed at what only the chief may read; no reply and no prompt holds it."""
    llm = model(lambda prompt: "모릅니다 [1].")
    app = app_of(world, llm, tokens=True, ask_user=True)
    clerk, chief, replies = client_of(app, "clerk"), client_of(app, "chief"), []

    async def send(method: str, path: str, **given: Any) -> Any:
        reply = await clerk.request(method, path, timeout=60, **given)
        replies.append((method, path, given, reply.text))
        return reply
    about = f"사장의 연차 보상과 E-117 담당, board bonus, pay.md, {chr(0x201c)}보수 규정{chr(0x201d)}"
    for where in WIDER:
        reply = await send("POST", "/api/search", json={"query": about, "top_k": 50, "where": where})
        assert reply.status_code == 200 and not {"pay.md", "board.pdf"} & {h["doc_id"] for h in reply.json()}
    for narrow in ({"documents": ["pay.md", "board.pdf"]}, {"collections": [""]}, {"collections": ["..", "secret"]}):
        await send("POST", "/api/search", json={"query": about, **narrow})
    for name, arguments in (("search", {"query": about, "top_k": 10}), ("get_neighbor_chunks", {"doc_id": "pay.md", "chunk_idx": 1}),
                            ("open_section", {"doc_id": "pay.md", "chunk_idx": 1}), ("get_page", {"doc_id": "board.pdf", "page": 1})):
        assert (await send("POST", "/api/tools", json={"name": name, "arguments": arguments})).status_code == 200
    for name, arguments in (("search", {"self": 1}), ("search", {"query": 1}), ("get_page", {}), ("search", {"query": "x", "where": {}})):
        assert (await send("POST", "/api/tools", json={"name": name, "arguments": arguments})).status_code == 422
    assert (await send("POST", "/api/tools", json={"name": "_give", "arguments": {}})).status_code == 422
    await send("GET", "/api/documents")
    assert not {"pay.md", "board.pdf"} & {d["id"] for d in (await clerk.get("/api/documents")).json()}
    for doc_id in ("pay.md", "board.pdf", "../corpus/board.pdf", "valve.pdf/../board.pdf", "./board.pdf"):
        assert (await send("GET", "/api/passage", params={"doc_id": doc_id, "start": 0, "end": 10})).status_code == 404
        assert (await send("GET", "/api/picture", params={"doc_id": doc_id, "page": 1})).status_code == 404
    asked = read_events((await send("POST", "/api/ask", json={"question": about})).text)[-1]
    assert asked["event"] == "choose" and not {"pay.md", "board.pdf"} & {o["doc_id"] for o in asked["options"]}
    path = f"/api/conversations/{asked['conversation']}"
    tried = read_events((await send("POST", f"{path}/choice", json={"waiting": asked["waiting"], "documents": ["pay.md"], "text": about})).text)[-1]
    done = read_events((await send("POST", f"{path}/choice", json={"waiting": tried["waiting"], "text": about})).text)[-1]
    assert done["event"] == "turn"
    for query in ("", "?doc_id=pay.md", "?doc_id=board.pdf&number=1"):
        await send("GET", f"{path}/turns/1/trace{query}")
    await send("GET", f"{path}/turns/1/documents")
    await send("GET", path)
    everything = [*map(str, replies), *llm.prompts]
    leaked = [text[:300] for text in everything if SECRET in text or "99 million" in text]
    assert not leaked and not any("김 대리" in text for text in everything)
    reply = await chief.post("/api/search", json={"query": about, "top_k": 50})
    assert SECRET in reply.text and (await chief.get("/api/picture", params={"doc_id": "board.pdf", "page": 1})).status_code == 200


async def test_conversations_belong_to_a_name_and_its_filter(world: Path, tmp_path: Path) -> None:
    app = app_of(world, model(), tokens=True, ask_user=True, talks=Talks(tmp_path))
    chief = client_of(app, "chief")
    asked = (await ask(chief, DEVICES))[-1]
    talk = f"/api/conversations/{asked['conversation']}"
    await choose(chief, asked, skip=True)
    for name in ("clerk", "other"):
        thief = client_of(app, name)
        assert (await thief.get("/api/conversations")).json() == []
        replies = [await thief.get(talk), await thief.delete(talk), await thief.get(f"{talk}/turns/1/documents"),
                   await thief.get(f"{talk}/turns/1/trace"), await thief.post(f"{talk}/choice", json={"waiting": asked["waiting"]}),
                   await thief.post("/api/ask", json={"question": "x", "conversation": asked["conversation"]})]
        unknown = await thief.get("/api/conversations/nothing")
        assert {(r.status_code, r.text) for r in replies} == {(404, unknown.text)}
    later = app_of(world, model(), talks=Talks(tmp_path), access=Access(read_tokens(world / "tokens.json"), where="doc_type=rule"))
    assert (await client_of(later, "chief").get(talk)).status_code == 404     # under another filter it is another's
    assert (await chief.get(talk)).status_code == 200
    ids = {(await ask(chief))[0]["conversation"] for _ in range(3)}
    assert len(ids) == 3 and all(len(i) >= 22 for i in ids)


# --- where a request comes from, and how much it is
REQUESTS: list[tuple[dict[str, str], int]] = [
    ({"host": "evil.example"}, 421), ({"host": "127.0.0.1.evil.example:8321"}, 421), ({"host": "localhost@evil.example"}, 421),
    ({"host": "[::1].evil.example"}, 421), ({"host": "127.0.0.1:8321, evil.example"}, 421), ({"origin": "http://evil.example"}, 403),
    ({"origin": "null"}, 403), ({"origin": ""}, 403), ({"origin": "http://127.0.0.1:9999"}, 403),
    ({"origin": "http://127.0.0.1:8321.evil.example"}, 403), ({"origin": "http://evil.example@127.0.0.1:8321"}, 403),
    ({"sec-fetch-site": "cross-site"}, 403), ({"sec-fetch-site": "same-site"}, 403),
    ({"origin": "http://127.0.0.1:8321", "sec-fetch-site": "same-origin"}, 200), ({"host": "localhost:8321"}, 200), ({"host": "[::1]:8321"}, 200)]


async def test_other_pages_and_other_names_are_refused(world: Path) -> None:
    client = client_of(app_of(world))
    for headers, status in REQUESTS:
        reply = await client.get("/api/about", headers=headers)
        assert reply.status_code == status and set(SECURITY_HEADERS) <= set(reply.headers), headers
        assert "access-control-allow-origin" not in reply.headers
    for twice in (b"host", b"origin"):
        reply = await client.get("/api/about", headers=[(b"host", b"127.0.0.1:8321"), (b"origin", b"http://127.0.0.1:8321"), (twice, b"evil.example")])
        assert reply.status_code >= 400


async def test_size_and_kind_of_a_request(world: Path) -> None:
    client = client_of(app_of(world, body=1_000))

    async def pieces() -> Any:
        for _ in range(100):
            yield b" " * 100
    asking = {"content-type": "application/json"}
    assert (await client.post("/api/ask", json={"question": "가" * 2_000})).status_code == 413
    assert (await client.post("/api/ask", content=pieces(), headers=asking)).status_code == 413
    assert (await client.post("/api/ask", content=b'{"question": "x"}', headers={"content-type": "text/plain"})).status_code == 415
    for body in (b"{", b"[]", b'{"question": ""}', b'{"question": "x", "filter": "a=b"}', b'{"question": "x", "where": 3}', b'{"question": 1}', b'"\xff"', b"[" * 900):
        reply = await client.post("/api/ask", content=body, headers=asking)
        assert 400 <= reply.status_code < 500, body
    assert (await client.post("/api/ask", json={"question": "   "})).status_code == 422


async def test_too_many_questions_are_refused_clearly_and_places_come_back(world: Path) -> None:
    held = Held()
    app = app_of(world, model(held), tokens=True, places=Places(running=1, waiting=2, each=2))
    clerk, chief, other = (client_of(app, name) for name in ("clerk", "chief", "other"))
    tasks = [asyncio.create_task(ask(c)) for c in (clerk, clerk, chief)]
    await until(lambda: app.state.service.places.taken.total() == 3 and held.n == 1)
    mine, full = await clerk.post("/api/ask", json={"question": "?"}), await other.post("/api/ask", json={"question": "?"})
    assert (mine.status_code, full.status_code) == (429, 503) and mine.headers["retry-after"] == full.headers["retry-after"] == "5"
    assert (await other.get("/api/about")).status_code == 200
    held.go.set()
    assert [events[-1]["event"] for events in await asyncio.gather(*tasks)] == ["turn"] * 3
    assert (await ask(other))[-1]["event"] == "turn" and app.state.service.places.taken.total() == 0


@pytest.mark.heavy
async def test_fifty_questions_at_once_and_none_is_lost(world: Path) -> None:
    held: list[str] = []
    most: list[int] = []

    def answer(prompt: str) -> str:
        held.append(prompt)
        most.append(len(held))
        held.remove(prompt)
        return f"{prompt.rpartition('질문: ')[2].partition('번')[0]}번의 답 [1]."
    llm = model(answer)
    app = app_of(world, llm, models={"grade": None, "route": None, "plan": None})
    client = client_of(app)
    told = await asyncio.gather(*(ask(client, f"{n}번 연차는 며칠인가요?") for n in range(50)))
    assert [events[-1]["turn"]["answer"] for events in told] == [f"{n}번의 답 [1]." for n in range(50)]
    rows = (await client.get("/api/conversations")).json()
    assert len({events[0]["conversation"] for events in told}) == 50 == len(rows)
    assert app.state.service.places.taken.total() == 0 and 1 <= max(most) <= 4


# --- what is shown
async def test_a_hostile_document_is_text_in_the_trace(world: Path) -> None:
    client = client_of(app_of(world, model("매년 한다 [1]. <script>window.hacked=5</script>")))
    events = await ask(client, "낙하산 점검은 언제 하나요?")
    talk, turn = events[0]["conversation"], events[-1]["turn"]
    assert turn["sources"][0]["doc_id"] == "hostile.md"
    for query in ("", "?doc_id=hostile.md&number=1"):
        reply = await client.get(f"/api/conversations/{talk}/turns/1/trace{query}")
        html = reply.text
        assert "낙하산 점검은" in html and "&lt;img" in html
        for forbidden in ("<script", "<img", "<a ", "<h1", "<svg onload", "onerror=\"", "\u202e", "javascript:window.hacked=3\">"):
            assert forbidden not in html.replace("&quot;", "'"), forbidden
        assert "script-src" not in reply.headers["content-security-policy"] and "sandbox" in reply.headers["content-security-policy"]
    docs = (await client.get(f"/api/conversations/{talk}/turns/1/documents")).json()
    page = next(d for d in docs if d["doc_id"] == "hostile.md")["pages"][0]
    assert page["text"] == HOSTILE[page["start"]:page["end"]]


async def test_a_page_of_a_pdf_is_drawn(world: Path) -> None:
    client = client_of(app_of(world))
    replies = await asyncio.gather(*(client.get("/api/picture", params={"doc_id": "valve.pdf", "page": 1 + n % 2, "width": 120}) for n in range(8)))
    assert {r.status_code for r in replies} == {200} and all(r.content.startswith(b"\x89PNG") for r in replies)
    assert len({r.content for r in replies}) == 2
    for wrong in ({"doc_id": "valve.pdf", "page": 3}, {"doc_id": "valve.pdf", "page": 0}, {"doc_id": "leave.md", "page": 1},
                  {"doc_id": "valve.pdf", "page": 1, "width": 2}):
        assert (await client.get("/api/picture", params=wrong)).status_code == 404, wrong
    without = client_of(app_of(world, documents=None))
    assert (await without.get("/api/picture", params={"doc_id": "valve.pdf", "page": 1})).status_code == 404


async def test_the_page_allows_itself_and_nothing_else(world: Path) -> None:
    reply = await client_of(app_of(world, tokens=True)).get("/", headers={"sec-fetch-site": "cross-site"})
    policy = reply.headers["content-security-policy"]
    assert reply.status_code == 200 and reply.text == page_html() and policy == page_policy(page_html())
    assert "unsafe" not in policy and "http" not in policy and "default-src 'none'" in policy


async def test_the_interface_is_described(world: Path) -> None:
    described = (await client_of(app_of(world)).get("/openapi.json")).json()
    operations = [o for methods in described["paths"].values() for o in methods.values()]
    assert all(o["description"] and o["tags"] for o in operations)
    assert "text/event-stream" in described["paths"]["/api/ask"]["post"]["responses"]["200"]["content"]
    assert "HTTPBearer" in described["components"]["securitySchemes"]
    for path in ("/docs", "/redoc"):
        assert (await client_of(app_of(world)).get(path)).status_code == 404


def test_without_fastapi_the_extra_is_named(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastapi", None)
    with pytest.raises(InputError, match=r"pip install .*\[serve\]'"):
        create_app(world / "index")


async def test_after_a_stop_the_conversation_goes_on(world: Path) -> None:
    held = Held()
    app = app_of(world, model(held))
    client, service = client_of(app), app.state.service
    asked = service.ask(service.access.visitor(None), QUESTION)
    events = service.events(asked)
    begin = await anext(events)
    await events.aclose()
    service.end(asked)
    held.go.set()
    assert (await client.get("/api/conversations")).json() == []
    assert (await ask(client, QUESTION, begin["conversation"]))[-1]["turn"]["number"] == 1


async def test_what_is_listed_follows_an_index_that_changes_meanwhile(tmp_path: Path) -> None:
    """Another process indexes again: the list, the count and a visitor's own list change; without a change nothing is read."""
    from llama_index.core.schema import Document

    def index(*names: str) -> None:
        texts = [Document(text=f"# {n}\n\n연차는 {n}일이다.\n", id_=f"{n}.md", metadata={"doc_type": "rule" if n != "9" else "secret"}) for n in names]
        index_documents(texts, tmp_path / "index", show_progress=False)
    index("1", "2", "9")
    (tmp_path / "tokens.json").write_text(json.dumps([{"name": "clerk", "token": TOKENS["clerk"], "where": "doc_type=rule"},
                                                      {"name": "chief", "token": TOKENS["chief"], "where": None}]), encoding="utf-8")
    app = create_app(tmp_path / "index", access=Access(read_tokens(tmp_path / "tokens.json")))
    store = app.state.service.library.store

    async def listed(name: str) -> tuple[list[str], int]:
        client = client_of(app, name)
        return [d["id"] for d in (await client.get("/api/documents")).json()], (await client.get("/api/about")).json()["documents"]
    assert await listed("chief") == (["1.md", "2.md", "9.md"], 3) and await listed("clerk") == (["1.md", "2.md"], 2)
    before = store.reads
    assert await listed("chief") == (["1.md", "2.md", "9.md"], 3) and store.reads == before
    index("2", "3", "9")
    assert await listed("chief") == (["2.md", "3.md", "9.md"], 3) and await listed("clerk") == (["2.md", "3.md"], 2)


async def test_several_collections_keep_their_filter(world: Path, tmp_path: Path) -> None:
    """Ids begin with the collection, also those of pictures."""
    library = Library({name: library_of(world).pipelines[""] for name in ("north", "south")})
    app = create_app(library, model(), access=Access(read_tokens(world / "tokens.json")), documents=world / "corpus")
    clerk, chief = client_of(app, "clerk"), client_of(app, "chief")
    assert (await clerk.get("/api/about")).json()["collections"] == ["north", "south"]
    body = {"query": "사장의 연차 보상", "top_k": 50}
    assert SECRET not in (await clerk.post("/api/search", json=body)).text and SECRET in (await chief.post("/api/search", json=body)).text
    assert (await clerk.post("/api/search", json=body | {"collections": ["west"]})).status_code == 422
    for doc_id, status in (("north/valve.pdf", 200), ("valve.pdf", 404), ("west/valve.pdf", 404), ("north/board.pdf", 404), ("north/../valve.pdf", 404)):
        assert (await clerk.get("/api/picture", params={"doc_id": doc_id, "page": 1})).status_code == status, doc_id
    turn = (await ask(clerk))[-1]["turn"]
    assert turn["sources"][0]["doc_id"].partition("/")[0] in ("north", "south")


# --- the command's defaults
@pytest.fixture
def served(world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[Any, str]]]:
    """Index the PDFs of the world from their folder, and start the command; the application in place of listening, and what was printed."""
    from ragnb.cli import main
    from ragnb.indexing.update import update_index
    apps: list[Any] = []
    monkeypatch.setattr("ragnb.serve.app.serve_app", lambda app, host, port, ready: (apps.append(app), ready("http://here/")))
    shutil.copytree(world / "corpus", tmp_path / "corpus")
    update_index(tmp_path / "corpus", tmp_path / "index", show_progress=False)

    def start(*options: str, index: str = "index") -> tuple[Any, str]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            assert main(["serve", "--index", str(tmp_path / index), *options]) == 0, out.getvalue()
        return apps[-1], out.getvalue()
    yield start
    for app in apps:
        if app.state.service.talks.lock:
            app.state.service.talks.lock.release()


def test_conversations_are_kept_in_the_index_folder(served: Callable[..., tuple[Any, str]], tmp_path: Path) -> None:
    """A second service over the index keeps its own in memory; after a restart the owner finds them, and no one else."""
    folder = tmp_path / "index/serve-conversations"
    first, told = served("--tokens", tokens_file(tmp_path))
    assert f"{folder}  (--conversations none keeps none; `rm -r {folder}` deletes them)" in told
    talk = asyncio.run(ask(client_of(first, "clerk"), "How often is the valve inspected?"))[0]["conversation"]
    (path,) = folder.iterdir()
    if sys.platform != "win32":
        assert (folder.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o700, 0o600)
    second, told = served()
    assert second.state.service.talks.folder is None and "in memory" in told and "another service of this index" in told
    first.state.service.talks.lock.release()
    again, _ = served("--tokens", tokens_file(tmp_path))
    statuses = [asyncio.run(client_of(again, name).get(f"/api/conversations/{talk}")).status_code for name in ("clerk", "chief", "other", "")]
    assert statuses == [200, 404, 404, 401]
    off, told = served("--conversations", "none")
    assert off.state.service.talks.folder is None and "in memory" in told and "warning" not in told


def test_a_dropped_index_leaves_no_conversations(served: Callable[..., tuple[Any, str]], tmp_path: Path) -> None:
    """Also a folder with conversations and without an index can be indexed into."""
    from ragnb.cli import main
    from ragnb.indexing.update import update_index
    app, _ = served()
    asyncio.run(ask(client_of(app), "How often is the valve inspected?"))
    app.state.service.talks.lock.release()
    (tmp_path / "index/index.db").rename(tmp_path / "aside.db")
    update_index(tmp_path / "corpus", tmp_path / "index", show_progress=False)
    assert list((tmp_path / "index/serve-conversations").glob("*.json"))
    assert main(["drop", "--index", str(tmp_path / "index"), "--yes"]) == 0
    assert not (tmp_path / "index").exists()


def test_an_index_is_served_where_the_folder_cannot_be_made(served: Callable[..., tuple[Any, str]], tmp_path: Path) -> None:
    (tmp_path / "index/serve-conversations").write_text("a file has its name", encoding="utf-8")
    app, told = served()
    assert app.state.service.talks.folder is None and "conversations are not kept: File exists" in told


async def drawn(app: Any, doc_id: str, name: str = "") -> int:
    """The status of a picture of the first page."""
    return (await client_of(app, name).get("/api/picture", params={"doc_id": doc_id, "page": 1, "width": 120})).status_code


async def test_pictures_come_from_the_folder_that_was_indexed(served: Callable[..., tuple[Any, str]], tmp_path: Path) -> None:
    """Without it there are none, nor with `none`; a token's filter holds; a folder is not searched for other files."""
    app, _ = served("--tokens", tokens_file(tmp_path), "--conversations", "none")
    draw_pdf(tmp_path / "corpus/later.pdf", ["Not indexed."])
    asked = [("valve.pdf", "clerk"), ("board.pdf", "clerk"), ("board.pdf", "chief"), ("later.pdf", "chief"), ("corpus/valve.pdf", "chief"), ("../corpus/valve.pdf", "chief")]
    assert [await drawn(app, *pair) for pair in asked] == [200, 404, 200, 404, 404, 404]
    assert await drawn(served("--documents", "none", "--conversations", "none")[0], "valve.pdf") == 404
    events = await ask(client_of(app, "chief"), "How often is the valve inspected?")
    path = f"/api/conversations/{events[0]['conversation']}/turns/1/documents"
    pages = [p for d in (await client_of(app, "chief").get(path)).json() for p in d["pages"]]
    assert pages and all(p["picture"] for p in pages)
    (tmp_path / "corpus").rename(tmp_path / "moved")
    assert await drawn(app, "valve.pdf", "chief") == 404
    assert not any(p["picture"] for d in (await client_of(app, "chief").get(path)).json() for p in d["pages"])
    assert await drawn(served("--documents", str(tmp_path / "moved"), "--conversations", "none")[0], "valve.pdf") == 200


async def test_pictures_of_several_collections(served: Callable[..., tuple[Any, str]], tmp_path: Path) -> None:
    """Each knows its folder; conversations are kept in the folder of the collections."""
    from ragnb.indexing.update import update_index
    for name in ("north", "south"):
        draw_pdf(tmp_path / f"{name}.pdf", [f"The {name} valve is inspected."])
        (tmp_path / "all" / name).mkdir(parents=True)
        (tmp_path / f"{name}.pdf").rename(tmp_path / "all" / name / "valve.pdf")
        update_index(tmp_path / "all" / name, tmp_path / "both" / name, base=tmp_path / "all", show_progress=False)
    app, told = served(index="both")
    assert str(tmp_path / "both/serve-conversations") in told
    ids = "north/north/valve.pdf", "south/south/valve.pdf", "north/south/valve.pdf", "north/valve.pdf", "west/north/valve.pdf"
    assert [await drawn(app, doc_id) for doc_id in ids] == [200, 200, 404, 404, 404]


def tokens_file(folder: Path) -> str:
    """Tokens of a clerk who may not read `board.pdf`, and of two who may; its path."""
    wheres = {"clerk": "doc_id!=board.pdf", "chief": None, "other": None}
    rows = [{"name": name, "token": TOKENS[name], "where": where} for name, where in wheres.items()]
    (folder / "tokens.json").write_text(json.dumps(rows), encoding="utf-8")
    return str(folder / "tokens.json")


@pytest.mark.heavy
def test_the_command_listens_answers_and_ends(world: Path, tmp_path: Path) -> None:
    """The whole way: a process, a port, a question as a stream, an interrupted reader, the end by a signal."""
    import os
    import signal
    import subprocess

    import httpx
    command = [sys.executable, "-c", "from ragnb.cli import main; raise SystemExit(main())"]
    process = subprocess.Popen([*command, "serve", "--index", str(world / "index"), "--port", "0", "--documents", str(world / "corpus"),
                                "--conversations", str(tmp_path), "--where", "doc_type!=secret"], stdout=subprocess.PIPE, text=True,
                               env=os.environ | {"PYTHONUNBUFFERED": "1"})
    try:
        address = process.stdout.readline().split()[0]
        assert address.startswith("http://127.0.0.1:")
        described = process.stdout.readline().split()[-1]
        assert described == f"{address}openapi.json" and "/api/search" in httpx.get(described, timeout=60).json()["paths"]
        with httpx.Client(base_url=address, timeout=60) as client:
            assert client.get("/").text == page_html()
            with client.stream("POST", "/api/ask", json={"question": DEVICES}) as reply:
                assert next(reply.iter_text()).startswith("event: begin")
            asked = read_events(client.post("/api/ask", json={"question": DEVICES}).text)[-1]
            assert asked["event"] == "choose" and "pay.md" not in str(asked)
            choice = {"waiting": asked["waiting"], "documents": ["GN.md"]}
            turn = read_events(client.post(f"/api/conversations/{asked['conversation']}/choice", json=choice).text)[-1]["turn"]
            assert turn["status"] == "passages" and {s["doc_id"] for s in turn["sources"]} == {"GN.md"}
            assert client.get("/api/about", headers={"host": "evil.example"}).status_code == 421
            assert "server" not in client.get("/").headers
        process.send_signal(signal.SIGINT)
        assert process.wait(15) == 0
    finally:
        process.kill()
        process.stdout.close()
    assert len(list(tmp_path.glob("*.json"))) >= 1


def test_a_page_is_drawn_only_where_all_of_its_text_may_be_read(world: Path) -> None:
    """A filter on chunks, not on documents: the first page may be read, the second not."""
    whole = library_of(world).store

    def first_page(addresses: Any) -> Found:
        found, missing = whole.get_chunks(addresses)
        hidden = [i for i, node in found.items() if "filter" in node.text]
        return Found({i: n for i, n in found.items() if i not in hidden}, (*missing, *hidden))
    narrow = SimpleNamespace(get_chunks=first_page, get_outlines=whole.get_outlines)
    assert [may_draw(whole, "valve.pdf", page) for page in (1, 2, 3)] == [True, True, False]
    assert [may_draw(narrow, "valve.pdf", page) for page in (1, 2)] == [True, False]


async def test_over_ollama_and_after_it_has_gone(world: Path) -> None:
    """The same over real HTTP: the answer of a model server, many at once, then the passages when it is down."""
    from ollama_server import OllamaServer


    with OllamaServer(models=("qwen3:8b",)) as server:
        llm = resolve_llm("ollama:qwen3:8b", server.url, retries=0)
        client = client_of(app_of(world, llm, models={"grade": None, "route": None, "plan": None, "judge": None}))
        assert (await client.get("/api/about")).json()["model"] == "qwen3:8b"
        told = await asyncio.gather(*(ask(client) for _ in range(3)))
        assert all(events[-1]["turn"]["answer"].startswith("echo ") and events[-1]["turn"]["written"] for events in told)
        assert "".join(e["text"] for e in told[0] if e["event"] == "part") == told[0][-1]["turn"]["answer"]
    turn = (await ask(client))[-1]["turn"]
    assert turn["status"] == "passages" and turn["trouble"] and turn["sources"]


async def test_a_question_names_a_model_of_the_server(world: Path) -> None:
    """Ollama says which models only embed; a name it does not list is refused before the question begins."""
    from ollama_server import OllamaServer

    steps = {"grade": None, "route": None, "plan": None, "judge": None}
    with OllamaServer(models=("small", "qwen3:8b", "bge-m3")) as server:
        app = app_of(world, resolve_llm("ollama:small", server.url, retries=0, num_ctx=8192), models=steps)
        client = client_of(app)
        assert (await client.get("/api/models")).json() == ["small", "qwen3:8b"]
        for given, asked in ((None, "small"), ("small", "small"), ("qwen3:8b", "qwen3:8b")):
            reply = await client.post("/api/ask", json={"question": QUESTION, "model": given}, timeout=60)
            assert read_events(reply.text)[-1]["turn"]["written"]
            assert [(b["model"], b["options"]["num_ctx"]) for b in server.asked("/api/chat")[-1:]] == [(asked, 8192)]
        before = len(server.asked("/api/chat"))
        for wrong in ("bge-m3", "other", "x" * 200):
            refused = await client.post("/api/ask", json={"question": QUESTION, "model": wrong})
            assert refused.status_code == 422 and refused.json()["detail"].startswith(f"there is no model '{wrong[:50]}")
            assert len(refused.json()["detail"]) < 130
        assert (await client.post("/api/ask", json={"question": QUESTION, "model": "x" * 201})).status_code == 422
        assert len(server.asked("/api/chat")) == before and app.state.service.places.taken.total() == 0
        client = client_of(app_of(world, resolve_llm("ollama:small", server.url), models=steps, ask_user=True))
        waits = (await ask(client, DEVICES))[-1]
        assert (await choose(client, waits, documents=["GN.md"], model="qwen3:8b"))[-1]["turn"]["written"]
        assert server.asked("/api/chat")[-1]["model"] == "qwen3:8b"
    described = (await client.get("/openapi.json")).json()["components"]["schemas"]
    assert all("model" in described[name]["properties"] for name in ("AskBody", "ChoiceBody"))


async def test_models_of_a_server_that_is_down_and_without_one(world: Path) -> None:
    gone = client_of(app_of(world, resolve_llm("ollama:small", "http://127.0.0.1:9", retries=0)))
    assert (await gone.get("/api/models")).json() == ["small"]
    for llm in (None, model()):
        client = client_of(app_of(world, llm))
        assert (await client.get("/api/models")).json() == []
        assert (await client.post("/api/ask", json={"question": QUESTION, "model": "small"})).status_code == 422


async def test_models_of_a_server_with_openais_protocol(world: Path) -> None:
    from openai_server import OpenAIServer

    with OpenAIServer() as server:
        client = client_of(app_of(world, resolve_llm("openai-like:first", server.url), models={"grade": None, "route": None, "plan": None, "judge": None}))
        assert (await client.get("/api/models")).json() == ["first", "chat"]
        reply = await client.post("/api/ask", json={"question": QUESTION, "model": "chat"}, timeout=60)
        assert read_events(reply.text)[-1]["turn"]["answer"] == server.said
