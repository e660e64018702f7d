"""Graphs of memories: which are joined and by what, their communities, and what lies near some of them."""
