"""Queue of transcript files captured automatically once their session has ended or been silent for a while.

What the Capture actor does for `QueueTranscripts` and `GetCaptureProgress`, and for `DrainSpool` once nothing is left
of it. They are the safety net for what hooks miss: by the identity rule, what hooks kept of a session is not kept
again.
"""

from __future__ import annotations

import logging
import os.path
from collections.abc import Iterable

import msgspec

from mnemic.actors.capture.changes import FinishTranscript, QueueTranscript
from mnemic.actors.capture.messages import (
    CaptureProgress,
    CaptureTranscript,
    Drained,
    Queued,
    QueueTranscripts,
    TranscriptCaptured,
)
from mnemic.actors.capture.prepare import apply_changes
from mnemic.actors.capture.transcripts import NOT_KEPT_PREFIX, TranscriptCapture
from mnemic.actors.kernel.changes import Change
from mnemic.actors.kernel.contract import Context
from mnemic.actors.kernel.errors import ActorFailed, BadInput, InvalidValue, MnemicError
from mnemic.actors.kernel.events import TranscriptRef, escape_surrogates
from mnemic.actors.kernel.message import idempotency_key
from mnemic.actors.kernel.ports import FileStat, StatFile
from mnemic.actors.kernel.snapshot import Snapshot, SnapshotSource

_log = logging.getLogger("mnemic.capture")

_MIN_POSTPONE_US = 60_000_000
"""A session that says something every few seconds puts its transcript off no more often than so."""
_NEVER_SEEN = 0
"""When a transcript was written that was not there whenever a hook told of it."""


