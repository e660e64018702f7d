"""Messages, changes and snapshots of communities."""
