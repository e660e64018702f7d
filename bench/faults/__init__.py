"""What survives: kills, failing disks, flipped bits, load, half requests and hostile folders."""
