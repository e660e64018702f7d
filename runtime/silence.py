"""Silence: whether a project has asked that nothing of it be remembered by itself.

A file ``.mnemicignore`` in a folder silences it and all below it. Hooks look for it themselves, before they write
(docs/spool.md); what is taken from transcripts in the background is asked here. For one shell there is ``MNEMIC_OFF``,
which hooks read by themselves, too.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import PurePath

__all__ = ["IGNORE", "silenced", "switched_off"]

IGNORE = ".mnemicignore"


def silenced(folder: str | None) -> bool:
    """Whether a folder is silenced now, there or not: the file may have been made a moment ago.

    A folder that is no absolute path is of another machine: it is not silenced.
    """
    if folder is None or not os.path.isabs(folder):
        return False
    path = PurePath(folder)
    return any(os.path.lexists(place / IGNORE) for place in (path, *path.parents))


def switched_off(environment: Mapping[str, str]) -> str:
    """What ``MNEMIC_OFF`` switches off: ``capture``, ``recall``, ``both``, or nothing; what is not known is both."""
    value = environment.get("MNEMIC_OFF", "")
    if value in ("", "0"):
        return ""
    return value if value in ("capture", "recall") else "both"
