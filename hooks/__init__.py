"""Adapters for AI assistants: read their transcripts and hook payloads, install and check our hooks there.

A reader knows one host's lines and nothing of stores or actors. What it yields is what was said and done, whole and
once;
`mnemic.hooks.read.formats` finds the reader for a file.
"""

from mnemic.hooks.read.formats import FORMATS, find_transcripts, open_transcript

__all__ = ["FORMATS", "find_transcripts", "open_transcript"]
