"""Queries: what actors and commands read of a store, each within one read transaction."""
