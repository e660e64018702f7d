"""hooks/hosts/gemini_cli"""
