"""What is kept until the peer has it: numbers, acknowledgements, and what is given up first."""

from __future__ import annotations

from typing import Any

import pytest

from hotcell_guest.wire.frames import FrameDecoder, ProtocolViolation
from hotcell_guest.wire.sent_frames import REPLAY_BYTES, Sent, SentFrames

_PIECE = bytes(131_072)


class _Frames:
    def __init__(self) -> None:
        self.dropped: list[tuple[int, int]] = []
        self.sent = SentFrames(lambda stream, size: self.dropped.append((stream, size)))

    def add(self, kind: str, body: bytes = b"", stream: int = 2, **members: Any) -> Sent:
        sent = self.sent.add({"type": kind, **members}, body, stream)
        assert sent is not None
        return sent

    def fill(self) -> int:
        """Adds output until it is more than is kept, and says how much that was."""
        count = REPLAY_BYTES // len(_PIECE) + 1
        for _ in range(count):
            self.add("stdout", _PIECE)
        return count


def test_frames_are_numbered_and_carry_what_they_acknowledge() -> None:
    frames = _Frames()
    first, second = frames.add("stdout", b"a"), frames.add("finished")
    for sent, ack in ((first, 7), (second, 8)):
        frames.sent.make_ready(sent, ack)
    decoded = list(FrameDecoder().feed(bytes(first.front) + first.body + bytes(second.front) + second.body))
    assert [(frame.sequence, frame.ack, frame.body) for frame in decoded] == [(1, 7, b"a"), (2, 8, b"")]


def test_what_is_acknowledged_is_kept_no_longer() -> None:
    frames = _Frames()
    for _ in range(3):
        frames.add("stdout", b"a")
    frames.sent.acknowledge(2)
    assert len(frames.sent) == 1
    assert [sent.sequence for sent in frames.sent.lacking(2)[1]] == [3]


@pytest.mark.parametrize("ack", [1, 2**32 - 1])
def test_an_acknowledgement_of_what_was_never_sent_is_a_violation(ack: int) -> None:
    frames = _Frames()
    assert frames.sent.was_never_sent(ack)
    with pytest.raises(ProtocolViolation):
        frames.sent.acknowledge(ack)


def test_what_fits_is_not_dropped() -> None:
    frames = _Frames()
    for _ in range(REPLAY_BYTES // len(_PIECE) - 1):
        frames.add("stdout", _PIECE)
    frames.sent.bound()
    assert frames.dropped == []


def test_the_oldest_output_is_dropped_to_half_and_never_what_ends_an_execution() -> None:
    frames = _Frames()
    frames.add("finished", b"first")
    count = frames.fill()
    frames.sent.bound()
    gap, kept = frames.sent.lacking(0)
    assert sum(sent.cost for sent in kept) <= REPLAY_BYTES // 2 + len(_PIECE)
    assert kept[0].head["type"] == "finished"
    assert gap is not None
    assert gap["frames"] + len(kept) == count + 1
    assert gap["bytes"] == len(frames.dropped) * len(_PIECE)
    assert [sent.sequence for sent in kept] == list(range(gap["next"], gap["next"] + len(kept)))


def test_many_small_frames_count_for_more_than_their_bytes() -> None:
    frames = _Frames()
    for _ in range(REPLAY_BYTES // 512):
        frames.add("stdout", b"x")
    frames.sent.bound()
    assert frames.dropped != []


def test_a_gap_is_told_again_until_the_peer_is_known_to_have_heard_of_it() -> None:
    frames = _Frames()
    frames.fill()
    frames.sent.bound()
    first, _ = frames.sent.lacking(0)
    again, kept = frames.sent.lacking(0)
    assert first == again
    assert first is not None
    assert frames.sent.lacking(first["next"])[0] is None
    assert len(kept) - 1 == len(frames.sent)


def test_what_the_peer_had_before_it_was_dropped_is_no_loss() -> None:
    frames = _Frames()
    count = frames.fill()
    frames.sent.bound()
    assert frames.sent.lacking(count) == (None, [])


def test_a_display_with_a_piece_missing_goes_whole() -> None:
    frames = _Frames()
    pieces = REPLAY_BYTES // len(_PIECE) + 1
    for _ in range(pieces):
        frames.add("display", _PIECE, index=0)
    frames.sent.bound()
    assert len(frames.dropped) == pieces
    assert frames.sent.add({"type": "display", "index": 0, "end": True}, b"", 2) is None
    assert frames.sent.add({"type": "display", "index": 1, "end": True}, b"", 2) is not None


def test_the_end_of_a_stream_forgets_its_broken_display() -> None:
    frames = _Frames()
    for _ in range(REPLAY_BYTES // len(_PIECE) + 1):
        frames.add("display", _PIECE, index=0)
    frames.sent.bound()
    frames.sent.end_stream(4)
    assert frames.sent.add({"type": "display", "index": 0}, b"", 2) is None
    frames.sent.end_stream(2)
    assert frames.sent.add({"type": "display", "index": 0}, b"", 2) is not None
