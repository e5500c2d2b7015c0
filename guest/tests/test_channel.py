"""The guest's end of the channel against a peer that says exactly what a test wants it to."""

from __future__ import annotations

import random
import socket
import unittest
from typing import Optional

from hotcell_guest.system.loop import Loop
from hotcell_guest.wire.channel import WINDOW_BYTES, Channel
from hotcell_guest.wire.frames import Frame, FrameDecoder, Head, ProtocolViolation, encode
from hotcell_guest.wire.sent_frames import REPLAY_BYTES
from hotcell_guest.wire.transports import SocketTransport

STREAM = 2


class Guest:
    """A channel, its loop, and what it told the supervisor."""

    def __init__(self, test: unittest.TestCase) -> None:
        self._test = test
        self.loop = Loop()
        test.addCleanup(self.loop.close)
        self.frames: list[Frame] = []
        self.lost: list[str] = []
        self.channel = Channel(self.loop, self._on_hello, self.frames.append, self.lost.append)

    def _on_hello(self, hello: Frame) -> Head:
        epoch = hello.head["epoch"]
        if epoch <= self.channel.epoch:
            return {"type": "refused", "reason": f"epoch {epoch}", "protocols": [1]}
        return {"type": "welcome", "protocol": 1, "epoch": epoch}

    def connect(self) -> Peer:
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            self._test.addCleanup(end.close)
        self.channel.attach(SocketTransport(ours))
        return Peer(theirs, self.loop)

    def connected(self, epoch: int = 1, ack: int = 0) -> Peer:
        peer = self.connect()
        peer.hello(epoch, ack)
        return peer


class Peer:
    """The host's end, by hand. Every method lets the guest's loop do all it can first."""

    def __init__(self, sock: socket.socket, loop: Loop) -> None:
        self._sock = sock
        self._loop = loop
        self._decoder = FrameDecoder()
        self.closed = False
        sock.setblocking(False)

    def hello(self, epoch: int, ack: int = 0) -> None:
        self.send({"type": "hello", "protocols": [1], "epoch": epoch}, ack=ack)

    def send(self, head: Head, body: bytes = b"", *, stream: int = 0, sequence: int = 0, ack: int = 0) -> None:
        self.write(encode(Frame(head, body, stream, sequence, ack)))

    def write(self, raw: bytes) -> None:
        self._sock.sendall(raw)
        settle(self._loop)

    def read(self) -> list[Frame]:
        frames: list[Frame] = []
        while True:
            settle(self._loop)
            try:
                chunk = self._sock.recv(1_048_576)
            except BlockingIOError:
                return frames
            except ConnectionResetError:
                chunk = b""
            if not chunk:
                self.closed = True
                return frames
            frames.extend(self._decoder.feed(chunk))

    def close(self) -> None:
        self._sock.close()
        settle(self._loop)


def settle(loop: Loop) -> None:
    """Runs the loop once over what is ready. Twice, because a callback may make more ready."""
    for _ in range(2):
        loop.call_later(0, loop.stop)
        loop._running = True
        loop.run()


def _types(frames: list[Frame]) -> list[str]:
    return [frame.head["type"] for frame in frames]


