"""A night does its stages one after the other, in bounded slices; had again with nothing new it changes nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import pytest

from mnemic.actors.brief.gather import gather_sources
from mnemic.actors.brief.messages import Brief
from mnemic.actors.capture.forget_messages import Forget
from mnemic.actors.kernel.contract import CONTRACT, Context, Setting
from mnemic.actors.kernel.errors import InvalidValue, UnknownNight
from mnemic.actors.kernel.events import Event
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.sleep.changes import SourceSpan
from mnemic.actors.sleep.consolidator import FAILURES_ALLOWED, ConsolidatorActor
from mnemic.actors.sleep.digests import DigestState, SessionDigests, decode_digest
from mnemic.actors.sleep.messages import (
    DigestsListed,
    ListDigests,
    ListNights,
    NightReport,
    NightShown,
    Preempt,
    ShowNight,
    ShowProfile,
    Sleep,
    UndoNights,
)
from mnemic.actors.sleep.registry import BUILT_IN_STAGES, find_stage
from mnemic.actors.sleep.stages import Derivation
from mnemic.runtime.engine.settings import load_settings
from tests.clocks import ManualClock
from tests.harness import START_US, ActorHarness
from tests.waiting import until

SHELF = ScopeRef(path="shelf", project=None, found="named")
STARTS = Brief(occasion="session-start", place=SHELF)
BOARD = ScopeRef(path="board", project=None, found="named")
TALK = (
    "The booking API listens on port 8443 in production since Lukas moved it.",
    "Lukas reviews the booking API on Thursdays before we deploy it to production.",
    "The weather was lovely over the harbour all day.",
    "Nadia wants the booking API reviewed by Lukas before each production deploy.",
)


class Failing:
    """A stage that cannot do its work."""

    name: ClassVar[str] = "failing"
    version: ClassVar[int] = 1
    tried: ClassVar[int] = 0
    works: ClassVar[bool] = False

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        return cls()

    def sources(self, snapshot: Any) -> Mapping[bytes, bytes]:
        type(self).tried += 1
        if not self.works:
            raise ZeroDivisionError
        return {}

    def read(self, key: bytes, snapshot: Any) -> Any: ...

    def plan(self, state: Any) -> Derivation: ...


FAILING = f"{__name__}:Failing"


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[ActorHarness]:
    with ActorHarness(tmp_path) as mind:
        yield mind


class Talked(NamedTuple):
    """A home of many sessions, not to be written to: one night's digests of them take several steps."""

    home: Path
    at_us: int
    ids: list[list[bytes]]
    """By session."""

    def copy(self, home: Path) -> ActorHarness:
        return ActorHarness(Path(shutil.copytree(self.home, home)), clock=ManualClock(self.at_us))


@pytest.fixture(scope="module")
def talked(tmp_path_factory: pytest.TempPathFactory) -> Talked:
    home = tmp_path_factory.mktemp("talked")
    with ActorHarness(home) as mind:
        ids = [say(mind, *(f"{text} ({number})" for text in TALK), session=f"s{number}") for number in range(60)]
    return Talked(home, mind.clock.now_us(), ids)


@pytest.fixture
def busy(talked: Talked, tmp_path: Path) -> Iterator[ActorHarness]:
    """A mind of many sessions."""
    with talked.copy(tmp_path / "busy") as mind:
        yield mind


def say(mind: ActorHarness, *texts: str, session: str = "s", place: ScopeRef = SHELF) -> list[bytes]:
    """Keep what a user says, and have it embedded."""
    kept = [mind.keep(text, session=session, place=place).id for text in texts]
    mind.embed()
    return kept


def sleep(mind: ActorHarness, run: str, **fields: Any) -> NightReport:
    """A whole night."""
    for _ in range(1000):
        report: NightReport = mind.ask(Sleep(run=run, budget_s=60.0, reason="asked", **fields))
        if report.finished:
            return report
    pytest.fail("it never ends")


def asking(mind: ActorHarness) -> Context:
    """What an actor of its own is given, which asks the others of a mind."""
    return Context(
        trace="night",
        now=1,
        clock=mind.clock,
        seed=b"seed",
        ask=lambda message, timeout_s: mind.ask(message),
        tell=lambda message: None,
        progress=lambda done, total: None,
        cancelled=lambda: False,
    )


