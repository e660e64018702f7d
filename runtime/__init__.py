"""Processes and I/O: engine, supervisor, clock, store, keys, models, projects, settings and the MCP face.

Above it stand `mnemic.hooks`, `mnemic.bench` and the root, which puts the parts together; below it stand the actors,
which reach all this through ports only.
"""

__all__: list[str] = []
