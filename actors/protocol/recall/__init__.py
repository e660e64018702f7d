"""Messages of recall."""
