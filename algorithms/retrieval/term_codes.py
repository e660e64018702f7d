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
CHECKSUM_MASK = (1 << 62) - 1
"""Checksums are modulo 2**62, so that SQLite adds two of them exactly."""
_NUMBER_BITS, _MOST_TOLD = 48, 255
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
    """Each term once, ascending by number, `CODE_BYTES` each; one that occurs more than 255 times stands again."""
    words: int
    """How many there are, each as often as it occurs."""
    total: int
    """The sum of their numbers, each as often as it occurs."""


@lru_cache(_MOST_CACHED)
def term_number(term: str) -> int:
    """The number of a term, below 2**48."""
    digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=_NUMBER_BITS // 8).digest()
    return int.from_bytes(digest, "little")


def encode_terms(terms: Sequence[str]) -> EncodedTerms:
    """The terms of a text as they are kept."""
    counts = sorted(Counter(map(term_number, terms)).items())
    codes = [
        (min(_MOST_TOLD, count - told) << _NUMBER_BITS | number).to_bytes(CODE_BYTES, "little")
        for number, count in counts
        for told in range(0, count, _MOST_TOLD)
    ]
    return EncodedTerms(b"".join(codes), len(terms), sum([number * count for number, count in counts]))


def decode_total(codes: bytes) -> int:
    """`EncodedTerms.total` of what is kept; bytes behind whole terms do not count."""
    starts = range(0, len(codes) - CODE_BYTES + 1, CODE_BYTES)
    both = (int.from_bytes(codes[start : start + CODE_BYTES], "little") for start in starts)
    return sum((one & (1 << _NUMBER_BITS) - 1) * (one >> _NUMBER_BITS) for one in both)


def checksum_share(row: int, total: int) -> int:
    """What the memory of a row adds to the checksum; `total` is that of its `EncodedTerms`."""
    return (2 * row + 1) * total & CHECKSUM_MASK
