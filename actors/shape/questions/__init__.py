"""Ways of asking by structure: partial patterns, what is alike, situations, analogies, failures, topics."""
