"""openai-agents. Its own timeout of 5 s for a call is raised, as the documents tell its users to."""

import asyncio
import json

from agents import RunContextWrapper
from agents.mcp import MCPServerStdio
from agents.mcp.util import MCPUtil
from calls import result, serve_calls, server


async def main() -> None:
    async with MCPServerStdio(params=server(), client_session_timeout_seconds=60) as mcp_server:
        tools = {tool.name: tool for tool in await mcp_server.list_tools()}

        async def call(tool, arguments):
            output = await MCPUtil.invoke_mcp_tool(mcp_server, tools[tool], RunContextWrapper(None), json.dumps(arguments))
            items = output if isinstance(output, list) else [output]
            texts = [item["text"] for item in items if item["type"] == "text"]
            return result(texts, sum(item["type"] == "image" for item in items))

        await serve_calls(call)


asyncio.run(main())
