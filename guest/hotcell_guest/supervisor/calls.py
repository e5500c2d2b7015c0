"""The calls of programs in the sandbox to the host (section 10)."""

from __future__ import annotations

import socket
from typing import Callable, Optional

from ..system.loop import Loop
from ..wire.call_socket import listen_for_calls
from ..wire.channel import Channel
from ..wire.open_calls import OpenCalls
from .call import Call, CallSurroundings

# The host refuses more. Further callers wait until a connection is accepted.
MOST_CALLS = 128
_ACCEPT_AGAIN_SECONDS = 0.1
_LOST = "the channel to the host was lost during the call"


class Calls:
    """Listens once the host serves calls, and not before. The supervisor owns exactly one."""

    def __init__(self, loop: Loop, channel: Channel, open_calls: OpenCalls, execution_of: Callable[[int], Optional[str]]) -> None:
        self._loop = loop
        self._open = open_calls
        self._around = CallSurroundings(loop, channel, execution_of, open_calls.add, self._on_end)
        self._calls: set[Call] = set()
        self._server: Optional[socket.socket] = None
        self._address = ""

    def offer(self) -> str:
        """Listens from now on, and returns the address. Idempotent."""
        if self._server is None:
            self._server, self._address = listen_for_calls()
            self._loop.on_readable(self._server.fileno(), self._accept)
        return self._address

    def end_execution(self, execution: str) -> None:
        for call in list(self._calls):
            if call.execution == execution:
                call.fail("execution-ended", "the execution that made the call is over")

    def lose_channel(self) -> None:
        """The host has failed its calls, too. A `call` that it never got is cancelled when it is sent again."""
        for call in list(self._calls):
            call.fail("channel-lost", _LOST)

    def abandon(self) -> None:
        """Called when a host has taken over that knows of no call."""
        for call in list(self._calls):
            call.fail("channel-lost", _LOST, tell_host=False)

    def _accept(self) -> None:
        assert self._server is not None
        try:
            connection = self._server.accept()[0]
        except OSError:
            # The caller has gone, or this process has no descriptor left: then others must end first.
            self._loop.on_readable(self._server.fileno(), None)
            self._loop.call_later(_ACCEPT_AGAIN_SECONDS, self._listen)
            return
        connection.setblocking(False)
        self._calls.add(Call(self._around, connection))
        if len(self._calls) >= MOST_CALLS:
            self._loop.on_readable(self._server.fileno(), None)

    def _on_end(self, call: Call) -> None:
        self._calls.discard(call)
        self._open.remove(call.number or 0)
        self._listen()

    def _listen(self) -> None:
        if self._server is not None and len(self._calls) < MOST_CALLS:
            self._loop.on_readable(self._server.fileno(), self._accept)
