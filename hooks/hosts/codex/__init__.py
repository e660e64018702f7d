"""hooks/hosts/codex"""
