"""One folder for each host: its transcript, its events, its wiring."""
