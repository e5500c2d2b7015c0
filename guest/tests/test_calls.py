"""Calls of programs in the sandbox, with a host that a test plays."""

from __future__ import annotations

import os
import socket
import threading
import time
import unittest
from typing import Any, Optional
from unittest import mock

from hotcell_guest.supervisor.calls import MOST_CALLS, Calls
from hotcell_guest.wire.call_socket import VARIABLE
from hotcell_guest.wire.calling import Call, CallError, call
from hotcell_guest.wire.channel import WINDOW_BYTES
from hotcell_guest.wire.frames import Frame, FrameDecoder, Head, encode
from hotcell_guest.wire.open_calls import OpenCalls

from .test_channel import Guest, Peer, settle


class Caller:
    """A program's end of its connection, by hand."""

    def __init__(self, test: unittest.TestCase, calls: Calls, guest: Guest) -> None:
        self._guest = guest
        self._decoder = FrameDecoder()
        self.sock = socket.socket(socket.AF_UNIX)
        test.addCleanup(self.sock.close)
        self.sock.connect("\0" + calls.offer()[1:])
        self.sock.setblocking(False)

    def say(self, kind: str, body: bytes = b"", **members: Any) -> None:
        self.sock.sendall(encode(Frame({"type": kind, **members}, body)))
        settle(self._guest.loop)
        settle(self._guest.loop)

    def heard(self) -> list[Frame]:
        settle(self._guest.loop)
        frames: list[Frame] = []
        while True:
            try:
                data = self.sock.recv(1_048_576)
            except BlockingIOError:
                return frames
            if not data:
                return frames
            frames.extend(self._decoder.feed(data))

    def error(self) -> Optional[str]:
        replies = [frame.head for frame in self.heard() if frame.head["type"] == "reply"]
        return replies[0]["error"]["code"] if replies else None


class CallsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.guest = Guest(self)
        self.peer = self.guest.connected()
        self.peer.read()
        self.pids: list[int] = []
        self.open_calls = OpenCalls()
        self.calls = Calls(self.guest.loop, self.guest.channel, self.open_calls, self._execution_of)
        self._sequence = 0

    def _execution_of(self, pid: int) -> Optional[str]:
        self.pids.append(pid)
        return "x-1"

    def caller(self) -> Caller:
        return Caller(self, self.calls, self.guest)

    def begun(self) -> Caller:
        caller = self.caller()
        caller.say("call", method="m")
        return caller

    def host_says(self, head: Head, body: bytes = b"", stream: int = 0) -> None:
        """Hands over what the channel would: the supervisor tells apart what is for calls."""
        frame = Frame(head, body, stream, size=24 + len(body))
        (self.open_calls.take if stream else self.open_calls.replied)(frame)
        settle(self.guest.loop)

    def sent(self, peer: Optional[Peer] = None) -> list[Frame]:
        return (peer or self.peer).read()

    def test_nothing_listens_before_the_host_serves_calls(self) -> None:
        self.assertIsNone(self.calls._server)
        self.assertEqual(self.calls.offer(), self.calls.offer())

    def test_a_call_is_forwarded_with_what_the_supervisor_knows_and_nothing_that_the_caller_says(self) -> None:
        caller = self.caller()
        caller.say("call", method="m", execution="x-other", id=7, stream=2, owner="root")
        caller.say("argument", b"{}", end=True, owner="root")
        call_frame, argument = self.sent()
        self.assertEqual(call_frame.head, {"type": "call", "id": 1, "execution": "x-1", "method": "m", "stream": 3})
        self.assertEqual((argument.head, argument.stream, argument.body), ({"type": "argument", "end": True}, 3, b"{}"))
        self.assertEqual(self.pids, [os.getpid()])

    def test_frames_of_the_host_reach_their_caller_and_the_reply_ends_the_connection(self) -> None:
        first, second = self.begun(), self.begun()
        self.host_says({"type": "chunk", "end": False}, b"one", 3)
        self.host_says({"type": "result", "end": True}, b"2", 5)
        self.host_says({"type": "reply", "id": 2, "ok": True})
        self.host_says({"type": "chunk", "end": False}, b"late", 5)
        self.assertEqual([frame.body for frame in first.heard()], [b"one"])
        self.assertEqual([frame.head["type"] for frame in second.heard()], ["result", "reply"])
        self.assertEqual(second.sock.recv(1), b"")

    def test_a_caller_is_read_only_while_the_host_gives_credit(self) -> None:
        caller = self.begun()
        caller.say("argument", end=True)
        caller.sock.setblocking(True)
        sender = threading.Thread(target=caller.sock.sendall, args=(encode(Frame({"type": "chunk", "end": False}, bytes(60_000))) * 40,))
        sender.start()
        received = 0
        deadline = time.monotonic() + 20
        while received <= WINDOW_BYTES - 60_000 and time.monotonic() < deadline:
            received += sum(len(frame.body) for frame in self.sent())
        for _ in range(100):  # what may come without credit has come
            received += sum(len(frame.body) for frame in self.sent())
        self.assertGreater(received, WINDOW_BYTES - 60_000)
        self.assertLess(received, WINDOW_BYTES + 2 * 60_000)
        while received < 40 * 60_000:
            self._sequence += 1
            self.peer.send({"type": "credit", "stream": 3, "bytes": WINDOW_BYTES}, sequence=self._sequence)
            received += sum(len(frame.body) for frame in self.sent())
        sender.join()

    def test_the_host_gets_credit_as_the_caller_reads(self) -> None:
        caller = self.begun()
        self.sent()
        for _ in range(40):
            self.host_says({"type": "chunk", "end": False}, bytes(60_000), 3)
        before = sum(frame.head["bytes"] for frame in self.sent() if frame.head["type"] == "credit")
        self.assertLess(before, 40 * 60_000)
        total = before
        for _ in range(60):
            caller.heard()
            total += sum(frame.head["bytes"] for frame in self.sent() if frame.head["type"] == "credit")
        self.assertGreater(total, 39 * 60_000)

    def test_a_caller_that_closes_or_breaks_the_order_cancels_its_call(self) -> None:
        gone, wrong = self.begun(), self.begun()
        self.sent()
        gone.sock.close()
        wrong.say("chunk", b"x", end=False)
        self.assertEqual([frame.head for frame in self.sent()], [{"type": "call.cancel", "id": number} for number in (1, 2)])
        self.assertEqual(wrong.error(), "bad-request")

    def test_what_is_no_call_is_answered_and_closed(self) -> None:
        for head in ({"type": "argument", "end": True}, {"type": "call"}, {"type": "call", "method": "m" * 201}, {"type": "finished"}):
            caller = self.caller()
            caller.sock.sendall(encode(Frame(head)))
            settle(self.guest.loop)
            self.assertEqual(caller.error(), "bad-request", head)
        caller = self.caller()
        caller.sock.sendall(b"GET / HTTP/1.1\r\n\r\n" * 2)
        settle(self.guest.loop)
        self.assertEqual(caller.error(), "bad-request")
        self.assertEqual(self.sent(), [])

    def test_a_frame_larger_than_a_piece_is_refused_before_it_is_held(self) -> None:
        caller = self.begun()
        data = encode(Frame({"type": "argument", "end": False}, bytes(1_000_000)))
        for start in range(0, len(data), 50_000):
            try:
                caller.sock.sendall(data[start : start + 50_000])
            except OSError:
                break
            settle(self.guest.loop)
        self.assertEqual(caller.error(), "bad-request")

    def test_calls_end_with_their_execution(self) -> None:
        caller = self.begun()
        self.sent()
        self.calls.end_execution("x-2")
        self.assertIsNone(caller.error())
        self.calls.end_execution("x-1")
        self.assertEqual(caller.error(), "execution-ended")
        self.assertEqual([frame.head["type"] for frame in self.sent()], ["call.cancel"])

    def test_without_a_channel_calls_fail_and_one_that_is_sent_again_is_withdrawn(self) -> None:
        caller = self.begun()  # the host never reads it
        self.guest.channel.detach()
        self.calls.lose_channel()
        self.assertEqual(caller.error(), "channel-lost")
        self.assertEqual(self.begun().error(), "channel-lost")
        again = self.guest.connected(epoch=2)
        self.assertEqual([frame.head["type"] for frame in self.sent(again)], ["welcome", "call", "call.cancel"])

    def test_after_a_takeover_nothing_is_pending_and_no_number_is_used_again(self) -> None:
        caller = self.begun()
        self.sent()
        self.calls.abandon()
        self.assertEqual(caller.error(), "channel-lost")
        self.begun()
        self.assertEqual([(frame.head["id"], frame.head["stream"]) for frame in self.sent()], [(2, 5)])

    def test_more_callers_than_places_wait(self) -> None:
        callers = [self.begun() for _ in range(MOST_CALLS)]
        late = self.begun()
        self.assertEqual(len(self.sent()), MOST_CALLS)
        callers[0].sock.close()
        settle(self.guest.loop)
        settle(self.guest.loop)
        self.assertEqual([frame.head["type"] for frame in self.sent()], ["call.cancel", "call"])
        self.assertIsNone(late.error())

    def test_descriptors_that_a_caller_sends_are_dropped(self) -> None:
        caller = self.caller()
        self.calls.offer()
        settle(self.guest.loop)
        before = len(os.listdir("/proc/self/fd"))
        socket.send_fds(caller.sock, [encode(Frame({"type": "call", "method": "m"}))], [0, 1, 2])
        settle(self.guest.loop)
        self.assertEqual(len(self.sent()), 1)
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)


