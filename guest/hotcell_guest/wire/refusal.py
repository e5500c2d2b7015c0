"""A request that is answered with an error code of the protocol."""

from __future__ import annotations


class Refusal(Exception):
    """`code` is one of docs/guest-protocol.md, section 6."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
