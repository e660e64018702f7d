"""Actors as processes under Ray, on this machine or on a cluster."""
