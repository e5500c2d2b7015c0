"""langchain-mcp-adapters, with one session for all calls: without it each call would have a sandbox of its own."""

import asyncio

from calls import result, serve_calls, server
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools


async def main() -> None:
    client = MultiServerMCPClient({"hotcell": {"transport": "stdio", **server()}})
    async with client.session("hotcell") as session:
        tools = {tool.name: tool for tool in await load_mcp_tools(session)}

        async def call(tool, arguments):
            request = {"type": "tool_call", "id": "1", "name": tool, "args": arguments}
            content = (await tools[tool].ainvoke(request)).content
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            texts = [block["text"] for block in blocks if block["type"] == "text"]
            return result(texts, sum(block["type"] == "image" for block in blocks))

        await serve_calls(call)


asyncio.run(main())
