"""Secrets: rules that find them, values that look like them, and their removal from text."""
