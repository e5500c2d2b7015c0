"""Listeners and connections of a sandbox's network, with a host and clients that a test plays."""

from __future__ import annotations

import errno
import socket
import struct
import time
import unittest
from typing import Any, Optional
from unittest import mock

from hotcell_guest.network import connection, network
from hotcell_guest.network.network import MOST_CONNECTIONS, Network
from hotcell_guest.wire.channel import WIDEST_WINDOW_BYTES, WINDOW_BYTES
from hotcell_guest.wire.frames import Frame, Head
from hotcell_guest.wire.open_calls import OpenCalls
from hotcell_guest.wire.refusal import Refusal

from .test_channel import Guest, Peer, settle

_PROXY = {"name": "proxy", "kind": "proxy"}
_FORWARD = {"name": "db", "kind": "forward"}
_CREDENTIALS = {"name": "credentials", "kind": "credentials"}
_CONNECT = b"CONNECT example.com:443 HTTP/1.1\r\n\r\n"
_SOCKS = b"\x05\x01\x00\x05\x01\x00\x03\x01a\x00\x50"
_OPENED = b"HTTP/1.1 200 Connection established\r\n\r\n"


class Client:
    """A program's end of a connection."""

    def __init__(self, test: NetworkTest, port: int) -> None:
        self._test = test
        self.sock = socket.create_connection(("127.0.0.1", port))
        test.addCleanup(self.sock.close)
        self.sock.setblocking(False)
        test.settle()

    def say(self, data: bytes) -> None:
        self.sock.sendall(data)
        self._test.settle()

    def heard(self) -> bytes:
        """All that there is. Raises what the socket does if it was reset."""
        self._test.settle()
        data = b""
        while True:
            try:
                piece = self.sock.recv(1_048_576)
            except BlockingIOError:
                return data
            if not piece:
                return data
            data += piece

    def is_ended(self) -> bool:
        self._test.settle()
        try:
            return self.sock.recv(1) == b""
        except BlockingIOError:
            return False

    def is_reset(self) -> bool:
        """Whether the connection ended by a reset, perhaps after some bytes."""
        self._test.settle()
        try:
            while self.sock.recv(65_536):
                pass
        except ConnectionResetError:
            return True
        except BlockingIOError:
            pass
        return False

    def reset(self) -> None:
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()
        self._test.settle()


class NetworkTest(unittest.TestCase):
    def setUp(self) -> None:
        self.guest = Guest(self)
        self.peer: Peer = self.guest.connected()
        self.peer.read()
        self.calls = OpenCalls()
        self.network = Network(self.guest.loop, self.guest.channel, self.calls, lambda: b"// preload")
        self.addCleanup(self.ask)
        self._sequence = 0

    def settle(self) -> None:
        for _ in range(3):
            settle(self.guest.loop)

    def ask(self, *listen: dict[str, str], variables: Optional[dict[str, str]] = None, bundle: bytes = b"") -> dict[str, int]:
        ports, _ = self.network.replace({"listen": list(listen), "variables": variables or {}}, bundle, {})
        return ports

    def proxy(self) -> Client:
        return Client(self, self.ask(_PROXY)["proxy"])

    def host_says(self, head: Head, body: bytes = b"", stream: int = 3) -> None:
        frame = Frame(head, body, stream, size=24 + len(body))
        (self.calls.replied if head["type"] == "reply" else self.calls.take)(frame)
        self.settle()

    def host_opens(self, stream: int = 3) -> None:
        self.host_says({"type": "result", "end": True}, b"{}", stream)

    def host_fails(self, code: str, message: str = "because", number: int = 1) -> None:
        self.host_says({"type": "reply", "id": number, "ok": False, "error": {"code": code, "message": message}})

    def host_gives_credit(self, size: int, stream: int = 3) -> None:
        self._sequence += 1
        self.peer.send({"type": "credit", "stream": stream, "bytes": size}, sequence=self._sequence)
        self.settle()

    def sent(self) -> list[Frame]:
        self.settle()
        return self.peer.read()

    def types(self) -> list[str]:
        return [frame.head["type"] for frame in self.sent()]


