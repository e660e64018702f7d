"""Messages of capture."""
