"""hd"""

__all__: list[str] = []
