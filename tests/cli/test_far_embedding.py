"""An index whose vectors a server on another machine made says where a question goes."""
from __future__ import annotations

import pytest
from conftest import SAMPLE
from ollama_server import OllamaServer

from ragnb.cli import main
from ragnb.indexing.folder_index import Index


@pytest.mark.parametrize(("host", "told"), [("10.1.2.3", True), ("embed.example", True), ("127.0.0.1", False), ("localhost", False)])
def test_a_question_that_leaves_this_machine_is_told(tmp_path, monkeypatch, capsys, host, told):
    with OllamaServer(models=("bge",)) as server:
        assert main(["index", str(SAMPLE / "corpus" / "hr_labor" / "leave.md"), "--index", str(tmp_path / "i"), "--embed", "ollama:bge", "--base-url", server.url]) == 0
        opened = Index.open

        def elsewhere(*given, **more):
            """The index, with the address that another machine would have stored."""
            index = opened(*given, **more)
            if not more.get("base_url"):
                index.embed_model.base_url = f"http://somebody:secret@{host}:11434"
            monkeypatch.setattr(type(index.embed_model), "_get_query_embedding", lambda self, query: [1.0] * 64)
            return index
        monkeypatch.setattr(Index, "open", elsewhere)
        capsys.readouterr()
        assert main(["ask", "연차", "--index", str(tmp_path / "i"), "--json"]) == 0
        err = capsys.readouterr().err
        assert (f"questions are sent to http://{host}:11434, which made the vectors of" in err) == told and "secret" not in err
        assert main(["ask", "연차", "--index", str(tmp_path / "i"), "--embed-base-url", server.url]) == 0
        assert "questions are sent" not in capsys.readouterr().err
