"""Silence: whether a project has asked that nothing of it be remembered by itself.

A file ``.mnemicignore`` in a folder silences it and all below it. Hooks look for it themselves, before they write
(docs/spool.md); what is taken from transcripts in the background is asked here.
"""

from __future__ import annotations

import os

__all__ = ["IGNORE", "Silence"]

IGNORE = ".mnemicignore"


class Silence:
    """Looks folders up, and remembers what it found for as long as it lives."""

    def __init__(self) -> None:
        self._found: dict[str, bool] = {}

    def __call__(self, folder: str | None) -> bool:
        """Whether a folder is silenced, there or not. One that is no absolute path is of another machine: it is not."""
        if folder is None or not os.path.isabs(folder):
            return False
        if folder not in self._found:
            above = os.path.dirname(folder)
            try:
                own = os.path.lexists(os.path.join(folder, IGNORE))
            except ValueError:  # no file can have this name
                own = False
            self._found[folder] = own or (above != folder and self(above))
        return self._found[folder]
