"""Drops what its author marked as private: everything between ``<private>`` and ``</private>``, tags included.

Nothing takes its place. Where the marking leaves a choice, more is dropped rather than less: a word too few can be said
again, a word too many stays on a disk.

* Nested tags reach to the outermost end; one that is never closed, to the end of the text.
* Inside of quotes and code blocks the tags mean what they mean elsewhere: that is where people paste what is private.
* A tag alone between two backticks is a text that speaks of the tag, as this one does in Markdown.
* A closing tag that closes nothing stays as it is.

Above this: `mnemic.runtime.secrets.secrets`.
"""

from __future__ import annotations

import re

_TAG = re.compile(rb"<\s{0,8}(/?)\s{0,8}private(?:\s[^<>]{0,80})?>", re.IGNORECASE)
_MAX_TAG_BYTES = 112
"""Bytes that a tag can have, rounded up."""


def drop_private(text: bytes) -> tuple[bytes, int]:
    """Return what is left of a text and how many stretches were dropped; the text itself where none was.

    Linear in the text. Dropping twice is dropping once: where a drop brings together two halves that make an opening
    tag, that tag opens.
    """
    opening = _opening(text, 0)
    if opening is None:
        return text, 0
    kept, count, at = bytearray(), 0, 0
    while opening is not None:
        kept += text[at : opening.start()]
        count += 1
        at = _closed(text, opening.end())
        while (seam := _tag_across(kept, text, at)) is not None:
            start, end = seam
            del kept[start:]
            at = _closed(text, end)
        opening = _opening(text, at)
    kept += text[at:]
    return bytes(kept) if kept.strip() else b"", count


def _opening(text: bytes, at: int) -> re.Match[bytes] | None:
    """The next opening tag."""
    return next((tag for tag in _TAG.finditer(text, at) if not tag[1] and not _named_private(text, tag)), None)


def _closed(text: bytes, at: int) -> int:
    """Where the stretch ends whose opening tag ends at a place."""
    depth = 1
    for tag in _TAG.finditer(text, at):
        if _named_private(text, tag):
            continue
        depth += -1 if tag[1] else 1
        if not depth:
            return tag.end()
    return len(text)


def _tag_across(kept: bytearray, text: bytes, at: int) -> tuple[int, int] | None:
    """An opening tag that begins at the end of what is kept and ends in what follows: from where, up to where."""
    left = bytes(kept[-_MAX_TAG_BYTES:])
    both = left + text[at : at + _MAX_TAG_BYTES]
    for tag in _TAG.finditer(both):
        if tag.start() < len(left) < tag.end() and not tag[1] and not _named_private(both, tag):
            return len(kept) - len(left) + tag.start(), at + tag.end() - len(left)
    return None


def _named_private(text: bytes, tag: re.Match[bytes]) -> bool:
    """Whether a tag stands alone between backticks."""
    before = text[max(tag.start() - 1, 0) : tag.start()]
    return before == b"`" == text[tag.end() : tag.end() + 1]
