"""The first bytes of a proxy's client, in pieces of any size."""

from __future__ import annotations

import random
import unittest
from typing import Iterator

from hotcell_guest.network.greeting import MOST_HEAD_BYTES, Asked, Greeting, Step, connect_target

_HELLO = b"\x05\x01\x00"


def _fed(data: bytes, sizes: Iterator[int]) -> Step:
    """What a greeting says in the end, with all its answers."""
    greeting, answers, at = Greeting(), b"", 0
    while at < len(data):
        size = next(sizes)
        step = greeting.feed(data[at : at + size])
        answers += step.answer
        at += size
        if step.asked is not None:
            return Step(answers, step.asked._replace(rest=step.asked.rest + data[at:]))
        if step.is_over:
            return Step(answers, is_over=True)
    return Step(answers)


def _whole(data: bytes) -> Step:
    return _fed(data, iter([len(data)]))


class HttpGreeting(unittest.TestCase):
    def test_connect_names_its_target_and_keeps_bytes_that_came_early(self) -> None:
        for line, host, port in (
            (b"CONNECT example.com:443 HTTP/1.1", "example.com", 443),
            (b"CONNECT [2001:db8::1]:8443 HTTP/1.0", "2001:db8::1", 8443),
            (b"CONNECT 2852039166:80 HTTP/1.1", "2852039166", 80),
        ):
            step = _whole(line + b"\r\nHost: other\r\n\r\nearly")
            self.assertEqual(step, Step(asked=Asked("network.connect", {"host": host, "port": port}, "connect", b"early")))

    def test_any_other_request_goes_to_the_host_with_every_byte(self) -> None:
        for data in (
            b"GET http://example.com/ HTTP/1.1\r\n",
            b"CONNECTION / HTTP/1.1",
            b"connect a:1 HTTP/1.1\r\n\r\n",
            b"\x16\x03\x01",
            b"\x04",
        ):
            self.assertEqual(_whole(data), Step(asked=Asked("network.http", {}, "http", data)))

    def test_half_a_request_waits(self) -> None:
        for data in (b"C", b"CONNECT", b"CONNECT ", b"CONNECT example.com:443 HTTP/1.1\r\n", b"CONNECT a:1 HTTP/1.1\r\nA: b\r\n\r"):
            self.assertEqual(_whole(data), Step())

    def test_a_request_without_a_host_and_a_port_is_answered(self) -> None:
        for line in (
            *(b"CONNECT example.com HTTP/1.1", b"CONNECT :443 HTTP/1.1", b"CONNECT a:0 HTTP/1.1", b"CONNECT a:65536 HTTP/1.1"),
            *(b"CONNECT a:+1 HTTP/1.1", b"CONNECT a:1", b"CONNECT a:1 HTTP/2", b"CONNECT a b:1 HTTP/1.1", b"CONNECT \xe4:1 HTTP/1.1"),
            *(
                b"CONNECT a:\xb2 HTTP/1.1",
                b"CONNECT a\x00b:1 HTTP/1.1",
                b"CONNECT " + b"a" * 256 + b":1 HTTP/1.1",
                b"CONNECT []:1 HTTP/1.1",
            ),
        ):
            self.assertIsNone(connect_target(line), line)
            step = _whole(line + b"\r\n\r\n")
            self.assertTrue(step.is_over)
            self.assertTrue(step.answer.startswith(b"HTTP/1.1 400 "), line)

    def test_a_head_is_bounded(self) -> None:
        head = b"CONNECT a:1 HTTP/1.1\r\nA: "
        step = _whole(head + b"a" * MOST_HEAD_BYTES)
        self.assertTrue(step.is_over)
        self.assertTrue(step.answer.startswith(b"HTTP/1.1 431 "))
        fits = head + b"a" * (MOST_HEAD_BYTES - len(head))
        self.assertEqual(_whole(fits), Step())
        self.assertIsNotNone(_whole(fits + b"\r\n\r\n").asked)

    def test_a_head_that_comes_byte_by_byte_is_not_searched_again_and_again(self) -> None:
        greeting = Greeting()
        greeting.feed(b"CONNECT a:1 HTTP/1.1\r\nA: ")
        for _ in range(60_000):
            greeting.feed(b"a")
            # One search looks at the new bytes, and at those that could begin the end.
            self.assertEqual(greeting._searched, len(greeting._held))
        self.assertIsNotNone(greeting.feed(b"\r\n\r\n").asked)


