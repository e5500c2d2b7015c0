"""The calls that the guest has open at the host, by their numbers (section 10)."""

from __future__ import annotations

from typing import Protocol

from .frames import Frame, Head


class OpenCall(Protocol):
    """A call that was sent to the host: of a program (supervisor/call.py), or a connection of the network (network/connection.py)."""

    def deliver(self, frame: Frame) -> None:
        """Takes a frame of the host on the call's stream."""

    def finish(self, reply: Head) -> None:
        """Takes the host's reply: the call is over."""


class OpenCalls:
    """Numbers calls, and passes on to each what the host says about it. The supervisor owns exactly one."""

    def __init__(self) -> None:
        self._by_number: dict[int, OpenCall] = {}
        self._numbers = 0

    def add(self, call: OpenCall) -> tuple[int, int]:
        """Returns an id and a stream. Ids count from 1, and streams are odd, from 3 on. Neither is used twice, not even for another
        host."""
        self._numbers += 1
        self._by_number[self._numbers] = call
        return self._numbers, 2 * self._numbers + 1

    def remove(self, number: int) -> None:
        """Forgets a call that is over. Idempotent."""
        self._by_number.pop(number, None)

    def take(self, frame: Frame) -> None:
        """Handles a frame of the host on the stream of a call. One that has ended gets nothing."""
        call = self._by_number.get(frame.stream // 2)
        if call is not None:
            call.deliver(frame)

    def replied(self, frame: Frame) -> None:
        call = self._by_number.get(frame.head.get("id", 0))
        if call is not None:
            members = ("ok",) if frame.head.get("ok") is True else ("ok", "error")
            call.finish({"type": "reply", **{member: frame.head[member] for member in members}})
