"""The graph of memories: which are joined, how strongly, and by what."""
