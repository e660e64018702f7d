"""hooks/read"""
