"""What nights are worth, and what they cost: the parts of the sleep bench."""
