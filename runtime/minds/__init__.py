"""Homes and minds on disk: which folder is meant, how a mind is created and opened, and which project a folder belongs
to.
"""
