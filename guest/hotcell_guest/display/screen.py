"""The output of displays and of the value: frames to the supervisor, in the right order relative to printed output."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from typing import Callable, Optional, Protocol

from ..wire.frames import Head

# A media type and its bytes; the most informative last.
Part = tuple[str, bytes]
Parts = list[Part]

_PIECE_BYTES = 131_072


class Link(Protocol):
    def send(self, head: Head, body: bytes = b"") -> None: ...
    def drain(self) -> None: ...
    def postpone(self, work: Callable[[], None]) -> bool: ...


class Screen:
    """The display output of one kernel. `flush` writes what Python has buffered."""

    def __init__(self, link: Link, flush: Callable[[], None]) -> None:
        self._link = link
        self._flush = flush
        self._shown = 0
        self._value: Optional[tuple[Head, bytes]] = None
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._is_sending = False
        self._unsent: deque[tuple[Head, Parts]] = deque()

    def begin(self) -> None:
        """An execution begins."""
        self._shown = 0
        self._unsent.clear()
        self._value = None

    def show(self, parts: Parts, display_id: Optional[str] = None, update: bool = False) -> None:
        """Sends one display. A fork of the user has the same objects but must not write to the kernel's socket: it
        prints the text.
        """
        if os.getpid() != self._pid:
            _print_text(parts)
            return
        head: Head = {"id": display_id} if display_id is not None else {}
        if update:
            head["update"] = True
        self._send(head, parts)
        self._link.drain()  # output printed afterwards, by any process, comes after it

    def clear(self, wait: bool) -> None:
        if os.getpid() == self._pid:
            self._settle()
            self._link.send({"type": "clear", "wait": wait})
            self._link.drain()

    def value(self, text: str, truncated: bool, parts: Parts) -> None:
        if parts and os.getpid() == self._pid:
            self._send({"value": True}, parts)
        self._value = ({"truncated": truncated}, text.encode("utf-8", "replace"))

    def take_value(self) -> Optional[tuple[Head, bytes]]:
        """The value, for the frame that ends the execution: this saves a frame in most executions."""
        value, self._value = self._value, None
        return value

    def _settle(self) -> None:
        """Makes earlier printed output arrive first."""
        self._flush()
        self._link.drain()

    def _send(self, head: Head, parts: Parts) -> None:
        """Sends the parts of one display together, even if several threads display at the same time.

        A display from a signal handler is sent after the display, or other write, that it interrupts.
        """
        self._settle()
        self._unsent.append((head, parts))
        if not self._link.postpone(self._send_unsent):
            self._send_unsent()

    def _send_unsent(self) -> None:
        """Only signal handlers of a program can run under the lock, in the thread that holds it: their displays are
        sent by the interrupted sender or, if that had just finished, by the next iteration of the outer loop.
        """
        while self._unsent:
            with self._lock:
                if self._is_sending:
                    return
                self._is_sending = True
                try:
                    while self._unsent:
                        self._send_parts(*self._unsent.popleft())
                finally:
                    self._is_sending = False

    def _send_parts(self, head: Head, parts: Parts) -> None:
        head = {"type": "display", "index": self._shown, **head}
        self._shown += 1
        last = len(parts) - 1
        for number, (media_type, data) in enumerate(parts):
            pieces = range(0, max(1, len(data)), _PIECE_BYTES)
            for start in pieces:
                end = number == last and start == pieces[-1]
                self._link.send({**head, "part": number, "mediaType": media_type, "end": end}, data[start : start + _PIECE_BYTES])


def _print_text(parts: Parts) -> None:
    for media_type, data in parts:
        if media_type == "text/plain":
            sys.stdout.write(f"{data.decode('utf-8', 'replace')}\n")
