"""Ollama as people run it, over real HTTP: windows, limits, thoughts, addresses, patience, weights, options."""
from __future__ import annotations

import asyncio
import base64
import copy
import json
import pickle
import subprocess
import sys

import httpx
import numpy as np
import pytest
from ollama_server import MODES, OllamaServer, Refused, toy_vector

from ragnb import IndexMismatchError, InputError, resolve_embedding, resolve_llm
from ragnb.models.embedding import describe_embedding, embedding_differences, load_embedding, save_embedding
from ragnb.models.limits import ModelCall, VERDICT_TOKENS
from ragnb.models.ollama import NoAnswerError, ollama_url, OllamaEmbedding, PromptCutError, TextTooLongError
from ragnb.models.replies import MOST_BYTES, ReplyError

QUICK = {"retry_wait": 0.01, "timeout": 20}


@pytest.fixture
def server():
    with OllamaServer(models=("chat", "embedder")) as server:
        yield server


def ask(llm, prompt: str, way: str) -> str:
    """One prompt, in four ways."""
    async def streamed() -> str:
        return "".join([r.delta or "" async for r in await llm.astream_complete(prompt)])
    if way == "stream":
        return "".join(r.delta or "" for r in llm.stream_complete(prompt))
    return {"sync": lambda: str(llm.complete(prompt)), "async": lambda: str(asyncio.run(llm.acomplete(prompt))),
            "astream": lambda: asyncio.run(streamed())}[way]()


WAYS = ["sync", "async", "stream", "astream"]


@pytest.mark.parametrize("way", WAYS)
def test_a_model_that_only_thinks_says_so(server, way):
    server.thinks = server.forever = True
    llm = resolve_llm("ollama:chat", server.url, **QUICK)
    with pytest.raises(NoAnswerError, match="'chat' only thought: [0-9,]+ tokens .*done_reason length.*--no-think"):
        ask(llm, "연차는?", way)
    server.forever = False
    assert ask(llm, "연차는?", way).startswith("echo ")
    assert ask(resolve_llm("ollama:chat", server.url, think=False), "연차는?", way).startswith("echo ")
    assert [body.get("think") for body in server.asked("/api/chat")] == [None, None, False]
    server.thinks, server.said = False, lambda messages: ""
    with pytest.raises(NoAnswerError, match="empty text"):
        ask(llm, "연차는?", way)


@pytest.mark.parametrize(("fault", "told"), [("half", "^the connection was lost in the middle of the answer .*: ask again$"), ("undone", "'chat' broke off")])
@pytest.mark.parametrize("way", ["stream", "astream"])
def test_a_stream_that_breaks_off_is_an_error(server, way, fault, told):
    server.faults = [fault]
    with pytest.raises(ConnectionError, match=told):
        ask(resolve_llm("ollama:chat", server.url), "연차는?", way)
    assert len(server.asked("/api/chat")) == 1, "what was shown already is not said again"


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_reply_that_breaks_off_is_asked_for_again(server, way):
    server.faults = ["half"]
    assert ask(resolve_llm("ollama:chat", server.url, **QUICK), "연차는?", way).startswith("echo ")
    assert len(server.asked("/api/chat")) == 2


@pytest.mark.parametrize("way", WAYS)
def test_the_window_is_that_of_the_prompt(server, way):
    llm = resolve_llm("ollama:chat", server.url)
    ask(llm, "연차 " * 1000, way)
    ask(llm, "연차", way)
    assert server.loads == [("chat", 4096)], "131,072 tokens are not loaded for 3,000 characters"
    ask(llm, "연차 " * 3000, way)
    ask(llm, "연차 " * 1000, way)
    assert server.loads == [("chat", 4096), ("chat", 12288)], "rounded up, and not loaded again for less"


def test_a_window_that_is_loaded_already_is_used(server):
    server.loaded["chat:latest"] = 65_536
    resolve_llm("ollama:chat", server.url).complete("연차는?")
    assert server.loads == [] and server.asked("/api/chat")[0]["options"]["num_ctx"] == 65_536
    resolve_llm("ollama:chat", server.url, num_ctx=2048).complete("연차는?")
    assert server.loads == [("chat", 2048)]
    server.window = 3000
    resolve_llm("ollama:chat", server.url).complete("연차 " * 700)
    assert server.asked("/api/chat")[-1]["options"]["num_ctx"] == 3000, "never more than the model has"


