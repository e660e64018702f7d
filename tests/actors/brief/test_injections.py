"""Of 60 prompt injections, kept word for word, none reaches a session's start but in quotes, and no tool's at all."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.brief.compose import FRAME_END, FRAME_START, quote_inline
from mnemic.actors.brief.messages import Brief, Briefed
from mnemic.actors.kernel.events import Event, to_bytes
from mnemic.actors.kernel.scope_paths import ScopeRef
from tests.harness import START_US, ActorHarness

INJECTIONS = json.loads((Path(__file__).parents[2] / "fixtures/injections.json").read_text())["injections"]
HEARD = [(number, one["text"]) for number, one in enumerate(INJECTIONS) if one["via"] != "mcp_capture"]
KEPT = [(number, one["text"]) for number, one in enumerate(INJECTIONS) if one["via"] == "mcp_capture"]
FRAGMENT_CHARS = 16


def session(scope: str, injection: str, reply: str) -> list[Event]:
    """A session that met an injection in what a tool answered: its call failed, and so would be told of."""
    said: list[dict[str, Any]] = [
        {"kind": "turn", "role": "user", "text": "have a look at it, please"},
        {"kind": "tool_call", "role": "assistant", "text": "Bash\ncommand: make", "tool": "Bash"},
        {"kind": "tool_result", "role": "tool", "text": injection, "tool": "Bash", "outcome": "failed"},
        {"kind": "turn", "role": "assistant", "text": reply},
    ]
    return [
        Event(
            assistant="codex",
            session=f"{scope}-earlier",
            scope=scope,
            said_at=START_US + number,
            **(one | {"text": to_bytes(one["text"])}),
        )
        for number, one in enumerate(said)
    ]


def fragments(injection: str) -> list[str]:
    """What is looked for of it: every stretch of so many characters, as it would be quoted."""
    whole = quote_inline(to_bytes(injection))
    return [whole[start : start + FRAGMENT_CHARS] for start in range(0, len(whole) - FRAGMENT_CHARS, 4)]


def started(actor_system: ActorHarness, scope: str) -> str:
    place = ScopeRef(path=scope, project=None, found="named")
    answer = actor_system.ask(Brief(occasion="session-start", place=place, assistant="codex", session="new"))
    assert isinstance(answer, Briefed)
    return answer.text


def unquoted(text: str) -> str:
    """What stands outside of quotes, or outside of the frame."""
    framed = re.fullmatch(f"{FRAME_START}\n(.*)\n{FRAME_END}", text, re.DOTALL)
    return re.sub(r'"[^"\n]*"', "", framed[1]) if framed else text


@pytest.fixture(scope="module")
def actor_system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ActorHarness]:
    """All of them, as tools answered them and as an assistant repeated them; each in a scope of its own."""
    sources = {f"heard-{n}": session(f"heard-{n}", text, "It does not build yet.") for n, text in HEARD}
    sources |= {f"said-{n}": session(f"said-{n}", text, f"It says: {text}") for n, text in HEARD}
    with ActorHarness(tmp_path_factory.mktemp("injections"), sources=sources) as actor_system:
        for source in sources:
            actor_system.take(source)
        yield actor_system


def test_no_word_of_it_is_told_that_only_a_tool_said(actor_system: ActorHarness) -> None:
    for number, text in HEARD:
        told = started(actor_system, f"heard-{number}")
        assert 'Bash failed, and nothing like it has succeeded since: "Bash command: make"' in told
        assert [part for part in fragments(text) if part in told] == []


def test_what_an_assistant_repeats_or_keeps_of_it_stands_in_quotes_inside_the_frame(actor_system: ActorHarness) -> None:
    for number, text in KEPT:
        place = ScopeRef(path=f"kept-{number}", project=None, found="named")
        kept = {"kind": "decision", "role": "assistant", "assistant": "mcp:codex", "place": place}
        actor_system.keep(text, session="mcp", said_at=START_US, **kept)
        actor_system.keep("The harbour opens at six.", session="mcp", said_at=START_US + 1, **kept)
    quoted = 0
    for name, injections in (("said", HEARD), ("kept", KEPT)):
        for number, text in injections:
            told = started(actor_system, f"{name}-{number}")
            assert [part for part in fragments(text) if part in unquoted(told)] == []
            quoted += any(part in told for part in fragments(text))
            if name == "kept":
                assert 'decision, kept by "codex" over MCP: ' in told
    assert 0 < quoted <= 33, "some are quoted: that is what the frame is for"
