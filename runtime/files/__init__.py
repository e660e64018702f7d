"""Files: replacing them atomically, and their sizes and times."""
