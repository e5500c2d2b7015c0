"""Frames of the guest protocol (docs/guest-protocol.md, section 1): bytes in, frames out, bounded memory."""

from __future__ import annotations

import json
import re
import struct
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator

MAGIC = b"HC"
VERSION = 1
HEADER = struct.Struct(">2sBBIIIII")
_NUMBERS = struct.Struct(">II")
_NUMBERS_OFFSET = 16
MAX_HEAD_BYTES = 65_536
MAX_BODY_BYTES = 1_048_576
# Objects and arrays in one another, the head itself included.
MAX_HEAD_DEPTH = 64
# A string, in which brackets are letters like any other; or a bracket. SECURITY: a string that does not end goes to the end of the text.
# Were it no string, each quotation mark in it would be tried as the beginning of another, which takes the square of its length.
_TOKENS = re.compile(r'"[^"\\]*(?:\\.?[^"\\]*)*(?:"|$)|[\[\]{}]', re.DOTALL)

Head = dict[str, Any]


class ProtocolViolation(Exception):
    """The peer sent something that this protocol does not allow. Reading cannot go on."""


@dataclass
class Frame:
    """One frame, not to be changed. `sequence` 0 means unsequenced, `stream` 0 means control."""

    head: Head
    body: bytes = b""
    stream: int = 0
    sequence: int = 0
    ack: int = 0
    size: int = field(default=0, compare=False)
    """Of the whole frame as it travelled, set by the decoder: what it costs in credit."""


def encode(frame: Frame) -> bytes:
    """The bytes of one frame."""
    head = _json(frame.head).encode("utf-8", "replace")
    if len(head) > MAX_HEAD_BYTES:
        raise ProtocolViolation(f"head length: {len(head)} is over {MAX_HEAD_BYTES}")
    if len(frame.body) > MAX_BODY_BYTES:
        raise ProtocolViolation(f"body length: {len(frame.body)} is over {MAX_BODY_BYTES}")
    header = HEADER.pack(MAGIC, VERSION, 0, len(head), len(frame.body), frame.stream, frame.sequence, frame.ack)
    return header + head + frame.body


def set_numbers(encoded: bytearray, sequence: int, ack: int) -> None:
    """Sets what may change between two sendings of the same frame."""
    _NUMBERS.pack_into(encoded, _NUMBERS_OFFSET, sequence, ack)


class FrameDecoder:
    """Turns chunks of any size into frames. Holds at most one frame plus the chunk it was fed."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    @property
    def pending_bytes(self) -> int:
        """Bytes of a frame that has not ended yet."""
        return len(self._buffer)

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        """Yields each frame that is complete; read to its end before the next chunk. Raises ProtocolViolation from the header alone."""
        data: bytes | bytearray = chunk
        if self._buffer:
            self._buffer += chunk
            data = self._buffer
        at, size = 0, len(data)
        while size - at >= HEADER.size:
            magic, version, flags, head_bytes, body_bytes, stream, sequence, ack = HEADER.unpack_from(data, at)
            _check_header(magic, version, flags, head_bytes, body_bytes)
            body_at = at + HEADER.size + head_bytes
            end = body_at + body_bytes
            if size < end:
                break
            head = _parse_head(bytes(data[at + HEADER.size : body_at]))
            yield Frame(head, bytes(data[body_at:end]), stream, sequence, ack, end - at)
            at = end
        if data is chunk:
            self._buffer += data[at:]
        else:
            del self._buffer[:at]
        if self._buffer and not MAGIC.startswith(bytes(self._buffer[:2])):
            raise ProtocolViolation("magic: this is not a frame")


def _check_header(magic: bytes, version: int, flags: int, head_bytes: int, body_bytes: int) -> None:
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
    """SECURITY: what is nested deeply can be read at one depth of our stack and not be written at another.

    Of what is no JSON any answer will do: it is refused in any case.
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
    """Python reads NaN and Infinity; JSON has no such thing, and the host would refuse to."""
    raise ValueError(name)


def _json_writer() -> Callable[[Head], str]:
    """json.dumps makes an encoder for each call, and that a second one: with one that is made once a frame costs half."""
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
            return decoder.decode(text)  # with white space before it, or not at all
        return value if end == len(text) else decoder.decode(text)

    return read


_json = _json_writer()
_parse = _json_reader()
