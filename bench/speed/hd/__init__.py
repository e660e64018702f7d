"""Hypervectors at speed: the parts of the hd bench."""
