"""Graphs of memories: their communities, and which nodes lie near some others."""
