"""Whether anything can be written to a folder just now, told without writing.

Where nothing can (a read-only file system, a full disk, another user's folder), memories are read all the same, and
what reading would write by itself is left out: see `mnemic.runtime.store.schema.connect` for how a store is opened
there. Above: `mnemic.runtime.engine.actor_system`, which hands it to the actors, and whatever tells a user.
"""

from __future__ import annotations

import os
from pathlib import Path

_LEAST_FREE_BYTES = 64 << 10  # one transaction takes some pages of 4 KiB


def unwritable_reason(folder: Path) -> str | None:
    """Why nothing can be written to a folder, as a clause without a full stop; ``None`` where something can.

    Less than 64 KiB of room is none: a transaction takes some pages. Of a folder that is not there, nothing is said.
    """
    try:
        system = os.statvfs(folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"{folder} cannot be looked at ({error.strerror})"
    if system.f_flag & os.ST_RDONLY:
        return f"{folder} is on a read-only file system"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"you may not write to {folder}"
    blocks = system.f_bfree if os.geteuid() == 0 else system.f_bavail  # some are kept for root
    if system.f_blocks and blocks * system.f_frsize < _LEAST_FREE_BYTES:  # some file systems count none at all
        return f"the disk that holds {folder} is full"
    return None
