"""actors/shape"""
