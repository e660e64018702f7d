"""runtime/serve"""
