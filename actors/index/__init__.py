"""The index in memory that all readers share: words, meaning, attributes, and the hits it gives."""
