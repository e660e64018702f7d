"""What communities are worth and what they cost: the parts of the communities bench."""
