"""Which files of the workspace an execution made or changed: each look at the tree is compared with the one before."""

from __future__ import annotations

import os
import stat
import time
from typing import Any, Callable, Iterator, NamedTuple, Optional

MAX_ENTRIES = 20_000
MAX_REPORTED = 1_000
MAX_REPORTED_BYTES = 262_144
_MAX_DEPTH = 64
_SURELY_OLD_NS = 1_000_000_000
_SKIPPED_FOLDERS = frozenset({b"__pycache__", b".ipynb_checkpoints"})


class Changes(NamedTuple):
    """The changes in the form of the protocol. `omitted` is -1 if the workspace is too large to compare, or not
    readable.
    """

    files: list[dict[str, Any]]
    omitted: int


class _Seen(NamedTuple):
    """A file as the last look saw it: a hash of its size, time of change and inode, and the looks that first saw it and saw it change."""

    mark: int
    created: int
    changed: int


class Workspace:
    """Remembers how the workspace looked after the last execution or upload, and which look was the last before each execution under way.

    SECURITY: this is the supervisor's memory, which code could fill with long names. There is one record for all executions, and it keeps
    hashes: its size depends on the number of files alone. Code that makes two paths collide hides a file of its own from its own result.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._files: dict[int, _Seen] = {}
        self._looks = 0
        self._last_failed_look = -1
        self._begun_after: dict[str, int] = {}
        self._bare_since: Optional[int] = None

    def accept(self) -> None:
        """Takes the tree as it is for known: the host has just written to it."""
        self._look()
        self._bare_since = None
        for execution in self._begun_after:
            self._begun_after[execution] = self._looks

    def begin(self, execution: str) -> None:
        """An execution begins. What others under way have changed before is not its doing."""
        if self._begun_after:
            self._look()
        self._begun_after[execution] = self._looks

    def changes(self, execution: str) -> Changes:
        """What has changed since that execution began, which is over. A file that changed during several is reported by each."""
        before = self._begun_after.pop(execution, self._looks)
        if self._is_still_bare():
            return Changes([], 0)
        changed = _FirstPaths()

        def report(path: bytes, size: int, seen: _Seen) -> None:
            if seen.changed > before:
                changed.add(path, size, "created" if seen.created > before else "modified")

        self._look(report)
        if before <= self._last_failed_look:
            return Changes([], -1)
        return changed.as_changes()

    def _look(self, report: Callable[[bytes, int, _Seen], None] = lambda _path, _size, _seen: None) -> None:
        """Calls `report` for every file."""
        self._looks += 1
        known, self._files = self._files, {}
        try:
            for path, status in _walk(os.fsencode(self.folder)):
                # By the path as it is reported: names that are no UTF-8 may read the same, and a folder that changes may list a name twice.
                key, mark = hash(path.decode("utf-8", "replace")), hash((status.st_size, status.st_mtime_ns, status.st_ino))
                if key in self._files:
                    continue
                seen = known.get(key)
                if seen is None:
                    seen = _Seen(mark, self._looks, self._looks)
                elif seen.mark != mark:
                    seen = _Seen(mark, seen.created, self._looks)
                self._files[key] = seen
                report(path, status.st_size, seen)
        except _CannotLook:
            self._files = {}
            self._last_failed_look = self._looks

    def _is_still_bare(self) -> bool:
        """Whether the folder is known to be empty: it had no entry, and its ctime has been old for a while. Most
        sessions only compute.
        """
        changed = os.stat(self.folder).st_ctime_ns  # ctime cannot be set back
        if changed != self._bare_since:
            # File system clocks tick in milliseconds: only if the change is old enough, the following scan has
            # certainly seen it.
            is_old = time.time_ns() - changed > _SURELY_OLD_NS
            self._bare_since = changed if is_old and _is_empty(self.folder) else None
            return False
        return True


class _FirstPaths:
    """The files that are reported: in order, and no more than twice as many kept on the way."""

    def __init__(self) -> None:
        self._count = 0
        self._kept: list[tuple[bytes, int, str]] = []

    def add(self, path: bytes, size: int, change: str) -> None:
        self._count += 1
        self._kept.append((path, size, change))
        if len(self._kept) == 2 * MAX_REPORTED:
            self._cut()

    def as_changes(self) -> Changes:
        self._cut()
        if sum(len(path) for path, _, _ in self._kept) > MAX_REPORTED_BYTES:
            return Changes([], self._count)  # before each is decoded, which takes up to four times as much
        files = [{"path": path.decode("utf-8", "replace"), "sizeBytes": size, "change": change} for path, size, change in self._kept]
        return Changes(files, self._count - len(files))

    def _cut(self) -> None:
        self._kept = sorted(self._kept)[:MAX_REPORTED]


class _CannotLook(Exception):
    """There are too many entries, or the folder is closed to us."""


def _is_empty(folder: str) -> bool:
    """False also if it cannot be read: the program may have removed its permissions."""
    try:
        return not os.listdir(folder)
    except OSError:
        return False


def _walk(folder: bytes) -> Iterator[tuple[bytes, os.stat_result]]:
    """Every regular file: its path in the folder, and its status. Links are never followed. Raises _CannotLook."""
    entries = 0
    # Parent, name and depth: joined only when their turn comes, because a path can be sixteen times as long as a name.
    waiting: list[tuple[bytes, bytes, int]] = [(b"", b"", 0)]
    while waiting:
        parent, name, depth = waiting.pop()
        below = os.path.join(parent, name)
        try:
            scan = os.scandir(os.path.join(folder, below))
        except OSError:
            if not below:
                raise _CannotLook from None
            continue
        with scan:
            for entry in scan:
                entries += 1
                if entries > MAX_ENTRIES:
                    raise _CannotLook
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                if stat.S_ISREG(status.st_mode):
                    if not entry.name.startswith(b".hotcell-"):  # an upload under way
                        yield os.path.join(below, entry.name), status
                elif stat.S_ISDIR(status.st_mode) and entry.name not in _SKIPPED_FOLDERS and depth < _MAX_DEPTH:
                    waiting.append((below, entry.name, depth + 1))
