"""hooks/wire"""
