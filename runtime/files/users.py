"""The users that files belong to."""

from __future__ import annotations

import pwd


def user_name(number: int) -> str:
    """A user's name; the number of one who has none."""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
