"""Communities: groups of memories that belong together, found at boundaries and kept under one number."""
