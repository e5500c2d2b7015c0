"""Frames against the examples of the protocol, and against whatever a seeded generator comes up with."""

from __future__ import annotations

import base64
import json
import random
import struct
import unittest
from typing import Any

from hotcell_guest.wire.frames import (
    HEADER,
    MAX_BODY_BYTES,
    MAX_HEAD_BYTES,
    MAX_HEAD_DEPTH,
    Frame,
    FrameDecoder,
    ProtocolViolation,
    encode,
    set_numbers,
)

from .examples import load

SEED = 20_240_601
ROUNDS = 200


class Depth(unittest.TestCase):
    def test_a_head_may_be_nested_so_deep_and_no_deeper(self) -> None:
        for depth, is_read in ((MAX_HEAD_DEPTH, True), (MAX_HEAD_DEPTH + 1, False), (20_000, False)):
            with self.subTest(depth=depth):
                self.assertEqual(_is_read('{"type":"x","n":' + "[" * (depth - 1) + "]" * (depth - 1) + "}"), is_read)

    def test_brackets_in_a_text_are_no_nesting(self) -> None:
        text = json.dumps('"\\' + "[{" * 100 + '\\"')
        self.assertTrue(_is_read('{"type":"x","n":' + text + ',"m":[' + ",".join(["[]"] * 200) + "]}"))


def _is_read(head: str) -> bool:
    raw = head.encode()
    try:
        list(FrameDecoder().feed(HEADER.pack(b"HC", 1, 0, len(raw), 0, 0, 0, 0) + raw))
    except ProtocolViolation:
        return False
    return True


class Examples(unittest.TestCase):
    def test_each_frame_is_read_as_it_says(self) -> None:
        for example in load()["frames"]:
            with self.subTest(example["name"]):
                raw = bytes.fromhex(example["bytes"])
                self.assertEqual(_decode([raw]), [_frame_of(example)])

    def test_each_frame_is_written_with_the_same_bytes(self) -> None:
        for example in load()["frames"]:
            with self.subTest(example["name"]):
                self.assertEqual(encode(_frame_of(example)).hex(), example["bytes"])

    def test_each_malformed_frame_is_refused_naming_the_field(self) -> None:
        for example in load()["malformedFrames"]:
            raw = bytes.fromhex(example["bytes"])
            for pieces in ([raw], [raw[at : at + 1] for at in range(len(raw))]):
                with self.subTest(example["name"], pieces=len(pieces)), self.assertRaises(ProtocolViolation) as caught:
                    _decode(pieces)
                self.assertTrue(str(caught.exception).startswith(f"{example['complaint']}: "), str(caught.exception))


class Properties(unittest.TestCase):
    def setUp(self) -> None:
        self.random = random.Random(SEED)

    def test_every_frame_comes_back_however_the_bytes_are_split(self) -> None:
        for _ in range(ROUNDS):
            frames = [_any_frame(self.random) for _ in range(self.random.randrange(6))]
            pieces = _split(self.random, b"".join(encode(frame) for frame in frames))
            self.assertEqual(_decode(pieces), frames)

    def test_never_holds_more_than_one_frame_and_one_piece(self) -> None:
        for _ in range(ROUNDS):
            frames = [_any_frame(self.random) for _ in range(1 + self.random.randrange(4))]
            largest = max(len(encode(frame)) for frame in frames)
            decoder = FrameDecoder()
            for piece in _split(self.random, b"".join(encode(frame) for frame in frames)):
                for _frame in decoder.feed(piece):
                    self.assertLessEqual(decoder.pending_bytes, largest + len(piece))
                self.assertLess(decoder.pending_bytes, largest)
            self.assertEqual(decoder.pending_bytes, 0)

    def test_waits_for_the_rest_of_a_frame_that_was_cut_off(self) -> None:
        for _ in range(ROUNDS):
            raw = encode(_any_frame(self.random))
            self.assertEqual(_decode([raw[: self.random.randrange(len(raw))]]), [])

    def test_garbage_is_refused_at_once(self) -> None:
        for _ in range(ROUNDS):
            raw = bytes(self.random.randrange(256) for _ in range(1 + self.random.randrange(100)))
            if raw[:1] == b"H":
                continue
            with self.assertRaisesRegex(ProtocolViolation, "^magic: "):
                _decode([raw])

    def test_a_header_is_judged_by_its_fields_alone(self) -> None:
        for _ in range(ROUNDS):
            version, flags = self.random.choice((1, 1, 1, 0, 2, 255)), self.random.choice((0, 0, 0, 1, 128))
            head = self.random.choice((0, 1, 2, MAX_HEAD_BYTES, MAX_HEAD_BYTES + 1, 2**32 - 1))
            body = self.random.choice((0, 1, MAX_BODY_BYTES, MAX_BODY_BYTES + 1, 2**32 - 1))
            header = HEADER.pack(b"HC", version, flags, head, body, 0, 0, 0)
            field = _first_wrong_field(version, flags, head, body)
            if field is None:
                self.assertEqual(_decode([header]), [])
            else:
                with self.assertRaisesRegex(ProtocolViolation, f"^{field}: "):
                    _decode([header])


