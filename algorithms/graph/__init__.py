"""Graphs: communities, their identity over time, and the resolution they are found at."""
