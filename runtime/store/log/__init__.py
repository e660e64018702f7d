"""Memories: how they are kept, replaced, hidden and listed."""
