"""bench/contract"""
