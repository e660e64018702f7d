"""The log of memories: what is kept, replaced and hidden, how it is listed, and what was given to whom."""
