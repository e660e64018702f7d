"""Recall: the in-memory index, the ranking of memories, and what is shown of them."""
