"""algorithms/steps"""
