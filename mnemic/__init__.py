"""Mnemic: a long-term memory for AI assistants that runs on its user's own machine.

import mnemic

with mnemic.open("~/memories") as mind:
    mind.capture("session.jsonl")
    print(mind.recall("what did we decide about the database?").hits[0].text)
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from mnemic.runtime.version import __version__

if TYPE_CHECKING:
    from mnemic.actors.kernel.contract import Clock
    from mnemic.runtime.api.mind import Mind

__all__ = ["__version__", "open"]

logging.getLogger(__name__).addHandler(logging.NullHandler())  # what is logged is for whoever listens, not for stderr


def open(
    home: str | os.PathLike[str],
    mind: str = "default",
    engine: str = "embedded",
    clock: Clock | None = None,
    seed: bytes | None = None,
    passphrase: str | None = None,
    create: bool = True,
) -> Mind:
    """Open a mind, and make it where there is none. Close it, or use it in a ``with`` block.

    Args:
        home: the folder that holds the minds; ``~`` is the user's own.
        mind: its name.
        engine: where the actors run; ``embedded`` is this process.
        clock: gives the time; the machine's where absent.
        seed: what chance depends on, 32 bytes; the mind's own where absent.
        passphrase: of a mind that is locked by one, or its recovery key; one that is made is locked by it.
        create: whether it is made where it is not there, and its home too.

    Raises:
        mnemic.errors.MindMissing: it is not there, and is not to be made.
        mnemic.errors.MindLocked: it is locked by a passphrase, and none is given.
        mnemic.errors.WrongPassphrase: that one does not open it.
        mnemic.errors.StoreError: it cannot be opened, and nothing was written.
        mnemic.errors.InvalidValue: a name, the engine or a setting is not valid.
    """
    from mnemic.open_mind import open_here  # here, because it loads NumPy and SQLite: `import mnemic` stays cheap

    return open_here(home, mind, engine=engine, clock=clock, seed=seed, passphrase=passphrase, create=create)
