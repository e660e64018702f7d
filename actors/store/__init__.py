"""The store as an actor: the one that writes."""
