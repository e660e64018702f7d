"""Silence: whether a project has asked that nothing of it be remembered by itself.

A file ``.mnemicignore`` in a folder silences it and all below it. Hooks look for it themselves, before they write
(docs/spool.md); what is taken from transcripts in the background is asked here.
"""

from __future__ import annotations

import os
from pathlib import PurePath

__all__ = ["IGNORE", "silenced"]

IGNORE = ".mnemicignore"


def silenced(folder: str | None) -> bool:
    """Whether a folder is silenced now, there or not: the file may have been made a moment ago.

    A folder that is no absolute path is of another machine: it is not silenced.
    """
    if folder is None or not os.path.isabs(folder):
        return False
    path = PurePath(folder)
    return any(os.path.lexists(place / IGNORE) for place in (path, *path.parents))
