"""What the log keeps of a question about shapes: what was asked, the memories given, and the answers read from them.

Below `mnemic.actors.shaping`.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from mnemic.actors.changes import Part, RecordRecall
from mnemic.actors.events import printable, to_bytes, to_text
from mnemic.actors.excerpts import tokens_of
from mnemic.actors.hits import part_of
from mnemic.actors.messages import Hit
from mnemic.actors.shapes import Answer, Shape
from mnemic.actors.times import to_iso
from mnemic.algorithms import private

__all__ = ["given"]


def given(asked: Shape, hits: Sequence[Hit], answers: Sequence[Answer], unkept: bool) -> RecordRecall:
    """What keeps it, as it is typed at the command; with `unkept`, not what was asked."""
    words = [f"{role}={filler}" for role, filler in asked.pattern.items()]
    words += ["--analogy", *asked.analogy] if asked.analogy else []
    filters = {"session": asked.session, "since": to_iso(asked.since), "until": to_iso(asked.until)}
    words += [word for name, value in filters.items() if value is not None for word in (f"--{name}", value)]
    text = " ".join(_typed(word) for word in words)
    return RecordRecall(
        query="" if unkept else to_text(private.drop(to_bytes(printable(text)))[0]),
        scope=printable(asked.scope),
        returned=tuple(hit.id for hit in hits),
        assistant=printable(asked.assistant),
        session=printable(asked.asking),
        parts=(*map(part_of, hits), *(_told(one) for one in answers if one.memories)),
        tokens=sum(tokens_of(hit.text) for hit in hits),
        occasion="shape",
    )


def _typed(word: str) -> str:
    """A word in quotes where a shell needs them; what is in them stays in one piece, so that erasing finds it there."""
    if shlex.quote(word) == word:
        return word
    mark = '"' if "'" in word else "'"
    return f"{mark}{word}{mark}"


def _told(answer: Answer) -> Part:
    """That an answer was given: beside the best memory that it was read from, and without any of that one's words."""
    why = f"{answer.role}: {answer.filler} {answer.confidence:.2f}"
    return Part(memory=answer.memories[0], start=0, stop=0, why=why)
