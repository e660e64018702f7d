"""runtime/api"""
