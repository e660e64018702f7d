"""Queries for vectors, and for the memories that wait for theirs.

Part of `mnemic.runtime.store.reader.StoreSnapshot`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

import apsw
import numpy as np

from mnemic.actors.kernel.events import DEFAULT_KINDS, KINDS
from mnemic.actors.meaning.changes import EncoderName
from mnemic.actors.meaning.messages import EmbedProgress
from mnemic.actors.meaning.queries import Pending, VectorBlock
from mnemic.runtime.store.meaning.write import UNEMBEDDED, encoder_row
from mnemic.runtime.store.rows import AT_ONCE, int_columns
from mnemic.runtime.store.texts import load_text

_BULK = "(" + ", ".join(f"'{kind}'" for kind in KINDS if kind not in DEFAULT_KINDS) + ")"


class MeaningQueries:
    """What a snapshot tells of meaning; see `mnemic.actors.meaning.queries.MeaningSnapshot`."""

    _db: apsw.Connection
    _memory_counts: Callable[[], tuple[int, int]]

    def encoders(self) -> list[EncoderName]:
        return [EncoderName(*row) for row in self._db.execute("SELECT implementation, model FROM encoders ORDER BY id")]

    def vectors(self, encoder: EncoderName, after_window: int) -> VectorBlock:
        number = encoder_row(self._db, encoder)
        if number is None:
            none = np.empty(0, np.int64)
            return VectorBlock(none, none, none, np.empty((0, 0), np.float32))
        dimensions = int(self._db.execute("SELECT dimensions FROM encoders WHERE id = ?", (number,)).get)
        found: list[Any] = self._db.execute(
            "SELECT id, memory, start FROM windows WHERE encoder = ? AND id > ? ORDER BY id", (number, after_window)
        ).fetchall()
        window, row, start = int_columns(found, 3)
        vectors = np.empty((len(found), dimensions), "<f4")
        # sqlite-vec scans all rows for a range of them; beyond a tenth of all, that is faster than one by one.
        count = "SELECT count(*) FROM windows WHERE encoder = ?"
        if found and len(found) > int(self._db.execute(count, (number,)).get) // 10:  # to count takes long, too
            rows = self._db.execute(f"SELECT rowid, embedding FROM vectors_{number}")
            while some := list(islice(rows, AT_ONCE)):  # all at once would be in memory twice
                ids, blobs = zip(*some, strict=True)
                place = np.searchsorted(window, ids)
                new = np.array(ids) > after_window
                block = np.frombuffer(b"".join(blobs), "<f4").reshape(len(blobs), dimensions)
                vectors[place[new]] = block[new]
        else:
            one = f"SELECT embedding FROM vectors_{number} WHERE rowid = ?"
            for vector, (number_of_window, _, _) in zip(vectors, found, strict=True):
                vector[:] = np.frombuffer(self._db.execute(one, (number_of_window,)).get, "<f4")
        return VectorBlock(window, row, start, vectors)

    def pending_embeddings(self, encoder: EncoderName, after_row: int, bulk: bool, limit: int) -> list[Pending]:
        number = encoder_row(self._db, encoder) or 0
        complete = int(self._db.execute("SELECT complete_to FROM encoders WHERE id = ?", (number,)).get or 0)
        found: list[Any] = self._db.execute(
            "SELECT m.id, m.uuid, m.kind, m.speaker, m.text FROM memories m WHERE m.id > ? AND m.kind"
            f" {'' if bulk else 'NOT'} IN {_BULK} AND {UNEMBEDDED} ORDER BY m.id LIMIT ?",
            (max(after_row, complete), number, limit),
        ).fetchall()
        return [
            Pending(row, uuid, kind, speaker, load_text(self._db, text)) for row, uuid, kind, speaker, text in found
        ]

    def embed_progress(self, encoder: EncoderName) -> EmbedProgress:
        memories, retired = self._memory_counts()
        embedded, partly = self._embedded_counts(encoder_row(self._db, encoder) or 0)
        return EmbedProgress(done=embedded, pending=memories - retired - embedded, partly=partly)

    def _embedded_counts(self, encoder: int) -> tuple[int, int]:
        """How many memories have their meaning, and how many of them a part of it, without those that are retired."""
        all_of_them = "SELECT count(*), coalesce(sum(covered < total), 0) FROM meanings WHERE encoder = ?"
        hidden = (  # few, and found by their own index: to join all would take longer the more there are
            "SELECT count(*), coalesce(sum(x.covered < x.total), 0) FROM memories m"
            " CROSS JOIN meanings x ON x.encoder = ? AND x.memory = m.id WHERE m.retired_at IS NOT NULL"
        )
        (whole, partly), (less, less_partly) = (
            next(self._db.execute(sql, (encoder,))) for sql in (all_of_them, hidden)
        )
        return int(whole - less), int(partly - less_partly)
