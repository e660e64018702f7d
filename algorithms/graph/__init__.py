"""Graphs: nearest neighbours, communities, personalised PageRank."""