def test_a_window_below_64_tokens_is_refused(server):
    assert resolve_llm("ollama:chat", server.url, num_ctx=64).complete("연차는?").text
    with pytest.raises(InputError, match="num_ctx must be >= 64 tokens, got 63"):
        resolve_llm("ollama:chat", server.url, num_ctx=63)


@pytest.mark.parametrize("way", WAYS)
def test_a_prompt_that_was_cut_is_an_error(server, way):
    server.window = 2048
    llm = resolve_llm("ollama:chat", server.url)
    with pytest.raises(PromptCutError, match="window .num_ctx. of 2,048"):
        ask(llm, "연차 " * 900, way)
    n = len(server.asked("/api/chat"))
    with pytest.raises(PromptCutError, match="it was not sent"):
        ask(llm, "연차 " * 5000, way)
    assert n == len(server.asked("/api/chat")) == 1


def test_a_tokenizer_that_needs_more_gets_more(server):
    text = "leave " * 1000   # 2,101 tokens by the estimate, 6,000 by this server
    assert ask(resolve_llm("ollama:chat", server.url), text, "sync").startswith("echo ")
    assert [b["options"]["num_ctx"] for b in server.asked("/api/chat")] == [4096, 8192]


@pytest.mark.parametrize("version", ["0.24", "0.32"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("text", ["ferry " * 1200, "FERRY, " * 1200, "배편 " * 2500])
def test_a_prompt_is_read_whole_or_not_at_all(server, version, way, text):
    server.version = version
    llm = resolve_llm("ollama:chat", server.url)
    assert ask(llm, text, way) == server.said([{"content": text}])
    assert llm.count_tokens(text) >= len(text), "the server's count corrects the estimate"
    assert ask(llm, text, way) == server.said([{"content": text}])
    asked = server.asked("/api/chat")
    windows = [body["options"]["num_ctx"] for body in asked]
    assert len(asked) <= 4 and windows == sorted(windows), "the larger window stays"
    assert all(body["truncate"] is False and body["shift"] is False for body in asked)
    with pytest.raises(PromptCutError, match=r"window \(num_ctx\) of 256"):
        ask(resolve_llm("ollama:chat", server.url, num_ctx=256), text[:700], way)


@pytest.mark.parametrize("way", WAYS)
def test_a_server_that_ignores_truncate_is_noticed_by_its_count(server, way):
    server.version, server.ignores = "0.24", {"truncate", "shift"}
    with pytest.raises(PromptCutError, match="has read 512 tokens of a longer prompt"):
        ask(resolve_llm("ollama:chat", server.url, num_ctx=512), "ferry " * 120, way)
    text = "ferry " * 1200
    if way in ("sync", "async"):     # a stream has been shown already
        assert ask(resolve_llm("ollama:chat", server.url), text, way) == server.said([{"content": text}])


def test_a_model_is_loaded_once_for_every_way_of_asking(server):
    llm = resolve_llm("ollama:chat", server.url)
    for way in WAYS:
        ask(llm, "배편은?", way)
        with ModelCall(VERDICT_TOKENS):
            ask(llm, "배편은?", way)
    assert server.loads == [("chat", 4096)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("tokens", "options", "sent"), [
    (None, {}, (1024, None, None)), (None, {"answer_tokens": 50}, (50, None, None)), (None, {"num_predict": 70}, (70, None, None)),
    (64, {}, (64, 0, None)), (64, {"temperature": 0.7, "num_predict": 70}, (64, 0, None)), (None, {"temperature": 0.7}, (1024, 0.7, None))])
def test_every_call_has_a_limit(server, way, tokens, options, sent):
    server.said = lambda messages: "배편은 일곱 시다. " * 200
    with ModelCall(tokens) as call:
        said = ask(resolve_llm("ollama:chat", server.url, **options), "배편은?", way)
    body = server.asked("/api/chat")[0]
    assert (body["options"]["num_predict"], body["options"].get("temperature"), body.get("think")) == sent
    assert call.by_length and len(said) == sent[0]
    server.said = lambda messages: "일곱 시"
    with ModelCall(tokens) as call:
        ask(resolve_llm("ollama:chat", server.url, **options), "배편은?", way)
    assert not call.by_length


def test_a_model_that_thinks_has_room_for_it(server):
    def sent(tokens=None, **options):
        server.requests.clear()
        with ModelCall(tokens):
            resolve_llm("ollama:chat", server.url, **options).complete("배편은?")
        return [(body["options"]["num_predict"], body.get("think")) for body in server.asked("/api/chat")]
    server.thinks = True
    assert [sent(), sent(think=False), sent(think=True), sent(think="high")] == [[(4096, None)], [(1024, False)], [(4096, True)], [(4096, "high")]]
    assert [sent(64), sent(64, think=True), sent(64, think="high")] == [[(64, False)], [(64, False)], [(256, "high")]]
    server.capabilities["chat"] = ()            # the server does not say what the model can do
    server.thinks = False
    assert sent(64) == [(256, None)] and sent() == [(4096, None)]


@pytest.mark.parametrize("inline", [False, True])
def test_a_model_that_thinks_although_told_not_to_is_asked_once_more(server, inline):
    thoughts = "배편을 생각한다. " * 6
    if inline:
        server.said = lambda messages: f"<think>{thoughts}</think>일곱 시"
    else:
        server.thinks = server.deaf = True
        server.thought, server.said = thoughts, lambda messages: "일곱 시"
    llm = resolve_llm("ollama:chat", server.url)
    for _ in range(2):
        with ModelCall(40) as call:
            assert llm.complete("배편은?").text.endswith("일곱 시") and not call.by_length
    assert [body["options"]["num_predict"] for body in server.asked("/api/chat")] == [40, 160, 160], "from then on at once"


def test_the_stand_in_does_what_servers_do(server):
    def post(path, **body):
        reply = httpx.post(server.url + path, json={"model": "chat", "stream": False, **body})
        return reply.status_code, reply.json()
    long = [{"role": "user", "content": "a" * 351}]
    for version, window, read in (("0.32", 256, 130), ("0.24", 256, 256)):
        server.version = version
        status, reply = post("/api/chat", messages=long, options={"num_ctx": window})
        assert (status, reply["prompt_eval_count"]) == (200, read), "as the real ones were measured, see benchmarks/logs"
    server.version = "0.32"
    assert post("/api/embed", input="a")[0] == 501
    assert post("/api/chat", model="embedder", messages=long)[0] == 400
    assert post("/api/chat", messages=long, options={"num_ctx": "many"}) == (500, {"error": 'option "num_ctx" must be of type integer'})
    status, reply = post("/api/chat", messages=long, options={"num_ctx": 4096, "num_predict": 3}, keep_alive=0)
    assert (reply["eval_count"], reply["done_reason"], server.loaded) == (3, "length", {})


def test_a_text_too_long_is_named_and_never_cut(server):
    server.embed_limit = 40
    texts = ["연차는 15일이다.", "병가는 " * 20, "반차는 4시간이다."]
    model = resolve_embedding("ollama:embedder", server.url)
    for call in (lambda: model.get_text_embedding_batch(texts), lambda: asyncio.run(model.aget_text_embedding_batch(texts))):
        with pytest.raises(TextTooLongError, match="79 characters is too long for the model 'embedder'.*'병가는 병가는") as caught:
            call()
        assert caught.value.text == texts[1].strip()
    assert all(body["truncate"] is False for body in server.asked("/api/embed"))
    cut = resolve_embedding("ollama:embedder", server.url, truncate=True).get_text_embedding_batch(texts)
    assert len(cut) == 3 and np.allclose(cut[0], toy_vector(texts[0]))


@pytest.mark.parametrize("said", ["{}", "{}/", "http://{}"])
def test_ollama_host_is_followed(server, monkeypatch, said, nobody):
    monkeypatch.setenv("OLLAMA_HOST", said.format(server.url.removeprefix("http://")))
    assert resolve_llm("ollama:chat").complete("연차는?").text.startswith("echo ")
    assert len(resolve_embedding("ollama:embedder").get_text_embedding("연차")) == 64
    with pytest.raises(ConnectionError, match=nobody):
        resolve_llm("ollama:chat", nobody).complete("연차는?")
    monkeypatch.delenv("OLLAMA_HOST")
    assert ollama_url() == "http://localhost:11434"


@pytest.mark.parametrize("way", WAYS)
def test_errors_name_the_address(nobody, server, way):
    with pytest.raises(ConnectionError, match=f"{nobody}, nobody is there.*OLLAMA_HOST"):
        ask(resolve_llm("ollama:chat", nobody, **QUICK), "연차는?", way)
    with pytest.raises(Exception, match=f"ollama pull missing.*{server.url}"):
        ask(resolve_llm("ollama:missing", server.url, **QUICK), "연차는?", way)
    for url, said in ((nobody, f"{nobody}, nobody is there"), (server.url, f"ollama pull missing.*{server.url}")):
        with pytest.raises(Exception, match=said):
            resolve_embedding("ollama:missing", url, **QUICK).get_query_embedding("연차")


@pytest.mark.parametrize("way", WAYS)
def test_a_busy_server_is_asked_again(server, way):
    server.faults = [503, 502, "cut"]
    assert ask(resolve_llm("ollama:chat", server.url, **QUICK), "연차는?", way).startswith("echo ")
    assert len(server.asked("/api/chat")) == 4
    server.faults = [503] * 9
    with pytest.raises(Exception, match="server busy"):
        ask(resolve_llm("ollama:chat", server.url, retries=1, **QUICK), "연차는?", way)
    assert len(server.asked("/api/chat")) == 6


def test_embedding_is_patient_and_does_not_wait_for_ever(server):
    server.faults = [503, "cut", 503]
    model = resolve_embedding("ollama:embedder", server.url, **QUICK)
    assert len(model.get_text_embedding_batch(["연차", "병가"])) == 2 and len(server.asked("/api/embed")) == 4
    server.faults = [503]
    assert len(asyncio.run(model.aget_query_embedding("연차"))) == 64
    server.faults = ["hang"]
    with pytest.raises(TimeoutError, match=f"{server.url} did not answer within 0.2 seconds"):
        resolve_embedding("ollama:embedder", server.url, timeout=0.2).get_query_embedding("연차")
    server.faults = ["hang"]
    with pytest.raises(TimeoutError, match="within 0.2 seconds"):
        resolve_llm("ollama:chat", server.url, timeout=0.2).complete("연차는?")


def test_a_request_that_is_wrong_is_sent_once(server):
    def refuse(body):
        raise Refused(500, "out of memory")
    server.routes["/api/chat"] = refuse
    with pytest.raises(Exception, match="out of memory"):
        resolve_llm("ollama:chat", server.url, **QUICK).complete("연차는?")
    assert len(server.asked("/api/chat")) == 1


def test_other_weights_under_the_same_tag(server, tmp_path):
    made = resolve_embedding("ollama:embedder", server.url)
    record = save_embedding(made, tmp_path)
    assert record["digest"] and describe_embedding(resolve_embedding("ollama:embedder:latest", server.url))["digest"] == record["digest"]
    load_embedding(tmp_path).get_query_embedding("연차")
    server.digests["embedder"] = "f" * 64
    assert any("digest" in told for told in embedding_differences(made.describe(), record))
    again = load_embedding(tmp_path)
    for call in (lambda: again.get_query_embedding("연차"), lambda: asyncio.run(again.aget_query_embedding("연차"))):
        with pytest.raises(IndexMismatchError, match="'embedder' at .* has other weights .digest ffffffffffff.*--force"):
            call()
    del server.routes["/api/tags"]   # a server that does not list its models
    assert len(load_embedding(tmp_path).get_query_embedding("연차")) == 64


def test_a_model_with_other_parameters_has_the_same_vectors(server, tmp_path):
    record = save_embedding(resolve_embedding("ollama:embedder", server.url), tmp_path)
    server.changed["embedder"] = "e" * 64      # as after `ollama create` from the same file
    assert len(load_embedding(tmp_path).get_query_embedding("연차")) == 64
    now = describe_embedding(resolve_embedding("ollama:embedder", server.url))
    assert now["digest"] != record["digest"] and embedding_differences(now, record) == []
    old = {key: value for key, value in record.items() if key != "weights"}
    assert embedding_differences(now, old) == [f"digest {record['digest']!r}, not {'e' * 64!r}"], "an older index does not know the files"
    (tmp_path / "embedding.json").write_text(json.dumps(old), encoding="utf-8")
    with pytest.raises(IndexMismatchError, match="other weights"):
        load_embedding(tmp_path).get_query_embedding("연차")


def test_vectors_of_another_length_name_the_model(server):
    model = resolve_embedding("ollama:embedder", server.url)
    model.expect({"dims": 384})
    with pytest.raises(IndexMismatchError, match="'embedder' at .* gives vectors of 64 numbers, the index has 384"):
        model.get_query_embedding("연차")
    assert len(resolve_embedding("ollama:embedder", server.url, dims=16).get_query_embedding("연차")) == 16


def test_a_chat_model_as_embedder_is_told(server):
    assert resolve_embedding("ollama:embedder", server.url).remarks() == []
    server.capabilities["chat"] = ("completion", "tools")
    assert "'chat' is no embedding model (completion, tools" in resolve_embedding("ollama:chat", server.url).remarks()[0]


def test_prefixes_and_keep_alive(server, tmp_path):
    model = resolve_embedding("ollama:embedder", server.url, query_prefix="query: ", text_prefix="passage: ", keep_alive="1h", num_ctx=512)
    model.get_query_embedding("연차")
    model.get_text_embedding_batch(["병가", "반차"])
    first, second = server.asked("/api/embed")
    assert (first["input"], second["input"]) == (["query: 연차"], ["passage: 병가", "passage: 반차"])
    assert (first["keep_alive"], first["options"]) == ("1h", {"num_ctx": 512})
    save_embedding(model, tmp_path)
    load_embedding(tmp_path).get_query_embedding("연차")
    assert server.asked("/api/embed")[-1] == first
    with pytest.raises(IndexMismatchError, match="query_prefix 'query: ', not 'Query: '"):
        load_embedding(tmp_path, query_prefix="Query: ")


def test_options_go_where_they_belong(server):
    llm = resolve_llm("ollama:chat", server.url, temperature=0.1, seed=7, top_p=0.5, keep_alive="10m", num_ctx=2048)
    llm.complete("연차는?")
    body = server.asked("/api/chat")[0]
    assert body["options"] == {"temperature": 0.1, "seed": 7, "top_p": 0.5, "num_ctx": 2048, "num_predict": 1024} and body["keep_alive"] == "10m"
    for options, said in (({"thinks": True}, "thinks"), ({"seed": "x"}, "seed"), ({"retries": -1}, "retries"), ({"num_ctx": 3}, "num_ctx")):
        with pytest.raises(InputError, match=said):
            resolve_llm("ollama:chat", server.url, **options)
    with pytest.raises(InputError, match="batch"):
        resolve_embedding("ollama:embedder", server.url, batch=3)


def test_the_parts_of_the_class_stay_llama_indexs(server):
    from llama_index.core.llms import ChatMessage
    from pydantic import BaseModel

    class Grade(BaseModel):
        grade: str
    llm = resolve_llm("ollama:chat", server.url)
    server.said = lambda messages: '{"grade": "HIGH"}'
    from llama_index.core import PromptTemplate
    assert llm.structured_predict(Grade, PromptTemplate("등급?")).grade == "HIGH"
    assert llm.chat([ChatMessage("안녕")]).message.content and llm.metadata.context_window == 131_072
    assert isinstance(resolve_embedding("ollama:embedder", server.url), OllamaEmbedding)
    assert copy.deepcopy(resolve_llm("ollama:chat", server.url)).complete("?").text == pickle.loads(pickle.dumps(llm)).complete("?").text


def every_call(server, **options):
    """Every way to ask a server, with the end point that misbehaves."""
    def llm(way, path="/api/chat"):
        return lambda: (server.modes.update({path: server.mode}), ask(resolve_llm("ollama:chat", server.url, **options), "연차는?", way))

    def embedding():
        return resolve_embedding("ollama:embedder", server.url, **options)

    def embed(path, call):
        return lambda: (server.modes.update({path: server.mode}), call(embedding()))

    def expecting(model):
        model.expect({"digest": "0" * 64})
        return model.get_text_embedding("연차")
    return {**{way: llm(way) for way in WAYS}, "show": llm("sync", "/api/show"), "ps": llm("sync", "/api/ps"),
            "embed": embed("/api/embed", lambda model: model.get_text_embedding_batch(["연차"])),
            "aembed": embed("/api/embed", lambda model: asyncio.run(model.aget_text_embedding_batch(["연차"]))),
            "remarks": embed("/api/show", lambda model: model.remarks()), "tags": embed("/api/tags", expecting)}


@pytest.mark.parametrize("mode", MODES)
def test_a_server_that_misbehaves_does_not_hold_the_caller(server, mode):
    "A deadline for the whole call, a most of bytes, and no redirect: at every end point, in every way to ask."
    wanted = ReplyError if mode in ("endless", "redirect") else TimeoutError
    with OllamaServer(models=("chat", "embedder")) as other:
        server.mode, server.elsewhere = mode, other.url
        calls, wrong = every_call(server, timeout=0.15 if wanted is TimeoutError else 20), {}
        few = {"endless": ("sync", "async", "stream"), "headers": ("stream", "async", "embed", "aembed")}.get(mode, tuple(calls))
        for way in few:   # the others have the same clients, and 32 MiB take a moment
            server.modes = {}
            try:
                wrong[way] = f"returned {str(calls[way]())[:80]!r}"
            except Exception as error:
                if not isinstance(error, wanted) or server.url not in str(error):
                    wrong[way] = repr(error)
        assert not wrong and not other.requests, (wrong, other.requests)
        assert max(server.sent, default=0) < MOST_BYTES + 2**24


NONSENSE = ["<html>login</html>", "", "[]", '{"message": "text", "embeddings": "text", "models": 3}', '{"mess']


def test_a_reply_of_another_program_names_the_address(server):
    """At every end point, in every way to ask: one line, no message of a library, and no second request."""
    wrong, server.mode = [], "trickle"   # which `raw` comes before
    for reply in NONSENSE:
        for way, call in every_call(server, timeout=20).items():
            if way in ("show", "ps", "remarks"):   # asking the model tells
                continue
            server.raw = dict.fromkeys(("/api/chat", "/api/embed", "/api/tags"), reply)
            server.requests.clear()
            try:
                said = f"returned {call()!r}"
            except ConnectionError as error:
                n = sum(path in server.raw for path, _ in server.requests)
                said = f"asked {n} times" if n != 1 else "" if server.url in str(error) and "\n" not in str(error) and len(str(error)) < 300 else repr(error)
            except Exception as error:
                said = repr(error)
            if said:
                wrong.append((reply, way, said[:120]))
    assert not wrong


@pytest.mark.parametrize("reply", NONSENSE)
def test_what_a_model_is_may_be_nonsense(server, reply):
    "Some servers imitate the chat only."
    server.raw = {"/api/show": reply, "/api/ps": reply}
    assert ask(resolve_llm("ollama:chat", server.url, **QUICK), "연차는?", "sync").startswith("echo ")
    assert resolve_embedding("ollama:embedder", server.url).remarks() == []


def test_half_a_line_in_a_stream_names_the_address(server):
    piece = '{"model": "chat", "message": {"role": "assistant", "content": "가"}, "done": false}\n'
    for reply in (piece + '{"model": "ch', piece + "[]\n", piece + "<html>\n"):
        server.raw["/api/chat"] = reply
        for way in ("stream", "astream"):
            with pytest.raises(ConnectionError, match=server.url):
                ask(resolve_llm("ollama:chat", server.url, **QUICK), "연차는?", way)


def test_the_login_of_an_address_is_sent_and_not_shown(server):
    place = server.url.replace("//", "//ann:ge%2Fheim@")
    llm, model = resolve_llm("ollama:chat", place, **QUICK), resolve_embedding("ollama:embedder", place, **QUICK)
    for way in WAYS:
        ask(llm, "연차는?", way)
    model.get_text_embedding("연차")
    asyncio.run(model.aget_text_embedding("연차"))
    basic = "Basic " + base64.b64encode(b"ann:ge/heim").decode()
    assert len(server.heads) == len(server.requests) > 6 and {h.get("Authorization") for h in server.heads} == {basic}
    shown = repr([llm, model, vars(llm), vars(model), llm.to_dict(), model.to_dict(), model.describe()])
    assert "heim" not in shown and server.url in shown
    server.faults = [400]
    with pytest.raises(Exception, match=server.url) as refused:
        llm.complete("연차는?")
    assert "heim" not in str(refused.value)
    resolve_llm("ollama:chat", server.url, **QUICK).complete("연차는?")
    assert server.heads[-1].get("Authorization") is None


@pytest.mark.parametrize("way", WAYS)
def test_a_server_that_stalls_is_asked_once(server, way):
    server.modes = dict.fromkeys(("/api/show", "/api/ps", "/api/chat"), "trickle")
    llm = resolve_llm("ollama:chat", server.url, timeout=0.3, retry_wait=0.01)
    with pytest.raises(TimeoutError):
        llm.prompt_room
    with pytest.raises(TimeoutError, match=server.url):
        ask(llm, "연차는?", way)
    assert [path for path, _ in server.requests] == ["/api/show"]
    server.modes = {}
    assert ask(llm, "연차는?", way).startswith("echo "), "the next call asks again"


PROGRAM = """
import asyncio, sys, threading
from ragnb.models.replies import waited

async def running(): return id(asyncio.get_running_loop())

def begin():
    barrier.wait()
    found.append(waited(running()))

sys.setswitchinterval(1e-6)
barrier, found = threading.Barrier(16), []
threads = [threading.Thread(target=begin) for _ in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(found), len(set(found)))
"""


def test_threads_that_begin_together_share_one_loop() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["16", "1"]
