"""A recall by role, speaker, assistant, file, branch or tool looks through what has it, and says what is not there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic.actors.capture.forget_messages import Forget
from mnemic.actors.index.attribute_index import is_file_asked
from mnemic.actors.kernel.errors import UnknownFilter
from mnemic.actors.kernel.events import Event
from mnemic.actors.recall.messages import Recalled
from mnemic.actors.store.messages import Rebuild
from tests.harness import ActorHarness, turns

AUTH, TIDES = "/home/ida/boat/src/auth.py", "src/tides.py"


def source() -> list[Event]:
    call: dict[str, Any] = {"kind": "tool_call", "role": "assistant", "assistant": "codex"}
    ended = call | {"kind": "tool_result", "role": "tool"}
    return [
        *turns(["the oar floats"], speaker="Ida", branch="main", scope="boat"),
        *turns(["the oar sinks"], speaker="Straßer", branch="fix/oar", scope="boat"),
        *turns(["oar: edited"], files=(AUTH,), tool="Edit", scope="boat", **call),
        *turns(["oar: run"], files=(TIDES, "README.md"), tool="Bash", scope="pier", **call),
        *turns(["oar: it failed"], files=(TIDES,), tool="Bash", scope="pier", **ended),
    ]


@pytest.fixture(scope="module")
def boat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ActorHarness]:
    """A mind that no test changes."""
    with ActorHarness(tmp_path_factory.mktemp("boat"), sources={"a": source()}) as actor_system:
        actor_system.take("a")
        yield actor_system


def found(recalled: Recalled) -> set[str]:
    assert recalled.searched == len(recalled.hits)
    return {hit.text for hit in recalled.hits}


@pytest.mark.parametrize(
    ("asked", "texts"),
    [
        ({"speakers": ("Ida",)}, {"the oar floats"}),
        ({"speakers": (" iDA", "STRASSER")}, {"the oar floats", "the oar sinks"}),
        ({"roles": ("user",)}, {"the oar floats", "the oar sinks"}),
        ({"assistants": ("CODEX",)}, {"oar: edited", "oar: run"}),
        ({"branches": ("fix/oar",)}, {"the oar sinks"}),
        ({"tools": ("Edit",)}, {"oar: edited"}),
        ({"tools": ("Edit", "Bash"), "files": ("tides.py",)}, {"oar: run"}),
        ({"files": ("*.py",)}, {"oar: edited", "oar: run"}),
        ({"files": ("README.md", "./src/auth.py")}, {"oar: edited", "oar: run"}),
        ({"files": ("src/",), "scope": "pier"}, {"oar: run"}),
        ({"roles": ("tool",)}, {"oar: it failed"}),  # no turn, call or note is a tool's own
        ({"tools": ("Bash",), "kinds": ("tool_result",)}, {"oar: it failed"}),
        ({"speakers": ("Ida",), "branches": ("main",), "assistants": ("t",)}, {"the oar floats"}),
    ],
)
def test_values_of_a_field_are_alternatives_and_fields_go_together(
    boat: ActorHarness, asked: dict[str, Any], texts: set[str]
) -> None:
    assert found(boat.recall("oar", **asked)) == texts


def test_k_hits_are_of_what_is_asked_for_however_many_others_fit_better(tmp_path: Path) -> None:
    noise = turns([f"the crane, the crane {n}" for n in range(300)])
    with ActorHarness(tmp_path, sources={"a": [*noise, *turns(["a crane", "no more"], speaker="Ida")]}) as mind:
        mind.take("a")
        recalled = mind.recall("the crane", speakers=("ida",), k=1, signals=("lexical",))
    assert [hit.text for hit in recalled.hits] == ["a crane"]
    assert recalled.searched == 2


@pytest.mark.parametrize(
    ("asked", "sentence", "remedy"),
    [
        ({"speakers": ("Ada",)}, "No memory has the speaker 'Ada'.", "Did you mean 'Ida'? Those that are there: "),
        ({"speakers": ("Ida", "Bo")}, "No memory has the speaker 'Bo'.", "Those that are there: Ida, Straßer."),
        ({"speakers": ("Ida",), "scope": "pier"}, "No memory has the speaker 'Ida'.", "No memory here has a speaker."),
        ({"branches": ("Main",)}, "No memory has the branch 'Main'.", "Did you mean 'main'? Those that are there: "),
        ({"tools": ("bash",)}, "No memory has the tool 'bash'.", "Did you mean 'Bash'? "),
        ({"roles": ("users",)}, "No memory has the role 'users'.", "Did you mean 'user'? "),
        ({"assistants": ("cody",)}, "No memory has the assistant 'cody'.", "Did you mean 'codex'? "),
        ({"files": ("src/auht.py",)}, "No memory has the file 'src/auht.py'.", "Did you mean 'auth.py'? "),
        ({"files": ("*.rs",)}, "No memory has the file '*.rs'.", "Those that are there: tides.py, "),
    ],
)
def test_a_value_that_no_memory_has_is_refused_and_those_that_are_there_are_named(
    boat: ActorHarness, asked: dict[str, Any], sentence: str, remedy: str
) -> None:
    with pytest.raises(UnknownFilter) as caught:
        boat.recall("oar", **asked)
    assert str(caught.value) == sentence
    assert caught.value.remedy_text.startswith(remedy)


def test_of_many_values_the_most_frequent_are_named_and_the_rest_counted(tmp_path: Path) -> None:
    said = [one for n in range(20) for one in turns([f"oar {n} {again}" for again in range(n)], speaker=f"s{n}")]
    with ActorHarness(tmp_path, sources={"a": said}) as mind:
        mind.take("a")
        with pytest.raises(UnknownFilter, match="speaker 'nobody'") as caught:
            mind.recall("oar", speakers=("nobody",))
    assert caught.value.remedy_text == "Those that are there: s19, s18, s17, s16, s15, s14, s13, s12 and 11 more."


def test_what_only_the_fields_together_leave_out_is_said(boat: ActorHarness) -> None:
    recalled = boat.recall("oar", roles=("user",), tools=("Bash",))
    assert (recalled.hits, recalled.searched, recalled.nothing_fits) == ((), 0, True)
    assert "filters: no memory looked through has all that is asked for: role, tool" in recalled.degraded


def test_what_comes_goes_or_is_made_anew_is_followed(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, sources={"a": source(), "b": turns(["a new oar"], "b", speaker="Bo")}) as mind:
        mind.take("a")
        with pytest.raises(UnknownFilter):
            mind.recall("oar", speakers=("Bo",))
        mind.take("b")
        assert found(mind.recall("oar", speakers=("Bo",))) == {"a new oar"}
        mind.ask(Rebuild(meaning=False))
        recalled = mind.recall("oar", speakers=("Bo",))
        assert found(recalled) == {"a new oar"}
        mind.ask(Forget(ids=(recalled.hits[0].id,)))
        with pytest.raises(UnknownFilter, match="'Bo'") as caught:
            mind.recall("oar", speakers=("Bo",))
    assert "Bo" not in caught.value.remedy_text


@pytest.mark.parametrize(
    ("own", "asked", "is_it"),
    [
        (AUTH, "auth.py", True),
        (AUTH, "src/auth.py", True),
        (AUTH, AUTH, True),
        (AUTH, "uth.py", False),
        (AUTH, "Auth.py", False),
        (AUTH, "src", False),
        (AUTH, "src/", True),
        (AUTH, "boat/", True),
        (AUTH, "/src/", False),
        (AUTH, "boat/*/auth.py", True),
        (AUTH, "a[tu]*.py", True),
        (AUTH, "", False),
        ("C:\\boat\\auth.py", "boat/auth.py", True),
        ("C:\\boat\\auth.py", "boat\\*.py", True),
        ("auth.py", "./auth.py", True),
        ("auth.py", "/auth.py", False),
    ],
)
def test_a_file_is_told_by_its_path_its_last_parts_a_folder_or_a_pattern(own: str, asked: str, is_it: bool) -> None:
    assert is_file_asked(own, asked) is is_it
