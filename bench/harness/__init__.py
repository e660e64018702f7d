"""What benches share: processes, homes of any size, callers, load, and measures of ranking quality."""
