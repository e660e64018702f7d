"""What a session's start reads."""
