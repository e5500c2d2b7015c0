"""The client of fastmcp."""

import asyncio

from calls import of_content, result, serve_calls, server
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError


async def main() -> None:
    async with Client(StdioTransport(**server())) as client:

        async def call(tool, arguments):
            try:
                return of_content((await client.call_tool(tool, arguments)).content)
            except ToolError as error:
                return result([str(error)], 0)

        await serve_calls(call)


asyncio.run(main())
