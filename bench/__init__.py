"""Benchmarks, each beside its competitor: ``python -m mnemic.bench NAME --json``.

Each bench measures its competitor in the same run and says what machine and which commit it ran on. Above it stands
nobody but the command line; below it stand the runtime and the actors.
"""

__all__: list[str] = []
