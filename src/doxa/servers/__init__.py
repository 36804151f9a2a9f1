"""Servers for network protocols: MCP, Bolt and HTTP. Each calls the same Session; none implements
rules of its own."""
