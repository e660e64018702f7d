"""Doctor checks of one mind: key, pages, word index, clock, write-ahead log, commits, embeddings, hypervectors."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import apsw

from mnemic.actors.kernel.errors import DamagedStore, KeyMismatch, KeyMissing, MindLocked, MnemicError, StoreBusy
from mnemic.actors.kernel.message import format_id
from mnemic.actors.sleep.consolidator import FAILURES_ALLOWED
from mnemic.actors.sleep.registry import absent_stages
from mnemic.actors.store.messages import LostTransactions
from mnemic.runtime.api.reports import format_size, loss_sentence, pluralize
from mnemic.runtime.doctor.capture import format_span
from mnemic.runtime.doctor.checks import Check, Target, failed_check
from mnemic.runtime.engine.settings import load_settings
from mnemic.runtime.keys.key_slots import KeyHeader, is_locked, open_by_file, parse_key_header
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.minds.homes import MindFolder, open_mind, write_key_header
from mnemic.runtime.minds.run_dir import log_path
from mnemic.runtime.store.capture.read import unlabelled_count
from mnemic.runtime.store.high_water import (
    HighWaterMark,
    lost_transactions,
    newest_transaction,
    read_mark,
    unknown_loss,
)
from mnemic.runtime.store.memory_terms import wrongly_indexed
from mnemic.runtime.store.schema import BUSY_TIMEOUT_S, check_schema
from mnemic.runtime.store.shape.rebind_queue import BINDING_FAILED
from mnemic.runtime.store.sleep.read import SleepQueries
from mnemic.runtime.store.store import Store

_FAULTS = 20
_IDS_SHOWN = 5
_PAGE = re.compile(r"[Pp]age (\d+)")
_SKEW_US = 60 * 1_000_000
"""So much a clock may be set back, as time servers do, without anything to say."""
_LONG_LOG_BYTES = 64 << 20
"""Four times what SQLite cuts it down to when it can."""
_WATCH_S = 10.0
_POLL_S = 0.1
_REINDEX = "--repair makes the index again from the log."


def check_key(target: Target) -> Iterator[Check]:
    """Whether key, key header and store belong together; finds the keys with which all others look at the store."""
    folder, said, target.keys = target.folder, target.keys, None
    try:
        target.keys = open_mind(target.home, target.mind, looking=True)[1]
        yield Check("key", "ok", "it is this mind's")
    except MindLocked:
        target.keys = said
        if said is not None:
            yield Check("key", "ok", "the passphrase opens it")
        else:
            told = "it is locked by its passphrase, and its store was not looked at"
            yield Check("key", "advice", told, "In a terminal `mnemic doctor` asks for the passphrase.")
    except MnemicError as error:
        header = _recover_key_header(folder) if isinstance(error, DamagedStore | KeyMismatch) else None
        if header is None:
            yield failed_check("key" if isinstance(error, KeyMissing | KeyMismatch) else "mind", error)
            return
        target.keys = said if is_locked(header) else open_by_file(header, folder.key.read_bytes(), folder.key)
        yield Check("key", "ok", "it opens the store")
        told = f"The key header {folder.key_header} is damaged, or another mind's; key and store are well."
        yield Check("mind", "wrong", told, "--repair writes the key header again.", True)


def rewrite_key_header(target: Target) -> str:
    """Write a mind's key header again, for a key that opens the store; returns what was done.

    Raises:
        MnemicError: there is no such key.
    """
    folder = target.folder
    header = _recover_key_header(folder)
    if header is None:
        open_mind(target.home, target.mind)
        raise KeyMismatch(path=str(folder.key), why="it does not open the store")
    write_key_header(folder, header)
    return f"wrote {folder.key_header.name} again for the key that opens the store"


def _recover_key_header(folder: MindFolder) -> KeyHeader | None:
    """The header that a mind should have, where its own is of no use; ``None`` where nothing tells.

    The copy is right where the key file opens the store by it, or where a passphrase locks the mind, and the header
    itself is none.
    """
    try:
        header = parse_key_header(folder.key_header_copy.read_bytes(), folder.key_header_copy)
        if not is_locked(header):
            return header if _opens(folder.store, open_by_file(header, folder.key.read_bytes(), folder.key)) else None
        try:
            parse_key_header(folder.key_header.read_bytes(), folder.key_header)
        except (DamagedStore, OSError):
            return header
        return None
    except (MnemicError, OSError):  # there is none, or it is not the key's
        return None


def _opens(path: Path, keys: Keys) -> bool:
    """Whether a key opens a store; nothing is written, so that a wrong one does no harm."""
    try:
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            connection.execute("PRAGMA cipher = 'aegis'")
            connection.execute(f"PRAGMA key = 'raw:{keys.store_key.hex()}'")
            return int(connection.execute("PRAGMA user_version").get) > 0
    except apsw.Error:
        return False


def check_store(target: Target) -> Iterator[Check]:
    """Whether every page is whole, in the write-ahead log too, and of this schema; every memory in the word index."""
    if target.keys is None:
        return  # which the check of the key says
    path = target.folder.store
    with target.store() as connection:
        check_schema(connection, path)
        if not connection.readonly("main"):  # nobody takes a log over there
            connection.prove_log()
        faults = [str(row) for (row,) in connection.execute(f"PRAGMA quick_check({_FAULTS})") if row != "ok"]
        if faults:
            yield failed_check("store", DamagedStore(path=str(path), why=_fault(faults)))
            return
        yield Check("store", "ok", "every page is whole")
        yield _words(connection)


def _fault(said: Sequence[str]) -> str:
    """What SQLite found, in a clause. From the first page that cannot be read on it complains of all the others."""
    lines = [line.strip() for row in said for line in row.splitlines() if line.strip() and not line.startswith("***")]
    first = lines[0] if lines else "SQLite does not say how"
    if "unable to get" in first or "failed to get" in first:
        return f"its page {_PAGE.findall(first)[-1]} cannot be read"
    return f"it has {pluralize(len(lines), 'fault')}, the first: {first}"


def _words(connection: apsw.Connection) -> Check:
    """Whether the index has the words of each memory that its text has, and nothing else."""
    with connection:  # one state of all that is compared, whatever is captured meanwhile
        wrong, hold = wrongly_indexed(connection)
    if wrong:
        told = f"{pluralize(wrong, 'memory is', 'memories are')} not in the word index as kept"
        return Check("words", "wrong", told, _REINDEX, True)
    if not hold:
        return Check("words", "wrong", "the checksum of the word index is not that of its memories", _REINDEX, True)
    return Check("words", "ok", "every memory is in the word index")


def rebuild_words(target: Target) -> str:
    """Make the word index again from the log, by way of the home's process where one serves; says so."""
    with target.open_mind() as mind:
        mind.rebuild(progress=lambda done, total: target.progress("log", done, total))
    return "made the word index again from the log"


