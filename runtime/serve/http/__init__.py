"""runtime/serve/http"""
