"""Which files an execution made or changed, and what remembering them costs."""

from __future__ import annotations

import os
import tempfile
import tracemalloc
import unittest
from unittest import mock

from hotcell_guest.files.artifacts import MAX_REPORTED, Workspace


class ArtifactsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.workspace = Workspace(self.folder)
        self.workspace.accept()

    def write(self, path: str, text: str = "x") -> None:
        with open(os.path.join(self.folder, path), "a", encoding="utf-8") as file:
            file.write(text)

    def changes(self, execution: str) -> list[tuple[str, str]]:
        return [(file["path"], file["change"]) for file in self.workspace.changes(execution).files]

    def test_what_is_new_and_what_is_changed(self) -> None:
        self.write("old")
        self.write("touched")
        self.workspace.accept()
        self.workspace.begin("x")
        self.write("touched")
        os.mkdir(os.path.join(self.folder, "below"))
        self.write("below/ü")
        self.assertEqual(self.changes("x"), [("below/ü", "created"), ("touched", "modified")])
        self.workspace.begin("y")
        self.assertEqual(self.changes("y"), [])

    def test_executions_under_way_at_once_report_what_changed_since_each_began(self) -> None:
        self.workspace.begin("x")
        self.write("a")
        self.workspace.begin("y")
        self.write("a")
        self.write("b")
        self.assertEqual(self.changes("y"), [("a", "modified"), ("b", "created")])
        self.assertEqual(self.changes("x"), [("a", "created"), ("b", "created")])

    def test_what_the_host_writes_meanwhile_is_nobodys(self) -> None:
        self.workspace.begin("x")
        self.write("uploaded")
        self.workspace.accept()
        self.write("own")
        self.assertEqual(self.changes("x"), [("own", "created")])

    def test_of_many_the_first_are_reported(self) -> None:
        self.workspace.begin("x")
        for number in range(2 * MAX_REPORTED + 5):
            self.write(f"{number:05}")
        changes = self.workspace.changes("x")
        self.assertEqual([file["path"] for file in changes.files], [f"{number:05}" for number in range(MAX_REPORTED)])
        self.assertEqual(changes.omitted, MAX_REPORTED + 5)

    def test_a_path_is_reported_once(self) -> None:
        """The host takes a frame that names one twice for a violation of the protocol."""
        self.workspace.begin("x")
        for name in (b"same\xfe", b"same\xff"):
            with open(os.path.join(os.fsencode(self.folder), name), "wb"):
                pass
        self.assertEqual(self.changes("x"), [("same\ufffd", "created")])

    def test_too_many_to_compare_are_said_by_each_execution_that_met_them(self) -> None:
        self.workspace.begin("x")
        self.write("a")
        self.write("b")
        with mock.patch("hotcell_guest.files.artifacts.MAX_ENTRIES", 1):
            self.workspace.begin("y")
        self.assertEqual((self.workspace.changes("y").omitted, self.workspace.changes("x").omitted), (-1, -1))
        self.workspace.begin("z")
        self.write("c")
        self.assertEqual(self.changes("z"), [("c", "created")])

    def test_long_names_and_many_executions_cost_no_more_than_short_names_and_one(self) -> None:
        """Names of which one letter makes each of the path's four bytes wide, in folders that all of them repeat."""
        files = 1_000
        below = os.fsencode(self.folder)
        for _ in range(12):
            below = os.path.join(below, "\U0001f600".encode() + b"\xff" * 250)
            os.mkdir(below)
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        for execution in range(10):
            self.workspace.begin(f"x-{execution}")
            for number in range(files):  # none is as the execution before saw it
                path = os.path.join(below, b"%05d" % number + b"\xff" * 249)
                with open(path, "ab") as file:
                    file.write(b"x")
        for execution in range(10):
            self.workspace.changes(f"x-{execution}")
        held, peak = tracemalloc.get_traced_memory()
        self.assertLess(held, files * 400)
        self.assertLess(peak, 2 * MAX_REPORTED * 4_096)
