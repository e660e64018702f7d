"""`mnemic shape`: a pattern as it is typed, answers as lines for a person, at the command and by way of the process;
`mnemic recall` of several scopes, of what says the same, and by the user's own cross-encoder.
"""

from __future__ import annotations

import json
import shlex
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mnemic
from mnemic.actors.kernel.errors import InvalidValue
from mnemic.cli.recall import answer_lines, read_pattern
from mnemic.hd.roles import ROLES
from mnemic.runtime.models.cross_encoders import load_cross_encoder
from tests.modelling import write_cross_encoder
from tests.paths import ROOT
from tests.processes.faces import Outcome, finish, lines, name_scope, start, turn
from tests.processes.serving import serving

Command = Callable[..., Outcome]

NAMES = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1)
FILLERS = st.text(st.characters(codec="ascii", exclude_categories=["Z", "C"]), min_size=1)


# --- the pattern -----------------------------------------------------------------------------------------------------


@given(st.dictionaries(NAMES, FILLERS))
def test_a_pattern_is_read_as_it_was_typed(pattern: dict[str, str]) -> None:
    assert read_pattern([f"{role}={filler}" for role, filler in pattern.items()]) == pattern
    assert read_pattern([f" {role} = {filler} " for role, filler in pattern.items()]) == pattern


@pytest.mark.parametrize(
    ("pairs", "why"),
    [
        (["file"], "there is no = in it"),
        (["=pytest"], "it has no role before the ="),
        (["tool="], "nothing stands after the = of tool"),
        (["about= "], "nothing stands after the = of about"),
        (["tool=pytest", "tool=cargo"], "tool is in it twice"),
    ],
)
def test_what_is_no_pattern_is_refused_by_what_is_wrong_with_it(pairs: list[str], why: str) -> None:
    with pytest.raises(InvalidValue, match=why) as caught:
        read_pattern(pairs)
    assert "`mnemic shape --roles` lists the roles" in caught.value.remedy_text


def test_answers_are_told_by_role_and_a_role_without_any_is_told_too() -> None:
    one: dict[str, Any] = {"role": "file", "filler": "a.py", "confidence": 0.987, "support": 1, "memories": []}
    two = one | {"filler": "b.py", "confidence": 0.5, "support": 3}
    step = one | {"role": "then", "filler": "edit python ok", "worked": 2 / 3, "support": 6, "worked_of": 6}
    partly = step | {"worked": 0.5, "worked_of": 2}
    assert list(answer_lines([one, two, step, partly], ["file", "topic"])) == [
        "file:",
        "  0.99  a.py  (read from 1 memory)",
        "  0.50  b.py  (read from 3 memories)",
        "topic: nothing was found that fills it",
        "then:",
        "  0.99  edit python ok  (read from 6 memories, things were well after it in 67 %)",
        "  0.99  edit python ok  (read from 6 memories, things were well after it in 50 %, known of 2)",
    ]
    assert list(answer_lines([])) == []


def test_answers_name_those_of_their_memories_that_are_shown_below_so_that_what_goes_together_is_seen() -> None:
    one: dict[str, Any] = {"role": "file", "filler": "a.py", "confidence": 1.0, "support": 2, "memories": ["y", "x"]}
    two = one | {"role": "date", "filler": "2026-05-01", "support": 3}
    three = two | {"filler": "2026-05-02", "memories": ["z"]}
    assert list(answer_lines([one, two, three], shown=["x", "y"])) == [
        "file:",
        "  1.00  a.py  (read from 2 memories: 1, 2)",
        "date:",
        "  1.00  2026-05-01  (read from 3 memories: 1, 2 …)",
        "  1.00  2026-05-02  (read from 3 memories)",
    ]


# --- the command -----------------------------------------------------------------------------------------------------


def step(minute: int, tool: str, text: str, outcome: str, file: str) -> Iterator[dict[str, Any]]:
    """A call of a tool in the boathouse's session, and its result."""
    shared = {"session": "b", "scope": "work/boat", "tool": tool, "files": [file]}
    said_at = f"2026-11-03T10:{minute:02}"
    yield turn(f"{tool}\n{text}", role="assistant", kind="tool_call", said_at=f"{said_at}:00Z", **shared)
    yield turn(
        f"{outcome}, {minute}", role="tool", kind="tool_result", outcome=outcome, said_at=f"{said_at}:30Z", **shared
    )


