"""Text: encoders, token windows, key phrases, clauses, days and stop words."""
