"""bench/harness"""
