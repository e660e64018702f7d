"""Hypervectors and what they are bound from."""
