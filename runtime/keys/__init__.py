"""runtime/keys"""
