"""What capture keeps beside memories."""
