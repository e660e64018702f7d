"""Behaviour: the messages, the actor contract, and one file per actor.

Above it stands `mnemic.runtime`, which gives the actors threads, files and clocks; below it stand the pure
functions of `mnemic.algorithms`. Nothing here does I/O: what an actor needs from outside is a port, handed in.
"""

__all__: list[str] = []
