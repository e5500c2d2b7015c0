"""Answers to clients of the proxy, in the words of the protocol that each speaks."""

from __future__ import annotations

SOCKS_OPEN, SOCKS_FAILED, SOCKS_REFUSED, SOCKS_UNREACHABLE, SOCKS_BAD_COMMAND, SOCKS_BAD_ADDRESS = 0, 1, 2, 4, 7, 8
_HTTP_OPEN = b"HTTP/1.1 200 Connection established\r\n\r\n"
_MOST_REASON_CHARS = 200
_MOST_TEXT_BYTES = 4_096

# By the code of the call's failure: status of HTTP, reply of SOCKS. Any other failure is one on the way.
_REFUSED = {
    "refused": (403, SOCKS_REFUSED),
    "timed-out": (504, SOCKS_UNREACHABLE),
    "too-many": (503, SOCKS_FAILED),
    "too-large": (413, SOCKS_FAILED),
    "bad-argument": (400, SOCKS_FAILED),
    "not-offered": (503, SOCKS_FAILED),
    "unknown-method": (503, SOCKS_FAILED),
    "channel-lost": (503, SOCKS_FAILED),
}
_ON_THE_WAY = (502, SOCKS_UNREACHABLE)


def opened(speaks: str) -> bytes:
    """What the client waits for before it sends its own bytes."""
    if speaks == "socks":
        return socks_answer(SOCKS_OPEN)
    return _HTTP_OPEN if speaks == "connect" else b""


def failed(speaks: str, code: str, message: str) -> bytes:
    """Returns nothing for a client that speaks a protocol unknown to us: its connection is reset."""
    status, reply = _REFUSED.get(code, _ON_THE_WAY)
    if speaks == "socks":
        return socks_answer(reply)
    return http_answer(status, message or code) if speaks in ("connect", "http") else b""


def http_answer(status: int, message: str) -> bytes:
    """The message is the reason phrase, too: of a failed CONNECT most clients show nothing else.

    SECURITY: a message may hold a host name that the client chose. It must not become a header.
    """
    reason = "".join(letter if " " <= letter <= "~" else "?" for letter in message[:_MOST_REASON_CHARS])
    text = message.encode("utf-8", "replace")[:_MOST_TEXT_BYTES] + b"\n"
    head = (
        f"HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode("ascii") + text


def socks_answer(reply: int) -> bytes:
    """With an empty address: where the connection ends is known to the host alone."""
    return bytes((5, reply, 0, 1, 0, 0, 0, 0, 0, 0))
