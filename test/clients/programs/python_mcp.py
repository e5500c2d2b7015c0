"""The official Python SDK."""

import asyncio

from calls import of_content, serve_calls, server
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main() -> None:
    async with stdio_client(StdioServerParameters(**server())) as (read, write), ClientSession(read, write) as session:
        await session.initialize()

        async def call(tool, arguments):
            return of_content((await session.call_tool(tool, arguments)).content)

        await serve_calls(call)


asyncio.run(main())
