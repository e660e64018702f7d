"""Scopes: a project's path."""
