"""Carrying out changes: what each change of the closed list does to the tables."""
