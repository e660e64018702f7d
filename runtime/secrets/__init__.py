"""The rules for secrets, read and compiled when the first text needs them."""
