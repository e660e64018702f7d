"""Sleep: what a mind does while nobody asks."""
