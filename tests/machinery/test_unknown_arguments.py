"""A wrong argument is refused by its name, with those that there are."""
from __future__ import annotations

from typing import Any

import pytest

from ragnb.documents.span import InputError
from ragnb.machinery.arguments import checked


@checked
def cut(text: str, size: int = 5) -> str:
    return text[:size]


@checked
def asked(question: str, llm: str | Any = None, embed_model: Any = None) -> str:
    return question


@checked
def shown(text: str, **options: Any) -> dict[str, Any]:
    return options


def test_an_unknown_argument_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match="^cut has no argument 'lenght'; known are text, size$"):
        cut("abcdef", lenght=3)
    assert cut("abcdef", size=3) == "abc"


def test_a_function_that_takes_options_takes_any_name():
    assert shown("abc", width=3) == {"width": 3}


def test_a_value_of_another_kind_is_refused():
    with pytest.raises(InputError, match="size must be .*'3'"):
        cut("abcdef", size="3")


def test_an_object_must_have_what_it_is_used_for():
    with pytest.raises(InputError, match="embed_model must have get_query_embedding, got 3"):
        asked("?", embed_model=3)
    assert asked("?", llm=None) == "?"


def test_a_name_may_stand_for_a_model():
    @checked
    def written(llm: str) -> str:
        return llm
    assert written("ollama:chat") == "ollama:chat"