def check_clock(target: Target) -> Iterator[Check]:
    """Whether a memory was kept later than now."""
    if not target.readable:
        return
    with target.store() as connection:
        latest = connection.execute("SELECT max(recorded_at) FROM memories").get or 0
    ahead_us = latest - target.clock.now_us()  # read last: whatever is kept meanwhile is not later than this
    if ahead_us <= _SKEW_US:
        yield Check("clock", "ok", "nothing was kept later than now")
        return
    told = f"the clock is behind: the newest memory was kept {format_span(ahead_us / 1e6)} later than it is now"
    remedy = "Set the clock; until then, what is captured counts as older than what was known before it."
    yield Check("clock", "wrong", told, remedy)


def check_wal(target: Target) -> Iterator[Check]:
    """Whether the write-ahead log has outgrown what it is for."""
    path = _wal_path(target)
    size = path.stat().st_size if path.exists() else 0
    if size > _LONG_LOG_BYTES:
        told = f"{path} holds {format_size(size)} that are not in the store's own file yet"
        yield Check("wal", "advice", told, "--repair takes them over and empties it.", True)
    elif target.keys is not None:
        yield Check("wal", "ok", f"the write-ahead log holds {format_size(size)}")


def checkpoint(target: Target) -> str:
    """Take the write-ahead log over into the store's file and empty it, after whoever reads or writes; says so.

    Raises:
        StoreBusy: somebody read or wrote all the time.
        DamagedStore: it is not as it was written.
    """
    before = _wal_path(target).stat().st_size
    with target.store() as connection:
        busy, _, _ = connection.empty_log()
        if busy:
            raise StoreBusy(path=str(target.folder.store), waited_s=BUSY_TIMEOUT_S)
    return f"took {format_size(before)} over into the store's file"


def _wal_path(target: Target) -> Path:
    store = target.folder.store
    return store.with_name(f"{store.name}-wal")


