"""Where a password in the address of a server is shown."""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

_HEAD, _TAIL = "Xhead7", "Xtail7"
_LOGIN = f"ann:{_HEAD}/{_TAIL}"     # a password with a raw slash


def _shown(text: str) -> str:
    parts = [name for name, part in (("its beginning", _HEAD), ("its tail", _TAIL)) if part in text]
    return f"the password is shown: {' and '.join(parts)}" if parts else "no part of the password"


def _ragnb(*argv: str, **env: str) -> str:
    code = "import sys; from ragnb.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", code, *argv], capture_output=True, text=True, env=os.environ | env)
    return done.stdout + done.stderr


def _documents(folder: str) -> str:
    docs = Path(folder) / "docs"
    docs.mkdir()
    for n in range(3):
        (docs / f"rule{n}.md").write_text(f"# 규정 {n}\n\n연차는 {n + 15}일이다.\n", encoding="utf-8")
    return str(docs)


def error_about_an_address() -> str:
    "`ragnb info` for a cluster address whose password has a raw `/`"
    return _shown(_ragnb("info", "--index", f"opensearch://{_LOGIN}@127.0.0.1:9/docs"))


def address_of_another_kind() -> str:
    "`ragnb index --index http://user:password@host/docs`"
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        told = _ragnb("index", _documents(folder), "--index", f"http://{_LOGIN}@h/docs")
        made = [str(p) for p in Path(folder).rglob("*") if _HEAD in str(p)]
        os.chdir("/")
    return _shown(told) + (", and a folder is called like it" if made else "")


def unrecognized_argument() -> str:
    "An address in the wrong place of the command line"
    return _shown(_ragnb("info", f"opensearch://{_LOGIN}@h/docs"))


def ollama_host() -> str:
    "`OLLAMA_HOST` with a password that has a raw `/`"
    with tempfile.TemporaryDirectory() as folder:
        return _shown(_ragnb("index", _documents(folder), "--index", f"{folder}/i", "--embed", "ollama:m", OLLAMA_HOST=f"http://{_LOGIN}@127.0.0.1:9"))


def chroma_url() -> str:
    "The error of a Chroma server that is not there"
    from ragnb.storage.chroma import ChromaStore
    try:
        return repr(ChromaStore(url=f"http://{_LOGIN}@127.0.0.1:9"))
    except Exception as error:
        return _shown(str(error))


def key_of_a_model() -> str:
    "The repr of an openai-like model, as a notebook stores it"
    from ragnb.models.llm import resolve_llm
    return _shown(repr(resolve_llm("openai-like:m", "http://127.0.0.1:9/v1", api_key=f"sk-{_HEAD}")))


def embedding_of_an_index() -> str:
    "The file that an index keeps of an openai-like embedding"
    from ragnb.models.embedding import resolve_embedding, save_embedding
    with tempfile.TemporaryDirectory() as folder:
        save_embedding(resolve_embedding("openai-like:m", f"http://ann:{_HEAD}@127.0.0.1:9/v1"), folder)
        return _shown((Path(folder) / "embedding.json").read_text())


def index_and_info() -> str:
    "What `ragnb index`, `info` and `ls --json` print of an index on a cluster, and the card of it"
    url = os.environ.get("RAGNB_OPENSEARCH", "")
    if not url:
        return "needs RAGNB_OPENSEARCH"
    from ragnb.indexing.folder_index import Index
    place = f"opensearch://ann:{_HEAD}%2F{_TAIL}@{url.split(',')[0].partition('://')[2]}/fault-secrets"
    with tempfile.TemporaryDirectory() as folder:
        told = _ragnb("index", _documents(folder), "--index", place) + _ragnb("info", "--index", place) + _ragnb("ls", "--json", "--index", place)
        index = Index.open(place)
        said = f"commands: {_shown(told)}; repr and card: {_shown(repr(index) + index._repr_html_())}"
        index.store.client.indices.delete(index="fault-secrets-*")
        return said
