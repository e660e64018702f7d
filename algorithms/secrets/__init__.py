"""algorithms/secrets"""
