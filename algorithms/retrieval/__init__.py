"""algorithms/retrieval"""
