"""The commands that wire assistants, prove the wiring, and take it back."""
