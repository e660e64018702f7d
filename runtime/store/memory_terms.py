"""The word index as the store keeps it: the terms of each memory, and a checksum over all of them.

A memory's row of ``memory_terms`` is written with it, in the same transaction; ``term_totals`` has one row, by which
whoever holds all of them in memory proves that it does (`mnemic.actors.index.word_index`). Nothing else is indexed: a
search by words is done in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import apsw

from mnemic.algorithms.retrieval.term_codes import (
    CHECKSUM_MASK,
    EncodedTerms,
    TermTotals,
    checksum_share,
    encode_terms,
)
from mnemic.algorithms.text.languages.language import Language
from mnemic.algorithms.text.terms import index_terms, language_of
from mnemic.runtime.store.texts import load_text, to_index_text

_PAGE = 10_000


def memory_terms(text: bytes, speaker: str | None) -> tuple[EncodedTerms, Language]:
    """The terms of a memory, of its text and of the name of who spoke, and the language of its text."""
    body = to_index_text(text)
    language = language_of(body)
    return encode_terms([*index_terms(body, language), *index_terms(speaker or "")]), language


def add_terms(connection: apsw.Connection, row: int, terms: EncodedTerms) -> None:
    """Index a memory, which is there."""
    connection.execute("INSERT INTO memory_terms(memory, codes) VALUES(?, ?)", (row, terms.codes))
    connection.execute(
        "UPDATE term_totals SET memories = memories + 1, checksum = (checksum + ?) & ?",
        (checksum_share(row, terms.codes), CHECKSUM_MASK),
    )


def remove_terms(connection: apsw.Connection, rows: Iterable[int]) -> None:
    """Take memories out of the index."""
    for row in rows:
        codes = connection.execute("DELETE FROM memory_terms WHERE memory = ? RETURNING codes", (row,)).get
        if codes is not None:
            connection.execute(
                "UPDATE term_totals SET memories = memories - 1, checksum = (checksum - ?) & ?",
                (checksum_share(row, codes), CHECKSUM_MASK),
            )


def clear_terms(connection: apsw.Connection) -> None:
    """Take all memories out of the index."""
    connection.execute("DELETE FROM memory_terms")
    connection.execute("DELETE FROM term_totals")
    connection.execute("INSERT INTO term_totals VALUES(0, 0)")


def read_totals(connection: apsw.Connection) -> TermTotals:
    """What tells all indexed memories from others; of none where that was lost."""
    found: Any = connection.execute("SELECT memories, checksum FROM term_totals").fetchone()
    return TermTotals(*(found or (0, 0)))


def wrongly_indexed(connection: apsw.Connection) -> tuple[int, bool]:
    """How many memories are not indexed as their texts say, or indexed and not there; and whether the totals hold."""
    wrong, checksum, count = 0, 0, 0
    for row, codes, text, speaker in _pages(
        connection,
        "SELECT m.id, t.codes, m.text, m.speaker FROM memories m LEFT JOIN memory_terms t ON t.memory = m.id"
        " WHERE m.id > ? ORDER BY m.id LIMIT ?",
    ):
        terms, _ = memory_terms(load_text(connection, text), speaker)
        wrong += codes != terms.codes
        checksum += checksum_share(row, terms.codes)
        count += 1
    stray = "SELECT count(*) FROM memory_terms WHERE memory NOT IN (SELECT id FROM memories)"
    wrong += int(connection.execute(stray).get)
    return wrong, read_totals(connection) == TermTotals(count, checksum & CHECKSUM_MASK)


def _pages(connection: apsw.Connection, sql: str) -> Iterator[Any]:
    """Rows that begin with a number, read page by page; each is fetched at once, since others are read meanwhile."""
    last: Any = -1
    while page := connection.execute(sql, (last, _PAGE)).fetchall():
        yield from page
        last = page[-1][0]