class TranscriptQueue:
    """Knows which transcripts wait, and takes in those that are due."""

    def __init__(
        self,
        snapshots: SnapshotSource,
        measure: StatFile,
        transcribing: TranscriptCapture,
        silence_s: float,
    ) -> None:
        self._snapshots = snapshots
        self._measure = measure
        self._transcribing = transcribing
        self._silence_us = round(silence_s * 1e6)
        self._refused: set[str] = set()  # that the Store has failed on once
        self._partly_read: dict[str, tuple[int, str]] = {}  # of those half read: items, and what could not be kept

    def queue(self, message: QueueTranscripts, context: Context) -> Queued:
        """Have transcripts taken in, those that were not, or have changed since.

        Raises:
            InvalidValue: one of the paths is relative; nothing was queued.
        """
        for path, _ in message.paths:
            if not os.path.isabs(path):
                raise InvalidValue(name="path", value=path, why="it is relative", expected="an absolute path")
        now, known = context.clock.now_us(), 0
        changes: list[Change] = []
        with self._snapshots.snapshot() as snapshot:
            for path, format in dict(message.paths).items():
                extent = self._measure(path)
                if extent is None:  # it went meanwhile
                    continue
                if _is_captured(snapshot, path, extent):
                    known += 1
                else:
                    changes.append(_queue_change(path, format, now, extent.changed_at))
        if changes:
            apply_changes(changes, idempotency_key("queue", context.trace), context)
        return Queued(queued=len(changes), known=known)

    def queue_reported(
        self, found: Iterable[tuple[TranscriptRef, int]], snapshot: Snapshot, context: Context
    ) -> list[Change]:
        """What has the transcripts taken in that hooks have told of.

        Args:
            found: the transcripts, and the world time of each report; of several reports of one, the last counts.
        """
        now = context.clock.now_us()
        changes: list[Change] = []
        for path, (at, said_at) in {at.path: (at, said_at) for at, said_at in found}.items():
            extent = self._measure(path)
            if extent is not None and _is_captured(snapshot, path, extent):
                continue
            due_at = min(now, said_at) + (0 if at.ended else self._silence_us)
            state = snapshot.transcript(escape_surrogates(path))
            waits = state is not None and state.due_at is not None and state.format == at.format
            if waits and not at.ended and abs(due_at - state.due_at) < _MIN_POSTPONE_US:  # type: ignore[operator, union-attr]
                continue
            seen = state if extent is None else extent
            changes.append(_queue_change(path, at.format, due_at, _NEVER_SEEN if seen is None else seen.changed_at))
        return changes

    def queue_failed(self, snapshot: Snapshot, context: Context) -> list[Change]:
        """What has transcripts taken in again that could not be read; of those that are gone, nothing is to come."""
        now = context.clock.now_us()
        changes: list[Change] = []
        for path, format in snapshot.failed_transcripts():
            extent = self._measure(path)
            changes.append(
                FinishTranscript(path=path, size_bytes=0)
                if extent is None
                else _queue_change(path, format, now, extent.changed_at)
            )
        return changes

    def capture_due(self, context: Context) -> Drained:
        """Take in the next part of the transcript that is due and was written last, if one is."""
        with self._snapshots.snapshot() as snapshot:
            due, next_due_at = snapshot.due_transcript(context.clock.now_us()), snapshot.next_due_at()
            state = None if due is None else snapshot.transcript(escape_surrogates(due[0]))
        if due is None:
            return Drained(next_due_at=next_due_at)
        path, format = due
        skip, unkept = self._partly_read.pop(path, (0, ""))
        extent = self._measure(path)  # before: what is written meanwhile has changed it since
        if extent is None:  # a session that closes without a prompt names a transcript and writes none
            was_there = state is not None and state.changed_at != _NEVER_SEEN
            return self._finish(path, 0, f"{path} was there and is gone" if was_there else "", context)
        try:
            taken = self._transcribing.capture_part(
                CaptureTranscript(path=path, format=format, scope=None, skip=skip), context, by_itself=True
            )
        except BadInput as error:
            return self._finish(path, 0, str(error), context)
        except ActorFailed as error:  # the second time it is this transcript that the Store fails on
            if path in self._refused:
                return self._finish(path, 0, str(error), context)
            self._refused.add(path)
            raise
        except MnemicError:
            raise
        except Exception as error:  # a reader's defect must not keep the others waiting: logged, and doctor shows it
            _log.error("a transcript of the format %s could not be read: %s", format, type(error).__name__)
            return self._finish(path, 0, f"reading it failed ({type(error).__name__})", context)
        unkept = unkept or next((why for _, why in taken.malformed if why.startswith(NOT_KEPT_PREFIX)), "")
        if not taken.done:
            self._partly_read[path] = taken.taken, unkept
            return Drained(new=taken.new, known=taken.known, left_out=taken.left_out, transcript=path, more=True)
        return self._finish(path, extent.size_bytes, unkept, context, taken)

    def progress(self, context: Context) -> CaptureProgress:
        """What is on its way, and what became of it."""
        now = context.clock.now_us()
        with self._snapshots.snapshot() as snapshot:
            counts, paths = snapshot.capture_progress(now), snapshot.waiting_transcripts(now)
        extents = [self._measure(path) for path in paths]
        size_bytes = sum(extent.size_bytes for extent in extents if extent is not None)
        return msgspec.structs.replace(counts, transcripts_bytes=size_bytes)

    def _finish(
        self, path: str, size_bytes: int, why: str, context: Context, taken: TranscriptCaptured | None = None
    ) -> Drained:
        finished = FinishTranscript(path=path, size_bytes=size_bytes, why=str(escape_surrogates(why)))
        apply_changes([finished], idempotency_key("finish", context.trace, path.encode()), context)
        new, known, left_out = (0, 0, 0) if taken is None else (taken.new, taken.known, taken.left_out)
        return Drained(new=new, known=known, left_out=left_out, transcript=path, more=True)


def _queue_change(path: str, format: str, due_at: int, changed_at: int) -> QueueTranscript:
    return QueueTranscript(path=str(escape_surrogates(path)), format=format, due_at=due_at, changed_at=changed_at)


def _is_captured(snapshot: Snapshot, path: str, extent: FileStat) -> bool:
    """Whether a transcript was read to its end as it is now."""
    state = snapshot.transcript(escape_surrogates(path))
    if state is None or state.taken_at is None or state.why:
        return False
    return (state.size_bytes, state.changed_at) == (extent.size_bytes, extent.changed_at)
