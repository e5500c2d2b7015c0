"""How a request of the host is answered. The supervisor gives both to whoever serves some of them."""

from __future__ import annotations

from typing import Callable, Protocol

from .frames import Head

# Its number, a code of the protocol's table, and a message.
Fail = Callable[[int, str, str], None]


class Reply(Protocol):
    """Answers the request of that number with its result."""

    def __call__(self, number: int, result: Head, body: bytes = b"") -> None: ...
