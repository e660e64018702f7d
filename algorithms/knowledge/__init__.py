"""algorithms/knowledge"""
