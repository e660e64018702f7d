"""Doctor checks of one mind: key, database pages, word index, clock, write-ahead log.

Everything is read by connections of its own: a process that serves the mind, and its writer, go on meanwhile.

Looks at the hypervectors of a mind: which memories wait for theirs, and which could not be given any.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import apsw

from mnemic.actors.protocol.contract import Clock
from mnemic.actors.protocol.errors import DamagedStore, KeyMismatch, KeyMissing, MindLocked, MnemicError, StoreBusy
from mnemic.runtime.doctor.checks import Check, failed_check, format_size, pluralize
from mnemic.runtime.engine.settings import Settings
from mnemic.runtime.keys.key_slots import KeyHeader, is_locked, open_by_file, parse_key_header
from mnemic.runtime.keys.keys import Keys
from mnemic.runtime.minds.homes import MindFolder, mind_folder, open_mind, write_key_header
from mnemic.runtime.store.rebind_queue import BINDING_FAILED
from mnemic.runtime.store.schema import BUSY_TIMEOUT_S, LATEST_SCHEMA, check_schema, connect, translate_errors

__all__ = [
    "check_clock",
    "check_codes",
    "check_key",
    "check_store",
    "check_wal",
    "checkpoint",
    "open_if_possible",
    "rewrite_key_header",
    "unembedded_count",
]

_FAULTS = 20
_PAGE = re.compile(r"[Pp]age (\d+)")
_SKEW_US = 60 * 1_000_000
"""So much a clock may be set back, as time servers do, without anything to say."""
_LONG_LOG_BYTES = 64 << 20
"""Four times what SQLite cuts it down to when it can."""


# --- key and card ----------------------------------------------------------------------------------------------------


def check_key(home: Path, mind: str, keys: Keys | None = None) -> Iterator[Check]:
    """Whether key, card and store belong together.

    Args:
        keys: of a mind that is locked, where somebody said its passphrase.
    """
    try:
        open_mind(home, mind)
    except MindLocked:
        if keys is not None:
            yield Check("key", "ok", "the passphrase opens it")
        else:
            told = "it is locked by its passphrase, and its store was not looked at"
            yield Check("key", "advice", told, "In a terminal `mnemic doctor` asks for the passphrase.")
    except MnemicError as error:
        if isinstance(error, DamagedStore | KeyMismatch) and _recover_key_header(mind_folder(home, mind)) is not None:
            yield Check("key", "ok", "it opens the store")
            told = (
                f"The card {mind_folder(home, mind).key_header} is damaged, or another mind's; key and store are well."
            )
            yield Check("mind", "wrong", told, "--repair writes the card again.", True)
        else:
            yield failed_check("key" if isinstance(error, KeyMissing | KeyMismatch) else "mind", error)
    else:
        yield Check("key", "ok", "it is this mind's")


def open_if_possible(home: Path, mind: str, keys: Keys | None = None) -> tuple[MindFolder, Keys] | None:
    """A mind's folder and keys, if it can be opened; the key is proven by its card, or else by the store.

    Args:
        keys: of a mind that is locked, where somebody said its passphrase.
    """
    try:
        if keys is not None:
            return mind_folder(home, mind), keys
        return open_mind(home, mind)
    except (DamagedStore, KeyMismatch):
        folder = mind_folder(home, mind)
        again = _recover_key_header(folder)
        try:
            return None if again is None else (folder, open_by_file(again, folder.key.read_bytes(), folder.key))
        except (MnemicError, OSError):  # what a passphrase locks
            return None
    except (MnemicError, OSError):  # the check of the key says which
        return None


def rewrite_key_header(home: Path, mind: str) -> str:
    """Write a mind's card again, for a key that opens the store; returns what was done.

    Raises:
        MnemicError: there is no such key.
    """
    folder = mind_folder(home, mind)
    card = _recover_key_header(folder)
    if card is None:
        open_mind(home, mind)
        raise KeyMismatch(path=str(folder.key), why="it does not open the store")
    write_key_header(folder, card)
    return f"wrote {folder.key_header.name} again for the key that opens the store"


def _recover_key_header(folder: MindFolder) -> KeyHeader | None:
    """The card that a mind should have, where its own is of no use; ``None`` where nothing tells.

    The copy is right where the key file opens the store by it, or where a passphrase locks the mind, and the card
    itself is no card.
    """
    try:
        card = parse_key_header(folder.key_header_copy.read_bytes(), folder.key_header_copy)
        if not is_locked(card):
            keys = open_by_file(card, folder.key.read_bytes(), folder.key)
            return card if _opens(folder.store, keys) else None
        try:
            parse_key_header(folder.key_header.read_bytes(), folder.key_header)
        except (DamagedStore, OSError):
            return card
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


# --- the store -------------------------------------------------------------------------------------------------------


def check_store(home: Path, mind: str, keys: Keys | None = None) -> Iterator[Check]:
    """Whether every page is whole and of this schema, and every memory in the word index."""
    found = open_if_possible(home, mind, keys)
    if found is None:
        return  # which the check of the key says
    folder, keys = found
    with translate_errors(folder.store), closing(connect(folder.store, keys)) as connection:
        schema = check_schema(connection, folder.store, LATEST_SCHEMA)
        if schema < LATEST_SCHEMA:
            advice = "The next command that opens the mind does it, after a copy."
            yield Check("store", "advice", f"schema {schema} is to become {LATEST_SCHEMA}", advice)
            return
        faults = [str(row) for (row,) in connection.execute(f"PRAGMA quick_check({_FAULTS})") if row != "ok"]
        words = [row for row in faults if "fts5" in row.lower()]
        pages = [row for row in faults if row not in words]
        if pages:
            remedy = "Leave the file as it is and put back a copy of the mind's folder."
            yield Check("store", "wrong", f"The store {folder.store} is damaged: {_fault(pages)}.", remedy)
            return
        yield Check("store", "ok", "every page is whole")
        try:
            yield _words(connection, words)
        except apsw.Error as error:  # its tables cannot be read at all
            yield _damaged_words(type(error).__name__)


def _fault(said: Sequence[str]) -> str:
    """What SQLite found, in a clause. From the first page that cannot be read on it complains of all the others."""
    lines = [line.strip() for row in said for line in row.splitlines() if line.strip() and not line.startswith("***")]
    first = lines[0] if lines else "SQLite does not say how"
    unread = ("unable to get", "failed to get")
    if any(words in first for words in unread):
        return f"its page {_PAGE.findall(first)[-1]} cannot be read"
    return f"it has {pluralize(len(lines), 'fault')}, the first: {first}"


def _words(connection: apsw.Connection, faults: Sequence[str]) -> Check:
    """Whether the index has as many words of each memory as were counted when it was kept, and nothing else."""
    if faults:
        return _damaged_words(" ".join(faults[0].split()))
    kept = dict(connection.execute("SELECT id, words FROM memories"))
    indexed = {row for (row,) in connection.execute("SELECT id FROM words_docsize")}
    counts = dict(connection.execute("SELECT doc, count(*) FROM word_instances GROUP BY doc"))
    differing = sum(row not in indexed or words != counts.get(row, 0) for row, words in kept.items())
    differing += len((indexed | counts.keys()) - kept.keys())
    if differing:
        told = f"{pluralize(differing, 'memory is', 'memories are')} not in the word index as kept"
        return Check("words", "wrong", told, _REINDEX, True)
    return Check("words", "ok", "every memory is in the word index")


_REINDEX = "--repair makes the index again from the log."


def _damaged_words(why: str) -> Check:
    return Check("words", "wrong", f"the word index is damaged ({why})", _REINDEX, True)


def unembedded_count(folder: MindFolder, keys: Keys) -> int:
    """How many memories have no meaning yet."""
    with translate_errors(folder.store), closing(connect(folder.store, keys)) as connection:
        return int(
            connection.execute(
                "SELECT count(*) FROM memories WHERE id NOT IN"
                " (SELECT memory FROM meanings WHERE encoder = (SELECT max(id) FROM encoders))"
            ).get
        )


# --- the clock -------------------------------------------------------------------------------------------------------


def check_clock(home: Path, mind: str, now: Clock, *, readable: bool, keys: Keys | None = None) -> Iterator[Check]:
    """Whether anything was made later than now.

    Args:
        readable: whether the store can be asked, too.
    """
    folder = mind_folder(home, mind)
    made = {path.name: _made_us(path) for path in (folder.key, folder.key_header) if path.exists()}
    found = open_if_possible(home, mind, keys) if readable else None
    if found is not None:
        with translate_errors(folder.store), closing(connect(*_store_and_keys(found))) as connection:
            made["the newest memory"] = connection.execute("SELECT max(recorded_at) FROM memories").get or 0
    if not made:
        return
    now_us = now.now_us()  # read last: whatever is kept meanwhile is not later than this
    latest = max(made, key=lambda name: made[name])
    ahead_us = made[latest] - now_us
    if ahead_us <= _SKEW_US:
        yield Check("clock", "ok", "nothing was made later than now")
        return
    told = f"the clock is behind: {latest} was made {_span(ahead_us / 1e6)} later than it is now"
    remedy = "Set the clock; until then, what is captured counts as older than what was known before it."
    yield Check("clock", "wrong", told, remedy)


def _store_and_keys(found: tuple[MindFolder, Keys]) -> tuple[Path, Keys]:
    return found[0].store, found[1]


def _made_us(path: Path) -> int:
    """When a file was last written, or, of a card, when it says that the mind was made."""
    written = path.stat().st_mtime_ns // 1000
    if path.suffix != ".json":
        return written
    try:
        return max(written, int(json.loads(path.read_bytes())["made_at_us"]))
    except (ValueError, KeyError, TypeError):
        return written  # another check says that it is damaged


def _span(seconds: float) -> str:
    for size, unit in ((86_400.0, "day"), (3600.0, "hour"), (60.0, "minute")):
        if seconds >= size:
            return pluralize(round(seconds / size), unit)
    return pluralize(round(seconds), "second")


# --- the write-ahead log ---------------------------------------------------------------------------------------------


def check_wal(home: Path, mind: str) -> Iterator[Check]:
    """Whether the write-ahead log has outgrown what it is for."""
    path = _log_of(mind_folder(home, mind))
    size = path.stat().st_size if path.exists() else 0
    if size > _LONG_LOG_BYTES:
        told = f"{path} holds {format_size(size)} that are not in the store's own file yet"
        yield Check("wal", "advice", told, "--repair takes them over and empties it.", True)
    else:
        yield Check("wal", "ok", f"the write-ahead log holds {format_size(size)}")


def checkpoint(home: Path, mind: str, keys: Keys | None = None) -> str:
    """Take the write-ahead log over into the store's file and empty it, after whoever reads or writes; says so.

    Raises:
        StoreBusy: somebody read or wrote all the time.
        MnemicError: the mind cannot be opened.
    """
    folder, keys = open_mind(home, mind) if keys is None else (mind_folder(home, mind), keys)
    before = os.stat(_log_of(folder)).st_size
    with translate_errors(folder.store), closing(connect(folder.store, keys)) as connection:
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() or (1, 0, 0)
        if busy:
            raise StoreBusy(path=str(folder.store), waited_s=BUSY_TIMEOUT_S)
    return f"took {format_size(before)} over into the store's file"


def _log_of(folder: MindFolder) -> Path:
    return folder.store.with_name(f"{folder.store.name}-wal")


_LOST = (
    "SELECT count(*) FROM memories m WHERE m.retired_at IS NULL"
    " AND NOT EXISTS (SELECT 1 FROM unbound u WHERE u.memory = m.id)"
    " AND NOT EXISTS (SELECT 1 FROM codes c WHERE c.memory = m.id)"
)
_WHY = "`mnemic.log` or `serve.log` in the home says why"


def check_codes(folder: MindFolder, keys: Keys, able: bool, settings: Settings) -> Iterator[Check]:
    """How many memories are not found by their shape.

    Args:
        able: whether there is a model: then a memory that is not embedded yet waits for that first.
        settings: those of the home.
    """
    ready = "encoder > 0" if able else f"encoder != {BINDING_FAILED}"
    with translate_errors(folder.store), closing(connect(folder.store, keys)) as connection:
        waiting = int(connection.execute(f"SELECT count(*) FROM unbound WHERE {ready}").get)
        failed = int(connection.execute("SELECT count(*) FROM unbound WHERE encoder = ?", (BINDING_FAILED,)).get)
        lost = int(connection.execute(_LOST).get)
    if failed:
        remedy = f"{_WHY}. Once that is mended, and a process that serves is ended, --repair binds them."
        extractor = settings["binder.extractor"]
        what = f"the extractor {extractor!r} failed on them" if extractor else "reading or binding them failed"
        has = pluralize(failed, "memory has", "memories have")
        yield Check(
            "shape",
            "advice",
            f"{has} no facts, no roles of your own, or no shape at all: {what}",
            remedy,
            repairable=True,
        )
    if lost:
        told = f"{pluralize(lost, 'memory', 'memories')} could not be bound, and cannot be found by shape"
        yield Check("shape", "advice", told, f"{_WHY}: report it with that line.")
    if waiting:
        told = f"{pluralize(waiting, 'memory waits', 'memories wait')} to be bound"
        yield Check("shape", "advice", told, "The next `mnemic capture` does it, or an assistant's session.")
    if not (failed or lost or waiting):
        yield Check("shape", "ok", "every memory that is embedded is found by its shape too")
