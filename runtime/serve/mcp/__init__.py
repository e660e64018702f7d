"""runtime/serve/mcp"""
