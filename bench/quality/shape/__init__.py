"""What the shape bench asks, part by part."""