@pytest.fixture(scope="module")
def boathouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The minds' folder of `boat`. Not to be written to."""
    home = tmp_path_factory.mktemp("boathouse")
    (home / "mnemic.toml").write_text(f'[embedder]\nmodel = "{home / "no model"}"\n', "utf-8")
    run, oars = "command: pytest tests/test_oars.py", "/work/boat/oars.py"
    source = lines(
        home / "a.jsonl",
        turn("the oars float", session="b", scope="work/boat", said_at="2026-11-03T10:00:00Z"),
        *step(1, "Edit", f"file_path: {oars}", "ok", oars),
        *step(2, "Bash", run, "failed", "tests/test_oars.py"),
        *step(3, "Edit", f"file_path: {oars}", "ok", oars),
        *step(4, "Bash", run, "ok", "tests/test_oars.py"),
        turn("the pier is 40 m", session="a pier", speaker="Ida", scope="work/pier", said_at="2026-11-20T18:00:00Z"),
    )
    with mnemic.open(home) as mind:
        mind.capture(source)
    return home / "minds"


@pytest.fixture
def boat(boathouse: Path, home: Path) -> Path:
    """A home in which a test of the oars failed and was mended, and somebody spoke of the pier."""
    shutil.copytree(boathouse, home / "minds")
    return home


def shaped(command: Command, home: Path, *asked: object) -> Any:
    """What the command answers, as JSON."""
    outcome = command("shape", *asked, "--home", home, "--json")
    assert outcome.code == 0, outcome
    return outcome.json


def test_a_pattern_finds_the_memories_that_have_it_and_says_what_fills_the_rest(command: Command, boat: Path) -> None:
    found = shaped(command, boat, "tool=pytest", "outcome=failed", "file=?")
    assert found.keys() == {"asked", "hits", "answers", "scope", "scope_found", "searched", "degraded", "took_ms"}
    likely = [hit for hit in found["hits"] if hit["score"] > 0.5]
    assert [hit["text"] for hit in likely] == ["failed, 2", "Bash\ncommand: pytest tests/test_oars.py"]
    assert all(hit["scope"] == "work/boat" for hit in likely)
    assert all(hit["why"].keys() == {"tool", "outcome"} for hit in likely)
    best = found["answers"][0]
    assert (best["role"], best["support"]) == ("file", 2)
    assert set(best["memories"]) == {hit["id"] for hit in likely}
    assert best["filler"] == "tests/test_oars.py"
    assert best["confidence"] > 0.9
    assert found["degraded"] == []


def test_what_came_next_is_told_with_how_often_things_were_well_after_it(command: Command, boat: Path) -> None:
    answers = shaped(command, boat, "after=edit, test failed", "then=?")["answers"]
    assert answers[0]["filler"] == "edit python ok"
    assert answers[0]["worked"] == pytest.approx(1.0, abs=0.05)
    assert shaped(command, boat, "after=edit, test failed", "then=?", "worked=no")["answers"] == []
    shown = command("shape", "after=edit, test failed", "then=?", "--home", boat).out
    assert "  edit python ok  (read from 1 memory: 1, things were well after it in 100 %)\n" in shown


def test_a_misspelt_cue_is_told_with_what_stands_there_and_strictly_nothing_is_found(
    command: Command, boat: Path
) -> None:
    asked = ("tool=pytest", "outcome=failed", "file=test_oras.py")
    found = shaped(command, boat, *asked)
    assert found["hits"][0]["differs"] == {"file": "test_oars.py, tests/test_oars.py"}
    shown = command("shape", *asked, "--home", boat).out
    assert "    differs: file is test_oars.py, tests/test_oars.py\n" in shown
    assert "degraded: no memory has all of that: these have most of it, and say where they differ\n" in shown
    assert shaped(command, boat, *asked, "--strict")["hits"] == []


def test_the_same_kind_of_thing_is_found_by_a_memory_and_otherwise_where_that_is_asked(
    command: Command, boat: Path
) -> None:
    both = shaped(command, boat, "tool=pytest", "outcome=failed", "--strict")["hits"]
    failed = next(hit for hit in both if hit["kind"] == "tool_call")
    alike = shaped(command, boat, "--like", failed["id"], "outcome=?")
    assert failed["id"] not in {hit["id"] for hit in alike["hits"]}
    assert alike["hits"][0]["text"] == failed["text"]
    assert alike["hits"][0]["why"].keys() == {"shape"}
    passed = shaped(command, boat, "--like", failed["id"], "--but", "outcome=ok")
    assert passed == shaped(command, boat, "--like", failed["id"], "outcome=ok") | {"took_ms": passed["took_ms"]}
    assert passed["hits"][0]["text"] == failed["text"]
    with mnemic.open(boat) as mind:
        again = mind.shape({"outcome": "ok"}, like=[failed["id"]])
    assert [str(uuid.UUID(bytes=hit.id)) for hit in again.hits] == [hit["id"] for hit in passed["hits"]]


