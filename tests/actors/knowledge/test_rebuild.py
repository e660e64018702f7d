"""What is known comes again from the memories, and what a person said of it from the log, however it went before."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from mnemic.actors.capture.forget_messages import Forget, Recover, Selection
from mnemic.actors.kernel.scope_paths import ScopeRef
from mnemic.actors.knowledge.messages import (
    ListConflicts,
    ListEntities,
    ListFacts,
    MergeNames,
    SettleConflict,
    ShowEntity,
    UpdateFacts,
)
from mnemic.actors.store.messages import Rebuild
from mnemic.runtime.store.store import Store
from mnemic.runtime.transfer.erase import erase
from tests.harness import START_US, ActorHarness
from tests.runtime.building import held

SHELF = ScopeRef(path="work/shelf", project=None, found="named")
SAYINGS = (
    ("The office is in Berlin.", "user", SHELF),
    ("Ada Lovelace lives in Lisbon.", "user", SHELF),
    ("The office is in Hamburg now.", "user", SHELF),
    ("Ada Lovelace lives in Porto now.", "assistant", SHELF),
    ("The shed is open until noon.", "user", ScopeRef(path="boat", project=None, found="named")),
)


def talk(one: ActorHarness) -> list[bytes]:
    """What replaces an office, and what an assistant says otherwise than its user; the ids."""
    return [one.keep(text, role=role, place=place, session=text).id for text, role, place in SAYINGS]


def known(one: ActorHarness) -> dict[str, Any]:
    """Have all read and graded; then all that is told of it."""
    one.embed()
    while one.ask(UpdateFacts()).pending:
        pass
    at = START_US + 10**9
    told: dict[str, Any] = {"facts": one.ask(ListFacts(history=True, at=at, k=99))}
    told |= {f"pairs {replaced}": one.ask(ListConflicts(replaced=replaced)) for replaced in (False, True)}
    told["names"] = one.ask(ListEntities(k=99))
    told["things"] = [one.ask(ShowEntity(name=each.name)) for each in told["names"].entities]
    for name in ("pairs False", "pairs True", "things"):
        told[name] = msgspec.to_builtins(told[name])
    return told


def tables(one: ActorHarness) -> dict[str, list[Any]]:
    """What is kept of it."""
    stored = held(one.folder.store, one.keys)
    names = ("statements", "mentions", "entities", "grades", "unread", "ungraded", "verdicts", "merges")
    return {name: stored[name] for name in names}


def states(told: dict[str, Any]) -> dict[bytes, str]:
    return {fact.value: fact.state for fact in told["facts"].facts}


def decide(one: ActorHarness) -> None:
    """Settle what is open, say that what was replaced holds, and merge two names."""
    (pair,) = one.ask(ListConflicts()).conflicts
    one.ask(SettleConflict(id=pair.id, verdict="newer"))
    pairs = one.ask(ListConflicts(replaced=True)).conflicts
    (office,) = (pair for pair in pairs if pair.older.value == b"Berlin")
    one.ask(SettleConflict(id=office.id, verdict="older", by="codex"))
    one.ask(MergeNames(name="Porto", into="Hamburg"))


def test_a_rebuild_brings_the_same_facts_pairs_verdicts_and_names(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as one:
        talk(one)
        assert states(known(one)) == {
            b"Berlin": "replaced",
            b"Hamburg": "holds",
            b"Lisbon": "holds",
            b"Porto": "holds",
            b"open": "holds",
        }
        decide(one)
        before = known(one)
        assert (states(before)[b"Berlin"], states(before)[b"Hamburg"]) == ("holds", "replaced")
        assert (states(before)[b"Lisbon"], states(before)[b"Porto"]) == ("replaced", "holds")
        stored = tables(one)
        one.ask(Rebuild())
        assert known(one) == before
        assert tables(one) == stored


def test_whoever_is_made_anew_in_between_goes_on_to_the_same(tmp_path: Path) -> None:
    found = []
    for name, restarts in (("on", False), ("anew", True)):
        one = ActorHarness(tmp_path / name, ports={"seed": bytes(32)})
        for text, role, place in SAYINGS:
            one.keep(text, role=role, place=place, session=text)
            if restarts:
                one.ask(UpdateFacts())
                one.__exit__()
                one = ActorHarness(tmp_path / name, ports={"seed": bytes(32)}, clock=one.clock)
        known(one)
        found.append(tables(one))
        one.__exit__()
    marks = [one.pop("entities") for one in found]
    assert found[0] == found[1]
    assert [row[:2] for row in marks[0]] == [row[:2] for row in marks[1]], "each mind has its own key"


def test_a_fork_to_a_moment_before_a_verdict_knows_nothing_of_it_and_the_rest_again(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as one:
        talk(one)
        before = known(one)
        seq = one.look(lambda now: now.seq)
        decide(one)
        assert known(one) != before
    copy = tmp_path / "copy"
    with closing(Store.open(one.folder.store, one.keys)) as store:
        store.fork(copy, seq)
    copy.replace(one.folder.store)
    for left in one.folder.path.glob(f"{one.folder.store.name}-*"):
        left.unlink()
    with ActorHarness(tmp_path, clock=one.clock) as other:
        assert known(other) == before


def test_what_is_remembered_again_is_graded_against_what_came_meanwhile(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as one:
        berlin = one.keep("The office is in Berlin.", session="a").id
        one.ask(Forget(ids=(berlin,), reason=""))
        one.keep("The office is in Hamburg now.", session="b")
        assert states(known(one)) == {b"Hamburg": "holds"}
        one.ask(Recover(ids=(berlin,)))
        before = known(one)
        assert states(before) == {b"Berlin": "replaced", b"Hamburg": "holds"}
        one.ask(Rebuild())
        assert known(one) == before


def test_what_an_erased_memory_replaced_holds_again_and_so_it_does_after_a_rebuild(tmp_path: Path) -> None:
    with ActorHarness(tmp_path) as one:
        ids = talk(one)
        known(one)
        decide(one)
    chosen = Selection(ids=(ids[2], ids[3]))
    seen = one.look(lambda now: now.survey(chosen, 1))
    erase(one.folder, one.keys, chosen, seen, lambda what, done, total: None)
    with ActorHarness(tmp_path, clock=one.clock) as other:
        after = known(other)
        assert states(after) == {b"Berlin": "holds", b"Lisbon": "holds", b"open": "holds"}
        assert (after["pairs False"]["total"], after["pairs True"]["total"]) == (0, 0)
        assert {one.name for one in after["names"].entities} & {"Hamburg", "Porto"} == set()
        other.ask(Rebuild())
        assert known(other) == after