def digests(mind: ActorHarness, of: str = "project", **fields: Any) -> list[list[str]]:
    """The sentences of the digests."""
    listed = mind.ask(ListDigests(of=of, **fields))  # type: ignore[arg-type]
    assert isinstance(listed, DigestsListed)
    return [[one.data.decode() for one in digest.sentences] for digest in listed.digests]


def standing(mind: ActorHarness) -> list[Any]:
    """What nights derived and stands, without what is only told of it."""
    names = [name for name in BUILT_IN_STAGES if "digest" in name]
    return mind.look(  # type: ignore[no-any-return]
        lambda now: [
            (one.stage, one.key, one.value, one.sources, one.made) for name in names for one in now.derived(name)
        ]
    )


def test_no_digest_is_made_of_what_agents_say_to_each_other(mind: ActorHarness) -> None:
    about: dict[str, Any] = {"assistant": "t", "session": "one/agent", "kind": "turn", "role": "user", "scope": "shelf"}
    mind.sources["agent"] = [
        Event(text=text.encode(), subagent=True, said_at=START_US + number, **about) for number, text in enumerate(TALK)
    ]
    mind.take("agent")
    sleep(mind, "first", stages=("session-digests", "project-digests"))
    assert digests(mind, "session") == digests(mind) == []
    say(mind, *TALK)
    sleep(mind, "second", stages=("session-digests", "project-digests"))
    assert len(digests(mind, "session")) == 1


def test_a_night_makes_digests_of_what_is_said_again_and_again(mind: ActorHarness) -> None:
    say(mind, *TALK)
    report = sleep(mind, "first")
    assert {"session-digests", "project-digests"} <= set(report.steps)
    for of in ("session", "project"):
        (said,) = digests(mind, of)
        assert said
        assert set(said) <= set(TALK)
        assert TALK[2] not in said


def test_a_second_night_with_nothing_new_writes_nothing(mind: ActorHarness) -> None:
    say(mind, *TALK)
    sleep(mind, "first")
    mind.bind()
    before = mind.look(lambda now: now.seq)
    report = sleep(mind, "second")
    assert (report.changes, report.steps) == (0, ())
    assert {one.state for one in report.stages} == {"done"}
    assert mind.look(lambda now: now.seq) == before
    assert len(mind.ask(ListNights()).nights) == 1


def test_only_what_has_changed_is_derived_again(mind: ActorHarness) -> None:
    say(mind, *TALK, session="one")
    say(mind, *(text.replace("booking", "billing") for text in TALK), session="two", place=BOARD)
    sleep(mind, "first")
    say(mind, "Deploys of the billing API to production are Nadia's from Monday on.", session="two", place=BOARD)
    report = sleep(mind, "second", stages=("session-digests", "project-digests"))
    made = {one[1] for one in standing(mind) if one[4] == 2}
    assert 1 <= len(made) == report.changes <= 2
    assert all(key.endswith(b":2") for key in made)  # of the second project


def test_a_night_is_listed_and_shown_with_what_it_changed(mind: ActorHarness) -> None:
    say(mind, *TALK)
    report = sleep(mind, "first")
    (night,) = mind.ask(ListNights()).nights
    assert (night.id, night.reason, night.why) == (1, "asked", "finished")
    assert [one.stage for one in night.stages] == list(BUILT_IN_STAGES)
    assert sum(one.changes for one in night.stages) == report.changes
    shown = mind.ask(ShowNight(id=1))
    assert isinstance(shown, NightShown)
    changes = {(one.what, one.did) for one in shown.changes}
    assert {("conversation s in shelf", "made"), ("project shelf", "made")} <= changes
    assert all(quote in TALK for one in shown.changes for quote in one.quotes)
    with pytest.raises(UnknownNight, match="There is no night 2"):
        mind.ask(ShowNight(id=2))


def test_a_night_taken_back_is_as_if_it_had_never_been_until_something_comes(mind: ActorHarness) -> None:
    say(mind, *TALK)
    sleep(mind, "first")
    before = standing(mind)
    say(mind, "Lukas no longer reviews the booking API before production deploys.")
    sleep(mind, "second")
    assert standing(mind) != before
    assert mind.ask(UndoNights()).nights == (2,)
    assert standing(mind) == before
    held = sleep(mind, "third", stages=("session-digests", "project-digests"))
    assert held.changes == 0
    assert "taken back" in held.stages[0].note
    assert standing(mind) == before
    assert mind.ask(ListDigests(of="session", scope="*")).last_night == "undone"
    assert sleep(mind, "again", stages=("session-digests",), again=True).changes
    mind.ask(UndoNights())
    say(mind, "The booking API has two reviewers in production now, Lukas and Nadia.")
    assert sleep(mind, "fourth").changes
    assert standing(mind) != before