def check_commits(target: Target) -> Iterator[Check]:
    """Whether the store has every transaction that was acknowledged, as its high-water mark has it."""
    if not target.readable or target.keys is None:
        return
    find: Callable[[int, int | None], LostTransactions | None]
    try:
        mark = read_mark(target.folder.store, target.keys)  # first: who writes meanwhile makes the store newer than it
        find = (mark or HighWaterMark()).missing
    except DamagedStore:
        find = unknown_loss
    with target.store() as connection:
        lost = list(lost_transactions(connection))
        unseen = find(*newest_transaction(connection))
    if unseen is not None and unseen not in lost:  # nobody has opened it for writing since
        lost.append(unseen)
    if not lost:
        yield Check("commits", "ok", "no transaction that was acknowledged is missing")
        return
    told = "; ".join(loss_sentence(one) for one in lost)
    remedy = "--repair takes in again what the spool and the transcripts hold, and then says no more of it. What you"
    remedy += " kept, corrected or captured yourself in that time is to be told again, or restored from a backup."
    state: Literal["advice", "wrong"] = "advice" if all(one.power_cut or not one.count for one in lost) else "wrong"
    yield Check("commits", state, told, remedy, True)


def recapture_lost(target: Target) -> str:
    """Take in again what hooks and transcripts still hold of what is missing, and take note of the loss; says so."""
    assert target.keys is not None, "it was looked at with them"
    with target.open_mind() as mind:
        again = mind.drain_spool()
    with closing(Store.open(target.folder.store, target.keys)) as store:
        store.accept_losses()
    return f"took in {pluralize(again.new, 'memory')} again that the spool or a transcript held, and noted the loss"


def check_embeddings(target: Target) -> Iterator[Check]:
    """How far meaning lags behind words, and, where a process is at it, whether it catches up."""
    if not target.readable:
        return
    left, failed = unembedded_count(target), _unembeddable_ids(target)
    if failed:
        which = ", ".join(failed[:_IDS_SHOWN]) + (" …" if len(failed) > _IDS_SHOWN else "")
        told = f"{pluralize(len(failed), 'memory is', 'memories are')} found by words only: the model fails on {which}"
        remedy = "Nothing is lost, and the rest is embedded; `embedder` in the log of the home says what failed."
        yield Check("unembeddable", "advice", told, remedy)
    told = f"{pluralize(left, 'memory waits', 'memories wait')} to be embedded"
    if not target.wants_model:
        yield Check("meaning", "ok", "switched off: words find every memory")
    elif not left:
        yield Check("meaning", "ok", "every memory is embedded")
    elif not target.able:
        yield Check("meaning", "advice", told, "Words find them; see to the model.")
    elif not target.serving:
        remedy = "The next `mnemic capture` finishes it, or an assistant's session does."
        yield Check("meaning", "advice", told, remedy)
    else:
        pause = threading.Event()
        for _ in range(round(_WATCH_S / _POLL_S)):
            pause.wait(_POLL_S)
            if unembedded_count(target) < left:
                yield Check("meaning", "advice", f"{told}, and they become fewer", "Wait: the process is at it.")
                return
        remedy = "Ask something, which has it go on where the model came later; `mnemic serve` replaces one that hangs."
        yield Check("meaning", "wrong", f"{told}, and none was in {_WATCH_S:g} s", remedy)


def _unembeddable_ids(target: Target) -> list[str]:
    """The memories that the model in use failed on: they have no window, though there is something to embed."""
    with target.store() as connection:
        found: list[Any] = connection.execute(
            "SELECT m.uuid FROM meanings e JOIN memories m ON m.id = e.memory"
            " WHERE e.encoder = (SELECT max(id) FROM encoders) AND e.covered = 0 AND e.total > 0 AND NOT EXISTS"
            " (SELECT 1 FROM windows w WHERE w.memory = e.memory AND w.encoder = e.encoder) ORDER BY m.id"
        ).fetchall()
    return [str(format_id(memory)) for (memory,) in found]


def unembedded_count(target: Target) -> int:
    """How many memories have no meaning yet."""
    newest = "SELECT memory FROM meanings WHERE encoder = (SELECT max(id) FROM encoders)"
    with target.store() as connection:
        return int(
            connection.execute(f"SELECT count(*) FROM memories WHERE retired_at IS NULL AND id NOT IN ({newest})").get
        )


_UNBINDABLE = (
    "SELECT count(*) FROM memories m WHERE m.retired_at IS NULL"
    " AND NOT EXISTS (SELECT 1 FROM unbound u WHERE u.memory = m.id)"
    " AND NOT EXISTS (SELECT 1 FROM codes c WHERE c.memory = m.id)"
)


