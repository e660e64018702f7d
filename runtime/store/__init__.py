"""runtime/store"""
