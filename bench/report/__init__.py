"""All benches in one run: what is stored of it, the table and plots, and what later runs are held to."""
