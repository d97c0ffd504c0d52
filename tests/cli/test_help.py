"""`--help` of every command fits a screen: at most eight options, and the rest under `--help-all`."""
from __future__ import annotations

import pytest

from ragnb.cli import command_line

ALWAYS = {"help", "help_all"}
COMMANDS = command_line([]).commands


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_eight_options_at_most(name):
    command = COMMANDS[name]
    options = command.callback.options
    offered = {p.name for p in command.params if p.param_type_name == "option"} - ALWAYS
    shown = set(options.first.split()) if options.first else offered
    assert len(shown) <= 8 and shown <= offered
    assert "help_all" in {p.name for p in command.params} or offered == shown


def test_serve_names_the_address_of_openai_protocol(run):
    code, out, _ = run("serve", "--help")
    assert code == 0 and "/v1" in out and "--port" in out and "--reorder" not in out
    assert "--reorder" in run("serve", "--help-all")[1]
