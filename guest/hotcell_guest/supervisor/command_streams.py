"""The streams of a command: its input, and its terminal if it has one."""

from __future__ import annotations

import os
from signal import Signals
from typing import Any, Callable, Optional

from ..kernels.outputs import OutputPipes
from ..system.loop import Loop
from ..system.terminal import foreground_of, open_terminal, resize_terminal, signal_foreground
from ..wire.frames import Frame, Head
from ..wire.refusal import Refusal
from .command_input import CommandInput


class CommandStreams:
    """`outputs`: the terminal's, if there is one; otherwise the command gets pipes as every execution does. `given`: descriptors that its
    kernel is sent besides the write ends.

    `head` is the member `command` of the request. Raises Refusal if it is invalid.
    """

    def __init__(self, loop: Loop, head: Any, credit: Callable[[int], None]) -> None:
        if not isinstance(head, dict) or not isinstance(head.get("stdin"), bool):
            raise Refusal("bad-request", "execute: command is missing, or says nothing of stdin")
        self.outputs: Optional[OutputPipes] = None
        self.given: tuple[int, ...] = ()
        self._master: Optional[int] = None
        fd: Optional[int] = None
        if "terminal" in head:
            self._master, slave = open_terminal(**_size_of(head["terminal"]))
            self.outputs = OutputPipes(loop, (os.dup(self._master), slave))
            fd = os.dup(self._master)
        elif head["stdin"]:
            read_end, fd = os.pipe()
            os.set_blocking(fd, False)
            self.given = (read_end,)
        self._input = CommandInput(loop, fd, credit, is_terminal=self._master is not None)

    def take_input(self, frame: Frame) -> None:
        self._input.take(frame)

    def resize(self, size: Head) -> None:
        """Raises Refusal if there is no terminal, or the size is invalid."""
        if self._master is None:
            raise Refusal("bad-request", "resize: the command has no terminal")
        resize_terminal(self._master, **_size_of(size))

    def foreground(self) -> Optional[int]:
        """Returns the process group in the foreground of the terminal; None if there is no terminal, or no such group."""
        return None if self._master is None else foreground_of(self._master)

    def signal(self, number: Signals) -> bool:
        """Sends a signal to the foreground job of the terminal. Returns whether it could."""
        return self._master is not None and signal_foreground(self._master, number)

    def close_given(self) -> None:
        """Called when the kernel has the descriptors."""
        for fd in self.given:
            os.close(fd)
        self.given = ()

    def close(self, has_begun: bool) -> None:
        """Called when the command is over. Output that it `has_begun` to write is read elsewhere until its end."""
        self.close_given()
        self._input.close()
        master, self._master = self._master, None
        if master is not None:
            os.close(master)
        if self.outputs is not None and not has_begun:
            self.outputs.close()


def _size_of(raw: Any) -> dict[str, int]:
    if not isinstance(raw, dict):
        raise Refusal("bad-request", "terminal: not an object with columns and rows")
    return {"columns": raw["columns"], "rows": raw["rows"]}
