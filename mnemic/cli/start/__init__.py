"""What a user meets first: the command alone, its help by subject, the demo, and the setup."""