def test_once_it_is_derived_anew_nothing_is_said_of_what_was_taken_back(mind: ActorHarness) -> None:
    say(mind, *TALK)
    sleep(mind, "1")
    mind.ask(UndoNights())
    assert "taken back" in str(sleep(mind, "2").stages)
    assert sleep(mind, "3", again=True).changes
    assert "taken back" not in str(sleep(mind, "4").stages)


def test_taking_back_the_first_night_takes_back_all(mind: ActorHarness) -> None:
    with pytest.raises(UnknownNight, match="There is no night to take back"):
        mind.ask(UndoNights())
    say(mind, *TALK)
    sleep(mind, "first")
    say(mind, *(text.upper() for text in TALK))
    sleep(mind, "second")
    assert mind.ask(UndoNights(id=1)).nights == (2, 1)
    assert standing(mind) == []
    assert digests(mind) == []
    assert [one.undone_at is not None for one in mind.ask(ListNights()).nights] == [True, True]


def test_a_night_that_was_broken_off_comes_to_what_one_that_ran_through_does(talked: Talked, tmp_path: Path) -> None:
    with talked.copy(tmp_path / "whole") as whole:
        sleep(whole, "night")
        expected = [one[:4] for one in standing(whole)]
    with talked.copy(tmp_path / "broken") as broken:
        for _ in range(6):  # each time by another actor, which knows nothing of the one before
            actor = ConsolidatorActor.make(broken.ports)
            for _ in range(4):
                report = actor.handle(Sleep(run="night", budget_s=60.0), asking(broken))
            actor.close()
            assert report is not None
            if report.finished:
                break
        assert len(broken.ask(ListNights()).nights) == 1
        sleep(broken, "last")
        assert [one[:4] for one in standing(broken)] == expected


def test_a_dry_run_says_what_would_change_and_changes_nothing(mind: ActorHarness) -> None:
    say(mind, *TALK)
    sleep(mind, "statements", stages=("facts",))
    mind.bind()
    before = mind.look(lambda now: now.seq)
    report = sleep(mind, "dry", dry_run=True)
    assert "session-digests" in report.steps
    assert {one.stage: one.note for one in report.stages}["communities"] == "4 to look at"
    assert mind.look(lambda now: now.seq) == before
    assert mind.ask(ListNights()).nights == ()


def test_whoever_wakes_a_night_has_it_end_and_say_so(busy: ActorHarness) -> None:
    while "session-digests" not in (report := busy.ask(Sleep(run="night", budget_s=60.0))).steps:
        assert not report.finished
    busy.supervisor.tell(Preempt(run="night"))
    until(lambda: busy.ask(ListNights()).nights[0].ended_at is not None)
    (night,) = busy.ask(ListNights()).nights
    assert (night.why, night.reason) == ("woken", "idle")
    assert "done" not in {one.state for one in night.stages if one.stage == "project-digests"}


def test_a_stage_that_fails_keeps_no_other_from_its_work_and_is_quarantined_after_three_nights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Failing, "tried", 0)
    with ActorHarness(tmp_path, **{"sleep.stages": f"{FAILING} session-digests"}) as mind:
        say(mind, *TALK)
        first = sleep(mind, "night 0")
        assert [(one.stage, one.state) for one in first.stages] == [("failing", "failed"), ("session-digests", "done")]
        assert first.stages[0].note.startswith("ZeroDivisionError in sources")
        assert digests(mind, "session")
        for number in range(1, FAILURES_ALLOWED + 2):
            last = sleep(mind, f"night {number}")
        assert Failing.tried == FAILURES_ALLOWED
        assert last.stages[0].note.startswith("set aside")
        assert mind.look(lambda now: now.stage_failures())["failing"][0] == FAILURES_ALLOWED
        assert len(mind.ask(ListNights()).nights) == 1  # the others changed nothing


def test_a_stage_that_works_again_is_counted_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ActorHarness(tmp_path, **{"sleep.stages": FAILING}) as mind:
        sleep(mind, "one")
        monkeypatch.setattr(Failing, "works", True)
        sleep(mind, "two")
        assert mind.look(lambda now: now.stage_failures()) == {}


