"""Applying changes of meaning: encoders, and the vectors that they made of memories.

None of it is logged: the Embedder makes it again.
"""

from __future__ import annotations

import apsw
import numpy as np

from mnemic.actors.meaning.changes import AddEncoder, AddVectors, DropEncoder, EncoderName
from mnemic.runtime.store.apply_context import CHANGED, UNCHANGED, ApplyContext, ChangeResult, Handler

UNEMBEDDED = "m.retired_at IS NULL AND NOT EXISTS (SELECT 1 FROM meanings x WHERE x.encoder = ? AND x.memory = m.id)"
"""Whether a memory `m` waits for its meaning by an encoder, whose number is bound to it."""
_CHUNK_VECTORS = 16
"""sqlite-vec makes room for so many vectors at a time: 24 KiB of MiniLM's. Its own 1,024 took 1.6 MB of the smallest
mind, and one of 50,000 vectors was found in 360 us instead of 16, since SQLite follows a chunk page by page."""


def _add_encoder(context: ApplyContext, change: AddEncoder, at: int) -> ChangeResult:
    if encoder_row(context.db, change.encoder) is not None:
        return UNCHANGED
    context.db.execute(
        "INSERT INTO encoders(implementation, model, dimensions) VALUES(?, ?, ?)",
        (change.encoder.implementation, change.encoder.model, change.dimensions),
    )
    row = context.db.last_insert_rowid()
    column = f"embedding float[{int(change.dimensions)}], chunk_size={_CHUNK_VECTORS}"
    context.db.execute(f"CREATE VIRTUAL TABLE vectors_{row} USING vec0({column})")
    return CHANGED


def _drop_encoder(context: ApplyContext, change: DropEncoder, at: int) -> ChangeResult:
    row = encoder_row(context.db, change.encoder)
    if row is None:
        return UNCHANGED
    context.db.execute("DELETE FROM windows WHERE encoder = ?", (row,))
    context.db.execute("DELETE FROM meanings WHERE encoder = ?", (row,))
    context.db.execute(f"DROP TABLE vectors_{row}")
    context.db.execute("DELETE FROM encoders WHERE id = ?", (row,))
    context.rebind_queue.encoder_dropped(row)
    return CHANGED


def _add_vectors(context: ApplyContext, change: AddVectors, at: int) -> ChangeResult:
    db = context.db
    encoder = encoder_row(db, change.encoder)
    if encoder is None:
        raise ValueError(f"no encoder {change.encoder.implementation} {change.encoder.model[:12]} was added")
    dimensions = int(db.execute("SELECT dimensions FROM encoders WHERE id = ?", (encoder,)).get)
    count = sum(len(meaning.spans) for meaning in change.meanings)
    numbers = np.frombuffer(change.vectors, dtype="<f4")
    if numbers.size != count * dimensions:
        raise ValueError(f"{numbers.size} numbers are not {count} vectors of {dimensions}")
    vectors = iter(numbers.reshape(count, dimensions))
    rows_added: list[int] = []
    for meaning in change.meanings:
        windows = [(span, next(vectors)) for span in meaning.spans]
        memory = context.memory_row(meaning.memory)
        if db.execute("SELECT 1 FROM meanings WHERE encoder = ? AND memory = ?", (encoder, memory)).get is not None:
            continue
        rows_added.append(memory)
        db.execute(
            "INSERT INTO meanings(encoder, memory, covered, total) VALUES(?, ?, ?, ?)",
            (encoder, memory, meaning.covered, meaning.total),
        )
        for (start, stop), vector in windows:
            db.execute(
                "INSERT INTO windows(encoder, memory, start, stop) VALUES(?, ?, ?, ?)", (encoder, memory, start, stop)
            )
            db.execute(
                f"INSERT INTO vectors_{encoder}(rowid, embedding) VALUES(?, ?)",
                (db.last_insert_rowid(), vector.tobytes()),
            )
    if not rows_added:
        return UNCHANGED
    _advance_completeness(db, encoder)
    context.rebind_queue.vectors_changed(rows_added)
    return CHANGED


def _advance_completeness(db: apsw.Connection, encoder: int) -> None:
    """Note the row up to which no memory waits for an encoder, so that nobody looks through all of them for one.

    Each memory is passed once.
    """
    complete = db.execute("SELECT complete_to FROM encoders WHERE id = ?", (encoder,)).get
    waits = db.execute(
        f"SELECT m.id FROM memories m WHERE m.id > ? AND {UNEMBEDDED} ORDER BY m.id LIMIT 1", (complete, encoder)
    ).get
    reached = db.execute("SELECT max(id) FROM memories").get if waits is None else int(waits) - 1
    db.execute("UPDATE encoders SET complete_to = ? WHERE id = ?", (reached, encoder))


def reopen_completeness(db: apsw.Connection, row: int) -> None:
    """Have memories from a row on be looked at once more: one of them may wait for its meaning again."""
    db.execute("UPDATE encoders SET complete_to = min(complete_to, ?)", (row - 1,))


def encoder_row(connection: apsw.Connection, name: EncoderName) -> int | None:
    """The row of an encoder, if it was added."""
    row = connection.execute(
        "SELECT id FROM encoders WHERE implementation = ? AND model = ?", (name.implementation, name.model)
    ).get
    return None if row is None else int(row)


MEANING_HANDLERS: dict[type, Handler] = {
    AddEncoder: _add_encoder,
    DropEncoder: _drop_encoder,
    AddVectors: _add_vectors,
}
