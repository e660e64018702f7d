"""How fast and how small: hooks, recall, encoders, scans, hypervectors, whole commands."""