class Encoding(unittest.TestCase):
    def test_what_no_reader_would_take_is_refused(self) -> None:
        with self.assertRaisesRegex(ProtocolViolation, "^head length: "):
            encode(Frame({"type": "x", "text": "x" * MAX_HEAD_BYTES}))
        with self.assertRaisesRegex(ProtocolViolation, "^body length: "):
            encode(Frame({"type": "x"}, bytes(MAX_BODY_BYTES + 1)))

    def test_lone_surrogates_do_not_break_a_head(self) -> None:
        raw = encode(Frame({"type": "x", "path": "a\udcffb"}))
        self.assertEqual([frame.head["path"] for frame in FrameDecoder().feed(raw)], ["a?b"])

    def test_numbers_can_be_set_afterwards(self) -> None:
        raw = bytearray(encode(Frame({"type": "x"}, b"body", 2, 1, 0)))
        set_numbers(raw, 7, 2**32 - 1)
        self.assertEqual(bytes(raw), encode(Frame({"type": "x"}, b"body", 2, 7, 2**32 - 1)))

    def test_a_sequence_beyond_its_field_is_an_error_and_not_a_wrap(self) -> None:
        with self.assertRaises(struct.error):
            encode(Frame({"type": "x"}, sequence=2**32))


def _frame_of(example: dict[str, Any]) -> Frame:
    return Frame(example["head"], base64.b64decode(example["body"]), example["stream"], example["sequence"], example["ack"])


def _decode(pieces: list[bytes]) -> list[Frame]:
    """Without their sizes on the wire, which a frame that was not decoded lacks."""
    decoder = FrameDecoder()
    return [frame._replace(size=0) for piece in pieces for frame in decoder.feed(piece)]


def _any_frame(source: random.Random) -> Frame:
    head = {"type": _any_text(source), **{_any_text(source) + "_": _any_value(source, 3) for _ in range(source.randrange(4))}}
    body = bytes(source.getrandbits(8) for _ in range(source.choice((0, 0, 1, 20, 500))))
    return Frame(json.loads(json.dumps(head)), body, *(source.getrandbits(32) for _ in range(3)))


def _any_value(source: random.Random, depth: int) -> Any:
    kind = source.randrange(7 if depth else 5)
    if kind == 5:
        return [_any_value(source, depth - 1) for _ in range(source.randrange(4))]
    if kind == 6:
        return {_any_text(source): _any_value(source, depth - 1) for _ in range(source.randrange(4))}
    return (None, True, source.getrandbits(53), source.random(), _any_text(source))[kind]


def _any_text(source: random.Random) -> str:
    return "".join(source.choice('aZ09 "\\\n\t\x00é漢🐍') for _ in range(source.randrange(12)))


def _split(source: random.Random, raw: bytes) -> list[bytes]:
    cuts = sorted(source.randrange(len(raw) + 1) for _ in range(source.randrange(12)))
    return [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)])]


def _first_wrong_field(version: int, flags: int, head: int, body: int) -> object:
    if version != 1:
        return "version"
    if flags != 0:
        return "flags"
    if not 2 <= head <= MAX_HEAD_BYTES:
        return "head length"
    return "body length" if body > MAX_BODY_BYTES else None


if __name__ == "__main__":
    unittest.main()
