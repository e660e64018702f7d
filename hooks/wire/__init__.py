"""Wiring: small, reversible edits of the hosts' own configuration files."""
