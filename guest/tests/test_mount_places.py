"""Folders are mounted by descriptor, at places that no link decides, and only where they are the ones that the host named."""

from __future__ import annotations

import os
import tempfile
import traceback
import unittest
from typing import Any, Callable
from unittest import mock

from hotcell_guest.start.jail import map_identity
from hotcell_guest.start.mount_places import bind_at, enter_root, make_root, open_folder
from hotcell_guest.start.proc_cover import make_covers
from hotcell_guest.system import linux
from hotcell_guest.system.mount_identity import are_expected, is_expected

_REFUSED = 99


class MountPlacesTest(unittest.TestCase):
    def setUp(self) -> None:
        # A mount on the way would be shown whole, and a folder for temporary files often is one.
        folder = tempfile.TemporaryDirectory(dir="/var/tmp")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name in ("source", "root", "outside"):
            os.mkdir(os.path.join(self.folder, name))
        open(os.path.join(self.folder, "source", "file"), "w").close()

    def _path(self, *names: str) -> str:
        return os.path.join(self.folder, *names)

    def _in_namespaces(self, work: Callable[[], None]) -> None:
        """Runs `work` in a fork with mounts of its own; skips where this machine gives none."""
        uid, gid = os.getuid(), os.getgid()
        pid = os.fork()
        if pid == 0:
            try:
                linux.unshare(linux.CLONE_NEWUSER | linux.CLONE_NEWNS)
                map_identity(uid, gid)
                linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
            except OSError:
                os._exit(_REFUSED)
            try:
                work()
                os._exit(0)
            except BaseException:  # noqa: BLE001 - a fork must not run on into the other tests
                traceback.print_exc()
                os._exit(1)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code == _REFUSED:
            self.skipTest("no namespaces here")
        self.assertEqual(code, 0)

    def test_a_folder_is_bound_at_a_place_that_is_made_for_it(self) -> None:
        def work() -> None:
            root = open_folder(self._path("root"))
            bind_at(root, "/a/b", open_folder(self._path("source")))
            assert os.listdir(self._path("root", "a", "b")) == ["file"]

        self._in_namespaces(work)

    def test_a_link_on_the_way_or_in_the_place_is_followed_by_nothing(self) -> None:
        os.symlink(self._path("outside"), self._path("root", "link"))

        def work() -> None:
            root, source = open_folder(self._path("root")), open_folder(self._path("source"))
            for target in ("/link", "/link/new"):
                try:
                    bind_at(root, target, source)
                except OSError:
                    continue
                raise AssertionError(target)
            assert os.listdir(self._path("outside")) == []

        self._in_namespaces(work)
        self.assertEqual(os.listdir(self._path("outside")), [])

    def test_a_source_is_the_folder_that_was_opened_whatever_its_path_leads_to(self) -> None:
        def work() -> None:
            source = open_folder(self._path("source"))
            os.rename(self._path("source"), self._path("moved"))
            os.symlink(self._path("outside"), self._path("source"))
            bind_at(open_folder(self._path("root")), "/place", source)
            assert os.listdir(self._path("root", "place")) == ["file"]

        self._in_namespaces(work)

    def test_a_root_of_its_own_shows_the_old_one_with_places_and_without_what_is_left_out(self) -> None:
        hidden = self._path("outside")

        def work() -> None:
            # /proc and the rest are the machine's here: what is mirrored of them is bound as it is.
            before = sorted(os.listdir("/"))
            new = self._path("root")
            make_root(new, ["/hotcell-test-place/in"], left_out=(hidden,))
            bind_at(open_folder(new), "/hotcell-test-place/in", open_folder(self._path("source")))
            enter_root(new)
            assert sorted(os.listdir("/")) == sorted([*before, "hotcell-test-place"])
            assert os.listdir("/hotcell-test-place/in") == ["file"]
            assert not os.path.exists(hidden) and os.path.exists(os.path.dirname(hidden))
            try:
                os.mkdir("/new")
            except OSError:
                return
            raise AssertionError("the root is open")

        self._in_namespaces(work)

    def test_an_entry_that_is_removed_while_the_root_is_made_is_left_out(self) -> None:
        gone = [self._path("outside", name) for name in ("before", "folder", "file")]
        mount, lstat = linux.mount, os.lstat
        os.mkdir(gone[0])
        os.mkdir(gone[1])
        open(gone[2], "w").close()

        def removing_lstat(path: str) -> os.stat_result:
            if path == gone[0]:
                os.rmdir(path)
            return lstat(path)

        def removing_mount(source: Any, *more: Any, **options: Any) -> None:
            if source in gone:
                (os.rmdir if source == gone[1] else os.unlink)(source)
            mount(source, *more, **options)

        def work() -> None:
            new, left_out = self._path("root"), (self._path("outside", "hidden"),)
            with mock.patch.object(linux, "mount", removing_mount), mock.patch.object(os, "lstat", removing_lstat):
                make_root(new, [], left_out)
            assert os.listdir(new + self._path("outside")) == []

        self._in_namespaces(work)

    def test_an_entry_of_proc_that_nobody_has_looked_at_is_covered_and_processes_are_not(self) -> None:
        for name in ("stat", "1", "new", "kept", "folder"):
            if name == "stat":
                open(self._path("outside", name), "w").close()
                continue
            os.mkdir(self._path("outside", name))
            open(self._path("outside", name, "in"), "w").close()
        with open(self._path("outside", "file"), "w") as file:
            file.write("tells")
        os.symlink("stat", self._path("outside", "link"))

        def work() -> None:
            proc = self._path("outside")
            make_covers(self._path("root")).cover(proc, kept=["stat", "kept"], covered=["kept/in", "kept/nothing"])
            full = [name for name in ("1", "new", "kept", "folder") if os.listdir(os.path.join(proc, name))]
            assert full == ["1", "kept"], full
            assert os.path.getsize(os.path.join(proc, "file")) == 0
            with open("/proc/self/mountinfo") as lines:
                mounts = [line.split()[4] for line in lines if proc + "/" in line]
            assert sorted(os.path.relpath(path, proc) for path in mounts) == ["file", "folder", "kept/in", "new"], mounts
            try:
                open(os.path.join(proc, "file"), "w").close()
            except OSError:
                return
            raise AssertionError("what covers can be written to")

        self._in_namespaces(work)


class MountIdentityTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        found = os.stat(self.folder)
        self.expected: dict[str, Any] = {"target": self.folder, "device": str(found.st_dev), "inode": str(found.st_ino)}

    def test_the_folder_itself_is_expected_by_path_and_by_descriptor(self) -> None:
        self.assertTrue(is_expected(self.folder, self.expected))
        self.assertTrue(is_expected(open_folder(self.folder), self.expected))
        self.assertTrue(are_expected([self.expected]))
        self.assertTrue(are_expected([]))

    def test_another_a_link_and_none_are_not(self) -> None:
        link = os.path.join(self.folder, "link")
        os.symlink(self.folder, link)
        for place in (os.path.dirname(self.folder), link, os.path.join(self.folder, "nothing")):
            self.assertFalse(is_expected(place, self.expected), place)
        self.assertFalse(are_expected([self.expected, {**self.expected, "inode": "1"}]))

    def test_what_is_no_expectation_is_refused(self) -> None:
        for mounts in ([{"target": self.folder}], [7], 7, [None]):
            self.assertFalse(are_expected(mounts), mounts)