class Listening(NetworkTest):
    def test_nothing_listens_until_the_host_asks_and_again_when_it_asks_for_nothing(self) -> None:
        self.assertEqual(self.network._listeners, {})
        port = self.ask(_PROXY)["proxy"]
        Client(self, port)
        self.assertEqual(self.ask(), {})
        late = Client(self, port)
        self.settle()
        self.assertEqual(late.sock.recv(1), b"")

    def test_a_name_keeps_its_port_while_it_is_open_and_afterwards(self) -> None:
        first = self.ask(_PROXY, _FORWARD)
        self.assertEqual(self.ask(_FORWARD, _PROXY, _CREDENTIALS)["proxy"], first["proxy"])
        self.ask(_CREDENTIALS)
        with socket.socket() as other, self.assertRaises(OSError) as raised:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind(("127.0.0.1", first["proxy"]))
        self.assertEqual(raised.exception.errno, errno.EADDRINUSE)
        self.assertEqual(self.ask(_PROXY, _FORWARD), first)
        for _ in range(3):  # with connections in TIME_WAIT, too
            Client(self, first["proxy"])
            self.settle()
            self.ask()
            self.assertEqual(self.ask(_PROXY, _FORWARD), first)
        client = Client(self, first["proxy"])
        client.say(_CONNECT)
        self.assertIn("call", self.types())

    def test_it_is_bound_to_the_loopback_alone(self) -> None:
        self.ask(_PROXY)
        self.assertEqual(self.network._listeners["proxy"]._sock.getsockname()[0], "127.0.0.1")

    def test_a_listener_that_is_closed_resets_its_connections_and_cancels_their_calls_and_no_others(self) -> None:
        ports = self.ask(_PROXY, _FORWARD)
        kept, lost = Client(self, ports["db"]), Client(self, ports["proxy"])
        waiting = Client(self, ports["proxy"])
        lost.say(_CONNECT)
        self.host_opens(5)
        self.sent()
        self.ask(_FORWARD)
        self.assertTrue(lost.is_reset())
        self.assertTrue(waiting.is_reset())
        self.assertEqual([(frame.head["type"], frame.head["id"]) for frame in self.sent()], [("call.cancel", 2)])
        self.host_says({"type": "chunk", "end": False}, b"still there")
        self.assertEqual(kept.heard(), b"still there")

    def test_the_same_request_again_changes_nothing(self) -> None:
        client = self.proxy()
        client.say(_CONNECT)
        self.host_opens()
        self.assertEqual(client.heard(), _OPENED)
        self.ask(_PROXY)
        client.say(b"on")
        self.assertEqual(self.sent()[-1].body, b"on")

    def test_a_request_that_cannot_be_served_changes_nothing(self) -> None:
        port = self.ask(_PROXY)["proxy"]
        for listen in (
            [{"name": "A", "kind": "proxy"}],
            [{"name": "ca", "kind": "forward"}],
            [{"name": "a", "kind": "other"}],
            [{"name": "a" * 65, "kind": "proxy"}],
            [_PROXY, _PROXY],
            [{"name": f"a{number}", "kind": "forward"} for number in range(65)],
        ):
            with self.assertRaises(Refusal, msg=str(listen)):
                self.ask(*listen)
        for variables in ({"A=B": "x"}, {"": "x"}, {"A": "\0"}):
            with self.assertRaises(Refusal, msg=str(variables)):
                self.ask(variables=variables)
        with (
            mock.patch("hotcell_guest.network.network.Listener", side_effect=OSError(errno.EMFILE, "too many")),
            self.assertRaises(OSError),
        ):
            self.ask(_FORWARD)
        self.assertEqual(self.ask(_PROXY)["proxy"], port)
        self.assertEqual(Client(self, port).heard(), b"")


