"""runtime/engine/ray"""
