"""Communities: boundaries, members and the graph."""