class SocksGreeting(unittest.TestCase):
    def test_names_and_addresses_are_connected_to(self) -> None:
        for address, host in (
            (b"\x03\x0bexample.com", "example.com"),
            (b"\x01\x7f\x00\x00\x01", "127.0.0.1"),
            (b"\x04" + bytes(15) + b"\x01", "::1"),
            (b"\x04" + bytes(10) + b"\xff\xff\xa9\xfe\xa9\xfe", "::ffff:169.254.169.254"),
        ):
            step = _whole(_HELLO + b"\x05\x01\x00" + address + b"\x01\xbbearly")
            self.assertEqual(step, Step(b"\x05\x00", Asked("network.connect", {"host": host, "port": 443}, "socks", b"early")))

    def test_a_client_may_wait_for_each_answer(self) -> None:
        greeting = Greeting()
        self.assertEqual(greeting.feed(_HELLO), Step(b"\x05\x00"))
        self.assertEqual(greeting.feed(b"\x05\x01\x00\x03"), Step())
        self.assertEqual(greeting.feed(b"\x01a\x00"), Step())
        self.assertEqual(greeting.feed(b"\x50").asked, Asked("network.connect", {"host": "a", "port": 80}, "socks", b""))

    def test_what_cannot_be_served_is_answered_by_its_code(self) -> None:
        name = b"\x03\x01a\x00\x50"
        for request, code in (
            *((b"\x05\x02\x00" + name, 7), (b"\x05\x03\x00" + name, 7), (b"\x05\x01\x00\x02" + bytes(6), 8)),
            *((b"\x05\x01\x00\x03\x00\x00\x50", 1), (b"\x05\x01\x00\x03\x01\xe4\x00\x50", 1), (b"\x05\x01\x00\x03\x01a\x00\x00", 1)),
            (b"\x04\x01\x00" + name, 1),
        ):
            step = _whole(_HELLO + request)
            self.assertTrue(step.is_over, request)
            self.assertEqual(step.answer, b"\x05\x00\x05" + bytes((code, 0, 1)) + bytes(6), request)

    def test_a_client_that_must_authenticate_is_turned_away(self) -> None:
        self.assertEqual(_whole(b"\x05\x01\x02"), Step(b"\x05\xff", is_over=True))
        self.assertEqual(_whole(b"\x05\x00"), Step(b"\x05\xff", is_over=True))


class AnyBytes(unittest.TestCase):
    """Properties, tried with a fixed seed. test/fuzz/proxy-greeting.test.ts tries more."""

    def test_pieces_of_any_size_say_the_same_as_the_whole(self) -> None:
        rng = random.Random(7)
        beginnings = [
            _HELLO + b"\x05\x01\x00\x03\x0bexample.com\x01\xbb",
            b"CONNECT a.b:443 HTTP/1.1\r\nHost: a.b\r\n\r\n",
            b"GET / HTTP/1.1\r\n\r\n",
            b"",
        ]
        for _ in range(3_000):
            data = bytearray(rng.choice(beginnings) + rng.randbytes(rng.randrange(40)))
            for _ in range(rng.randrange(4)):
                if data:
                    data[rng.randrange(len(data))] = rng.choice((0, 3, 4, 5, 10, 13, 32, 58, 91, 255, rng.randrange(256)))
            whole = _whole(bytes(data))
            pieces = _fed(bytes(data), iter(lambda: rng.randrange(1, 9), 0))
            if whole.asked is not None and whole.asked.method == "network.http":
                assert pieces.asked is not None
                self.assertEqual(pieces.asked, whole.asked)
            else:
                self.assertEqual(pieces, whole, bytes(data))
