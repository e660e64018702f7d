"""actors/brief"""
