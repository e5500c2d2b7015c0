"""Frames that the peer has not acknowledged, kept for replay; above the limit the oldest output is dropped (section 3)."""

from __future__ import annotations

from collections import deque
from typing import Any, Callable, Optional

from .frames import Frame, Head, ProtocolViolation, encode_front, set_numbers

REPLAY_BYTES = 4 * 1_048_576
_DROPPABLE = frozenset({"stdout", "stderr", "display", "clear", "background"})
# The overhead of a queued frame, so that many small ones cannot fill the memory.
_KEEPING_COST_BYTES = 512


class Sent:
    """An unacknowledged frame, ready for replay: `front` is its header and head. The body is not copied."""

    def __init__(self, sequence: int, head: Head, body: bytes, stream: int) -> None:
        self.sequence = sequence
        self.front = bytearray(encode_front(Frame(head, body, stream)))
        self.body = body
        self.stream = stream
        self.head = head

    @property
    def size(self) -> int:
        return len(self.front) + len(self.body)

    @property
    def cost(self) -> int:
        return self.size + _KEEPING_COST_BYTES

    @property
    def is_droppable(self) -> bool:
        return self.head["type"] in _DROPPABLE

    @property
    def display(self) -> Optional[tuple[int, Any]]:
        """The key of the display that the frame is a part of."""
        return (self.stream, self.head.get("index")) if self.head["type"] == "display" else None


class SentFrames:
    """Numbers frames and keeps them in order. `on_dropped` is called with stream and size of each dropped frame."""

    def __init__(self, on_dropped: Callable[[int, int], None]) -> None:
        self._on_dropped = on_dropped
        self._kept: deque[Sent] = deque()
        self._cost = 0
        self._next_sequence = 1
        self._highest_written = 0
        self._dropped: list[tuple[int, int]] = []
        # Only the latest: one execution runs at a time, and its displays are sent one after the other.
        self._broken_display: Optional[tuple[int, Any]] = None

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, head: Head, body: bytes, stream: int) -> Optional[Sent]:
        """Returns None for a part of a display of which an earlier part was dropped. Raises ProtocolViolation if it is
        too large.
        """
        if self._is_rest_of_broken(head, stream):
            return None
        sent = Sent(self._next_sequence, head, body, stream)
        self._next_sequence += 1
        self._kept.append(sent)
        self._cost += sent.cost
        return sent

    def make_ready(self, sent: Sent, received: int) -> None:
        """Numbers a frame that is written now; it acknowledges the frames up to `received`."""
        self._highest_written = max(self._highest_written, sent.sequence)
        set_numbers(sent.front, sent.sequence, received)

    def was_never_sent(self, sequence: int) -> bool:
        return sequence >= self._next_sequence

    def acknowledge(self, ack: int) -> None:
        if ack >= self._next_sequence:
            raise ProtocolViolation(f"ack: {ack} was never sent")
        while self._kept and self._kept[0].sequence <= ack:
            self._cost -= self._kept.popleft().cost

    def bound(self) -> None:
        """Drops the oldest output while no peer is connected; the end of an execution is never dropped."""
        if self._cost <= REPLAY_BYTES:
            return
        kept: deque[Sent] = deque()
        while self._kept:
            oldest = self._kept.popleft()
            over = self._cost > REPLAY_BYTES // 2
            if oldest.is_droppable and (over or self._is_broken(oldest.display)):
                self._drop(oldest)
            else:
                kept.append(oldest)
        self._kept = kept

    def end_stream(self, stream: int) -> None:
        if self._broken_display is not None and self._broken_display[0] == stream:
            self._broken_display = None

    def lacking(self, peer_has: int) -> tuple[Optional[Head], list[Sent]]:
        """The frames that a peer with `peer_has` lacks, in order, and the `gap` to send before them if some were
        dropped.
        """
        self.acknowledge(peer_has)
        self._renumber()
        first = self._kept[0].sequence if self._kept else self._next_sequence
        # Frames that the peer received before the channel was lost may have been dropped here since; they are not
        # missing.
        missing_bytes = sum(size for sequence, size in self._dropped if sequence > peer_has)
        self._dropped = []
        if first <= peer_has + 1:
            return None, list(self._kept)
        # The gap is reported again until the peer has acknowledged it.
        self._dropped = [(first - 1, missing_bytes)]
        self._highest_written = max(self._highest_written, first - 1)
        return {"type": "gap", "frames": first - 1 - peer_has, "bytes": missing_bytes, "next": first}, list(self._kept)

    def _drop(self, sent: Sent) -> None:
        self._cost -= sent.cost
        self._on_dropped(sent.stream, sent.size)
        if sent.display is not None:
            self._broken_display = sent.display
            self._is_rest_of_broken(sent.head, sent.stream)
        before = 0
        if self._dropped and self._dropped[-1][0] > self._highest_written:
            before = self._dropped.pop()[1]  # the peer certainly has neither of the two, so one entry is enough
        self._dropped.append((sent.sequence, before + len(sent.body)))

    def _is_rest_of_broken(self, head: Head, stream: int) -> bool:
        """A display with a missing part is useless: its other parts are dropped as well, up to the last."""
        if head["type"] != "display":
            return False
        if not self._is_broken((stream, head.get("index"))):
            return False
        if head.get("end"):
            self._broken_display = None
        return True

    def _is_broken(self, display: Optional[tuple[int, Any]]) -> bool:
        return display is not None and display == self._broken_display

    def _renumber(self) -> None:
        """Renumbers the frames that the peer lacks, counting back from the last number: the peer then sees exactly one
        gap.
        """
        sequence = self._next_sequence - len(self._kept)
        for sent in self._kept:
            sent.sequence = sequence
            sequence += 1
