"""Messages of the store."""
