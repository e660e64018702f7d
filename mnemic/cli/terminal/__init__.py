"""What a command reads from a person and prints for one."""
