"""The words of a memory as they are kept: each term's number and count, and a checksum over all memories.

A term is known by a number that follows from it alone (BLAKE2b, 48 bits; among a million terms two have the same number
once in 560 minds), so that nothing has to be looked up or kept to write or find one. Nothing heavy is imported here.
Above stand the store, which keeps `encode_terms`, and `mnemic.algorithms.retrieval.inverted_index`, which reads it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

CODE_BYTES = 7
"""Bytes of a term: its number, six bytes, the low one first, and how often it occurs."""
DIGEST_MODULUS = (1 << 61) - 1
"""A prime: two memories whose terms differ have the same digest once in as many."""
CHECKSUM_MASK = (1 << 62) - 1
"""Checksums are modulo 2**62, so that SQLite adds two of them exactly."""
_NUMBER_BYTES, _MOST_TOLD = 6, 255
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
    """Each term once, `CODE_BYTES` each, as they come first; one that occurs more than 255 times stands again."""
    words: int
    """How many there are, each as often as it occurs."""


def term_number(term: str) -> int:
    """The number of a term, below 2**48."""
    return int.from_bytes(_code(term)[:_NUMBER_BYTES], "little")


def encode_terms(terms: Sequence[str]) -> EncodedTerms:
    """The terms of a text as they are kept."""
    counts = Counter(terms)
    if len(counts) == len(terms):
        return EncodedTerms(b"".join(map(_code, counts)), len(terms))
    codes = [_code(term) if count == 1 else _repeated(term, count) for term, count in counts.items()]
    return EncodedTerms(b"".join(codes), len(terms))


def checksum_share(row: int, codes: bytes) -> int:
    """What the memory of a row adds to the checksum."""
    return (2 * row + 1) * (int.from_bytes(codes, "little") % DIGEST_MODULUS) & CHECKSUM_MASK


@lru_cache(_MOST_CACHED)
def _code(term: str) -> bytes:
    """A term that occurs once."""
    return hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=_NUMBER_BYTES).digest() + b"\1"


def _repeated(term: str, count: int) -> bytes:
    """A term that occurs so often."""
    number = _code(term)[:_NUMBER_BYTES]
    whole, rest = divmod(count, _MOST_TOLD)
    return (number + bytes([_MOST_TOLD])) * whole + (number + bytes([rest]) if rest else b"")
