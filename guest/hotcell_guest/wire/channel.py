"""The guest's end of the channel: sequence numbers, acknowledgement, credit (sections 2 to 5)."""

from __future__ import annotations

import os
from typing import Callable, Iterator, Optional

from ..system.loop import Loop
from .frames import Frame, FrameDecoder, Head, ProtocolViolation, encode
from .outgoing import Outgoing
from .pending_connections import Arrival, PendingConnections
from .sent_frames import Sent, SentFrames
from .transports import Transport

WINDOW_BYTES = 262_144
# The most that we can widen the host's window on a stream to, by returning more than was consumed.
WIDEST_WINDOW_BYTES = 1_048_576
ACK_EVERY_FRAMES = 64
_MOST_WAITING_BYTES = 1_048_576
READ_BYTES = 262_144
# After a read of so many bytes there are probably more.
_MORE_BYTES = 16_384
UNSEQUENCED = frozenset({"hello", "welcome", "refused", "ping", "pong", "attach", "failed"})


class Channel:
    """Sends and receives frames over the attached transport. The supervisor owns exactly one.

    `on_hello` is called for each new connection: it returns a `welcome` to accept it, or a `refused`. `on_frame` gets
    the accepted `hello` and then each frame once and in order; `on_lost` is called when the transport ends or violates
    the protocol, and when a connection is rejected while there is no other. Sending never blocks, and never fails
    because no peer is connected: unsent frames are kept for replay.
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
        self._pending = PendingConnections(loop, self._decide, self._on_turned_away)
        self._transport: Optional[Transport] = None
        self._decoder = FrameDecoder()
        self._outgoing = Outgoing(loop, self._lose, self._on_written)
        self._waiting_for_room: list[Callable[[], None]] = []
        self._sent = SentFrames(self._give_back)
        self._received = 0
        self._acked_to_peer = 0
        self._windows: dict[int, int] = {}
        self._on_credit: dict[int, Callable[[], None]] = {}
        self._is_wide = False
        self.epoch = 0

    @property
    def welcomed(self) -> bool:
        """Whether a peer is connected and accepted."""
        return self._transport is not None

    def attach(self, transport: Transport) -> None:
        """Reads from a new connection. The previous one stays until the `hello` of this one is accepted."""
        self._pending.listen(transport)

    def detach(self) -> None:
        """Releases the transport, and keeps unacknowledged frames."""
        transport, self._transport = self._transport, None
        if transport is None:
            return
        self._loop.on_readable(transport.read_fd(), None)
        self._outgoing.end()
        transport.close()

    def send(self, head: Head, body: bytes = b"", stream: int = 0) -> None:
        """Sends a frame, or keeps it until a peer is connected. Raises ProtocolViolation, and sends nothing, if it is
        too large.

        It is written at the end of the loop's turn, with all others of that turn.
        """
        if head["type"] in UNSEQUENCED:
            self._write_unsequenced(head, body, stream)
            return
        sent = self._sent.add(head, body, stream)
        if sent is None:
            return
        if stream in self._windows:
            self._windows[stream] -= sent.size
        if self._transport is not None:
            self._write_sent(sent)
        else:
            self._sent.bound()

    def flush(self) -> None:
        """Writes the frames of this turn now instead of at its end."""
        self._outgoing.flush()

    @property
    def has_room(self) -> bool:
        """Whether little waits to be written. Connections of the network wait for that, all together: output and control frames must not
        stand behind a window of each."""
        return self._outgoing.waiting_bytes < _MOST_WAITING_BYTES

    def when_room(self, callback: Callable[[], None]) -> None:
        """Calls back once, when all that waits is written."""
        self._waiting_for_room.append(callback)

    def widen(self) -> None:
        """Prepares this transport, and later ones, for connections of a network: much at once in both directions. Idempotent."""
        if self._transport is not None and not self._is_wide:
            self._transport.widen()
        self._is_wide = True

    def open_stream(self, stream: int, on_credit: Optional[Callable[[], None]] = None) -> None:
        """Starts counting credit on a stream; `on_credit` is called when credit is available again."""
        self._windows[stream] = WINDOW_BYTES
        if on_credit is not None:
            self._on_credit[stream] = on_credit

    def close_stream(self, stream: int) -> None:
        self._windows.pop(stream, None)
        self._on_credit.pop(stream, None)
        self._sent.end_stream(stream)

    def credit(self, stream: int) -> int:
        """The number of output bytes that may be sent on a stream now. Without a peer it is unlimited, because output
        may be dropped.
        """
        return self.lossless_credit(stream) if self.welcomed else WINDOW_BYTES

    def lossless_credit(self, stream: int) -> int:
        """Like `credit`, for data that must arrive: it is 0 while no peer is connected."""
        return max(0, self._windows.get(stream, 0))

    # Accepting connections

    def _decide(self, arrival: Arrival, hello: Frame, more: Iterator[Frame]) -> Optional[str]:
        answer = self._on_hello(hello)
        if self._sent.was_never_sent(hello.ack):
            answer = {"type": "refused", "reason": f"ack {hello.ack} was never sent", "protocols": answer.get("protocols", [])}
        if answer["type"] == "refused":
            try:
                os.write(arrival.transport.write_fd(), encode(Frame(answer, ack=self._received)))
            except OSError:
                pass  # it has disconnected or does not read; it was to be closed anyway
            return str(answer["reason"])
        self.detach()
        if hello.head.get("fresh"):
            self._begin_anew()
        self._transport, self._decoder = arrival.transport, arrival.decoder
        self._loop.on_readable(self._transport.read_fd(), self._readable)
        self._outgoing.begin(self._transport.write_fd())
        if self._is_wide:
            self._transport.widen()
        self.epoch = int(answer["epoch"])
        self._write_unsequenced(answer)
        self._replay(hello.ack)
        self._on_frame(hello)
        # Only after the state left by the previous host is known: otherwise a new host would get chunks of a file that
        # it never requested.
        self._wake_all()
        self._take(more)
        return None

    def _begin_anew(self) -> None:
        """For a host without knowledge of earlier frames: both directions start at 1 again, and nothing is replayed."""
        self._sent = SentFrames(self._give_back)
        self._received = 0
        self._acked_to_peer = 0
        for stream in self._windows:
            self._windows[stream] = WINDOW_BYTES

    def _on_turned_away(self, reason: str) -> None:
        if self._transport is None:
            self._on_lost(reason)

    def _replay(self, peer_has: int) -> None:
        """Replays the frames that the peer lacks, after a `gap` if some of them were dropped."""
        gap, lacking = self._sent.lacking(peer_has)
        if gap is not None:
            self._write_unsequenced(gap)
        for sent in lacking:
            self._write_sent(sent)

    # Incoming frames

    def _readable(self) -> None:
        """Reads several times while much comes: a pipe gives little at once, and a turn costs more system calls than a read."""
        transport, read_bytes = self._transport, 0
        while transport is not None and transport is self._transport and read_bytes < READ_BYTES:
            try:
                chunk = os.read(transport.read_fd(), READ_BYTES)
            except BlockingIOError:
                return
            except OSError as error:
                self._lose(f"read: {error.strerror}")
                return
            if not chunk:
                self._lose("the peer closed the channel")
                return
            self._take(self._decoder.feed(chunk))
            if len(chunk) < _MORE_BYTES:
                return
            read_bytes += len(chunk)

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
        self._sent.acknowledge(frame.ack)
        kind = frame.head["type"]
        if frame.sequence:
            if frame.sequence <= self._received:
                return
            if frame.sequence != self._received + 1:
                raise ProtocolViolation(f"sequence: {frame.sequence} after {self._received}")
            self._received = frame.sequence
        elif kind not in UNSEQUENCED:
            raise ProtocolViolation(f"sequence: {kind[:40]} has none")
        if kind == "hello":
            raise ProtocolViolation("type: hello twice")
        if kind == "credit":
            self._take_credit(frame.head)
        elif kind == "ping":
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

    def _give_back(self, stream: int, size: int) -> None:
        """Restores the credit of dropped frames: the peer never receives them, so it never grants it again."""
        if stream in self._windows:
            self._windows[stream] += size

    # Outgoing frames

    def _write_unsequenced(self, head: Head, body: bytes = b"", stream: int = 0) -> None:
        self._write(encode(Frame(head, body, stream, 0, self._received)))

    def _write_sent(self, sent: Sent) -> None:
        self._sent.make_ready(sent, self._received)
        self._write(sent.front, sent.body)

    def _write(self, *parts: bytes | bytearray) -> None:
        if self._transport is not None:
            self._acked_to_peer = self._received
            for part in parts:
                if part:
                    self._outgoing.append(memoryview(part))

    def _on_written(self) -> None:
        waiting, self._waiting_for_room = self._waiting_for_room, []
        for callback in waiting:
            callback()

    def _lose(self, reason: str) -> None:
        self.detach()
        self._on_lost(reason)
        # Output need not wait any more. The callback is deferred, because output may be in the middle of being sent.
        self._loop.call_later(0, self._wake_all)

    def _wake_all(self) -> None:
        for wake in list(self._on_credit.values()):
            wake()
