"""Who finds communities."""

BACKENDS = ("mosaic", "leidenalg", "igraph", "networkx-louvain")
