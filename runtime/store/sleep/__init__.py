"""Nights and what they derived."""
