"""A layer that comes over the channel: bytes in any pieces, entries in order, and folders that user code can write to."""

from __future__ import annotations

import json
import os
import tempfile
import unittest
from typing import Any

from hotcell_guest.files.layer_files import SentLayer
from hotcell_guest.files.workspace_files import FileError


def entry(path: str, content: bytes = b"", **members: Any) -> bytes:
    head = json.dumps({"kind": "file", "path": path, "size": len(content), **members}).encode()
    return len(head).to_bytes(4, "big") + head + content


_LAYER = b"".join(
    [
        entry("0001/python", kind="folder"),
        entry("0001/python/a.py", b"x = 1"),
        entry("0001/python/empty.py"),
        entry("0001/bin", kind="folder"),
        entry("0001/bin/tool", b"#!/bin/sh\n", executable=True),
        entry("0001/bin/alias", kind="link", target="tool"),
        entry("hooks/hotcell_layers.py", b"hook"),
        entry("bin/tool", kind="link", target="../0001/bin/tool"),
        entry("node_modules/@scope/x", kind="link", target="/opt/hotcell/layers/0001/node_modules/@scope/x"),
    ]
)


class SentLayerTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.node_modules = os.path.join(folder.name, "layers"), os.path.join(folder.name, "node_modules")
        os.mkdir(self.folder)
        os.mkdir(self.node_modules)

    def sent(self, data: bytes, piece: int = 65_536, name: str = "0001") -> SentLayer:
        layer = SentLayer(self.folder, name, self.node_modules)
        for start in range(0, len(data), piece):
            layer.write(data[start : start + piece])
        return layer

    def read(self, path: str) -> bytes:
        with open(os.path.join(self.folder, path), "rb") as file:
            return file.read()

    def test_it_arrives_in_pieces_of_any_size(self) -> None:
        for index, piece in enumerate((1, 3, 7, 65_536)):
            name = f"{index + 1:04}"
            self.sent(_LAYER.replace(b"0001", name.encode()), piece, name).finish()
            self.assertEqual(self.read(f"{name}/python/a.py"), b"x = 1")
            self.assertEqual(self.read(f"{name}/python/empty.py"), b"")
            self.assertEqual(self.read("hooks/hotcell_layers.py"), b"hook")
            self.assertEqual(os.readlink(os.path.join(self.folder, "bin/tool")), f"../{name}/bin/tool")
        self.assertEqual(os.listdir(os.path.join(self.node_modules, "@scope")), ["x"])
        self.assertTrue(os.access(os.path.join(self.folder, "0001/bin/alias"), os.X_OK))
        self.assertEqual(sorted(os.listdir(self.folder)), ["0001", "0002", "0003", "0004", "bin", "hooks"])

    def test_it_is_not_there_before_it_is_whole(self) -> None:
        layer = self.sent(_LAYER)
        self.assertEqual(os.listdir(self.folder), [".making-0001"])
        layer.finish()
        self.assertIn("0001", os.listdir(self.folder))

    def test_of_one_that_is_cut_off_or_withdrawn_nothing_is_left(self) -> None:
        with self.assertRaises(FileError) as raised:
            self.sent(_LAYER[:-3]).finish()
        self.assertEqual(raised.exception.code, "bad-request")
        self.sent(_LAYER[:200]).abandon()
        self.assertEqual(os.listdir(self.folder), [])

    def test_paths_outside_and_heads_that_are_none_are_refused(self) -> None:
        for path in ("0002/x", "x", "0001", "0001/../x", "/etc/x", "0001//x", "bin/../../x", "0001/./x", ""):
            with self.assertRaises(FileError, msg=path) as raised:
                self.sent(entry(path))
            self.assertEqual(raised.exception.code, "bad-path")
            os.rmdir(os.path.join(self.folder, ".making-0001"))
        for data in (b"\x00\x00\x00\x02[]", b"\x00\x00\x00\x01x", b"\xff\xff\xff\xff", b"\x00\x00\x00\x02{}"):
            with self.assertRaises(FileError, msg=str(data)) as raised:
                self.sent(data)
            self.assertEqual(raised.exception.code, "bad-request")
            os.rmdir(os.path.join(self.folder, ".making-0001"))
        with self.assertRaises(FileError):
            SentLayer(self.folder, "../x", self.node_modules)

    def test_a_link_that_user_code_plants_meanwhile_leads_to_no_file_that_exists(self) -> None:
        kept = os.path.join(self.folder, "kept")
        with open(kept, "wb") as file:
            file.write(b"kept")
        for planted in ("python/a.py", "python"):
            layer = SentLayer(self.folder, "0001", self.node_modules)
            making = os.path.join(self.folder, ".making-0001")
            if planted == "python":
                os.symlink("/proc/self", os.path.join(making, "python"))
            else:
                layer.write(entry("0001/python", kind="folder"))
                os.symlink(kept, os.path.join(making, planted))
            with self.assertRaises(FileError) as raised:
                layer.write(entry("0001/python/a.py", b"lost") if planted != "python" else entry("0001/python/oom_score_adj", b"1"))
            self.assertEqual(raised.exception.code, "exists")
        self.assertEqual(self.read("kept"), b"kept")
        self.assertEqual(os.listdir(self.folder), ["kept"])
