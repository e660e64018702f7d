"""Embedding models: a model's files found, verified and read, and the encoders that compute with them."""
