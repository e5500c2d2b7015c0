"""Callbacks that answer a request of the host. The supervisor passes both to the modules that serve requests."""

from __future__ import annotations

from typing import Callable, Protocol

from .frames import Head

# Arguments: the request id, an error code of the protocol, and a message.
Fail = Callable[[int, str, str], None]


class Reply(Protocol):
    """Answers the request with that id with a result."""

    def __call__(self, number: int, result: Head, body: bytes = b"") -> None: ...