def test_filters_are_exact(command: Command, boat: Path) -> None:
    assert [hit["text"] for hit in shaped(command, boat, "who=ida")["hits"][:1]] == ["the pier is 40 m"]
    for option in (["--scope", "work/boat"], ["--session", "b"], ["--until", "2026-11-04"]):
        assert "the pier is 40 m" not in [hit["text"] for hit in shaped(command, boat, "who=ida", *option)["hits"]]
    assert shaped(command, boat, "date=2026-11-20..2026-11-21", "who=?")["hits"][0]["speaker"] == "Ida"


def test_a_folder_that_names_its_scope_is_asked_for_that_unless_told_otherwise(
    command: Command, boat: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(name_scope(boat, tmp_path / "folder", "work/pier"))
    own = shaped(command, boat, "who=?")
    assert (own["scope"], own["scope_found"]) == ("work/pier", ".mnemic.toml")
    assert [one["filler"] for one in own["answers"]] == ["ida"]
    everything = shaped(command, boat, "who=?", "--scope", "*")
    assert (everything["scope_found"], everything["searched"]) == ("asked for", 10)


def test_the_roles_are_listed_with_what_fills_them_here(command: Command, boat: Path) -> None:
    listed = command("shape", "--roles", "--home", boat, "--json").json
    by_name = {role["name"]: role for role in listed["roles"]}
    assert set(ROLES) <= set(by_name)
    assert by_name["tool"]["decodes"]
    assert not by_name["about"]["decodes"]
    assert "pytest" in by_name["tool"]["samples"]
    assert (listed["bound"], listed["pending"]) == (10, 0)
    shown = command("shape", "--roles", "--home", boat).out
    assert shown.endswith("10 memories have their hypervector\n")
    assert "not asked for with ?" in shown


def test_of_a_conversation_that_was_forgotten_it_is_said_that_none_is_looked_through(
    command: Command, boat: Path
) -> None:
    assert command("forget", "--session", "a pier", "--yes", "--home", boat).code == 0
    found = shaped(command, boat, "who=?", "--session", "a pier")
    told = "session: no memory looked through is of the conversation 'a pier'"
    assert (found["hits"], found["answers"], found["degraded"]) == ([], [], [told])


def test_what_is_given_by_mistake_is_quoted_by_its_beginning(command: Command, boat: Path) -> None:
    long = "x" * 100_000
    for asked in (f"hour={long}", f"{long}=?", long, f"after={long}", f"kind={long}"):
        refused = command("shape", asked, "--home", boat)
        assert (refused.code, refused.err.count("\n")) == (2, 1)
        assert len(refused.err) < 1_000
        assert len(command("shape", asked, "--home", boat, "--json").out) < 2_000


@pytest.mark.system
def test_the_home_process_answers_as_the_command_does_alone(command: Command, boat: Path) -> None:
    asked = ("tool=pytest", "outcome=failed", "file=?")
    alone = shaped(command, boat, *asked)
    with serving(boat):
        served = finish(start("shape", *asked, "--home", boat, "--json"))
        assert served.code == 0, served
        roles = finish(start("shape", "--roles", "--home", boat, "--json")).json
    assert {**served.json, "took_ms": 0} == {**alone, "took_ms": 0}
    assert roles["bound"] == 10


def test_your_own_questions_are_in_the_log_and_nobody_elses(command: Command, boat: Path) -> None:
    found = shaped(command, boat, "tool=pytest", "outcome=failed", "file=?", "-k", 1)
    (given,) = [json.loads(line) for line in command("log", "--recalls", "--home", boat, "--json").out.splitlines()]
    assert (given["occasion"], given["assistant"], given["scope"]) == ("shape", "", "*")
    assert "file=?" in given["query"]
    assert [one["id"] for one in given["memories"]][:1] == [found["hits"][0]["id"]]
    assert command("log", "--injected", "--home", boat).out == "nothing that was given is here\n"
    assert "to you: shape, of everything" in command("log", "--recalls", "--home", boat).out


def test_the_log_has_the_filters_of_a_question(command: Command, boat: Path) -> None:
    shaped(command, boat, "who=?", "--session", "b", "--since", "2026-11-03", "--until", "2026-11-04T12:00:00+01:00")
    shown = command("log", "--recalls", "--home", boat).out
    asked = "'who=?' --session b --since 2026-11-03T00:00:00Z --until 2026-11-04T11:00:00Z"
    assert f"  asked: {asked}\n" in shown
    command("shape", "--analogy", "edit", "oars.py", "test", "--session", "b", "--home", boat)
    assert "  asked: --analogy edit oars.py test --session b\n" in command("log", "--recalls", "--home", boat).out


def test_what_the_log_says_was_asked_can_be_asked_again(command: Command, boat: Path) -> None:
    for asked in (
        ("after=edit, test failed", "then=?"),
        ("--analogy", "edit", "oars.py", "test"),
        ("topic=ida's pier", "who=?", "--session", "a pier"),
    ):
        shaped(command, boat, *asked)
        newest = command("log", "--recalls", "-n", 1, "--home", boat, "--json").json
        assert tuple(shlex.split(newest["query"])) == asked
        assert all(word in newest["query"] for word in asked), "each in one piece: erasing looks for it there"


def test_every_role_is_documented() -> None:
    page = (ROOT / "docs" / "shape.md").read_text("utf-8")
    assert [name for name in (*ROLES, "after", "then") if f"`{name}`" not in page and f"`{name}=?`" not in page] == []


# --- several scopes, and what says the same --------------------------------------------------------------------------


@pytest.fixture
def piers(command: Command, home: Path, tmp_path: Path) -> Path:
    """A home in which something is said in four scopes, in one of them again and again."""
    said = [("work/pier", f"p{number}", "The pier is closed.") for number in range(5)]
    said += [("work/boat", "b", "the pier is far"), ("home", "h", "a pier glass"), ("garden", "g", "no pier here")]
    source = lines(
        tmp_path / "a.jsonl",
        *(
            turn(text, session=session, scope=scope, said_at=f"2026-11-0{place + 1}T10:00:00Z")
            for place, (scope, session, text) in enumerate(said)
        ),
    )
    assert command("capture", source, "--home", home).code == 0
    return home


def test_several_scopes_are_looked_through_at_once_at_every_verb_that_takes_one(command: Command, piers: Path) -> None:
    two = ("--scope", "home", "--scope", "/work/boat/", "--scope", "home", "--home", piers)
    found = command("recall", "pier", *two, "--json").json
    assert {hit["scope"] for hit in found["hits"]} == {"home", "work/boat"}
    assert (found["scope"], found["scope_found"], found["searched"]) == (["home", "work/boat"], "named", 2)
    assert "2 memories of 2 in home, work/boat (named), " in command("recall", "pier", *two).out
    assert {hit["scope"] for hit in shaped(command, piers, "kind=turn", *two[:4])["hits"]} == {"home", "work/boat"}
    listed = [json.loads(line) for line in command("log", *two, "--json").out.splitlines()]
    assert {one["scope"] for one in listed} == {"home", "work/boat"}
    assert command("recall", "pier", *two, "--scope", "*", "--json").json["scope"] == "*"
    given = [json.loads(line) for line in command("log", "--recalls", "--home", piers, "--json").out.splitlines()]
    assert [one["scope"] for one in given] == ["*", ["home", "work/boat"], ["home", "work/boat"], ["home", "work/boat"]]
    for scope, count in (("home", 3), ("work/boat", 3), ("work", 3), ("garden", 0)):
        asked = command("log", "--recalls", "--scope", "garden", "--scope", scope, "--home", piers, "--json")
        assert len(asked.out.splitlines()) == count, scope
    assert ", in home, work/boat" in command("log", "--recalls", "--home", piers).out


def test_what_says_the_same_is_one_hit_that_names_the_others(command: Command, piers: Path) -> None:
    (hit,) = command("recall", "is the pier closed", "--scope", "work/pier", "--home", piers, "--json").json["hits"]
    assert [one["said_at"][:10] for one in hit["same"]] == [f"2026-11-0{day}" for day in (4, 3, 2, 1)]
    assert len({hit["id"], *(one["id"] for one in hit["same"])}) == 5
    shown = command("recall", "is the pier closed", "--scope", "work/pier", "--home", piers).out
    named = ", ".join(f"{one['id'][-8:]} ({one['said_at'][:10]})" for one in hit["same"])
    assert f"    said so too: {named}"[:60] in shown
    full = command("recall", "is the pier closed", "--scope", "work/pier", "--home", piers, "--full").out
    assert f"    said so too: {named}\n" in full
    others = command("recall", "pier", "--scope", "garden", "--home", piers, "--json").json["hits"]
    assert all("same" not in one for one in others)


# --- filters of a recall ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("served", [False, pytest.param(True, marks=pytest.mark.system)])
def test_a_recall_asks_for_who_and_what_at_the_command_and_by_way_of_the_process(
    command: Command, boat: Path, served: bool
) -> None:
    def texts(*asked: object) -> list[str]:
        outcome = command("recall", "the", "pier", "oars", "failed", "ok", *asked, "--home", boat, "--json")
        assert outcome.code == 0, outcome
        return sorted(hit["text"] for hit in outcome.json["hits"])

    asked: list[tuple[tuple[object, ...], list[str]]] = [
        (("--speaker", "IDA"), ["the pier is 40 m"]),
        (("--file", "oars.py", "--tool", "Edit"), ["Edit\nfile_path: /work/boat/oars.py"]),
        (("--role", "tool", "--file", "tests/"), ["failed, 2", "ok, 4"]),
    ]
    with serving(boat) if served else nullcontext():
        for options, found in asked:
            assert texts(*options) == found
        refused = command("recall", "oars", "--speaker", "Ada", "--home", boat, "--json")
    assert (refused.code, refused.json["code"]) == (2, "unknown_filter")
    assert refused.json["error"] == "No memory has the speaker 'Ada'."
    assert refused.json["remedy"] == "Did you mean 'Ida'? Those that are there: Ida."


def test_the_same_day_week_or_month_as_both_ends_means_all_of_it_in_each_command(command: Command, boat: Path) -> None:
    def ends(day: str) -> tuple[object, ...]:
        return ("--since", day, "--until", day, "--home", boat, "--json")

    def texts(*asked: object) -> list[str]:
        return [hit["text"] for hit in command(*asked).json["hits"]]

    assert texts("recall", "how long is the pier", *ends("2026-11-20")) == ["the pier is 40 m"]
    assert texts("recall", "how long is the pier", *ends("20 nov 2026")) == ["the pier is 40 m"]
    assert "the pier is 40 m" in texts("recall", "how long is the pier", *ends("2026-11"))
    assert "the pier is 40 m" in texts("recall", "how long is the pier", *ends("2026-W47"))
    assert texts("recall", "how long is the pier", *ends("2026-11-21")) == []
    assert [hit["text"] for hit in shaped(command, boat, "who=Ida", *ends("2026-11-20")[:4])["hits"]] == [
        "the pier is 40 m"
    ]
    logged = command("log", "--by", "said", "--scope", "*", *ends("2026-11-20")).out.splitlines()
    assert [json.loads(line)["text"] for line in logged] == ["the pier is 40 m"]
    assert command("recall", "pier", *ends("2026-11-20T18:00")).code == 2, "a minute holds nothing"
    assert command("forget", "--yes", *ends("2026-11-20")).code == 0
    assert texts("recall", "how long is the pier", "--home", boat, "--json", "--scope", "work/pier") == []


# --- a second look ---------------------------------------------------------------------------------------------------


def test_the_cross_encoder_of_the_settings_orders_what_is_found_and_a_broken_one_is_told(
    command: Command, home: Path, tmp_path: Path
) -> None:
    said = ["the cup", "the cup.", "tea the cup", "cup cup", "the cups", "the. cup. tea. cups", "cup"]
    with mnemic.open(home) as mind:
        mind.capture(lines(tmp_path / "a.jsonl", *(turn(text, session=str(at)) for at, text in enumerate(said))))
    folder, words_alone = write_cross_encoder(tmp_path / "reader"), f'[embedder]\nmodel = "{tmp_path / "none"}"\n'

    def recalled(settings: str) -> Any:
        (home / "mnemic.toml").write_text(words_alone + settings, "utf-8")
        outcome = command("recall", "the cup", "--home", home, "--json", "--explain")
        assert outcome.code == 0, outcome
        return outcome.json

    plain = [hit["text"] for hit in recalled("")["hits"]]
    named = f'[rerank]\nmodel = "{folder}"\n'
    answer = recalled(named)
    scores = dict(zip(plain, load_cross_encoder(folder).score("the cup", plain).tolist(), strict=True))
    found = [hit["text"] for hit in answer["hits"]]
    assert found == sorted(plain, key=lambda text: -scores[text])
    assert found != plain
    assert any(hit["why"]["rerank"] for hit in answer["hits"])
    assert not any(why.startswith("rerank") for why in answer["degraded"])
    (folder / "model.safetensors").unlink()
    answer = recalled(named)
    assert [hit["text"] for hit in answer["hits"]] == plain
    (why,) = (why for why in answer["degraded"] if why.startswith("rerank: "))
    assert "there is no such file" in why
