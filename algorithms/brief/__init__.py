"""Policies of what an assistant is told unasked: what stands, and what is left open. Pure."""
