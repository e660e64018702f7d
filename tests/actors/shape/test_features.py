"""A memory's records say what is known of it, in canonical fillers, and leave out what is not known."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.actors.recall.messages import Memory
from mnemic.actors.shape.features import MOST_FACTS, MOST_FILES, extract_records
from mnemic.actors.shape.queries import NearbyCall, Unbound
from mnemic.algorithms.knowledge.triples import Triple, triples
from mnemic.hd.encoders import canonical
from mnemic.hd.records import Record
from mnemic.hd.roles import ROLES, Role, Tier
from tests.actors.shape.test_features_call_context import MEMORY, SESSION, at

ALL = frozenset(ROLES)
MAY = int(datetime(2026, 5, 1, 14, 30, tzinfo=UTC).timestamp() * 1_000_000)
BARE = Unbound(row=1, memory=MEMORY, words=0, meaning=b"", previous=b"", next=b"", speakers=(), before=(), after=())
ANYTHING = st.text(st.characters(exclude_categories=()), max_size=60)
NAMES = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
FLOATS = st.floats(-1, 1, width=32)

MEMORIES = st.builds(
    lambda **fields: msgspec.structs.replace(MEMORY, **fields),
    data=ANYTHING.map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=60),
    scope=st.sampled_from(["", "acme", "acme/Web"]),
    kind=st.sampled_from(["turn", "tool_call", "tool_result", "decision", "note", "summary", "thinking", "injected"]),
    role=st.sampled_from(["user", "assistant", "tool", "system"]),
    speaker=NAMES,
    branch=NAMES,
    tool=NAMES,
    outcome=st.sampled_from([None, "ok", "failed"]),
    files=st.lists(ANYTHING, max_size=4).map(tuple),
    said_at=st.none() | st.integers(-(2**62), 2**62),
)
UNBOUND = st.builds(
    Unbound,
    row=st.just(1),
    memory=MEMORIES,
    words=st.integers(0, 10_000),
    meaning=st.lists(FLOATS, max_size=4).map(lambda values: np.array(values, "f4").tobytes()),
    previous=st.just(np.zeros(4, "f4").tobytes()),
    next=st.just(b""),
    speakers=st.lists(st.sampled_from(["Bea", "Ines", "bea"]), max_size=3).map(tuple),
    before=st.lists(st.sampled_from(SESSION), max_size=4).map(tuple),
    after=st.lists(st.sampled_from(SESSION), max_size=4).map(tuple),
)


def records(unbound: Unbound, topics: int = 5) -> list[tuple[Tier, Record]]:
    return extract_records(unbound, ALL, topics, triples)


def named(record: Record) -> dict[str, list[str]]:
    """Fillers of a record that have a name, by role, with a mark for each step back."""
    found: dict[str, list[str]] = {}
    for pair in record:
        if isinstance(pair.filler, str):
            found.setdefault(pair.role + "'" * pair.shift, []).append(pair.filler)
    return found


def episode(unbound: Unbound) -> dict[str, list[str]]:
    tier, record = records(unbound)[0]
    assert tier == "episode"
    return named(record)


def said(text: str, **fields: object) -> Unbound:
    memory = msgspec.structs.replace(MEMORY, data=text.encode(), **fields)
    return msgspec.structs.replace(BARE, memory=memory, words=len(text.split()))


@pytest.mark.parametrize(
    ("offset_min", "when"),
    [
        (-900, {"date": ["2026-04-30"], "hour": ["23"], "weekday": ["thursday"]}),
        (0, {"date": ["2026-05-01"], "hour": ["14"], "weekday": ["friday"]}),
        (600, {"date": ["2026-05-02"], "hour": ["0"], "weekday": ["saturday"]}),
    ],
)
def test_a_memory_is_bound_to_the_day_and_the_hour_of_the_clock_it_was_said_by(
    offset_min: int, when: dict[str, list[str]]
) -> None:
    found = episode(said("hello", said_at=MAY, utc_offset_min=offset_min))
    assert {name: found[name] for name in when} == when


def test_a_turn_says_who_to_whom_when_where_and_what_about() -> None:
    turn = said(
        "The token rotation is broken", role="user", speaker="Ines  Ray", said_at=MAY, scope="Acme/web", branch="Main"
    )
    assert episode(msgspec.structs.replace(turn, speakers=("Bea",))) == {
        "who": ["ines ray"],
        "to": ["bea"],
        "date": ["2026-05-01"],
        "hour": ["14"],
        "weekday": ["friday"],
        "workspace": ["Acme"],
        "project": ["Acme/web"],
        "branch": ["Main"],
        "kind": ["turn"],
        "size": ["5"],
        "topic": ["token rotation", "broken"],
    }


def test_what_is_not_known_is_absent() -> None:
    bare = msgspec.structs.replace(MEMORY, scope="", role="system", kind="injected")
    assert records(msgspec.structs.replace(BARE, memory=bare)) == [
        ("episode", (("who", "system", 0), ("kind", "injected", 0), ("size", "0", 0)))
    ]


@pytest.mark.parametrize(
    ("role", "speaker", "speakers", "to"),
    [
        ("user", None, (), ["assistant"]),
        ("assistant", None, (), ["user"]),
        ("assistant", None, ("Ines",), ["ines"]),
        ("user", "Ines", ("Bea", "Malcolm"), ["bea", "malcolm"]),
        ("user", "Ines", (), ["assistant"]),
        ("assistant", "Rook", (), ["user"]),
        ("system", "Ines", (), None),
        ("system", None, (), None),
    ],
)
def test_a_turn_is_said_to_the_others_of_its_session(
    role: str, speaker: str | None, speakers: tuple[str, ...], to: list[str] | None
) -> None:
    turn = msgspec.structs.replace(said("hello", role=role, speaker=speaker), speakers=speakers)
    assert episode(turn).get("to") == to


@pytest.mark.parametrize("at_", [2**62, -(2**62)])
def test_a_time_that_no_calendar_holds_says_nothing(at_: int) -> None:
    assert episode(said("hello", said_at=at_)).keys().isdisjoint({"date", "hour", "weekday"})


def test_a_file_is_found_by_its_path_and_by_its_name() -> None:
    files = ("/srv/tests/Test_auth.py", "C:\\web\\app.js", "notes.md", "too/many.py")
    assert episode(said("x", files=files))["file"] == [
        *("/srv/tests/Test_auth.py", "Test_auth.py", "C:/web/app.js", "app.js", "notes.md"),
    ]
    assert len(files) > MOST_FILES


def test_embeddings_are_of_unit_length_and_absent_where_there_is_none() -> None:
    three = np.array([3, 0, 4, 0], "<f4")
    turn = msgspec.structs.replace(BARE, meaning=three.tobytes(), next=np.zeros(4, "<f4").tobytes())
    ((_, record),) = records(turn)
    (about,) = (pair.filler for pair in record if not isinstance(pair.filler, str))
    assert np.array_equal(np.asarray(about), np.array([0.6, 0, 0.8, 0], np.float32))
    assert [pair.role for pair in record if not isinstance(pair.filler, str)] == ["about"]


@pytest.mark.parametrize(("place", "who"), [(4, "assistant"), (5, "tool")])
def test_a_call_and_its_result_both_say_how_it_ended_and_what_ran(place: int, who: str) -> None:
    unbound = at(SESSION, place)
    unbound = msgspec.structs.replace(unbound, memory=msgspec.structs.replace(unbound.memory, role=who))
    found = episode(unbound)
    assert {role: found[role] for role in ("who", "tool", "outcome", "file")} == {
        "who": [who],
        "tool": ["bash", "pytest"],
        "outcome": ["failed"],
        "file": ["tests/test_a.py", "test_a.py"],
    }
    assert "topic" not in found


def test_a_call_is_a_step_among_those_before_it() -> None:
    _, (tier, record) = records(at(SESSION, 6))
    assert tier == "step"
    assert named(record) == {
        "action": ["edit"],
        "target": ["python"],
        "tool": ["edit"],
        "outcome": ["ok"],
        "action'": ["test"],
        "target'": ["python"],
        "tool'": ["pytest"],
        "outcome'": ["failed"],
        "error'": ["…::test_it"],
        "action''": ["edit"],
        "target''": ["python"],
        "tool''": ["edit"],
        "outcome''": ["ok"],
        "action'''": ["read"],
        "target'''": ["python"],
        "tool'''": ["read"],
        "outcome'''": ["ok"],
        "worked": ["yes"],
        "who": ["assistant"],
        "project": ["slipway"],
        "file": ["a.py"],
    }


def test_a_result_is_no_step_of_its_own() -> None:
    assert [tier for tier, _ in records(at(SESSION, 7))] == ["episode"]


def test_each_triple_of_a_turn_is_a_fact_with_who_when_and_where() -> None:
    turn = said("I like tea. We use Postgres.", speaker="Ines", role="user", said_at=MAY)
    assert [named(record) for tier, record in records(turn) if tier == "fact"] == [
        {
            "subject": [subject],
            "relation": [relation],
            "object": [object_],
            "who": ["ines"],
            "date": ["2026-05-01"],
            "project": ["slipway"],
        }
        for subject, relation, object_ in (("ines", "like", "tea"), ("we", "use", "postgres"))
    ]


def test_without_a_name_the_role_is_who_says_i() -> None:
    facts = [named(record) for tier, record in records(said("I like tea", role="user")) if tier == "fact"]
    assert [one["subject"] for one in facts] == [["user"]]


def test_what_an_extractor_leaves_empty_is_no_fact_and_what_it_repeats_is_one() -> None:
    def extract(text: str, speaker: str | None) -> list[Triple]:
        many = [Triple("Tide", "is at", f"{hour}:00") for hour in range(MOST_FACTS + 3)]
        return [Triple("", "is", "x"), Triple("x", " ", "y"), *many[:1], *many]

    facts = [record for tier, record in extract_records(said("x"), ALL, 5, extract) if tier == "fact"]
    assert [named(record)["object"] for record in facts] == [[f"{hour}:00"] for hour in range(MOST_FACTS)]


def test_an_extractor_fills_roles_of_its_own_and_no_role_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ROLES, "mood", Role(name="mood", encoder="symbol", tiers=("episode", "fact"), help="Its mood."))
    monkeypatch.setitem(ROLES, "pet", Role(name="pet", encoder="symbol", tiers=("fact",), many=True, help="Of whom."))

    class Mine:
        def __call__(self, text: str, speaker: str | None) -> list[Triple]:
            return [Triple("rex", "is", text)]

        def fillers(self, memory: Memory) -> list[tuple[str, str]]:
            assert memory.data == b"good"
            return [("mood", "Glad"), ("mood", "sad"), ("pet", "Rex"), ("pet", "Tom"), ("who", "me"), ("no", "x")]

    (_, episode), (_, fact) = extract_records(said("good"), ALL | {"mood", "pet"}, 5, Mine())
    assert named(episode)["mood"] == named(fact)["mood"] == ["glad"]
    assert (named(fact)["pet"], "pet" in named(episode)) == (["rex", "tom"], False)
    assert named(episode)["who"] == ["assistant"]
    assert "mood" not in named(extract_records(said("good"), ALL, 5, Mine())[0][1])


@pytest.mark.parametrize("broken", [(), ("facts",), ("fillers",), ("facts", "fillers")])
@pytest.mark.parametrize("wrong", [None, [1], [("mood",)], [("mood", "\U0001f419", 3)]])
def test_what_an_extractor_fails_to_find_is_lost_alone(
    monkeypatch: pytest.MonkeyPatch, broken: tuple[str, ...], wrong: Any
) -> None:
    monkeypatch.setitem(ROLES, "mood", Role(name="mood", encoder="symbol", tiers=("episode",), help="Its mood."))

    class Mine:
        def __call__(self, text: str, speaker: str | None) -> Any:
            return wrong if "facts" in broken else [Triple("rex", "is", text)]

        def fillers(self, memory: Memory) -> Any:
            return wrong if "fillers" in broken else [("mood", "glad")]

    lost: list[str] = []
    found = extract_records(said("good"), ALL | {"mood"}, 5, Mine(), lambda what, error: lost.append(what.split()[0]))
    assert tuple(lost) == broken
    assert ("fact" in [tier for tier, _ in found]) == ("facts" not in broken)
    assert named(found[0][1]).get("mood") == (None if "fillers" in broken else ["glad"])
    assert named(found[0][1])["who"] == ["assistant"]


def test_a_filler_that_is_none_of_its_role_is_lost_and_where_nobody_is_told_it_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(ROLES, "due", Role(name="due", encoder="date", tiers=("episode", "fact"), help="When."))

    class Mine:
        def __call__(self, text: str, speaker: str | None) -> list[Triple]:
            return [Triple("rex", "is", text)]

        def fillers(self, memory: Memory) -> list[tuple[str, str]]:
            return [("due", "soon")]

    lost: list[Exception] = []
    found = extract_records(said("good"), ALL | {"due"}, 5, Mine(), lambda what, error: lost.append(error))
    assert [type(error) for error in lost] == [ValueError]
    assert [tier for tier, _ in found] == ["episode", "fact"]
    with pytest.raises(ValueError, match="soon"):
        extract_records(said("good"), ALL | {"due"}, 5, Mine())


@pytest.mark.parametrize("kind", ["tool_result", "tool_call", "thinking", "injected"])
def test_what_nobody_says_has_no_topics_and_states_nothing(kind: str) -> None:
    (_, record), *others = records(said("I like tea in Oslo", kind=kind))
    assert "topic" not in named(record)
    assert [tier for tier, _ in others if tier == "fact"] == []


def test_no_more_topics_are_bound_than_asked_for() -> None:
    turn = said("The boathouse tablet forgets the tide table and the door code")
    assert [len(named(extract_records(turn, ALL, most, triples)[0][1]).get("topic", [])) for most in (0, 1, 2)] == [
        0,
        1,
        2,
    ]


@given(UNBOUND)
def test_records_are_canonical_and_say_nothing_twice(unbound: Unbound) -> None:
    found = records(unbound)
    assert found[0][0] == "episode"
    for tier, record in found:
        assert record
        texts = [pair for pair in record if isinstance(pair.filler, str)]
        assert len({(pair.role, str(pair.filler).lower(), pair.shift) for pair in texts}) == len(texts)
        for pair in record:
            assert tier in ROLES[pair.role].tiers
            if isinstance(pair.filler, str):
                assert canonical(pair.role, pair.filler) == pair.filler
                pair.filler.encode("utf-8")
            else:
                assert pair.filler.dtype == np.float32
                assert abs(float(np.linalg.norm(pair.filler)) - 1) < 1e-5


@given(UNBOUND, st.sets(st.sampled_from(sorted(ALL))).map(frozenset))
def test_roles_that_are_not_bound_are_left_out_and_change_nothing_else(unbound: Unbound, roles: frozenset[str]) -> None:
    def shown(found: list[tuple[Tier, Record]]) -> list[tuple[Tier, list[tuple[str, str, int]]]]:
        kept = [
            (tier, [(one.role, str(one.filler), one.shift) for one in record if one.role in roles])
            for tier, record in found
        ]
        return [(tier, record) for tier, record in kept if record]

    facts = not roles.isdisjoint(("subject", "relation", "object"))
    everything = [(tier, record) for tier, record in records(unbound) if facts or tier != "fact"]
    assert shown(extract_records(unbound, roles, 5, triples)) == shown(everything)


def test_a_text_that_is_cut_off_within_a_letter_is_read_up_to_there() -> None:
    memory = msgspec.structs.replace(MEMORY, data="I like tea. Zürich".encode()[:14])
    assert [tier for tier, _ in records(msgspec.structs.replace(BARE, memory=memory))] == ["episode", "fact"]
    neighbour = NearbyCall(
        kind="tool_call", tool="Bash", outcome=None, files=(), text="Bash\ncommand: ls ü".encode()[:-1]
    )
    assert episode(at([neighbour], 0))["tool"] == ["bash", "ls"]
