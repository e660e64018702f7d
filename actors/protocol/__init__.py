"""actors/protocol"""
