"""A note of what was told where nobody could write the log is in the log when the spool is taken in, once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic.actors.brief.brief import BRIEFING_NOTE, decode_note, encode_note
from mnemic.actors.capture.messages import Drained, DrainSpool
from mnemic.actors.kernel.events import HookRecord
from mnemic.actors.log.changes import DeliveredSpan, RecordDelivery
from mnemic.actors.log.messages import DeliveriesListed, ListDeliveries
from tests.harness import START_US, ActorHarness

CHANGE = RecordDelivery(
    assistant="codex",
    session="new",
    occasion="session-start",
    parts=(DeliveredSpan(b"m" * 16, 0, 10, "a decision"),),
    tokens=9,
    scope="work/shelf",
)


def record(payload: bytes, at: int = START_US - 5) -> HookRecord:
    return HookRecord(
        id=b"r" * 16, assistant="codex", event=BRIEFING_NOTE, at=at, cwd=None, branch=None, payload=payload
    )


@pytest.fixture
def actor_system(tmp_path: Path) -> Iterator[ActorHarness]:
    with ActorHarness(tmp_path) as actor_system:
        yield actor_system


def test_a_note_says_what_was_told_when_and_by_whom() -> None:
    told = decode_note(record(encode_note(CHANGE)))
    assert isinstance(told, RecordDelivery)
    assert (told.parts, told.at) == (CHANGE.parts, START_US - 5)


@pytest.mark.parametrize("payload", [b"", b"{}", b"[]", b"\xff", b'{"change": "drop_given", "count": 1}'])
def test_what_is_no_note_is_said_to_be_none(payload: bytes) -> None:
    assert decode_note(record(payload)) == "it is no note of what was told"


def test_it_is_in_the_log_when_it_is_taken_in_and_what_is_gone_since_is_left_out(actor_system: ActorHarness) -> None:
    kept = actor_system.keep("nine books").id
    told = RecordDelivery(
        assistant="somebody else",
        session="new\\ud800",
        occasion="session-start",
        parts=(DeliveredSpan(b"m" * 16, 0, 4, "gone"), DeliveredSpan(kept, 5, 10, "a decision")),
        tokens=9,
        scope="work/shelf",
    )
    actor_system.spool.write(record(encode_note(told)), record(b"nonsense"))
    drained = actor_system.ask(DrainSpool())
    assert isinstance(drained, Drained)
    assert (drained.records, drained.new, drained.quarantined) == (2, 0, 1)
    listed = actor_system.ask(ListDeliveries())
    assert isinstance(listed, DeliveriesListed)
    (delivery,) = listed.deliveries
    assert (delivery.at, delivery.assistant, delivery.session) == (START_US - 5, "codex", "new\\ud800")
    assert (delivery.scope, delivery.tokens) == ("work/shelf", 9)
    assert [(part.id, part.why, part.data) for part in delivery.parts] == [(kept, "a decision", b"books")]
    assert actor_system.look(lambda snapshot: snapshot.delivered_spans("codex", "new\\ud800")).keys() == {kept}
