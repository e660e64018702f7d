"""Scopes: which project a memory belongs to, and how projects are renamed, merged, split and moved."""
