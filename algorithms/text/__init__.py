"""algorithms/text"""
