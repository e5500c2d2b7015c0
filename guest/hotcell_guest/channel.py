"""The guest's end of the channel: sequence numbers, acknowledgement, bounded replay, credit (sections 2 to 5)."""

from __future__ import annotations

import itertools
import os
import socket
from collections import deque
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Optional, Protocol

from .frames import Frame, FrameDecoder, Head, ProtocolViolation, encode, set_numbers
from .loop import Loop

WINDOW_BYTES = 262_144
REPLAY_BYTES = 4 * 1_048_576
ACK_EVERY_FRAMES = 64
READ_BYTES = 65_536
_WRITE_FRAMES = 64
UNSEQUENCED = frozenset({"hello", "welcome", "refused", "ping", "pong", "attach", "failed"})
DROPPABLE = frozenset({"stdout", "stderr", "display", "clear", "background"})
# What a frame that waits costs besides its bytes: many small ones must not fill the memory.
_KEEPING_COST_BYTES = 512
_MAX_WAITING_CONNECTIONS = 4


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
    """A frame that the peer has not acknowledged, ready to be sent again."""

    sequence: int
    encoded: bytearray
    body_bytes: int
    stream: int
    head: Head

    @property
    def cost(self) -> int:
        return len(self.encoded) + _KEEPING_COST_BYTES

    @property
    def is_droppable(self) -> bool:
        return self.head["type"] in DROPPABLE

    @property
    def display(self) -> Optional[tuple[int, Any]]:
        """Names the display that it is a piece of."""
        return (self.stream, self.head.get("index")) if self.head["type"] == "display" else None


