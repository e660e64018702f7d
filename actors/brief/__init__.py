"""Briefings: what an assistant is told at the start of a session and beside a prompt, without asking."""
