"""What leaves the store or comes back to it: backups, and what is left of erased inputs."""
