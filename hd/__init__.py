"""The hyperdimensional substrate: so far the algebra of packed-bit hypervectors, in `mnemic.hd.bits`."""

__all__: list[str] = []