class Asking(NetworkTest):
    def test_connect_is_a_call_of_no_execution_and_answered_when_the_host_has_connected(self) -> None:
        client = self.proxy()
        client.say(_CONNECT + b"early")
        call, argument = self.sent()
        self.assertEqual(call.head, {"type": "call", "id": 1, "execution": None, "method": "network.connect", "stream": 3})
        self.assertEqual((argument.head, argument.stream), ({"type": "argument", "end": True}, 3))
        self.assertEqual(argument.body, b'{"host": "example.com", "port": 443}')
        self.assertEqual(client.heard(), b"")
        self.host_opens()
        self.assertEqual(client.heard(), _OPENED)
        self.assertEqual([(frame.head, frame.body) for frame in self.sent()], [({"type": "chunk", "end": False}, b"early")])

    def test_socks_speaks_its_own_words(self) -> None:
        client = self.proxy()
        client.say(_SOCKS)
        self.assertEqual(client.heard(), b"\x05\x00")
        self.assertEqual(self.sent()[1].body, b'{"host": "a", "port": 80}')
        self.host_opens()
        self.assertEqual(client.heard(), b"\x05\x00\x00\x01" + bytes(6))

    def test_plain_http_goes_to_the_host_from_the_first_byte_on(self) -> None:
        client = self.proxy()
        client.say(b"GET http://example.com/ HT")
        client.say(b"TP/1.1\r\n\r\n")
        frames = self.sent()
        self.assertEqual(frames[0].head["method"], "network.http")
        self.assertEqual(b"".join(frame.body for frame in frames[2:]), b"GET http://example.com/ HTTP/1.1\r\n\r\n")
        self.host_says({"type": "chunk", "end": False}, b"HTTP/1.1 200 OK\r\n\r\n")
        self.assertEqual(client.heard(), b"HTTP/1.1 200 OK\r\n\r\n")

    def test_forwards_and_credentials_are_calls_as_soon_as_they_are_connected_to(self) -> None:
        ports = self.ask(_FORWARD, _CREDENTIALS)
        database, web = Client(self, ports["db"]), Client(self, ports["credentials"])
        frames = self.sent()
        self.assertEqual([frame.head["method"] for frame in frames[::2]], ["network.forward", "network.credentials"])
        self.assertEqual([frame.body for frame in frames[1::2]], [b'{"name": "db"}', b"{}"])
        # A server may speak first.
        self.host_says({"type": "result", "end": True}, b"{}")
        self.host_says({"type": "chunk", "end": False}, b"hello")
        self.assertEqual(database.heard(), b"hello")
        web.say(b"GET /github/ HTTP/1.1\r\n\r\n")
        self.assertEqual(self.sent()[-1].body, b"GET /github/ HTTP/1.1\r\n\r\n")

    def test_a_refusal_is_answered_in_the_words_of_the_client(self) -> None:
        port = self.ask(_PROXY)["proxy"]
        cases = (("refused", b"403", 2), ("unreachable", b"502", 4), ("timed-out", b"504", 4), ("too-many", b"503", 1))
        for number, (code, status, reply) in enumerate(cases):
            http, socks, plain = Client(self, port), Client(self, port), Client(self, port)
            http.say(_CONNECT)
            socks.say(_SOCKS)
            plain.say(b"GET http://a/ HTTP/1.1\r\n\r\n")
            for offset in (1, 2, 3):
                self.host_fails(code, "not\r\nSet-Cookie: allowed", 3 * number + offset)
            for client in (http, plain):
                head, text = client.heard().split(b"\r\n\r\n")
                self.assertEqual(head.split(b"\r\n")[0], b"HTTP/1.1 " + status + b" not??Set-Cookie: allowed")
                self.assertNotIn(b"\r\nSet-Cookie", head)
                self.assertEqual(text, b"not\r\nSet-Cookie: allowed\n")
                self.assertTrue(client.is_ended())
            self.assertEqual(socks.heard(), b"\x05\x00" + bytes((5, reply, 0, 1)) + bytes(6))
            self.assertTrue(socks.is_ended())

    def test_a_forward_that_is_refused_is_reset(self) -> None:
        client = Client(self, self.ask(_FORWARD)["db"])
        self.host_fails("refused")
        self.assertTrue(client.is_reset())

    def test_a_request_that_is_none_is_answered_without_a_call(self) -> None:
        port = self.ask(_PROXY)["proxy"]
        bad, large, bind = Client(self, port), Client(self, port), Client(self, port)
        bad.say(b"CONNECT nothing HTTP/1.1\r\n\r\n")
        large.say(b"CONNECT a:1 HTTP/1.1\r\nA: " + b"a" * 65_536)
        bind.say(b"\x05\x01\x00\x05\x02\x00\x03\x01a\x00\x50")
        self.assertTrue(bad.heard().startswith(b"HTTP/1.1 400 "))
        self.assertTrue(large.heard().startswith(b"HTTP/1.1 431 "))
        self.assertEqual(bind.heard()[2:4], b"\x05\x07")
        self.assertEqual(self.sent(), [])
        for client in (bad, large, bind):
            self.assertTrue(client.is_ended())
            client.sock.close()
        self.settle()
        self.assertEqual(self.network._connections, set())

    def test_slow_heads_end_in_time(self) -> None:
        with mock.patch.object(connection, "GREETING_SECONDS", 0.05):
            port = self.ask(_PROXY)["proxy"]
            silent, half, socks = Client(self, port), Client(self, port), Client(self, port)
            half.say(b"CONNECT exa")
            socks.say(b"\x05")
        time.sleep(0.06)
        self.assertTrue(silent.is_ended())
        self.assertTrue(half.heard().startswith(b"HTTP/1.1 408 "))
        self.assertTrue(socks.is_ended())
        asked = Client(self, port)
        asked.say(_CONNECT)
        self.assertFalse(asked.is_ended())

    def test_a_client_that_goes_away_before_it_is_connected_cancels_that(self) -> None:
        port = self.ask(_PROXY)["proxy"]
        closed, reset, early = Client(self, port), Client(self, port), Client(self, port)
        for client in (closed, reset, early):
            client.say(_CONNECT)
        early.say(b"too early")
        self.sent()
        closed.sock.close()
        reset.reset()
        self.assertEqual([(frame.head["type"], frame.head["id"]) for frame in self.sent()], [("call.cancel", 1), ("call.cancel", 2)])
        self.host_opens(7)
        self.assertEqual(self.sent()[-1].body, b"too early")

    def test_without_a_host_nothing_is_asked(self) -> None:
        port = self.ask(_PROXY, _FORWARD)
        self.peer.close()
        http, raw = Client(self, port["proxy"]), Client(self, port["db"])
        http.say(_CONNECT)
        self.assertTrue(http.heard().startswith(b"HTTP/1.1 503 "))
        self.assertTrue(raw.is_reset())


