"""The words of a memory as they are kept: the numbers of their terms, and a checksum over all memories.

A term is known by a number that follows from it alone (BLAKE2b, 48 bits; among a million terms two have the same number
once in 560 minds), so that nothing has to be looked up or kept to write or find one. Nothing heavy is imported here.
Above stand the store, which keeps `encode_terms`, and `mnemic.algorithms.retrieval.inverted_index`, which reads it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

CODE_BYTES = 6
"""Bytes of a term's number, the low one first."""
CHECKSUM_MASK = (1 << 62) - 1
"""Checksums are modulo 2**62, so that SQLite adds two of them exactly."""
_MOST_CACHED = 1 << 15  # terms; a mind says most of its words with these


class TermTotals(NamedTuple):
    """What tells all indexed memories from others."""

    memories: int
    """How many there are."""
    checksum: int
    """The sum of their `checksum_share`, modulo 2**62."""


class EncodedTerms(NamedTuple):
    """The terms of one text."""

    codes: bytes
    """The number of each term as often as it occurs, ascending, `CODE_BYTES` each."""
    total: int
    """The sum of the numbers."""


@lru_cache(_MOST_CACHED)
def term_number(term: str) -> int:
    """The number of a term, below 2**48."""
    digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=CODE_BYTES).digest()
    return int.from_bytes(digest, "little")


def encode_terms(terms: Iterable[str]) -> EncodedTerms:
    """The terms of a text as they are kept."""
    numbers = sorted(map(term_number, terms))
    return EncodedTerms(b"".join([number.to_bytes(CODE_BYTES, "little") for number in numbers]), sum(numbers))


def decode_total(codes: bytes) -> int:
    """The sum of the numbers that are kept; bytes behind whole ones do not count."""
    starts = range(0, len(codes) - CODE_BYTES + 1, CODE_BYTES)
    return sum(int.from_bytes(codes[start : start + CODE_BYTES], "little") for start in starts)


def checksum_share(row: int, total: int) -> int:
    """What the memory of a row adds to the checksum; `total` is the sum of its terms' numbers."""
    return (2 * row + 1) * total & CHECKSUM_MASK
