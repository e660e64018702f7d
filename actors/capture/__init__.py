"""actors/capture"""
