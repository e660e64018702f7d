"""Mailboxes, where the engines' contract does not reach: what comes between two steps of a mailbox's thread."""

from __future__ import annotations

import pytest

from mnemic.actors.protocol.errors import ActorFailed, Quarantined
from mnemic.runtime.clock import ManualClock
from mnemic.runtime.engine.mailbox import MailboxEngine, _Mailbox
from tests.contract.engine_contract import BOUND_S, ProbeActor, Raise, Say, Watch, letter

QUARANTINED = Quarantined(actor="probe", failures=3, cause="X")


class InstanceDied(Exception):
    """An actor's own error, of the same name as the engine's."""


class ReleasedOnceSeen(_Mailbox):
    """A mailbox whose quarantine is over as soon as its thread has looked at it."""

    looks = 0

    @property
    def _quarantine_error(self) -> Quarantined | None:
        self.looks += 1
        return QUARANTINED if self.looks == 1 else None

    @_quarantine_error.setter
    def _quarantine_error(self, error: Quarantined | None) -> None:
        """It is as it is."""


def test_a_release_between_two_looks_at_a_quarantine_harms_nobody() -> None:
    made = MailboxEngine(ManualClock(0), BOUND_S)
    watch = Watch(made)
    made._mailboxes["probe"] = ReleasedOnceSeen("probe", ProbeActor, 10, watch, ManualClock(0))
    try:
        with pytest.raises(Quarantined):
            made.send("probe", letter(Say(1)), timeout_s=BOUND_S).get()
        assert made.send("probe", letter(Say(1)), timeout_s=BOUND_S).get() == (1,)
        assert watch.failures == []
    finally:
        made.stop("probe")


def test_an_actors_own_error_is_no_death_whatever_its_name() -> None:
    made = MailboxEngine(ManualClock(0), BOUND_S)
    watch = Watch(made)
    made._add_mailbox("probe", ProbeActor, 10, watch)
    try:
        with pytest.raises(ActorFailed):
            made.send("probe", letter(Raise(InstanceDied())), timeout_s=BOUND_S).get()
        assert watch.failures == [("probe", "InstanceDied")]
    finally:
        made.stop("probe")