class CallingTest(unittest.TestCase):
    """The caller's module, against a server that a test plays."""

    def setUp(self) -> None:
        self.server = socket.socket(socket.AF_UNIX)
        self.addCleanup(self.server.close)
        name = f"hotcell-test-{os.urandom(8).hex()}"
        self.server.bind("\0" + name)
        self.server.listen()
        variables = mock.patch.dict(os.environ, {VARIABLE: f"@{name}"})
        variables.start()
        self.addCleanup(variables.stop)

    def answer(self, *frames: Frame) -> None:
        """Answers the next call with these frames, and hangs up."""

        def serve() -> None:
            connection, _ = self.server.accept()
            with connection:
                connection.recv(65_536)
                for frame in frames:
                    connection.sendall(encode(frame))

        thread = threading.Thread(target=serve)
        thread.start()
        self.addCleanup(thread.join)

    def test_a_result_in_pieces_is_one(self) -> None:
        pieces = (Frame({"type": "result", "end": False}, b'{"a": "\xc3'), Frame({"type": "result", "end": True}, b'\xa4"}'))
        self.answer(*pieces, Frame({"type": "reply", "ok": True}))
        self.assertEqual(call("m"), {"a": "ä"})

    def test_an_error_has_its_code(self) -> None:
        self.answer(Frame({"type": "reply", "ok": False, "error": {"code": "too-many", "message": "enough"}}))
        with self.assertRaises(CallError) as raised:
            call("m", {"large": "x" * 1_000_000})
        self.assertEqual(raised.exception.code, "too-many")

    def test_a_connection_that_ends_without_a_reply_is_lost(self) -> None:
        self.answer()
        with self.assertRaises(CallError) as raised:
            call("m")
        self.assertEqual(raised.exception.code, "channel-lost")

    def test_without_the_variable_nothing_is_offered(self) -> None:
        del os.environ[VARIABLE]
        with self.assertRaises(CallError) as raised:
            call("m")
        self.assertEqual(raised.exception.code, "not-offered")

    def test_a_child_of_a_fork_gets_an_error(self) -> None:
        self.answer(Frame({"type": "result", "end": True}, b"1"), Frame({"type": "reply", "ok": True}))
        with Call("m") as made:
            with mock.patch("hotcell_guest.wire.calling.os.getpid", lambda: 0), self.assertRaises(CallError) as raised:
                made.result()
            self.assertEqual(raised.exception.code, "forked")
            self.assertEqual(made.result(), 1)
