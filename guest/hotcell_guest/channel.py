"""The guest's end of the channel: sequence numbers, acknowledgement, bounded replay, credit (sections 2 to 5)."""

from __future__ import annotations

import os
import socket
from collections import deque
from dataclasses import dataclass
from typing import Callable, Optional, Protocol

from .frames import Frame, FrameDecoder, Head, ProtocolViolation, encode
from .loop import Loop

WINDOW_BYTES = 262_144
REPLAY_BYTES = 4 * 1_048_576
ACK_EVERY_FRAMES = 64
READ_BYTES = 65_536
UNSEQUENCED = frozenset({"hello", "welcome", "refused", "ping", "pong", "attach", "failed"})
DROPPABLE = frozenset({"stdout", "stderr", "display", "background", "chunk"})


class Transport(Protocol):
    """Two descriptors that bytes come from and go to; the same one for a socket."""

    def read_fd(self) -> int: ...
    def write_fd(self) -> int: ...
    def close(self) -> None: ...


class SocketTransport:
    """A connected stream socket."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._sock = sock

    def read_fd(self) -> int:
        return self._sock.fileno()

    def write_fd(self) -> int:
        return self._sock.fileno()

    def close(self) -> None:
        self._sock.close()


class PipeTransport:
    """A pair of descriptors: what a container's attached standard streams are."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        os.set_blocking(read_fd, False)
        os.set_blocking(write_fd, False)
        self._fds = (read_fd, write_fd)

    def read_fd(self) -> int:
        return self._fds[0]

    def write_fd(self) -> int:
        return self._fds[1]

    def close(self) -> None:
        for fd in set(self._fds):
            os.close(fd)


@dataclass
class _Sent:
    sequence: int
    head: Head
    body: bytes
    stream: int


