"""Statements, names and verdicts."""
