"""Doctor checks of capture: pauses, the spool's backlog, lost events, quarantined records, unreadable transcripts.

The spool is looked at as it lies there, and the store by a connection of its own. How the hosts are wired is looked at
above (`mnemic.hooks.wire.status`), since only the adapters know it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from mnemic.actors.capture.messages import CaptureProgress
from mnemic.actors.kernel.times import to_iso
from mnemic.runtime.api.reports import STALE_S, format_size, pluralize
from mnemic.runtime.capture.pauses import current_pause
from mnemic.runtime.doctor.checks import Check, Target
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.minds.homes import MindFolder, ensure_spool
from mnemic.runtime.spool.files import QUARANTINE, Backlog, Losses, measure_backlog, read_losses
from mnemic.runtime.spool.frames import FrameDecryptor
from mnemic.runtime.store.capture.read import capture_progress

_RECENT_S = 7 * 86_400.0
"""For so long a loss is wrong; from then on it is history."""
_NAMED = 3


def check_pause(target: Target) -> Iterator[Check]:
    """Whether the mind captures at all; no key is needed to see that."""
    held = current_pause(target.folder.path, target.clock.now_us())
    if held is None:
        yield Check("pause", "ok", "the memory is not paused")
        return
    told, _, remedy = held.sentence().rpartition(": nothing is captured. ")
    yield Check("pause", "wrong" if held.read_error else "advice", f"{told}: nothing is captured", remedy)


def check_capture(target: Target) -> Iterator[Check]:
    """Whether hooks can write, what waits, and what became of the rest."""
    if not target.readable or target.keys is None:
        return
    folder, keys, now_us = target.folder, target.keys, target.clock.now_us()
    with target.store() as connection:
        counts = capture_progress(connection, now_us)
    opener = FrameDecryptor(keys.spool_private, keys.earlier_spool_privates)
    waiting, lost = measure_backlog(folder.spool, counts.offsets, opener), read_losses(folder.spool)
    target.trials = counts.checks
    yield _spool_config(folder, keys)
    yield _backlog(waiting, now_us, serving=target.serving)
    yield losses_check(lost, now_us)
    yield _unreadable_files(folder, waiting, lost)
    yield _records(counts)
    yield _transcripts(counts)


def read_again(target: Target) -> str:
    """Try again what could not be understood or read; says what came of it."""
    with target.open_mind() as mind:
        again = mind.retry_quarantined()
        mind.drain_spool()
    told = f"understood {again.readmitted} of the records now, and read {again.queued} transcripts again"
    return f"{told}; dropped {pluralize(again.gone, 'transcript')} of files that are gone" if again.gone else told


def restore_spool_config(target: Target) -> str:
    """Make again what hooks need to write; says so."""
    assert target.keys is not None, "it was looked at with them"
    ensure_spool(target.folder, target.keys)
    return "made again what hooks need to write"


def _spool_config(folder: MindFolder, keys: Keys) -> Check:
    """Whether hooks seal to this mind's key."""
    remedy = f"--repair makes it again, where {folder.path} can be written."
    try:
        public = json.loads(folder.spool_config.read_bytes())["public"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        return Check("hooks", "wrong", f"{folder.spool_config} cannot be read ({type(error).__name__})", remedy, True)
    if public != keys.spool_public().hex():
        return Check(
            "hooks", "wrong", f"{folder.spool_config} names another key: what hooks write is lost", remedy, True
        )
    if not folder.spool.is_dir():
        return Check("hooks", "wrong", f"{folder.spool} is not there: hooks cannot write", remedy, True)
    return Check("hooks", "ok", "what they need to write is there")


def _backlog(waiting: Backlog, now_us: int, *, serving: bool) -> Check:
    """Whether what hooks wrote is taken in."""
    if waiting.oldest_at is None:
        return Check("spool", "ok", "all that hooks wrote is taken in")
    age_s = max(0.0, (now_us - waiting.oldest_at) / 1e6)
    size, files = format_size(waiting.size_bytes), pluralize(waiting.files, "file")
    told = f"{size} in {files} wait, the oldest for {format_span(age_s)}"
    if age_s <= STALE_S:
        return Check("spool", "ok", told)
    if serving:
        remedy = "`mnemic status` says what is in the way; end the process, and the next command starts another one."
        return Check("spool", "wrong", f"{told}, and the process does not take it in", remedy)
    return Check("spool", "advice", told, "The next recall or status takes it in; nothing is lost meanwhile.")


def losses_check(lost: Losses, now_us: int) -> Check:
    """Whether hooks could write all they had to."""
    if not lost.lost or lost.lost_at is None:
        return Check("losses", "ok", "no event was lost")
    told = f"hooks could not write {pluralize(lost.lost, 'event')} ({format_size(lost.lost_bytes)})"
    told += f", the last at {to_iso(lost.lost_at)}"
    remedy = "See that the disk has room; what the transcripts of those sessions hold is taken from there."
    return Check("losses", "wrong" if now_us - lost.lost_at <= _RECENT_S * 1e6 else "advice", told, remedy)


def _unreadable_files(folder: MindFolder, waiting: Backlog, lost: Losses) -> Check:
    """Whether files lie in the spool that cannot be taken in."""
    if waiting.unreadable:
        told = f"{_names(waiting.unreadable)} in {folder.spool} cannot be opened, or is damaged"
        remedy = (
            "Give back what is not yours to read: it is taken in then. What is damaged is set aside when it is met."
        )
        return Check("strange", "wrong", told, remedy)
    if lost.foreign:
        told = f"{_names(lost.foreign)} in {folder.spool} is sealed to another key, or by a newer version"
        return Check("strange", "wrong", told, "A newer Mnemic or the key of before opens them; nobody removes them.")
    if lost.quarantined:
        files = f"{pluralize(len(lost.quarantined), 'file')} ({format_size(lost.quarantined_bytes)})"
        told = f"{files} held what cannot be opened, and is kept"
        remedy = f"They lie in {folder.spool / QUARANTINE}; remove them once you looked."
        return Check("strange", "advice", told, remedy)
    return Check("strange", "ok", "no file in the spool is damaged, or another key's")


def _records(counts: CaptureProgress) -> Check:
    """Whether all that came was understood."""
    torn = f"; {pluralize(counts.torn, 'place')} of the spool held no whole record" if counts.torn else ""
    if counts.quarantined_count:
        shown = "; ".join(f"{host or 'unknown'} {event}: {why}" for host, event, why in counts.quarantined[:_NAMED])
        records = pluralize(counts.quarantined_count, "record")
        told = f"{records} could not be understood ({' '.join(shown.split())}){torn}"
        remedy = "They are kept; --repair tries them again, after an update too."
        return Check("records", "wrong", told, remedy, True)
    if torn:
        remedy = "A hook was killed, or the disk was full; transcripts hold what these would have held."
        return Check("records", "advice", f"{pluralize(counts.records, 'record')} taken in{torn}", remedy)
    return Check("records", "ok", f"{pluralize(counts.records, 'record')} of hooks taken in")


def _transcripts(counts: CaptureProgress) -> Check:
    """Whether transcripts could be read."""
    told = f"{counts.transcripts} wait to be taken in now, {counts.transcripts_later} later"
    if not counts.transcripts_failed:
        return Check("transcripts", "ok", told)
    failed = counts.transcripts_failed[:_NAMED]
    shown = "; ".join(why if path in why else f"{path}: {why}" for path, why in failed)
    unread = pluralize(len(counts.transcripts_failed), "transcript")
    told = f"{unread} could not be read ({' '.join(shown.split())}); {told}"
    return Check(
        "transcripts", "advice", told, "--repair reads those again that are still there, and drops the others.", True
    )


def _names(files: tuple[str, ...]) -> str:
    more = len(files) - _NAMED
    return ", ".join(files[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def format_span(seconds: float) -> str:
    """A span of time in its largest unit."""
    for size, unit in ((86_400.0, "day"), (3600.0, "hour"), (60.0, "minute")):
        if seconds >= size:
            return pluralize(round(seconds / size), unit)
    return pluralize(round(seconds), "second")
