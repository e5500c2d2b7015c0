"""Requests about layers: what the kernel is told, and which modules of its own it keeps."""

from __future__ import annotations

import os
import unittest
from typing import Any, Optional

from hotcell_guest.files.uploads import Uploads
from hotcell_guest.files.workspace_files import FileError
from hotcell_guest.supervisor.layers import Layers
from hotcell_guest.wire.frames import Frame, Head

from .played_kernels import PlayedSandbox
from .test_layer_files import entry


class LayersTest(unittest.TestCase):
    def setUp(self) -> None:
        self.sandbox = PlayedSandbox(self)
        self.replies: list[Head] = []
        self.uploads = Uploads(self.sandbox.guest.channel, lambda *_: None)
        executions = self.sandbox.executions
        self.layers = Layers(
            self.uploads,
            executions.kernels,
            self._reply,
            executions.replace_unused_kernel,
            folder=self.sandbox.folder,
            node_modules=os.path.join(self.sandbox.folder, "node_modules"),
        )

    def _reply(self, number: int, result: Head, body: bytes = b"") -> None:
        self.replies.append(result)

    def layer(self, name: str, *files: str) -> None:
        for file in files or ("lay_x.py",):
            path = os.path.join(self.sandbox.folder, name, "python", file)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            open(path, "w").close()

    def request(self, kind: str, **members: Any) -> Optional[Head]:
        return self.layers.requests[kind](Frame({"type": kind, "id": 1, **members}))

    def heard(self) -> list[str]:
        return [frame.head["type"] for frame in self.sandbox.python.heard()]

    def test_the_kernel_is_told_of_a_layer_that_is_there(self) -> None:
        self.layer("0001")
        self.request("layer", name="0001")
        self.assertEqual((self.replies, self.heard()), ([{"superseded": []}], ["layers"]))
        self.assertFalse(self.layers.supersede_preloads)
        self.assertEqual(self.request("layers"), {"names": ["0001"]})

    def test_one_that_is_not_there_is_not_found(self) -> None:
        for name in ("0001", "..", "", "../0001"):
            with self.assertRaises(FileError) as raised:
                self.request("layer", name=name)
            self.assertEqual(raised.exception.code, "not-found")
        self.assertEqual((self.replies, self.heard()), ([], []))

    def test_one_that_is_sent_is_used_when_it_is_whole(self) -> None:
        self.request("layer.write", name="0001", stream=2)
        data = entry("0001/python", kind="folder") + entry("0001/python/lay_x.py", b"x = 1")
        self.uploads.chunk(Frame({"type": "chunk"}, data, 2))
        self.assertEqual((self.replies, self.request("layers")), ([], {"names": []}))
        self.uploads.chunk(Frame({"type": "chunk", "end": True}, b"", 2))
        self.assertEqual((self.replies, self.heard()), ([{"superseded": []}], ["layers"]))

    def test_a_kernel_that_has_worked_keeps_what_it_has_loaded_until_it_is_restarted(self) -> None:
        self.sandbox.executions.kernels.python.has_begun_work()
        self.layers.name_preloaded(["lay_pandas.core", "lay_numpy"])
        self.layer("0001", "lay_numpy/__init__.py", "unittest.py", "other.py", "lay_numpy-2.0.dist-info/METADATA")
        self.request("layer", name="0001")
        self.assertEqual(self.replies, [{"superseded": ["lay_numpy"]}])
        self.assertTrue(self.layers.supersede_preloads)
        self.layer("0002", "lay_more.py")
        self.request("layer", name="0002")
        self.assertEqual((self.replies[1:], self.heard()), ([{"superseded": []}], ["layers", "layers"]))
        self.assertTrue(self.layers.supersede_preloads)

    def test_a_kernel_that_has_worked_may_have_loaded_what_an_older_layer_or_the_environment_has(self) -> None:
        self.layer("0001", "lay_own.py", "lay_other.py")
        self.request("layer", name="0001")
        self.layer("0002", "lay_own/__init__.py", "lay_new.py")
        self.request("layer", name="0002")
        self.sandbox.executions.kernels.python.has_begun_work()
        self.layer("0003", "lay_own/__init__.py", "lay_newer.py")
        self.request("layer", name="0003")
        self.assertEqual(self.replies, [{"superseded": []}, {"superseded": []}, {"superseded": ["lay_own"]}])
        self.assertFalse(self.layers.supersede_preloads)

    def test_one_that_has_run_nothing_is_started_again_and_the_host_waits_for_it(self) -> None:
        self.layers.name_preloaded(["lay_numpy"])
        self.layer("0001", "lay_numpy.cpython-312-x86_64-linux-gnu.so")
        self.request("layer", name="0001")
        self.assertEqual(self.replies, [])
        fresh = self.sandbox.started()
        fresh.say({"type": "up", "pid": fresh.pid})
        self.assertEqual(self.replies, [{"superseded": []}])

    def test_a_part_of_a_namespace_replaces_nothing(self) -> None:
        self.layers.name_preloaded(["lay_google.protobuf"])
        self.layer("0001", "lay_google/cloud/__init__.py")
        self.request("layer", name="0001")
        self.assertFalse(self.layers.supersede_preloads)

    def test_preloads_that_come_after_the_layer_count_too(self) -> None:
        self.layer("0001", "lay_numpy/__init__.py")
        self.request("layer", name="0001")
        self.assertFalse(self.layers.supersede_preloads)
        self.layers.name_preloaded(["lay_numpy"])
        self.assertTrue(self.layers.supersede_preloads)
