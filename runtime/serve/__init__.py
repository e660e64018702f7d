"""The process that serves a home: its minds, its drainer, its metrics, and the faces below."""
