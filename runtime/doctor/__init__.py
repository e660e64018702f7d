"""The doctor: checks of everything about a home and a mind, and repairs of what can be mended safely."""
