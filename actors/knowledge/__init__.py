"""Statements, entities and changes: what holds, what held, and since when."""
