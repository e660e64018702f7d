"""Messages of the embedder."""
