"""Extraction of statements from English text by rules; see `mnemic.algorithms.knowledge.extraction.statements`."""