class Handshake(unittest.TestCase):
    def setUp(self) -> None:
        self.guest = Guest(self)

    def test_nothing_goes_out_before_welcome(self) -> None:
        peer = self.guest.connect()
        self.guest.channel.send({"type": "ready"})
        self.assertEqual(peer.read(), [])
        peer.hello(1)
        self.assertEqual(_types(peer.read()), ["welcome", "ready"])

    def test_a_hello_in_pieces_is_a_hello(self) -> None:
        peer = self.guest.connect()
        for byte in encode(Frame({"type": "hello", "protocols": [1], "epoch": 1})):
            peer.write(bytes([byte]))
        self.assertEqual(_types(peer.read()), ["welcome"])

    def test_what_follows_hello_in_the_same_bytes_is_not_lost(self) -> None:
        peer = self.guest.connect()
        peer.write(encode(Frame({"type": "hello", "protocols": [1], "epoch": 1})) + encode(Frame({"type": "restart", "id": 1}, sequence=1)))
        self.assertEqual(_types(self.guest.frames), ["hello", "restart"])

    def test_a_refused_connection_leaves_the_one_that_is_there_alone(self) -> None:
        first = self.guest.connected(epoch=3)
        late = self.guest.connect()
        late.hello(3)
        self.assertEqual(_types(late.read()), ["refused"])
        late.read()
        self.assertTrue(late.closed)
        first.send({"type": "ping", "nonce": 5})
        self.assertEqual(_types(first.read()), ["welcome", "pong"])
        self.assertEqual(self.guest.lost, [])

    def test_a_higher_epoch_ends_the_connection_that_is_there(self) -> None:
        first = self.guest.connected(epoch=1)
        second = self.guest.connected(epoch=2)
        first.read()
        self.assertTrue(first.closed)
        self.assertEqual(_types(second.read()), ["welcome"])

    def test_garbage_and_silence_harm_nobody(self) -> None:
        first = self.guest.connected()
        silent = [self.guest.connect() for _ in range(20)]
        garbage = self.guest.connect()
        garbage.write(b"GET / HTTP/1.1\r\n")
        garbage.read()
        self.assertTrue(garbage.closed)
        other = self.guest.connect()
        other.send({"type": "restart", "id": 1}, sequence=1)
        other.read()
        self.assertTrue(other.closed)
        first.send({"type": "ping", "nonce": 1})
        self.assertIn("pong", _types(first.read()))
        for peer in silent:
            peer.read()
        self.assertLessEqual(sum(not peer.closed for peer in silent), 4)

    def test_a_first_connection_that_is_no_use_is_reported(self) -> None:
        self.guest.connect().write(b"\x00")
        self.assertEqual(self.guest.lost, ["protocol violation: magic: this is not a frame"])

    def test_an_acknowledgement_of_what_was_never_sent_is_refused(self) -> None:
        peer = self.guest.connected(ack=5)
        self.assertEqual(_types(peer.read()), ["refused"])


class Sequence(unittest.TestCase):
    def setUp(self) -> None:
        self.guest = Guest(self)
        self.peer = self.guest.connected()
        self.peer.read()

    def test_a_frame_seen_before_is_dropped(self) -> None:
        for _ in range(2):
            self.peer.send({"type": "restart", "id": 1}, sequence=1)
        self.assertEqual(_types(self.guest.frames), ["hello", "restart"])

    def test_a_number_that_skips_ends_the_connection(self) -> None:
        self.peer.send({"type": "restart", "id": 1}, sequence=2)
        self.assertEqual(self.guest.lost, ["protocol violation: sequence: 2 after 0"])

    def test_a_missing_number_ends_the_connection(self) -> None:
        self.peer.send({"type": "restart", "id": 1})
        self.assertEqual(self.guest.lost, ["protocol violation: sequence: restart has none"])

    def test_the_peer_hears_what_has_arrived_after_64_frames_at_the_latest(self) -> None:
        for number in range(1, 65):
            self.peer.send({"type": "credit", "stream": 8, "bytes": 1}, sequence=number)
        self.assertEqual([(frame.head["type"], frame.ack) for frame in self.peer.read()], [("ping", 64)])

    def test_a_frame_that_is_too_large_leaves_no_hole(self) -> None:
        with self.assertRaises(ProtocolViolation):
            self.guest.channel.send({"type": "reply", "text": "x" * 70_000})
        self.guest.channel.send({"type": "ready"})
        self.assertEqual([frame.sequence for frame in self.peer.read()], [1])


