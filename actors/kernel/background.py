"""The loop in which an actor does its work in the background, step by step, while questions pass between the steps.

The Embedder, the Binder, the Communities and the Knowledge actor follow the log with one such worker each. An actor
gives it a function that takes one bounded step; everything else about the loop is here, and
tests/contract/test_background.py holds all four actors to it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import msgspec

from mnemic.actors.kernel.changes import Change
from mnemic.actors.kernel.contract import Context
from mnemic.actors.kernel.errors import MnemicError
from mnemic.actors.kernel.message import Message
from mnemic.actors.store.messages import Applied, Apply


class WorkOn(Message, frozen=True, kw_only=True):
    """An actor to itself: take the next step in the background, after whoever asked meanwhile."""


class MindOpened(Message, frozen=True, kw_only=True):
    """Event: the mind was opened; whoever was interrupted in its work may go on."""


class BackgroundWorker:
    """Takes an actor's steps one after the other, as long as there is something to do.

    * A step answers a message `WorkOn` that the actor sends to itself, so it comes after every question that waits. At
      most one such message is under way, however many events come.
    * A step reads from the store what waits, and has the Store keep what it did, at once or with that of the next few.
      So a stop or a kill costs that work and loses nothing: the next instance does what is left.
    * A step that raises an error of `mnemic.actors.kernel.errors` ends the work until the next event; its message
      becomes a dead letter, which says why. After any other exception the supervisor makes a new instance, which goes
      on; it quarantines an actor that fails again and again, with the reason.
    """

    def __init__(self, actor: str, step: Callable[[Context], bool], *, leaves_to_caller: bool = False) -> None:
        """Begin at rest.

        Args:
            actor: name of the actor, under which the Store keeps what a step did.
            step: takes one step, none once it is cancelled; returns whether there may be more to do.
            leaves_to_caller: whether to rest while somebody asks for step after step, until the next event: two who
                take steps would keep a question waiting for two. Else the work goes on, however seldom somebody asks.
        """
        self._actor = actor
        self._step = step
        self._leaves_to_caller = leaves_to_caller
        self._under_way = False  # whether a message to itself is
        self._caller_steps = False  # whether somebody asks for step after step

    def wake(self, context: Context) -> None:
        """Go on in the background: there may be something to do."""
        self._caller_steps = False
        self._continue(context)

    def caller_stepped(self, pending: int, context: Context) -> None:
        """Take note that somebody asked for a step, after which so much is pending."""
        if self._leaves_to_caller:
            self._caller_steps = pending > 0
        elif pending:
            self._continue(context)

    def work_on(self, context: Context) -> None:
        """Take the step that a `WorkOn` asks for, and ask for the next one.

        Raises: whatever the step raises.
        """
        self._under_way = False
        if self._caller_steps:
            return
        try:
            more = self._step(context)
        except MnemicError:
            raise
        except Exception:
            context.tell(WorkOn())  # to the instance that comes after this one
            raise
        if more:
            self._continue(context)

    def apply(self, changes: Sequence[Change], seq: int, context: Context) -> Applied:
        """Have the Store keep what a step did.

        Args:
            seq: number of the transaction up to which the step had read. The idempotency key holds it: the same
                changes, decided on again after a rebuild, are others.

        Raises: what the Store answers with; nothing was changed then.
        """
        digest = hashlib.sha256(msgspec.msgpack.encode((seq, changes))).digest()
        key = f"{self._actor}/".encode() + digest
        return context.ask(Apply(changes=tuple(changes), key=key, author=self._actor, run=context.trace))

    def _continue(self, context: Context) -> None:
        if not self._under_way and not context.cancelled():
            self._under_way = True
            context.tell(WorkOn())
