"""What nights are asked, what they change, and what a snapshot tells of them."""
