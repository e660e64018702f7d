"""Vectors and their encoders."""
