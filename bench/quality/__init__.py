"""bench/quality"""
