"""Frames of the guest protocol (docs/guest-protocol.md, section 1): bytes in, frames out, bounded memory."""

from __future__ import annotations

import json
import re
import struct
from typing import Any, Callable, Iterator, NamedTuple

MAGIC = b"HC"
VERSION = 1
HEADER = struct.Struct(">2sBBIIIII")
_NUMBERS = struct.Struct(">II")
_NUMBERS_OFFSET = 16
MAX_HEAD_BYTES = 65_536
MAX_BODY_BYTES = 1_048_576
# The maximum nesting of objects and arrays, including the head itself.
MAX_HEAD_DEPTH = 64
# Matches a string, in which brackets do not count, or a bracket. SECURITY: an unterminated string matches to the end of
# the text. Otherwise each quotation mark in it would be tried as the start of another string, in quadratic time.
_TOKENS = re.compile(r'"[^"\\]*(?:\\.?[^"\\]*)*(?:"|$)|[\[\]{}]', re.DOTALL)

Head = dict[str, Any]


class ProtocolViolation(Exception):
    """The peer violated the protocol. The channel cannot be read any further."""


class Frame(NamedTuple):
    """One immutable frame. `sequence` 0 means unsequenced, `stream` 0 is the control stream."""

    head: Head
    body: bytes = b""
    stream: int = 0
    sequence: int = 0
    ack: int = 0
    size: int = 0
    """Size of the whole frame on the wire, set by the decoder: its cost in credit."""


def encode(frame: Frame) -> bytes:
    """Encodes one frame."""
    return encode_front(frame) + frame.body


def encode_front(frame: Frame) -> bytes:
    """The bytes of a frame before its body: the header and the head."""
    head = _json(frame.head).encode("utf-8", "replace")
    if len(head) > MAX_HEAD_BYTES:
        raise ProtocolViolation(f"head length: {len(head)} is over {MAX_HEAD_BYTES}")
    if len(frame.body) > MAX_BODY_BYTES:
        raise ProtocolViolation(f"body length: {len(frame.body)} is over {MAX_BODY_BYTES}")
    return HEADER.pack(MAGIC, VERSION, 0, len(head), len(frame.body), frame.stream, frame.sequence, frame.ack) + head


def set_numbers(front: bytearray, sequence: int, ack: int) -> None:
    """Sets the fields that may change when a frame is sent again."""
    _NUMBERS.pack_into(front, _NUMBERS_OFFSET, sequence, ack)


class FrameDecoder:
    """Decodes chunks of any size into frames. Holds at most one incomplete frame, and copies each body once if it lies in one chunk."""

    def __init__(self) -> None:
        self._held = bytearray()

    @property
    def pending_bytes(self) -> int:
        """Bytes of an incomplete frame."""
        return len(self._held)

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        """Yields each complete frame. Consume the iterator before feeding the next chunk. Raises ProtocolViolation as
        soon as a header is invalid.
        """
        at, size, held = 0, len(chunk), self._held
        while held and at < size:
            end = at + _frame_bytes(held) - len(held)
            held += chunk[at:end]
            at = min(end, size)
            if len(held) == _frame_bytes(held) > HEADER.size:
                frame = _parse_frame(held, 0)
                held.clear()
                yield frame
        while size - at >= HEADER.size:
            frame_bytes = _frame_bytes(chunk, at)
            if size - at < frame_bytes:
                break
            frame = _parse_frame(chunk, at)
            at += frame_bytes
            yield frame
        held += chunk[at:]
        if held and not MAGIC.startswith(held[:2]):
            raise ProtocolViolation("magic: this is not a frame")


def _frame_bytes(data: bytes | bytearray, at: int = 0) -> int:
    """The length of the frame that begins there, or that of a header while that is not whole."""
    if len(data) - at < HEADER.size:
        return HEADER.size
    magic, version, flags, head_bytes, body_bytes, _, _, _ = HEADER.unpack_from(data, at)
    _check_header(magic, version, flags, head_bytes=head_bytes, body_bytes=body_bytes)
    return HEADER.size + int(head_bytes) + int(body_bytes)


def _parse_frame(data: bytes | bytearray, at: int) -> Frame:
    _, _, _, head_bytes, body_bytes, stream, sequence, ack = HEADER.unpack_from(data, at)
    body_at = at + HEADER.size + head_bytes
    end = body_at + body_bytes
    head = _parse_head(bytes(data[at + HEADER.size : body_at]))
    # A view, because a slice of a bytearray would be copied twice.
    return Frame(head, bytes(memoryview(data)[body_at:end]), stream, sequence, ack, end - at)


def _check_header(magic: bytes, version: int, flags: int, *, head_bytes: int, body_bytes: int) -> None:
    if magic != MAGIC:
        raise ProtocolViolation("magic: this is not a frame")
    if version != VERSION:
        raise ProtocolViolation(f"version: {version} is not spoken here, only {VERSION}")
    if flags != 0:
        raise ProtocolViolation(f"flags: {flags} is reserved")
    if not 2 <= head_bytes <= MAX_HEAD_BYTES:
        raise ProtocolViolation(f"head length: {head_bytes} is outside 2 to {MAX_HEAD_BYTES}")
    if body_bytes > MAX_BODY_BYTES:
        raise ProtocolViolation(f"body length: {body_bytes} is over {MAX_BODY_BYTES}")


def _parse_head(raw: bytes) -> Head:
    try:
        text = raw.decode("utf-8")
        if _is_too_deep(text):
            raise ProtocolViolation(f"head: nested deeper than {MAX_HEAD_DEPTH}")
        head = _parse(text)
    except (ValueError, RecursionError):
        raise ProtocolViolation("head: not JSON in UTF-8") from None
    if not isinstance(head, dict) or not isinstance(head.get("type"), str):
        raise ProtocolViolation("head: not an object with a type")
    return head


def _is_too_deep(text: str) -> bool:
    """SECURITY: a deeply nested head can be parsed at one depth of our stack and overflow it when it is serialised at
    another.

    For invalid JSON the result does not matter: it is rejected anyway.
    """
    if text.count("[") + text.count("{") <= MAX_HEAD_DEPTH:
        return False
    depth = 0
    for token in _TOKENS.finditer(text):
        first = token[0][0]
        depth += 1 if first in "[{" else -1 if first in "]}" else 0
        if depth > MAX_HEAD_DEPTH:
            return True
    return False


def _no_constant(name: str) -> None:
    """Python accepts NaN and Infinity; JSON has neither, and the host would reject them."""
    raise ValueError(name)


def _json_writer() -> Callable[[Head], str]:
    """json.dumps creates two encoders for each call. With one that is created once, encoding a frame takes half the
    time.
    """
    encoder = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    try:
        write = make(None, encoder.default, json.encoder.encode_basestring, None, ":", ",", False, False, True)
        if "".join(write({"a": "\u00e9"}, 0)) == '{"a":"\u00e9"}':
            return lambda head: "".join(write(head, 0))
    except Exception:  # noqa: BLE001 - another Python's JSON has other insides
        pass
    return encoder.encode


def _json_reader() -> Callable[[str], Any]:
    decoder: Any = json.JSONDecoder(parse_constant=_no_constant)
    scan = decoder.scan_once

    def read(text: str) -> Any:
        try:
            value, end = scan(text, 0)
        except StopIteration:
            return decoder.decode(text)  # with leading white space, or invalid
        return value if end == len(text) else decoder.decode(text)

    return read


_json = _json_writer()
_parse = _json_reader()