def test_a_digest_tells_nothing_that_was_forgotten_corrected_or_replaced_since(mind: ActorHarness) -> None:
    more = (
        "Greta paints the wooden dinghy green before the summer regatta starts.",
        "The summer regatta wants every wooden dinghy painted, so Greta hurries.",
        "Otto tunes the harpsichord for the evening concert in the chapel.",
        "The evening concert in the chapel needs the harpsichord that Otto tunes.",
    )
    texts = (*TALK, *more)
    ids = dict(zip(texts, say(mind, *texts), strict=True))
    sleep(mind, "first")
    (said,) = digests(mind)
    assert len(said) >= 3
    mind.ask(Forget(ids=(ids[said[0]],), reason="test"))
    assert digests(mind) == [said[1:]]
    mind.keep("Something else holds.", place=SHELF, supersedes=ids[said[1]])
    assert digests(mind) == [said[2:]]


def test_a_profile_tells_where_something_is_liked_or_hated_as_well(mind: ActorHarness) -> None:
    said = ("I hate mocks in tests.", "I prefer tabs in Python.")
    say(mind, *said, "I speak to Lukas about the crane.", "I play in the yard.")
    sleep(mind, "first", stages=("facts", "profile"))
    assert sorted(one.text for one in mind.ask(ShowProfile()).entries) == sorted(one.rstrip(".") for one in said)


def test_a_profile_tells_what_users_say_of_themselves_and_in_how_many_conversations(mind: ActorHarness) -> None:
    say(mind, "I hate barrel files.", "I live in Lisbon.", "I am off until Tuesday.", session="one")
    say(mind, "Rule zero: I hate barrel files.", session="two", place=BOARD)
    mind.keep("I hate barrel files.", session="three", role="assistant", place=SHELF)
    stages = ("facts", "profile")
    assert sleep(mind, "first", stages=stages).changes == 2
    hated, lives = mind.ask(ShowProfile()).entries
    assert (hated.text, hated.conversations, hated.projects, hated.scope) == (
        "Rule zero: I hate barrel files",
        2,
        2,
        "board",
    )
    assert (lives.text, lives.conversations, lives.scope) == ("I live in Lisbon", 1, "shelf")
    assert [one.text for one in mind.ask(ShowProfile(scope="shelf")).entries] == ["I hate barrel files", lives.text]
    assert sleep(mind, "second", stages=stages).changes == 0
    told = mind.look(lambda now: gather_sources(now, STARTS, START_US, mind.clock))
    assert [one.text for one in told.profile] == [b"I hate barrel files", b"I live in Lisbon"]
    mind.ask(Forget(ids=(lives.memory,), reason="test"))
    assert [one.text for one in mind.ask(ShowProfile()).entries] == [hated.text]
    mind.keep("I live in Porto now.", session="four", place=SHELF, supersedes=lives.memory)
    sleep(mind, "third", stages=("facts", "profile"))
    assert [one.text for one in mind.ask(ShowProfile(scope="shelf")).entries] == [
        "I hate barrel files",
        "I live in Porto now",
    ]


def test_a_digest_of_one_project_tells_nothing_of_another(mind: ActorHarness) -> None:
    say(mind, *TALK)
    say(mind, *(text.replace("booking", "billing") for text in TALK), session="t", place=BOARD)
    sleep(mind, "first")
    told = mind.look(lambda now: gather_sources(now, STARTS, START_US, mind.clock)).digest
    assert told
    assert all(b"booking" in one.text for one in told)
    assert all("booking" in one for one in digests(mind, scope="shelf")[0])
    assert all("billing" in one for one in digests(mind, scope="board")[0])
    assert len(digests(mind, scope="*")) == 2


@pytest.mark.parametrize(
    "name", ["dreams", ":x", ".a:b", "nowhere:Stage", f"{__name__}:say", f"{__name__}:ActorHarness"]
)
def test_a_stage_that_is_not_there_is_refused_in_a_sentence(mind: ActorHarness, name: str) -> None:
    with pytest.raises(InvalidValue, match="stage"):
        find_stage(name)
    with pytest.raises(InvalidValue, match="stage"):
        mind.ask(Sleep(run="night", budget_s=1.0, stages=(name,)))


def test_it_keeps_the_contract() -> None:
    assert ConsolidatorActor.contract == CONTRACT
    assert set(ConsolidatorActor.takes) == {Sleep, Preempt}