class Credit(unittest.TestCase):
    def setUp(self) -> None:
        self.guest = Guest(self)
        self.channel = self.guest.channel
        self.woken = 0
        self.channel.open_stream(STREAM, self._wake)
        self.peer = self.guest.connected()
        self.peer.read()

    def _wake(self) -> None:
        self.woken += 1

    def test_a_frame_costs_its_whole_length(self) -> None:
        self.channel.send({"type": "stdout"}, b"x", STREAM)
        (frame,) = self.peer.read()
        self.assertGreater(frame.size, 24)
        self.assertEqual(self.channel.credit(STREAM), WINDOW_BYTES - frame.size)

    def test_what_is_credited_can_be_used_again_and_never_more(self) -> None:
        self.channel.send({"type": "stdout"}, bytes(WINDOW_BYTES), STREAM)
        self.assertEqual(self.channel.credit(STREAM), 0)
        self.peer.read()
        before = self.woken
        self.peer.send({"type": "credit", "stream": STREAM, "bytes": 10 * WINDOW_BYTES}, sequence=1, ack=1)
        self.assertEqual(self.channel.credit(STREAM), WINDOW_BYTES)
        self.assertEqual(self.woken, before + 1)

    def test_credit_that_makes_no_sense_ends_the_connection(self) -> None:
        self.peer.send({"type": "credit", "stream": STREAM, "bytes": -1}, sequence=1)
        self.assertEqual(len(self.guest.lost), 1)

    def test_nobody_listening_wakes_output_and_only_output_goes_on(self) -> None:
        self.channel.send({"type": "stdout"}, bytes(WINDOW_BYTES), STREAM)
        before = self.woken
        self.peer.close()
        self.assertGreater(self.woken, before)
        self.assertEqual(self.channel.credit(STREAM), WINDOW_BYTES)
        self.assertEqual(self.channel.lossless_credit(STREAM), 0)


