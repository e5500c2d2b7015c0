"""Paths that are longer than any request can name: they are counted and not told."""

from __future__ import annotations

import os
import tempfile
import unittest

from hotcell_guest.files.workspace_files import list_folder


class LongPathTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.workspace = folder.name

    def test_a_list_leaves_them_out_and_counts_them(self) -> None:
        self._make(total=4_300)
        entries, omitted = list_folder(self.workspace, ".", recursive=True, limit=1_000)
        self.assertLessEqual(max(len(os.fsencode(entry["path"])) for entry in entries), 4_096)
        self.assertIn("short.txt", [entry["path"] for entry in entries])
        self.assertEqual(omitted, 1)

    def _make(self, total: int) -> None:
        """A file whose path below the workspace has so many bytes."""
        open(os.path.join(self.workspace, "short.txt"), "w").close()
        fd = os.open(self.workspace, os.O_RDONLY)
        left = total
        while left > 255:
            name = "d" * min(249, left - 251)
            os.mkdir(name, dir_fd=fd)
            below = os.open(name, os.O_RDONLY, dir_fd=fd)
            os.close(fd)
            fd, left = below, left - len(name) - 1
        os.close(os.open("f" * left, os.O_CREAT | os.O_WRONLY, dir_fd=fd))
        os.close(fd)
