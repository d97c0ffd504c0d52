"""Every regular expression of the package, against texts that are made from it to keep it busy."""
from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from attack_strings import attacks, patterns, run
from strategies import SLOW

HERE = Path(__file__).parent


def attacked(length: int, limit: float, choices: int) -> subprocess.CompletedProcess:
    """Attack all patterns in a process that ends itself at the first one that does not come back."""
    command = [sys.executable, str(HERE / "attack_strings.py"), str(length), str(limit), str(choices)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", cwd=HERE.parent, timeout=300)


@pytest.mark.heavy
def test_the_collection_finds_what_stands_anywhere() -> None:
    """Module globals, tuples of patterns, and `re.search("…")` inside a function."""
    found = {(module, pattern.pattern) for module, pattern, _ in patterns()}
    assert len(found) > 150
    assert ("ragnb.documents.span", r"(.+)#([a-z])(0|[1-9][0-9]{0,17})") in found
    assert any(module == "ragnb.models.llm" and "YES|NO" in pattern for module, pattern in found)
    assert any(pattern == r"\S+" for _, pattern in found)


def test_an_attack_is_made_from_the_alphabet_of_its_pattern() -> None:
    """The two that once hung: a run of stars, a run of blank lines."""
    lead = re.compile(r"[ \t]*(?:#{1,6}[ \t]+|>[ \t]*|[*_]{1,3})*x")
    assert {pump for _, pump in attacks(lead)} & {"*", "_"}
    tail = re.compile(r"(?:[\r\n][ \t]*\[[^\[\]]*\][^\r\n]*|[\r\n]+[ \t]*)+\Z")
    assert {pump for _, pump in attacks(tail)} & {"\n", "\r", "\r\t", "\n\t"}


@pytest.mark.heavy
def test_no_pattern_is_kept_busy() -> None:
    """A quadratic pattern needs some 10 CPU seconds for 40,000 characters, a linear one milliseconds."""
    done = attacked(40_000, 4.0, 1)
    assert done.returncode == 0 and done.stdout.endswith("done\n"), (done.stdout[-600:], done.stderr[-600:])


@pytest.mark.skipif(not SLOW, reason="needs CPU time, in the slow profile only")
def test_four_times_the_text_is_four_times_the_work() -> None:
    """CPU time at n, 2n and 4n, with a wide margin."""
    for module, pattern, ways in patterns():
        for before, pump in attacks(pattern, 4):
            for way in ways:
                once = min(run(pattern, way, before + pump * (20_000 // len(pump)) + "\x00") for _ in range(2))
                if once < 0.002:
                    once = 0.002
                again = run(pattern, way, before + pump * (80_000 // len(pump)) + "\x00")
                assert again < 10 * once, (module, pattern.pattern, before, pump, way)
