"""hooks/hosts/opencode"""
