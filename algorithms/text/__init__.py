"""Text: encoders, token windows, words and their stems in several languages, key phrases, clauses and days."""
