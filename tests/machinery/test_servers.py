"""Logins of servers: in no output, repr, page, error, log or file, however the password is spelt."""
from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from conftest import write
from http_handler import Handler, serving
from hypothesis import given, strategies as st
from strategies import examples

from ragnb import ChromaStore, Index, Pipeline, RagnbError, resolve_embedding, resolve_llm, trace
from ragnb.machinery.servers import HidesKeys, ServerAddress, without_logins
from ragnb.evaluation.strategy import IndexCache
from ragnb.models.embedding import save_embedding
from ragnb.opensearch.cluster_store import ClusterStore
from ragnb.opensearch.client import cluster_place

HEAD, TAIL = "Xhead7", "Xtail7"     # of a password; what is between the two is what parsers of URLs stumble over
RAW = [HEAD + mark + TAIL for mark in ("/", "#", "?", "@", ":", "%", "%2F", "[", "]", "\\", "//", "&x=", "://", ",", " ")]
PASSWORDS = [*RAW, *(quote(p, safe="") for p in RAW)]


def seen(text: str) -> list[str]:
    """The parts of a password in a text, also as base64 of HTTP's header."""
    import base64
    pieces = [HEAD, TAIL, *(base64.b64encode(f"ann:{p}".encode()).decode()[:12] for p in RAW[:1])]
    return [p for p in pieces if p in text]


def test_a_model_shows_stars_for_its_keys_only() -> None:
    from pydantic import BaseModel

    class Model(HidesKeys, BaseModel):
        name: str
        api_key: str = ""
    assert repr(Model(name="m", api_key=HEAD)).endswith("(name='m', api_key='***')") and "api_key=''" in repr(Model(name="m"))


class Refuses(Handler):
    """A server that knows nobody."""
    def answer(self, body: bytes) -> None:
        self.tell(401, {"error": "who are you"})


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with serving(Refuses) as (host, _):
        yield int(host.partition(":")[2])


def complaint(call) -> str:
    """What a call raises, with everything that led to it as a traceback shows it: only errors of ours are raised."""
    try:
        return repr(call())
    except (RagnbError, OSError) as error:
        return f"{error!r} {error}"


@examples(200)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12), st.sampled_from(["http", "opensearchs"]))
def test_a_login_is_read_back_and_never_shown(mark, scheme):
    password = f"{HEAD}{mark}{TAIL}"
    for spelt, wanted in ((quote(password, safe=""), password), (password.replace("%", ""), password.replace("%", ""))):
        address = ServerAddress(f"{scheme}://ann:{spelt}@host:9200/docs")
        assert address == f"{scheme}://host:9200/docs" and address.login == ("ann", wanted)
        assert not seen(f"{address}{address!r}") and ServerAddress(address).login == address.login
    told = without_logins(f"no answer from '{scheme}://ann:{quote(password, safe='/@#?')}@host/x'")
    assert not seen(told) and "host/x" in told


def test_no_command_shows_a_password(run, port, tmp_path, caplog, monkeypatch):
    """Every command that takes an index, at a server that refuses, at one that is not there, and at addresses that are misspelt."""
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.DEBUG)
    write(tmp_path / "docs", {"a.md": "# 규정\n\n연차는 15일이다.\n"})
    commands = [("index", "docs", "--index"), ("info", "--index"), ("info", "--json", "--index"), ("ls", "--index"), ("ask", "연차는?", "--index"),
                ("trace", "연차는?", "--index"), ("remove", "a.md", "--index"), ("chat", "--index"), ("mcp", "--index"),
                ("serve", "--port", "0", "--index"), ("index", "docs", "--force", "--json", "--index")]
    place = f"opensearch://ann:{{}}@127.0.0.1:{port}/docs"
    calls = [(*command, place.format(RAW[0])) for command in commands]
    calls += [("info", "--index", place.format(password)) for password in RAW[1:]]
    calls += [("info", "--index", f"opensearch://ann:{RAW[0]}@127.0.0.1:9/docs")]
    calls += [("index", "docs", "--index", wrong.format(RAW[0])) for wrong in (
        "http://ann:{}@h:1/docs", "OPENSEARCHS:/ann:{}@h/docs", "opensearch:ann:{}@h/docs", "opensearch://ann:{}@h/UPPER",
        "opensearch://ann:{}@h:port/docs", "opensearch://ann:{}@h/docs?nonsense=1", "ann:{}@h:9200/docs")]
    calls += [("index", f"opensearch://ann:{RAW[0]}@h/docs"), (f"opensearch://ann:{RAW[0]}@h/docs",), ("info", f"opensearch://ann:{RAW[0]}@h/docs"),
              ("info", "--index", place.format(RAW[0]), f"https://ann:{RAW[0]}@h")]
    offenders = []
    for call in calls:
        code, out, err = run(*call)
        if not code or seen(out + err) or "Traceback" in err:
            offenders.append((call, code, (out + err)[-300:]))
    assert not offenders, offenders[:3]
    assert not seen(caplog.text) and not [p for p in tmp_path.rglob("*") if seen(str(p)) or p.is_file() and seen(p.read_text(errors="ignore"))]


