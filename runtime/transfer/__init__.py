"""What rewrites or moves a mind: erasing, exporting, importing and backing up."""
