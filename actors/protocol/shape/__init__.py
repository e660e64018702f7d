"""Messages of recall by structure."""
