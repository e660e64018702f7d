"""hooks/hosts/claude_code"""