def test_a_night_whose_time_is_used_up_ends_and_says_so(busy: ActorHarness) -> None:
    while "session-digests" not in (report := busy.ask(Sleep(run="night", budget_s=5.0))).steps:
        assert not report.finished
    busy.clock.advance(6)
    report = busy.ask(Sleep(run="night", budget_s=5.0))
    assert (report.finished, report.ended) == (False, True)
    assert busy.ask(ListNights()).nights[0].why == "time"
    assert sleep(busy, "night").changes, "by the same name it goes on"


def test_one_key_more_is_derived_at_most_once_a_night_is_woken(mind: ActorHarness) -> None:
    for number in range(5):
        say(mind, *TALK, session=f"talk {number}")
    looked: list[bool] = []

    def is_woken() -> bool:
        looked.append(len(looked) >= 3)
        return looked[-1]

    consolidator = ConsolidatorActor.make(mind.ports)
    context = asking(mind)
    context._cancelled = is_woken
    report = consolidator.handle(Sleep(run="1", budget_s=60.0, stages=("session-digests",)), context)
    consolidator.close()
    assert report is not None
    assert 0 < report.changes < 5
    assert report.behind == 5 - report.changes


def test_another_night_ends_the_one_that_is_on(busy: ActorHarness) -> None:
    while "session-digests" not in busy.ask(Sleep(run="one", budget_s=60.0)).steps:
        pass
    sleep(busy, "other")
    assert [(one.run, one.why) for one in busy.ask(ListNights()).nights] == [("other", "finished"), ("one", "woken")]


def test_what_is_forgotten_while_a_night_is_on_is_not_derived(talked: Talked, busy: ActorHarness) -> None:
    stages = ("session-digests",)
    ids = talked.ids
    while not (first := busy.ask(Sleep(run="night", budget_s=60.0, stages=stages))).changes:
        assert not first.finished
    busy.ask(Forget(ids=tuple(one for some in ids[:20] + ids[40:] for one in some), reason="test"))
    while not busy.ask(Sleep(run="night", budget_s=60.0, stages=stages)).finished:
        pass
    assert len(busy.look(lambda now: now.derived_stamps("session-digests"))) == 20
    assert sleep(busy, "next", stages=stages).changes == 0


def test_a_key_that_fails_keeps_no_other_from_being_derived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Picky(SessionDigests):
        def plan(self, state: DigestState) -> Derivation:
            if any("harpsichord" in one.terms for one in state.sentences):
                raise InvalidValue(name="x", value="words of a memory", why="it is so", expected="another")
            return super().plan(state)

    monkeypatch.setitem(BUILT_IN_STAGES, "session-digests", Picky)
    with ActorHarness(tmp_path, **{"sleep.stages": "session-digests"}) as mind:
        for number in range(5):
            say(mind, *(f"{text} ({number})" for text in TALK), session=f"s{number}")
        say(mind, "Otto is picky about the harpsichord and its tuning.", session="picky")
        report = sleep(mind, "first")
        assert (report.stages[0].state, report.changes) == ("failed", 5)
        assert report.stages[0].note.startswith("invalid_value in plan")
        assert "words" not in report.stages[0].note


def test_what_a_setting_of_a_stage_changes_is_derived_anew(tmp_path: Path) -> None:
    talk = [f"Lukas books the {thing} of the crane with Nadia in the harbour." for thing in ("morning", "evening")] * 9
    with ActorHarness(tmp_path) as mind:
        say(mind, *talk, *TALK)
        sleep(mind, "first")
        whole = digests(mind, "session")
    with ActorHarness(tmp_path, **{"sleep.session_digest_bytes": 100}) as mind:
        report = sleep(mind, "second", stages=("session-digests",))
        assert report.changes == 1
        (short,) = digests(mind, "session")
        assert 0 < sum(map(len, short)) <= 100 < sum(map(len, whole[0]))
        assert sleep(mind, "third", stages=("session-digests",)).changes == 0
    with ActorHarness(tmp_path) as mind:
        sleep(mind, "fourth")
        assert digests(mind, "session") == whole


class Tunable(Failing):
    """A stage with a setting of its own."""

    name: ClassVar[str] = "tunable"
    settings: ClassVar[tuple[Setting, ...]] = (Setting("tunable.spans", 1, "spans", "How many it points to.", 1),)

    def __init__(self, spans: int = 0) -> None:
        self._spans = spans

    @classmethod
    def make(cls, settings: Mapping[str, Any]) -> Self:
        return cls(settings["tunable.spans"])

    def sources(self, snapshot: Any) -> Mapping[bytes, bytes]:
        return {b"all:1": b""}

    def plan(self, state: Any) -> Derivation:
        return Derivation(b"", tuple(SourceSpan(1, 0, 1 + n) for n in range(self._spans)))


