"""What all features share: the contract of an actor, messages, errors, times, and what actors are given."""
