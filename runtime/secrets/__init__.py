"""runtime/secrets"""
