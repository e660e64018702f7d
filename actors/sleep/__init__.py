"""actors/sleep"""
