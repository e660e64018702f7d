"""What the knowledge actor takes and answers, what it has the Store keep, and what a snapshot tells of it."""
