"""The commands that wire assistants, prove it, and take it back."""
