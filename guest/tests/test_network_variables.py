"""Variables and files of a network, which come and go while kernels live."""

from __future__ import annotations

import os
import tempfile
import unittest
from unittest import mock

from hotcell_guest.network.files import NetworkFiles
from hotcell_guest.network.variables import NetworkVariables, filled

_PLACES = {"proxy": "4000", "ca": "/tmp/ca.pem"}


class Filled(unittest.TestCase):
    def test_braces_name_ports_and_files_and_anything_else_stays(self) -> None:
        for template, value in (
            ("http://127.0.0.1:{proxy}", "http://127.0.0.1:4000"),
            ("{ca}", "/tmp/ca.pem"),
            ("{proxy}{proxy}", "40004000"),
            ("{other} {} {PROXY} { proxy }", "{other} {} {PROXY} { proxy }"),
            ("plain", "plain"),
            ("", ""),
        ):
            self.assertEqual(filled(template, _PLACES), value)

    def test_what_is_filled_in_is_not_filled_again(self) -> None:
        self.assertEqual(filled("{before} {proxy}", {**_PLACES, "before": "{proxy}"}), "{proxy} 4000")

    def test_a_variable_that_names_a_file_which_is_not_there_is_left_out(self) -> None:
        self.assertIsNone(filled("--require={preload}", _PLACES))
        self.assertIsNone(filled("{ca}", {}))


class Replaced(unittest.TestCase):
    def setUp(self) -> None:
        self.variables = NetworkVariables()
        self.environment = {"PATH": "/bin", "NODE_OPTIONS": "--no-warnings"}

    def replace(self, **templates: str) -> dict[str, str]:
        """The environment afterwards."""
        for name, value in self.variables.replace(templates, _PLACES, self.environment).items():
            if value is None:
                self.environment.pop(name, None)
            else:
                self.environment[name] = value
        return self.environment

    def test_they_are_set_and_taken_away_again(self) -> None:
        before = dict(self.environment)
        self.assertEqual(self.replace(HTTP_PROXY=":{proxy}", PATH="/usr/bin"), {**before, "HTTP_PROXY": ":4000", "PATH": "/usr/bin"})
        self.assertEqual(self.replace(HTTPS_PROXY=":{proxy}"), {**before, "HTTPS_PROXY": ":4000"})
        self.assertEqual(self.replace(), before)

    def test_the_value_without_a_network_can_be_a_part_of_the_new_one_however_often_it_is_set(self) -> None:
        for _ in range(3):
            self.assertEqual(self.replace(NODE_OPTIONS="{before} --x", A="{before} --x")["NODE_OPTIONS"], "--no-warnings --x")
            self.assertEqual(self.environment["A"], "--x")
        self.assertEqual(self.replace()["NODE_OPTIONS"], "--no-warnings")

    def test_only_what_changes_is_told_and_each_kernel_what_it_has_not_seen(self) -> None:
        self.replace(A="1", B="1")
        seen = self.variables.version
        self.assertEqual(self.variables.replace({"A": "1", "B": "1"}, {}, self.environment), {})
        self.assertEqual(self.variables.since(seen), {})
        self.replace(A="1", B="2", C="1")
        self.assertEqual(self.variables.since(seen), {"B": "2", "C": "1"})
        self.replace()
        self.assertEqual(self.variables.since(seen), {"A": None, "B": None, "C": None})
        self.assertEqual(self.variables.since(0), self.variables.since(seen))


class Files(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        patch = mock.patch.dict(os.environ, {"TMPDIR": folder.name})
        patch.start()
        self.addCleanup(patch.stop)
        self.files = NetworkFiles()

    def read(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def test_they_are_written_replaced_and_removed(self) -> None:
        paths = self.files.replace({"ca": b"one", "preload": b"script"})
        self.assertEqual([self.read(path) for path in paths.values()], [b"one", b"script"])
        self.assertEqual(os.stat(paths["ca"]).st_mode & 0o222, 0)
        self.assertTrue(os.path.basename(os.path.dirname(paths["ca"])).startswith("."))
        self.assertEqual(self.files.replace({"ca": b"two"})["ca"], paths["ca"])
        self.assertEqual(self.read(paths["ca"]), b"two")
        self.assertFalse(os.path.exists(paths["preload"]))

    def test_nothing_is_left_of_them(self) -> None:
        self.files.replace({"ca": b"one", "preload": b"script"})
        self.files.remove()
        self.assertEqual(os.listdir(self.folder), [])

    def test_what_a_program_removed_is_there_again(self) -> None:
        path = self.files.replace({"ca": b"one"})["ca"]
        os.unlink(path)
        os.rmdir(os.path.dirname(path))
        self.files.mend()
        self.assertEqual(self.read(path), b"one")

    def test_a_link_that_a_program_left_is_not_written_through(self) -> None:
        victim = os.path.join(self.folder, "victim")
        os.mkdir(victim)
        path = self.files.replace({"ca": b"one"})["ca"]
        folder = os.path.dirname(path)
        os.unlink(path)
        os.rmdir(folder)
        os.symlink(victim, folder)
        self.files.replace({"ca": b"two"})
        self.assertEqual(os.listdir(victim), [])
        self.assertEqual(self.read(path), b"two")
        os.unlink(path)
        os.mkdir(path)
        self.files.replace({"ca": b"three"})
        self.assertEqual(self.read(path), b"three")

    def test_on_a_full_disk_the_old_ones_stay(self) -> None:
        path = self.files.replace({"ca": b"one"})["ca"]
        with mock.patch("hotcell_guest.network.files.os.open", side_effect=OSError(28, "no space")), self.assertRaises(OSError):
            self.files.replace({"ca": b"two"})
        self.assertEqual(self.read(path), b"one")
        os.unlink(path)
        with mock.patch("hotcell_guest.network.files.os.open", side_effect=OSError(28, "no space")):
            self.files.mend()
        self.files.mend()
        self.assertEqual(self.read(path), b"one")
