"""hooks/hosts/cursor"""
