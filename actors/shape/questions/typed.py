"""A question by structure as it is typed at the command; Mnemic keeps it in this form."""

from __future__ import annotations

import shlex

from mnemic.actors.kernel.message import format_id
from mnemic.actors.kernel.times import to_iso
from mnemic.actors.shape.messages import Shape


def as_typed(asked: Shape) -> str:
    """A question as it is typed at the command."""
    words = [f"{role}={filler}" for role, filler in asked.pattern.items()]
    words += ["--analogy", *asked.analogy] if asked.analogy else []
    words += [word for one in asked.like for word in ("--like", str(format_id(one)))]
    words += [flag for flag, given in (("--here", asked.here), ("--strict", asked.strict)) if given]
    filters = {"session": asked.session, "since": to_iso(asked.since), "until": to_iso(asked.until)}
    words += [word for name, value in filters.items() if value is not None for word in (f"--{name}", value)]
    return " ".join(map(_shell_quoted, words))


def _shell_quoted(word: str) -> str:
    """A word in quotes where a shell needs them; what is in them stays in one piece, so that erasing finds it there."""
    if shlex.quote(word) == word:
        return word
    mark = '"' if "'" in word else "'"
    return f"{mark}{word}{mark}"
