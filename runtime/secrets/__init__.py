"""The rules for secrets: ours and the user's own, read and compiled when the first text needs them."""