class Channel:
    """Sends and receives frames over whichever transport is attached. The supervisor owns exactly one.

    `on_frame` gets each frame once and in order; `on_lost` is called when the transport ends or breaks a rule. Sending never
    blocks and never fails: what cannot go out now is kept for replay.
    """

    def __init__(self, loop: Loop, on_frame: Callable[[Frame], None], on_lost: Callable[[str], None]) -> None:
        self._loop = loop
        self._on_frame = on_frame
        self._on_lost = on_lost
        self._transport: Optional[Transport] = None
        self._decoder = FrameDecoder()
        self._outgoing: deque[memoryview] = deque()
        self._sent: deque[_Sent] = deque()
        self._sent_bytes = 0
        self._next_sequence = 1
        self._received = 0
        self._acked_to_peer = 0
        self._windows: dict[int, int] = {}
        self._on_credit: dict[int, Callable[[], None]] = {}
        self._dropped_frames = 0
        self._dropped_bytes = 0
        self.epoch = 0
        self.welcomed = False

    def attach(self, transport: Transport) -> None:
        """Reads from a new transport; an old one is ended. Nothing sequenced goes out before `welcome`."""
        self.detach()
        self._transport = transport
        self._decoder = FrameDecoder()
        self.welcomed = False
        self._loop.on_readable(transport.read_fd(), self._readable)

    def detach(self) -> None:
        """Lets go of the transport, keeping what is unacknowledged."""
        transport, self._transport = self._transport, None
        self.welcomed = False
        if transport is None:
            return
        self._loop.on_readable(transport.read_fd(), None)
        self._loop.on_writable(transport.write_fd(), None)
        self._outgoing.clear()
        transport.close()

    def welcome(self, head: Head, epoch: int, peer_has: int) -> None:
        """Answers `hello`, then sends again what the peer lacks, after a `gap` where something was dropped."""
        self.epoch = epoch
        self._acknowledge(peer_has)
        self._write(Frame(head, ack=self._received))
        self.welcomed = True
        self._renumber()
        first = self._sent[0].sequence if self._sent else self._next_sequence
        if self._dropped_frames and first > peer_has + 1:
            gap: Head = {
                "type": "gap",
                "frames": self._dropped_frames,
                "bytes": self._dropped_bytes,
                "next": first,
            }
            self._write(Frame(gap, ack=self._received))
        self._dropped_frames = self._dropped_bytes = 0
        for sent in self._sent:
            self._write(Frame(sent.head, sent.body, sent.stream, sent.sequence, self._received))
        for wake in list(self._on_credit.values()):
            wake()

    def send(self, head: Head, body: bytes = b"", stream: int = 0) -> None:
        """Sends a frame, or keeps it until somebody is connected."""
        if head["type"] in UNSEQUENCED:
            self._write(Frame(head, body, stream, 0, self._received))
            return
        sequence = self._next_sequence
        self._next_sequence += 1
        if stream in self._windows and body:
            self._windows[stream] -= len(body)
        self._sent.append(_Sent(sequence, head, body, stream))
        self._sent_bytes += len(body)
        if self.welcomed:
            self._write(Frame(head, body, stream, sequence, self._received))
        else:
            self._bound_replay()

    def open_stream(self, stream: int, on_credit: Optional[Callable[[], None]] = None) -> None:
        """Starts counting credit on a stream; `on_credit` is called when there is some again."""
        self._windows[stream] = WINDOW_BYTES
        if on_credit is not None:
            self._on_credit[stream] = on_credit

    def close_stream(self, stream: int) -> None:
        self._windows.pop(stream, None)
        self._on_credit.pop(stream, None)

    def credit(self, stream: int) -> int:
        """How many body bytes may be sent on a stream now. Nobody listening means no need to wait."""
        if not self.welcomed:
            return WINDOW_BYTES
        return max(0, self._windows.get(stream, 0))

    def flush_blocking(self) -> None:
        """Writes out what is queued, waiting for the peer: for last words before exit."""
        if self._transport is None:
            return
        os.set_blocking(self._transport.write_fd(), True)
        self._writable()

    def _readable(self) -> None:
        assert self._transport is not None
        try:
            chunk = os.read(self._transport.read_fd(), READ_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            self._lose(f"read: {error.strerror}")
            return
        if not chunk:
            self._lose("the peer closed the channel")
            return
        try:
            for frame in self._decoder.feed(chunk):
                self._receive(frame)
                if self._transport is None:
                    return
        except ProtocolViolation as violation:
            self._lose(f"protocol violation: {violation}")

    def _receive(self, frame: Frame) -> None:
        self._acknowledge(frame.ack)
        if frame.sequence:
            if frame.sequence <= self._received:
                return
            if frame.sequence != self._received + 1:
                raise ProtocolViolation(f"sequence: {frame.sequence} after {self._received}")
            self._received = frame.sequence
        if frame.head["type"] == "credit":
            self._take_credit(frame.head)
        elif frame.head["type"] == "ping":
            self._acked_to_peer = self._received
            self.send({"type": "pong", "nonce": frame.head.get("nonce")})
        else:
            self._on_frame(frame)
        if self._received - self._acked_to_peer >= ACK_EVERY_FRAMES and self.welcomed:
            self._acked_to_peer = self._received
            self.send({"type": "ping", "nonce": 0})

    def _take_credit(self, head: Head) -> None:
        stream, granted = head.get("stream"), head.get("bytes")
        if not isinstance(stream, int) or not isinstance(granted, int) or granted < 0:
            raise ProtocolViolation("credit: needs a stream and a number of bytes")
        if stream in self._windows:
            self._windows[stream] = min(WINDOW_BYTES, self._windows[stream] + granted)
            wake = self._on_credit.get(stream)
            if wake is not None:
                wake()

    def _acknowledge(self, ack: int) -> None:
        while self._sent and self._sent[0].sequence <= ack:
            self._sent_bytes -= len(self._sent.popleft().body)

    def _bound_replay(self) -> None:
        """Drops the oldest output while nobody listens; what ends an execution is never dropped."""
        if self._sent_bytes <= REPLAY_BYTES:
            return
        kept: deque[_Sent] = deque()
        while self._sent and self._sent_bytes > REPLAY_BYTES // 2:
            oldest = self._sent.popleft()
            if oldest.head["type"] in DROPPABLE:
                self._sent_bytes -= len(oldest.body)
                self._dropped_frames += 1
                self._dropped_bytes += len(oldest.body)
            else:
                kept.append(oldest)
        kept.extend(self._sent)
        self._sent = kept

    def _renumber(self) -> None:
        """Numbers what the peer lacks from the end backwards: it then sees one gap and no hole after it."""
        sequence = self._next_sequence - len(self._sent)
        for sent in self._sent:
            sent.sequence = sequence
            sequence += 1

    def _write(self, frame: Frame) -> None:
        if self._transport is None:
            return
        self._acked_to_peer = frame.ack
        waiting = bool(self._outgoing)
        self._outgoing.append(memoryview(encode(frame)))
        if not waiting:
            self._writable()

    def _writable(self) -> None:
        transport = self._transport
        if transport is None:
            return
        fd = transport.write_fd()
        try:
            while self._outgoing:
                written = os.write(fd, self._outgoing[0])
                if written < len(self._outgoing[0]):
                    self._outgoing[0] = self._outgoing[0][written:]
                else:
                    self._outgoing.popleft()
        except BlockingIOError:
            self._loop.on_writable(fd, self._writable)
            return
        except OSError as error:
            self._lose(f"write: {error.strerror}")
            return
        self._loop.on_writable(fd, None)

    def _lose(self, reason: str) -> None:
        self.detach()
        self._on_lost(reason)
