"""Asking the process that serves a home: finding or starting it, and speaking its protocol."""
