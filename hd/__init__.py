"""The hyperdimensional substrate: algebra, codebooks, encoders and what is asked of them. All of it is pure."""

__all__: list[str] = []
