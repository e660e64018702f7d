"""The store: one sealed SQLite file for each mind, its schema, its single writer and its readers."""
