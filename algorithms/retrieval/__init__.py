"""Retrieval: vector scans, BM25, and the fusion of signals into one score."""
