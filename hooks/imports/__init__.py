"""What people bring along: exports and stores of other programs, read as sessions of events."""
