"""hooks/hosts"""
