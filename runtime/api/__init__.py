"""The verbs of a mind, once for all faces, and their answers as JSON views."""
