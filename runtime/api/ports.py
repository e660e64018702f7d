"""What the verbs of a mind need from above: the readers of the hosts' files, handed in when the parts are put together.

Each is called only by the verb that needs it, so that it may load what it needs by then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["HostPorts"]


@dataclass(frozen=True, slots=True)
class HostPorts:
    """What knows the hosts."""

    find_transcripts: Callable[[str], Sequence[str]]
    """The transcripts in a file or folder."""
    hook_reply: Callable[..., bytes]
    """What a hook prints, as its host takes it; see `mnemic.hooks.read.hook_reply.hook_reply`."""