class _Waiting:
    """A connection that has not said `hello` yet. It ends nobody's: its epoch decides."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.decoder = FrameDecoder()


class Channel:
    """Sends and receives frames over whichever transport is attached. The supervisor owns exactly one.

    `on_hello` is asked about each new connection: it returns a `welcome` to let it take over, or a `refused`. `on_frame` gets the
    accepted `hello` and then each frame once and in order; `on_lost` is called when the transport ends or breaks a rule, and when a
    connection is turned away while there is no other. Sending never blocks and never fails for want of a peer: what cannot go out now is
    kept for replay.
    """

    def __init__(
        self,
        loop: Loop,
        on_hello: Callable[[Frame], Head],
        on_frame: Callable[[Frame], None],
        on_lost: Callable[[str], None],
    ) -> None:
        self._loop = loop
        self._on_hello = on_hello
        self._on_frame = on_frame
        self._on_lost = on_lost
        self._waiting: list[_Waiting] = []
        self._transport: Optional[Transport] = None
        self._decoder = FrameDecoder()
        self._outgoing: deque[memoryview] = deque()
        self._will_write = False
        self._sent: deque[_Sent] = deque()
        self._sent_cost = 0
        self._next_sequence = 1
        self._highest_written = 0
        self._received = 0
        self._acked_to_peer = 0
        self._windows: dict[int, int] = {}
        self._on_credit: dict[int, Callable[[], None]] = {}
        self._dropped: list[tuple[int, int]] = []
        self._broken_displays: set[tuple[int, Any]] = set()
        self.epoch = 0

    @property
    def welcomed(self) -> bool:
        """Somebody is connected and has been let in."""
        return self._transport is not None

    def attach(self, transport: Transport) -> None:
        """Listens to a new connection. The one before it lives on until this one's `hello` was accepted."""
        if len(self._waiting) >= _MAX_WAITING_CONNECTIONS:
            self._forget(self._waiting[0])
        waiting = _Waiting(transport)
        self._waiting.append(waiting)
        self._loop.on_readable(transport.read_fd(), lambda: self._greeting(waiting))

    def detach(self) -> None:
        """Lets go of the transport, keeping what is unacknowledged."""
        transport, self._transport = self._transport, None
        if transport is None:
            return
        self._loop.on_readable(transport.read_fd(), None)
        self._loop.on_writable(transport.write_fd(), None)
        self._outgoing.clear()
        transport.close()

    def send(self, head: Head, body: bytes = b"", stream: int = 0) -> None:
        """Sends a frame, or keeps it until somebody is connected. Raises ProtocolViolation, and sends nothing, if it is too large.

        It is written at the end of the loop's turn, with all others of that turn.
        """
        if head["type"] in UNSEQUENCED:
            self._write(memoryview(encode(Frame(head, body, stream, 0, self._received))))
            return
        if self._is_rest_of_broken(head, stream):
            return
        sent = _Sent(self._next_sequence, bytearray(encode(Frame(head, body, stream))), len(body), stream, head)
        self._next_sequence += 1
        if stream in self._windows:
            self._windows[stream] -= len(sent.encoded)
        self._keep(sent)
        if self.welcomed:
            self._write_sent(sent)
        else:
            self._bound_replay()

    def flush(self) -> None:
        """Writes what was sent in this turn now and not at its end."""
        self._writable()

    def open_stream(self, stream: int, on_credit: Optional[Callable[[], None]] = None) -> None:
        """Starts counting credit on a stream; `on_credit` is called when there is some again."""
        self._windows[stream] = WINDOW_BYTES
        if on_credit is not None:
            self._on_credit[stream] = on_credit

    def close_stream(self, stream: int) -> None:
        self._windows.pop(stream, None)
        self._on_credit.pop(stream, None)
        self._broken_displays = {display for display in self._broken_displays if display[0] != stream}

    def credit(self, stream: int) -> int:
        """How many bytes of output may be sent on a stream now. Nobody listening means no need to wait: output may be dropped."""
        return self.lossless_credit(stream) if self.welcomed else WINDOW_BYTES

    def lossless_credit(self, stream: int) -> int:
        """The same for what must arrive: it waits while nobody is connected."""
        return max(0, self._windows.get(stream, 0))

    # A connection that has not been let in

    def _greeting(self, waiting: _Waiting) -> None:
        transport = waiting.transport
        try:
            chunk = os.read(transport.read_fd(), READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        frames = waiting.decoder.feed(chunk)
        try:
            hello = next(frames, None)
        except ProtocolViolation as violation:
            self._turn_away(waiting, f"protocol violation: {violation}")
            return
        if not chunk:
            self._turn_away(waiting, "the peer closed the channel")
        elif hello is not None and hello.head["type"] != "hello":
            self._turn_away(waiting, "protocol violation: type: hello must come first")
        elif hello is not None:
            self._decide(waiting, hello, frames)

    def _decide(self, waiting: _Waiting, hello: Frame, more: Iterator[Frame]) -> None:
        answer = self._on_hello(hello)
        if hello.ack >= self._next_sequence:
            answer = {"type": "refused", "reason": f"ack {hello.ack} was never sent", "protocols": answer.get("protocols", [])}
        if answer["type"] == "refused":
            try:
                os.write(waiting.transport.write_fd(), encode(Frame(answer, ack=self._received)))
            except OSError:
                pass  # it has gone, or does not read: it was to go anyway
            self._turn_away(waiting, str(answer["reason"]))
            return
        self._waiting.remove(waiting)
        self.detach()
        if hello.head.get("fresh"):
            self._begin_anew()
        self._transport = waiting.transport
        self._decoder = waiting.decoder
        self._loop.on_readable(self._transport.read_fd(), self._readable)
        self.epoch = int(answer["epoch"])
        self._write(memoryview(encode(Frame(answer, ack=self._received))))
        self._replay(hello.ack)
        self._on_frame(hello)
        self._take(more)

    def _begin_anew(self) -> None:
        """For a host that knows nothing of what was sent: both directions count from 1 again, and nothing is sent twice."""
        self._sent.clear()
        self._sent_cost = 0
        self._next_sequence = 1
        self._highest_written = 0
        self._received = 0
        self._dropped = []
        self._broken_displays = set()
        for stream in list(self._windows):
            self._windows[stream] = WINDOW_BYTES

    def _turn_away(self, waiting: _Waiting, reason: str) -> None:
        self._forget(waiting)
        if self._transport is None:
            self._on_lost(reason)

    def _forget(self, waiting: _Waiting) -> None:
        self._waiting.remove(waiting)
        self._loop.on_readable(waiting.transport.read_fd(), None)
        waiting.transport.close()

    # What comes in

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
        self._take(self._decoder.feed(chunk))

    def _take(self, frames: Iterator[Frame]) -> None:
        transport = self._transport
        try:
            for frame in frames:
                self._receive(frame)
                if self._transport is not transport:
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
        elif frame.head["type"] not in UNSEQUENCED:
            raise ProtocolViolation(f"sequence: {frame.head['type'][:40]} has none")
        if frame.head["type"] == "hello":
            raise ProtocolViolation("type: hello twice")
        if frame.head["type"] == "credit":
            self._take_credit(frame.head)
        elif frame.head["type"] == "ping":
            self.send({"type": "pong", "nonce": frame.head.get("nonce")})
        else:
            self._on_frame(frame)
        if self._received - self._acked_to_peer >= ACK_EVERY_FRAMES and self.welcomed:
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

    # What is kept until it is acknowledged

    def _keep(self, sent: _Sent) -> None:
        self._sent.append(sent)
        self._sent_cost += sent.cost

    def _acknowledge(self, ack: int) -> None:
        if ack >= self._next_sequence:
            raise ProtocolViolation(f"ack: {ack} was never sent")
        while self._sent and self._sent[0].sequence <= ack:
            self._sent_cost -= self._sent.popleft().cost

    def _bound_replay(self) -> None:
        """Drops the oldest output while nobody listens; what ends an execution is never dropped."""
        if self._sent_cost <= REPLAY_BYTES:
            return
        kept: deque[_Sent] = deque()
        while self._sent:
            oldest = self._sent.popleft()
            over = self._sent_cost > REPLAY_BYTES // 2
            if oldest.is_droppable and (over or oldest.display in self._broken_displays):
                self._drop(oldest)
            else:
                kept.append(oldest)
        self._sent = kept

    def _drop(self, sent: _Sent) -> None:
        self._sent_cost -= sent.cost
        if sent.stream in self._windows:
            # The peer will never consume it, so it will never be credited.
            self._windows[sent.stream] += len(sent.encoded)
        if sent.display is not None:
            self._broken_displays.add(sent.display)
            self._is_rest_of_broken(sent.head, sent.stream)
        before = 0
        if self._dropped and self._dropped[-1][0] > self._highest_written:
            before = self._dropped.pop()[1]  # the peer has neither of the two for sure: one entry serves
        self._dropped.append((sent.sequence, before + sent.body_bytes))

    def _is_rest_of_broken(self, head: Head, stream: int) -> bool:
        """A picture with a piece missing is no picture: the other pieces go as well, up to its last."""
        if head["type"] != "display":
            return False
        display = (stream, head.get("index"))
        if display not in self._broken_displays:
            return False
        if head.get("end"):
            self._broken_displays.discard(display)
        return True

    def _replay(self, peer_has: int) -> None:
        """Sends again what the peer lacks, after a `gap` where something of it was dropped."""
        self._acknowledge(peer_has)
        self._renumber()
        first = self._sent[0].sequence if self._sent else self._next_sequence
        # What the peer had received before the channel was lost may have been dropped here since: that is no loss.
        missing_bytes = sum(size for sequence, size in self._dropped if sequence > peer_has)
        self._dropped = []
        if first > peer_has + 1:
            gap: Head = {"type": "gap", "frames": first - 1 - peer_has, "bytes": missing_bytes, "next": first}
            self._write(memoryview(encode(Frame(gap, ack=self._received))))
            # Until the peer is known to have heard of it, it will be told again.
            self._dropped = [(first - 1, missing_bytes)]
            self._highest_written = max(self._highest_written, first - 1)
        for sent in list(self._sent):
            self._write_sent(sent)
        self._wake_all()

    def _renumber(self) -> None:
        """Numbers what the peer lacks from the end backwards: it then sees one gap and no hole after it."""
        sequence = self._next_sequence - len(self._sent)
        for sent in self._sent:
            sent.sequence = sequence
            sequence += 1

    # What goes out

    def _write_sent(self, sent: _Sent) -> None:
        if self._transport is None:
            return
        self._highest_written = max(self._highest_written, sent.sequence)
        set_numbers(sent.encoded, sent.sequence, self._received)
        self._write(memoryview(sent.encoded))

    def _write(self, encoded: memoryview) -> None:
        if self._transport is None:
            return
        self._acked_to_peer = self._received
        self._outgoing.append(encoded)
        if not self._will_write:
            self._will_write = True
            self._loop.soon(self._writable)

    def _writable(self) -> None:
        self._will_write = False
        transport = self._transport
        if transport is None or not self._outgoing:
            return
        fd = transport.write_fd()
        try:
            while self._outgoing:
                self._drop_written(os.writev(fd, list(itertools.islice(self._outgoing, _WRITE_FRAMES))))
        except BlockingIOError:
            self._loop.on_writable(fd, self._writable)
            return
        except OSError as error:
            self._lose(f"write: {error.strerror}")
            return
        self._loop.on_writable(fd, None)

    def _drop_written(self, written: int) -> None:
        while written:
            first = self._outgoing[0]
            if written < len(first):
                self._outgoing[0] = first[written:]
                return
            written -= len(first)
            self._outgoing.popleft()

    def _lose(self, reason: str) -> None:
        self.detach()
        self._on_lost(reason)
        # Output need not wait any more. Not at once: it may be in the middle of sending some.
        self._loop.call_later(0, self._wake_all)

    def _wake_all(self) -> None:
        for wake in list(self._on_credit.values()):
            wake()
