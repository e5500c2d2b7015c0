"""The beginning of a connection to the proxy: SOCKS5, `CONNECT` of HTTP, or plain HTTP, told apart by the first bytes."""

from __future__ import annotations

import socket
from typing import Any, NamedTuple, Optional

from .answers import SOCKS_BAD_ADDRESS, SOCKS_BAD_COMMAND, SOCKS_FAILED, http_answer, socks_answer

MOST_HEAD_BYTES = 65_536
_CONNECT = b"CONNECT "
_END = b"\r\n\r\n"
_SOCKS_VERSION = 5
_SOCKS_CONNECT = 1
_SOCKS_IPV4, _SOCKS_NAME, _SOCKS_IPV6 = 1, 3, 4
_NO_AUTHENTICATION, _NO_METHOD = 0, 0xFF


class Asked(NamedTuple):
    """What a client wants: a method of the host with its argument. `speaks` says how to answer; `rest` are bytes that came early."""

    method: str
    argument: dict[str, Any]
    speaks: str
    rest: bytes


class Step(NamedTuple):
    """What to do next: write `answer`, then make the call `asked`, or close if `is_over`, or read on."""

    answer: bytes = b""
    asked: Optional[Asked] = None
    is_over: bool = False


class Greeting:
    """Reads the first bytes of one client, in pieces of any size, and holds at most 64 KiB of them.

    SECURITY: any program of the sandbox can be the client. Each byte is looked at a bounded number of times.
    """

    def __init__(self) -> None:
        self._held = bytearray()
        self._searched = 0
        self._has_greeted = False

    @property
    def is_http(self) -> bool:
        """Whether the client has begun to speak HTTP, so that an answer in it makes sense."""
        return not self._has_greeted and bool(self._held) and self._held[0] != _SOCKS_VERSION

    def feed(self, data: bytes) -> Step:
        """Call it again with the next bytes until it says more than an answer."""
        self._held += data
        if not self._held:
            return Step()
        if self._has_greeted:
            return self._socks_request()
        if self._held[0] == _SOCKS_VERSION:
            return self._socks_methods()
        if self._held.startswith(_CONNECT):
            return self._connect()
        if _CONNECT.startswith(self._held):
            return Step()
        return Step(asked=Asked("network.http", {}, "http", bytes(self._held)))

    # HTTP

    def _connect(self) -> Step:
        end = self._held.find(_END, max(0, self._searched - len(_END) + 1))
        self._searched = len(self._held)
        if (len(self._held) if end < 0 else end) > MOST_HEAD_BYTES:
            return Step(http_answer(431, f"the head of a request has at most {MOST_HEAD_BYTES} bytes"), is_over=True)
        if end < 0:
            return Step()
        line = bytes(self._held[: self._held.index(b"\r\n")])
        target = connect_target(line)
        if target is None:
            return Step(http_answer(400, "CONNECT needs a host and a port, as in: CONNECT example.com:443 HTTP/1.1"), is_over=True)
        host, port = target
        return Step(asked=Asked("network.connect", {"host": host, "port": port}, "connect", bytes(self._held[end + len(_END) :])))

    # SOCKS

    def _socks_methods(self) -> Step:
        """The client's greeting: how it could authenticate. It need not, because all clients are of this sandbox."""
        held = self._held
        if len(held) < 2 or len(held) < 2 + held[1]:
            return Step()
        methods = held[2 : 2 + held[1]]
        if _NO_AUTHENTICATION not in methods:
            return Step(bytes((_SOCKS_VERSION, _NO_METHOD)), is_over=True)
        self._has_greeted = True
        del held[: 2 + len(methods)]
        step = self._socks_request()
        return step._replace(answer=bytes((_SOCKS_VERSION, _NO_AUTHENTICATION)) + step.answer)

    def _socks_request(self) -> Step:
        held = self._held
        if held and held[0] != _SOCKS_VERSION:
            return Step(socks_answer(SOCKS_FAILED), is_over=True)
        if len(held) < 5:
            return Step()
        _, command, _, kind, name_bytes = held[:5]
        if kind not in (_SOCKS_IPV4, _SOCKS_NAME, _SOCKS_IPV6):
            return Step(socks_answer(SOCKS_BAD_ADDRESS), is_over=True)
        start, length = (5, name_bytes) if kind == _SOCKS_NAME else (4, 4 if kind == _SOCKS_IPV4 else 16)
        end = start + length
        if len(held) < end + 2:
            return Step()
        if command != _SOCKS_CONNECT:
            return Step(socks_answer(SOCKS_BAD_COMMAND), is_over=True)
        host = _socks_host(kind, bytes(held[start:end]))
        port = int.from_bytes(held[end : end + 2], "big")
        if host is None or port == 0:
            return Step(socks_answer(SOCKS_FAILED), is_over=True)
        return Step(asked=Asked("network.connect", {"host": host, "port": port}, "socks", bytes(held[end + 2 :])))


def connect_target(line: bytes) -> Optional[tuple[str, int]]:
    """Returns host and port of a request line, None if it has none. Whether the host is one is for the host of the sandbox to judge."""
    parts = line.split(b" ")
    if len(parts) != 3 or not parts[2].startswith(b"HTTP/1."):
        return None
    host, _, port = parts[1].rpartition(b":")
    if host.startswith(b"[") and host.endswith(b"]"):
        host = host[1:-1]
    if not 1 <= len(port) <= 5 or not port.isdigit() or not 1 <= int(port) <= 65_535:
        return None
    text = _plain(host)
    return None if text is None else (text, int(port))


def _socks_host(kind: int, raw: bytes) -> Optional[str]:
    if kind == _SOCKS_NAME:
        return _plain(raw)
    return socket.inet_ntop(socket.AF_INET if kind == _SOCKS_IPV4 else socket.AF_INET6, raw)


def _plain(raw: bytes) -> Optional[str]:
    """At most 255 printable characters of ASCII."""
    if not 1 <= len(raw) <= 255 or not all(0x21 <= byte <= 0x7E for byte in raw):
        return None
    return raw.decode("ascii")
