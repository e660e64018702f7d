"""What survives: hooks and processes killed at random, under load."""
