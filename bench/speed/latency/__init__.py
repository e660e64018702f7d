"""Minds whose recalls are timed: the parts of the latency bench."""
