"""runtime/client"""
