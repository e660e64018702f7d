"""Small things about files: atomic replacement, paths, sizes and times, and git's index."""
