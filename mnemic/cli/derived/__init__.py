"""Commands that show what is made of memories: communities, facts, and what nights derive."""
