"""Disables core dumps, so that no image of keys and memories is written to disk.

For Mnemic's own processes: every command, whatever `mnemic serve` starts, and the workers of actors on Ray. A program
that uses Mnemic as a library decides for itself.
"""

from __future__ import annotations

import resource

__all__ = ["disable_core_dumps"]

_CORE_LIMIT_BYTES = 1


def disable_core_dumps() -> None:
    """Have the system write no core file of this process, nor of those it starts.

    A limit of 1 byte and not of 0: where cores are piped to a program (systemd-coredump, apport), Linux takes no notice
    of 0 and refuses 1 (core(5), ``fs/coredump.c``); where they are files, both are less than it writes. The hard limit
    stays as it is, so that whoever looks for a fault can raise it again.

    And no more than that: a process that is not "dumpable" (prctl(2), ``PR_SET_DUMPABLE``) has its ``/proc`` files
    taken over by root, and then neither the clearing of what a killed Ray left behind nor any measuring of memory works
    for the user whose process it is. Whoever runs as that user can read the key file anyway.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    least = _CORE_LIMIT_BYTES if hard == resource.RLIM_INFINITY else min(_CORE_LIMIT_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_CORE, (least, hard))