def check_shape(target: Target) -> Iterator[Check]:
    """How many memories are not found by their shape; where there is a model, they wait for their meaning first."""
    if not target.readable:
        return
    ready = "encoder > 0" if target.able else f"encoder != {BINDING_FAILED}"
    with target.store() as connection:
        waiting = int(connection.execute(f"SELECT count(*) FROM unbound WHERE {ready}").get)
        failed = int(connection.execute("SELECT count(*) FROM unbound WHERE encoder = ?", (BINDING_FAILED,)).get)
        lost = int(connection.execute(_UNBINDABLE).get)
    why = f"`mnemic.log` or `{log_path(target.home).name}` in the home says why"
    if failed:
        extractor = load_settings(target.home / "mnemic.toml")["binder.extractor"]
        what = f"the extractor {extractor!r} failed on them" if extractor else "reading or binding them failed"
        has = pluralize(failed, "memory has", "memories have")
        told = f"{has} no facts, no roles of your own, or no shape at all: {what}"
        remedy = f"{why}. Once that is mended, and a process that serves is ended, --repair binds them."
        yield Check("shape", "advice", told, remedy, True)
    if lost:
        told = f"{pluralize(lost, 'memory')} could not be bound, and cannot be found by shape"
        yield Check("shape", "advice", told, f"{why}: report it with that line.")
    if waiting:
        told = f"{pluralize(waiting, 'memory waits', 'memories wait')} to be bound"
        yield Check("shape", "advice", told, "The next `mnemic capture` does it, or an assistant's session.")
    if not (failed or lost or waiting):
        yield Check("shape", "ok", "every memory that is embedded is found by its shape too")


def rebind(target: Target) -> str:
    """Bind again that of which something could not be bound, and say what came of it."""
    with target.open_mind() as mind:
        left = mind.rebind_failed(target.progress)
    failing = pluralize(left, "still fails", "still fail")
    return f"bound them again; {failing}" if left else "bound them again, all whole"


_LABELS_SCHEMA = 2  # memories have an author from it on


def check_labels(target: Target) -> Iterator[Check]:
    """How many memories were kept before memories said whose words they hold, and were not looked at since."""
    if not target.readable:
        return
    with target.store() as connection:
        of_before = int(connection.execute("PRAGMA user_version").get) < _LABELS_SCHEMA  # nobody has migrated it yet
        count = "SELECT count(*) FROM memories"
        waiting = int(connection.execute(count).get) if of_before else unlabelled_count(connection)
    if not waiting:
        yield Check("labels", "ok", "every memory says whose words it holds")
        return
    told = f"{pluralize(waiting, 'memory was', 'memories were')} kept before memories said whose words they hold"
    yield Check("labels", "advice", told, "The next night looks at them; `mnemic sleep --stage labels` does it now.")


def check_nights(target: Target) -> Iterator[Check]:
    """Say which stages failed in the nights that had them last, or are not there, and what recalls do not go by."""
    if not target.readable:
        return
    with target.store() as connection:
        nights = SleepQueries(connection)
        failures, verdicts = nights.stage_failures(), nights.verdicts()
    for stage, one in verdicts.items():
        if not one.passed:
            yield Check("nights", "ok", f"recalls do not go by what the stage {stage} derived: {one.why}")
    try:
        named = load_settings(target.home / "mnemic.toml")["sleep.stages"].split()
    except MnemicError:  # which is said by the check of the settings
        named = []
    absent = absent_stages(one for one in named if one not in failures)
    told = [f"the stage {one} failed in {pluralize(count, 'night')} ({why})" for one, (count, why) in failures.items()]
    told += [f"nights go on without a stage: {str(error).rstrip('.')}" for error in absent]
    if not told:
        yield Check("nights", "ok", "no stage of a night fails")
        return
    if any(nights >= FAILURES_ALLOWED for nights, _ in failures.values()):
        last = f"what failed in {FAILURES_ALLOWED} is set aside, and nights go on without it"
        remedy = "--repair has the next night try it again."
        yield Check("nights", "wrong", "; ".join([*told, last]), remedy, True)
    else:
        remedy = absent[0].remedy_text if absent else "The next night tries again."
        yield Check("nights", "advice", "; ".join(told), remedy)


def retry_stages(target: Target) -> str:
    """Have quarantined stages tried again; says so."""
    assert target.keys is not None, "it was looked at with them"
    with closing(Store.open(target.folder.store, target.keys)) as store:
        store.retry_stages()
    return "the next night tries every stage again"
