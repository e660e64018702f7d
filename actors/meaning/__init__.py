"""Meaning: the embedding model and the vectors that it makes."""
