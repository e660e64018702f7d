"""MCP: the tools, and the transports that carry them."""
