"""actors/recall"""