class Pumping(NetworkTest):
    def opened(self) -> Client:
        client = self.proxy()
        client.say(_CONNECT)
        self.host_opens()
        self.assertEqual(client.heard(), _OPENED)
        self.sent()
        return client

    def test_either_side_may_half_close_and_the_other_goes_on(self) -> None:
        client = self.opened()
        client.sock.shutdown(socket.SHUT_WR)
        self.assertEqual([(frame.head, frame.body) for frame in self.sent()], [({"type": "chunk", "end": True}, b"")])
        self.host_says({"type": "chunk", "end": False}, b"answer")
        self.assertEqual(client.heard(), b"answer")
        self.host_says({"type": "chunk", "end": True}, b"last")
        self.assertEqual(client.heard(), b"last")
        self.host_says({"type": "reply", "id": 1, "ok": True})
        self.assertTrue(client.is_ended())
        self.assertEqual(self.network._connections, set())

    def test_the_host_may_half_close_first(self) -> None:
        client = self.opened()
        self.host_says({"type": "chunk", "end": True}, b"all")
        self.assertEqual(client.heard(), b"all")
        self.assertTrue(client.is_ended())
        client.say(b"more")
        self.assertEqual(self.sent()[-1].body, b"more")

    def test_a_reply_ends_the_connection_after_all_bytes_though_the_client_still_writes(self) -> None:
        client = self.opened()
        client.sock.sendall(b"x" * 1_000)
        self.host_says({"type": "chunk", "end": False}, b"y" * 200_000)
        self.host_says({"type": "reply", "id": 1, "ok": True})
        heard = b""
        for _ in range(20):
            heard += client.heard()
        self.assertEqual(len(heard), 200_000)
        self.assertTrue(client.is_ended())

    def test_a_connection_that_breaks_is_reset_after_what_has_come(self) -> None:
        client = self.opened()
        self.host_says({"type": "chunk", "end": False}, b"half")
        self.assertEqual(client.heard(), b"half")
        self.host_fails("unreachable")
        self.assertTrue(client.is_reset())

    def test_a_client_that_resets_cancels_its_call(self) -> None:
        self.opened().reset()
        self.assertEqual(self.types(), ["call.cancel"])
        self.assertEqual(self.network._connections, set())

    def test_a_client_that_has_gone_is_noticed_when_it_is_written_to(self) -> None:
        client = self.opened()
        client.sock.close()
        self.assertEqual(self.types(), ["chunk"])
        for _ in range(3):
            self.host_says({"type": "chunk", "end": False}, b"nobody reads it")
        self.assertEqual(self.types(), ["call.cancel"])

    def test_it_reads_only_while_the_host_gives_credit(self) -> None:
        client = self.opened()
        received = 0

        def pump(turns: int) -> int:
            got = 0
            for _ in range(turns):
                try:
                    while client.sock.send(bytes(65_536)):
                        pass
                except BlockingIOError:
                    pass
                got += sum(frame.size for frame in self.sent() if frame.head["type"] == "chunk")
            return got

        received = pump(20)
        self.assertGreaterEqual(received, WINDOW_BYTES)
        self.assertLess(received, WINDOW_BYTES + 200_000)
        self.assertEqual(pump(5), 0)
        self.host_gives_credit(received)
        self.assertGreater(pump(5), WINDOW_BYTES // 2)

    def test_a_host_that_does_not_read_stops_all_of_them_together_before_their_windows_are_full(self) -> None:
        ports = self.ask(_FORWARD)
        clients = [Client(self, ports["db"]) for _ in range(16)]
        for client in clients:
            client.sock.setblocking(False)
        for _ in range(10):
            for client in clients:
                try:
                    client.sock.send(bytes(1_000_000))
                except BlockingIOError:
                    pass
            self.settle()
        waiting = self.guest.channel._outgoing.waiting_bytes
        self.assertGreater(waiting, 1_000_000)
        self.assertLess(waiting, 1_400_000)
        streams = {frame.stream for _ in range(60) for frame in self.sent() if frame.head["type"] == "chunk"}
        self.assertEqual(len(streams), 16)

    def test_the_host_gets_credit_as_the_client_reads(self) -> None:
        client = self.opened()
        sent = 0
        for _ in range(200):
            self.host_says({"type": "chunk", "end": False}, bytes(65_000))
            sent += 24 + 65_000
        given = sum(frame.head["bytes"] for frame in self.sent())
        self.assertLess(given, sent)
        for _ in range(60):
            client.heard()
            given += sum(frame.head["bytes"] for frame in self.sent())
        self.assertGreater(given, sent - WINDOW_BYTES // 4 - 65_024)

    def test_a_few_that_read_much_let_the_host_send_more_ahead(self) -> None:
        with mock.patch.object(connection, "_WIDEN_AFTER_BYTES", 100_000), mock.patch.object(network, "_MOST_WIDE", 1):
            self.network._widths = 1

            def opened(stream: int) -> Client:
                client = self.proxy()
                client.say(_CONNECT)
                self.host_opens(stream)
                self.assertEqual(client.heard(), _OPENED)
                self.sent()
                return client

            def extra(client: Client, stream: int) -> int:
                """The credit for two megabytes that the client reads, beyond what they cost."""
                sent = given = 0
                for _ in range(32):
                    self.host_says({"type": "chunk", "end": False}, bytes(65_000), stream)
                    sent += 24 + 65_000
                    client.heard()
                    given += sum(frame.head["bytes"] for frame in self.sent() if frame.head["type"] == "credit")
                return given - sent

            first = opened(3)
            self.assertGreater(extra(first, 3), WIDEST_WINDOW_BYTES - 2 * WINDOW_BYTES)
            self.assertLess(extra(first, 3), WINDOW_BYTES)
            self.assertLess(extra(opened(5), 5), WINDOW_BYTES)
            first.reset()
            self.settle()
            self.assertGreater(extra(opened(7), 7), WIDEST_WINDOW_BYTES - 2 * WINDOW_BYTES)

    def test_connections_end_with_the_channel_and_listeners_stay(self) -> None:
        client = self.opened()
        asking = Client(self, self.ask(_PROXY)["proxy"])
        greeting = Client(self, self.ask(_PROXY)["proxy"])
        asking.say(_CONNECT)
        self.sent()
        self.network.lose_channel()
        self.assertTrue(client.is_reset())
        self.assertTrue(asking.heard().startswith(b"HTTP/1.1 503 "))
        self.assertEqual(self.types(), ["call.cancel", "call.cancel"])
        greeting.say(_CONNECT)
        self.assertEqual(self.types(), ["call", "argument"])

    def test_a_host_that_took_over_is_told_nothing_of_calls_it_does_not_know(self) -> None:
        client = self.opened()
        self.network.lose_channel(tell_host=False)
        self.assertTrue(client.is_reset())
        self.assertEqual(self.sent(), [])


class Limits(NetworkTest):
    def test_too_many_connections_are_told_so_and_the_next_ones_wait(self) -> None:
        with mock.patch.object(network, "MOST_CONNECTIONS", 4), mock.patch.object(network, "_MOST_TOLD", 2):
            self.network._places = 4
            ports = self.ask(_PROXY, _FORWARD)
            open_ones = [Client(self, ports["db"]) for _ in range(4)]
            self.assertEqual(self.types().count("call"), 4)
            told, raw = Client(self, ports["proxy"]), Client(self, ports["db"])
            told.say(_CONNECT)
            self.assertTrue(told.heard().startswith(b"HTTP/1.1 503 "))
            self.assertTrue(raw.is_reset())
            silent = [Client(self, ports["proxy"]) for _ in range(3)]
            self.assertEqual(len(self.network._connections), 6)
            self.assertEqual(self.sent(), [])
            for client in [*open_ones, told]:
                client.reset()
            silent[-1].say(_CONNECT)
            self.assertIn("call", self.types())

    def test_as_many_are_open_at_once_as_the_host_takes_beside_calls(self) -> None:
        self.assertEqual(MOST_CONNECTIONS, 256)

    def test_what_it_holds_for_clients_that_do_not_read_is_bounded(self) -> None:
        port = self.ask(_FORWARD)["db"]
        Client(self, port)
        self.sent()
        # A host keeps to the credit it was given.
        window = WINDOW_BYTES
        while window > 0:
            self.host_says({"type": "chunk", "end": False}, bytes(65_536))
            window -= 65_560
            window += sum(frame.head["bytes"] for frame in self.sent() if frame.head["type"] == "credit")
        held = sum(each.held_bytes for each in self.network._connections)
        self.assertLess(held, WINDOW_BYTES + 65_560)

    def test_descriptors_that_are_used_up_end_nothing(self) -> None:
        port = self.ask(_PROXY)["proxy"]
        listener = self.network._listeners["proxy"]
        with mock.patch.object(listener, "_sock", wraps=listener._sock) as sock:
            sock.accept.side_effect = OSError(errno.EMFILE, "too many open files")
            client = Client(self, port)
        client.sock.setblocking(True)
        client.sock.sendall(_CONNECT)
        deadline = time.monotonic() + 5
        frames: list[Any] = []
        while not frames and time.monotonic() < deadline:
            frames = self.sent()
        self.assertEqual(frames[0].head["type"], "call")
