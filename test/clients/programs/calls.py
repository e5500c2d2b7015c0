"""The calls that a test asks for: one JSON object on each line of standard input, one answer on each line of standard output."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any, Awaitable, Callable

Result = dict[str, Any]


def server() -> dict[str, Any]:
    """The command of the server, as the test gives it: `command`, `args`, `env`."""
    return json.loads(sys.argv[1])


async def serve_calls(call: Callable[[str, dict[str, Any]], Awaitable[Result]]) -> None:
    """Makes each call with the library under test. `cancelAfterMs` cancels one that is under way."""
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        asked = json.loads(line)
        under_way = asyncio.ensure_future(call(asked["tool"], asked["arguments"]))
        after = asked.get("cancelAfterMs")
        done, _ = await asyncio.wait([under_way], timeout=None if after is None else after / 1000)
        if not done:
            under_way.cancel()
        try:
            answer = await under_way
        except asyncio.CancelledError:
            answer = {"text": "cancelled", "pictures": 0}
        print(json.dumps(answer), flush=True)


def result(texts: list[str], pictures: int) -> Result:
    return {"text": "\n".join(texts), "pictures": pictures}


def of_content(content: list[Any]) -> Result:
    """The text and the pictures of an MCP result."""
    return result([block.text for block in content if block.type == "text"], sum(block.type == "image" for block in content))
