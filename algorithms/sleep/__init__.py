"""What nights decide, as pure functions of texts and numbers."""
