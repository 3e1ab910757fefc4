"""The memory as an MCP server for agents."""
