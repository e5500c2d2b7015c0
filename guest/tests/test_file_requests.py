"""Downloads when the channel is lost in the middle of one."""

from __future__ import annotations

import os
import tempfile
import unittest

from hotcell_guest.files.requests import FileRequests
from hotcell_guest.files.uploads import Uploads
from hotcell_guest.wire.channel import WINDOW_BYTES
from hotcell_guest.wire.frames import Frame, Head
from hotcell_guest.wire.sent_frames import REPLAY_BYTES

from .test_channel import STREAM, Guest, settle

_FILE_BYTES = 30_000_000


class LostDownloadTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        with open(os.path.join(folder.name, "large.bin"), "wb") as file:
            file.truncate(_FILE_BYTES)
        self.guest = Guest(self)
        self.replies: list[Head] = []
        uploads = Uploads(self.guest.channel, lambda *_: None)

        def reply(number: int, result: Head, body: bytes = b"") -> None:
            self.replies.append(result)

        self.files = FileRequests(self.guest.channel, uploads, folder.name, reply, changed=lambda: None)

    def test_it_waits_for_the_next_channel_and_keeps_no_more_than_a_window(self) -> None:
        peer = self.guest.connected()
        self._read()
        peer.close()
        for _ in range(10):
            settle(self.guest.loop)
        self.assertLessEqual(self.guest.channel._sent._cost, min(REPLAY_BYTES, 2 * WINDOW_BYTES))
        self.assertEqual(self.replies, [])

    def test_one_that_begins_without_a_channel_waits_too(self) -> None:
        self._read()
        self.assertLessEqual(self.guest.channel._sent._cost, min(REPLAY_BYTES, 2 * WINDOW_BYTES))

    def test_it_goes_on_with_the_next_channel_and_arrives_whole(self) -> None:
        self.guest.connected().close()
        self._read()
        peer = self.guest.connected(epoch=2)
        arrived = sequence = 0
        while arrived < _FILE_BYTES:
            frames = [frame for frame in peer.read() if frame.head["type"] == "chunk"]
            self.assertTrue(frames, f"nothing more after {arrived} bytes")
            arrived += sum(len(frame.body) for frame in frames)
            sequence += 1
            credit = {"type": "credit", "stream": STREAM, "bytes": sum(frame.size for frame in frames)}
            peer.send(credit, sequence=sequence, ack=frames[-1].sequence)
        self.assertEqual((arrived, self.replies), (_FILE_BYTES, [{"sizeBytes": _FILE_BYTES}]))

    def _read(self) -> None:
        self.files.requests["file.read"](Frame({"type": "file.read", "id": 1, "stream": STREAM, "path": "large.bin"}))