def test_a_stage_of_ones_own_brings_its_settings(tmp_path: Path) -> None:
    path = tmp_path / "mnemic.toml"
    name = f"{__name__}:Tunable"
    for spans, more in ((1, ""), (3, "[tunable]\nspans = 3\n")):
        path.write_text(f'[sleep]\nstages = "{name}"\n{more}', "utf-8")
        with ActorHarness(tmp_path, **load_settings(path).values()) as mind:
            say(mind, *TALK)
            sleep(mind, f"with {spans}")
            (item,) = mind.look(lambda now: now.derived("tunable"))
            assert len(item.sources) == spans
    with ActorHarness(tmp_path) as mind:
        sleep(mind, "asked for by name", stages=(name,))
        (item,) = mind.look(lambda now: now.derived("tunable"))
        assert len(item.sources) == 1, "the default"
    path.write_text(f'[sleep]\nstages = "{name}"\n[tunable]\nspans = 0\n', "utf-8")
    with pytest.raises(InvalidValue, match=r"tunable\.spans"):
        load_settings(path)
    path.write_text("[tunable]\nspans = 3\n", "utf-8")
    with pytest.raises(InvalidValue, match="no such setting"):
        load_settings(path)


def test_a_stage_that_is_named_and_not_there_fails_alone(tmp_path: Path) -> None:
    with ActorHarness(tmp_path, **{"sleep.stages": ":x nowhere:Stage session-digests"}) as mind:
        say(mind, *TALK)
        report = sleep(mind, "first")
        assert [one.state for one in report.stages] == ["failed", "failed", "done"]
        assert digests(mind, "session")


def test_whoever_wakes_a_night_that_is_not_on_gets_no_answer_and_leaves_no_trace(mind: ActorHarness) -> None:
    before = mind.look(lambda now: now.seq)
    actor = ConsolidatorActor.make(mind.ports)
    context: Any = Context(
        trace="t",
        now=1,
        clock=ManualClock(0),
        seed=b"s",
        ask=None,
        tell=None,
        progress=None,
        cancelled=None,  # type: ignore[arg-type]
    )
    assert actor.handle(Preempt(run="night"), context) is None
    assert mind.look(lambda now: now.seq) == before
    actor.close()


def test_of_a_very_long_conversation_the_newest_part_is_digested(mind: ActorHarness) -> None:
    long = " ".join(f"Otter number {number} swims past the old lighthouse at dawn." for number in range(120))
    for number in range(45):
        mind.keep(f"{long} {number}", session="s", place=SHELF)
    newest = [mind.keep(text, session="s", place=SHELF).id for text in TALK]
    sleep(mind, "first", stages=("session-digests",))
    (item,) = mind.look(lambda now: now.derived("session-digests"))
    rows = {one.row for one in item.sources}
    assert rows & set(mind.look(lambda now: now.rows_of(newest)))
    assert min(rows) > 1, "not the oldest"
    assert decode_digest(item.value).memories == 49


class Endless(Failing):
    """A stage that has always more to derive, each thing for ten seconds."""

    name: ClassVar[str] = "endless"
    clock: ClassVar[Any] = None

    def sources(self, snapshot: Any) -> Mapping[bytes, bytes]:
        return {b"all:%d" % n: b"" for n in range(1000)}

    def read(self, key: bytes, snapshot: Any) -> Any:
        self.clock.advance(10)

    def plan(self, state: Any) -> Derivation:
        return Derivation(b"", (SourceSpan(1, 0, 1),))


def test_no_stage_starves_those_after_it(mind: ActorHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    say(mind, *TALK)
    monkeypatch.setattr(Endless, "clock", mind.clock)
    stages = (f"{__name__}:Endless", "session-digests")
    while not (report := mind.ask(Sleep(run="1", budget_s=60.0, stages=stages))).ended:
        assert not report.finished
    endless, digested = report.stages
    assert (endless.changes, endless.state, digested.changes, digested.state) == (3, "", 1, "done")
    assert endless.note == "half of the time that was left is used up: the next night goes on"
    (night,) = mind.ask(ListNights()).nights
    assert night.why == "time"
    while not (report := mind.ask(Sleep(run="2", budget_s=60.0, stages=stages))).ended:
        assert not report.finished
    assert [one.changes for one in report.stages] == [3, 0], "and it goes on where it was"
