"""bench/faults"""