@pytest.mark.heavy
def test_no_server_of_a_model_shows_its_login(port, tmp_path, caplog, monkeypatch, hr_units):
    caplog.set_level(logging.DEBUG)
    offenders = []
    for password in PASSWORDS:
        url = f"http://ann:{password}@127.0.0.1:{port}/v1"
        monkeypatch.setenv("OLLAMA_HOST", url)
        calls = [lambda: ChromaStore(url=url), lambda: cluster_place(url), lambda: ClusterStore(url).doc_ids(), lambda: IndexCache(tmp_path, url),
                 lambda: resolve_llm("ollama:m"), lambda: resolve_llm("ollama:m", url), lambda: resolve_llm("openai-like:m", url, api_key=password),
                 lambda: resolve_embedding("ollama:m"), lambda: resolve_embedding("openai-like:m", url, api_key=password),
                 lambda: resolve_embedding("openai-like:m", url, api_key=password, max_retries="many"),
                 lambda: save_embedding(resolve_embedding("openai-like:m", url), tmp_path / "model")]
        offenders += [(password, told[:300]) for call in calls if seen(told := complaint(call))]
    for llm in (resolve_llm("openai-like:m", url, api_key=f"sk-{HEAD}", max_retries=0), resolve_llm("ollama:m", url, retries=0)):
        pipeline = Pipeline.from_index(hr_units, llm=llm)
        offenders += [told for told in (complaint(lambda: pipeline.ask("연차는?")), repr(pipeline), repr(llm)) if seen(told)]
    embedding = resolve_embedding("openai-like:m", url, api_key=f"sk-{HEAD}", max_retries=0)
    with pytest.raises(Exception) as refused:
        embedding.get_query_embedding("연차")
    assert not offenders and not seen(str(refused.value)), offenders[:5]
    assert not seen(caplog.text)
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and seen(p.read_text(errors="ignore"))]


def test_a_login_in_the_address_of_a_model_server_is_sent(port, monkeypatch):
    """As before: an address with a user works behind a proxy that asks for one."""
    told = []
    monkeypatch.setattr(Refuses, "send_response", lambda self, *a: told.append(self.headers.get("Authorization")) or Handler.send_response(self, *a))
    with pytest.raises(Exception):
        resolve_llm("openai-like:m", f"http://ann:geheim@127.0.0.1:{port}/v1", max_retries=0).complete("?")
    assert told and told[0].startswith("Basic ")


@pytest.mark.cluster
def test_nothing_that_a_real_index_gives_shows_a_password(run, opensearch_url, opensearch_client, tmp_path, caplog, monkeypatch):
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.DEBUG)
    (tmp_path / "docs").mkdir()
    for n in range(3):
        (tmp_path / f"docs/rule{n}.md").write_text(f"# 규정 {n}\n\n" + "".join(f"제{i}조 연차는 {i + n}일이다.\n\n" for i in range(1, 6)))
    place = f"opensearch://ann:{RAW[0]}@{opensearch_url.split(',')[0].partition('://')[2]}/no-secret"
    try:
        for call in (("index", "docs"), ("index", "docs", "--json", "--force"), ("info",), ("info", "--json"), ("ls",), ("ls", "--json"), ("ask", "연차는?"),
                     ("ask", "연차는?", "--json", "--html", "page.html"), ("trace", "연차는?", "--json"), ("remove", "rule2.md"), ("remove", "none.md"),
                     ("tune", "docs", "--n", "3", "--strategy", "bm25", "--out", "tuned")):
            code, out, err = run(*call, "--index", place)
            assert code == (2 if "none.md" in call else 0) and not seen(out + err), (call, code, (out + err)[-500:])
        index = Index.open(place)
        pipeline = Pipeline.from_index(index)
        answer = pipeline.ask("연차는 며칠인가?")
        shown = [index, index.store, index.multiscale, pipeline, answer, trace(answer), index.place, index.catalogue]
        texts = [text for x in shown for text in (repr(x), str(x), getattr(x, "_repr_html_", str)())]
        assert not [t[:300] for t in texts if seen(t)] and not seen(caplog.text)
        assert not [p for p in Path(tmp_path).rglob("*") if p.is_file() and seen(p.read_text(errors="ignore"))]
        assert not [p for p in index.folder.rglob("*") if p.is_file() and seen(p.read_text(errors="ignore"))]
        index.remove(["rule1.md"])        # the login is still there
        assert index.doc_ids == ["rule0.md"] and not seen(repr(index))
    finally:
        opensearch_client.indices.delete(index="no-secret-*", ignore_unavailable=True)