class Replay(unittest.TestCase):
    def setUp(self) -> None:
        self.guest = Guest(self)
        self.channel = self.guest.channel
        self.channel.open_stream(STREAM)

    def test_what_the_peer_lacks_is_sent_again_in_order(self) -> None:
        first = self.guest.connected()
        for index in range(5):
            self.channel.send({"type": "reply", "id": index})
        first.read()
        first.close()
        self.channel.send({"type": "ready"})
        second = self.guest.connected(epoch=2, ack=3)
        frames = [(frame.head["type"], frame.sequence) for frame in second.read()]
        self.assertEqual(frames, [("welcome", 0), ("reply", 4), ("reply", 5), ("ready", 6)])

    def test_a_half_written_frame_is_sent_again_whole(self) -> None:
        first = self.guest.connected()
        for _ in range(4):
            self.channel.send({"type": "reply", "id": 1}, bytes(1_000_000))
        first.close()
        second = self.guest.connected(epoch=2)
        self.assertEqual([len(frame.body) for frame in second.read()[1:]], [1_000_000] * 4)

    def test_dropped_output_is_counted_and_what_ends_an_execution_is_kept(self) -> None:
        self.channel.send({"type": "reply", "id": 0})
        for _ in range(320):
            self.channel.send({"type": "stdout"}, bytes(65_536), STREAM)
        self.channel.send({"type": "finished"}, b"[]", STREAM)
        peer = self.guest.connected()
        _, gap, *rest = peer.read()
        self.assertEqual(gap.head["type"], "gap")
        self.assertEqual(_types(rest)[0], "reply")
        self.assertEqual(_types(rest)[-1], "finished")
        output = [frame for frame in rest if frame.head["type"] == "stdout"]
        self.assertEqual(gap.head["frames"] + len(output), 320)
        self.assertEqual(gap.head["bytes"] + sum(len(frame.body) for frame in output), 320 * 65_536)
        self.assertEqual([frame.sequence for frame in rest], list(range(gap.head["next"], gap.head["next"] + len(rest))))

    def test_small_frames_are_bounded_by_what_they_cost_to_keep(self) -> None:
        for _ in range(50_000):
            self.channel.send({"type": "stdout"}, b"x", STREAM)
        self.assertLess(len(self.channel._sent), REPLAY_BYTES // 512)

    def test_what_the_peer_had_received_before_is_not_counted_as_dropped(self) -> None:
        first = self.guest.connected()
        for _ in range(3):
            self.channel.send({"type": "stdout"}, bytes(50_000), STREAM)
        self.assertEqual(len(first.read()), 4)
        first.close()
        for _ in range(100):
            self.channel.send({"type": "stdout"}, bytes(65_536), STREAM)
        _, gap, *rest = self.guest.connected(epoch=2, ack=3).read()
        self.assertEqual(gap.head["bytes"] + sum(len(frame.body) for frame in rest), 100 * 65_536)
        self.assertEqual(gap.head["frames"] + len(rest), 100)

    def test_a_gap_is_said_again_until_it_was_heard_and_then_no_more(self) -> None:
        for _ in range(100):
            self.channel.send({"type": "stdout"}, bytes(65_536), STREAM)
        peer = self.guest.connected(epoch=1)
        gap = peer.read()[1].head
        peer.close()
        peer = self.guest.connected(epoch=2)
        self.assertEqual(peer.read()[1].head, gap)
        peer.close()
        again = self.guest.connected(epoch=3, ack=gap["next"] - 1).read()
        self.assertEqual(_types(again)[:2], ["welcome", "stdout"])

    def test_credit_of_what_was_dropped_comes_back(self) -> None:
        for _ in range(320):
            self.channel.send({"type": "stdout"}, bytes(65_536), STREAM)
        peer = self.guest.connected()
        replayed = sum(frame.size for frame in peer.read() if frame.stream == STREAM)
        peer.send({"type": "credit", "stream": STREAM, "bytes": replayed}, sequence=1, ack=320)
        self.assertEqual(self.channel.credit(STREAM), WINDOW_BYTES)

    def test_a_display_is_dropped_with_all_its_pieces(self) -> None:
        self._display(index=0, pieces=3)
        self._display(index=1, pieces=40)
        self.channel.send({"type": "display", "index": 2, "end": False}, bytes(131_072), STREAM)
        peer = self.guest.connected()
        displays = [frame.head for frame in peer.read() if frame.head["type"] == "display"]
        self.assertEqual(displays, [{"type": "display", "index": 2, "end": False}])

    def test_the_rest_of_a_display_that_was_begun_unheard_is_dropped_too(self) -> None:
        self._display(index=0, pieces=40, end=False)
        peer = self.guest.connected()
        peer.read()
        self._display(index=0, pieces=1)
        self._display(index=1, pieces=1)
        self.assertEqual([frame.head["index"] for frame in peer.read()], [1])

    def test_pieces_of_a_file_are_never_dropped(self) -> None:
        for _ in range(100):
            self.channel.send({"type": "chunk"}, bytes(65_536), STREAM)
        self.assertEqual(_types(self.guest.connected().read()), ["welcome", *["chunk"] * 100])

    def test_whatever_happens_the_peer_can_account_for_every_byte(self) -> None:
        source = random.Random(20_240_602)
        for _ in range(20):
            self._account(source)

    def _account(self, source: random.Random) -> None:
        guest = Guest(self)
        guest.channel.open_stream(STREAM)
        peer: Optional[Peer] = None
        sent = heard = epoch = received = 0
        for _ in range(60):
            step = source.randrange(4)
            if step == 0 and peer is not None:
                peer.close()
                peer = None
            elif step == 1 and peer is None:
                epoch += 1
                peer = guest.connected(epoch, received)
            else:
                for _ in range(source.randrange(30)):
                    body = bytes(source.choice((1, 1_000, 65_536)))
                    sent += len(body)
                    guest.channel.send({"type": "stdout"}, body, STREAM)
            if peer is not None and source.random() < 0.7:
                received, taken = _listen(self, peer, received)
                heard += taken
        if peer is None:
            peer = guest.connected(epoch + 1, received)
        heard += _listen(self, peer, received)[1]
        self.assertEqual(heard, sent)

    def test_displays_that_never_end_leave_nothing_behind(self) -> None:
        for index in range(1_000):
            self._display(index=index, pieces=1, end=False)
        remembered = [value for value in vars(self.channel._sent).values() if isinstance(value, (set, dict, list)) and len(value) > 10]
        self.assertEqual(remembered, [])

    def _display(self, index: int, pieces: int, end: bool = True) -> None:
        for piece in range(pieces):
            head = {"type": "display", "index": index, "end": end and piece == pieces - 1}
            self.channel.send(head, bytes(131_072), STREAM)


def _listen(test: unittest.TestCase, peer: Peer, received: int) -> tuple[int, int]:
    """What a host does with what it hears: returns the last number, and how many bytes it got or was told of."""
    taken = 0
    for frame in peer.read():
        if frame.head["type"] == "gap":
            received = frame.head["next"] - 1
            taken += frame.head["bytes"]
        elif frame.sequence > received:
            test.assertEqual(frame.sequence, received + 1)
            received = frame.sequence
            taken += len(frame.body)
    return received, taken


if __name__ == "__main__":
    unittest.main()
