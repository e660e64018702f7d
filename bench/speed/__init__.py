"""bench/speed"""
