"""What benches share: rows, processes, homes of any size, callers, and measures of ranking quality."""
