"""Capture: from hook records, transcripts and single texts to memories, each once."""
