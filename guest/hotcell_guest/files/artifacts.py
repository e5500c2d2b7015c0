"""Which files of the workspace an execution made or changed: two looks at the tree, compared."""

from __future__ import annotations

import os
import stat
import time
from dataclasses import dataclass
from typing import Any, Optional

MAX_ENTRIES = 20_000
MAX_REPORTED = 1_000
_MAX_DEPTH = 64
_SURELY_OLD_NS = 1_000_000_000
_SKIPPED_FOLDERS = frozenset({"__pycache__", ".ipynb_checkpoints"})

Look = dict[str, tuple[int, int, int]]


@dataclass(frozen=True)
class Changes:
    """What changed, as the protocol says it. `omitted` -1: the workspace is too large to compare, or closed to us."""

    files: list[dict[str, Any]]
    omitted: int


class Workspace:
    """Remembers how the workspace looked after the last execution or upload, and when each execution under way began."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._seen: Optional[Look] = {}
        self._at_begin: dict[str, Optional[Look]] = {}
        self._bare_since: Optional[int] = None

    def accept(self) -> None:
        """Takes the tree as it is for known: the host has just written to it."""
        self._seen, self._bare_since = _look(self.folder), None
        for execution in self._at_begin:
            self._at_begin[execution] = self._seen

    def begin(self, execution: str) -> None:
        """An execution begins. What others under way have changed before is not its doing."""
        if self._at_begin:
            self._seen = _look(self.folder)
        self._at_begin[execution] = self._seen

    def changes(self, execution: str) -> Changes:
        """What has changed since that execution began, which is over. A file that changed during several is reported by each."""
        before = self._at_begin.pop(execution, self._seen)
        if self._is_still_bare():
            return Changes([], 0)
        self._seen = after = _look(self.folder)
        if before is None or after is None:
            return Changes([], -1)
        changed = [
            {"path": path, "sizeBytes": mark[0], "change": "modified" if path in before else "created"}
            for path, mark in after.items()
            if before.get(path) != mark
        ]
        changed.sort(key=lambda file: str(file["path"]))
        return Changes(changed[:MAX_REPORTED], max(0, len(changed) - MAX_REPORTED))

    def _is_still_bare(self) -> bool:
        """A folder without a single entry that has not changed for a while has none now: most sessions that only compute."""
        changed = os.stat(self.folder).st_ctime_ns  # which nobody can set back
        if changed != self._bare_since:
            # The clock of a file system ticks in milliseconds: only a change that is old for sure was followed by the look below.
            is_old = time.time_ns() - changed > _SURELY_OLD_NS
            self._bare_since = changed if is_old and _is_empty(self.folder) else None
            return False
        return True


def _is_empty(folder: str) -> bool:
    """False also where it cannot be read: it is the program's to close."""
    try:
        return not os.listdir(folder)
    except OSError:
        return False


def _look(folder: str) -> Optional[Look]:
    """Size, time of change and inode of every regular file. None if there are too many, or if nobody may look. Links are never followed."""
    found: Look = {}
    entries = 0
    waiting = [("", 0)]
    while waiting:
        below, depth = waiting.pop()
        try:
            scan = os.scandir(os.path.join(folder, below))
        except OSError:
            if not below:
                return None
            continue
        with scan:
            for entry in scan:
                entries += 1
                if entries > MAX_ENTRIES:
                    return None
                path = f"{below}/{entry.name}" if below else entry.name
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                if stat.S_ISREG(status.st_mode):
                    if entry.name.startswith(".hotcell-"):
                        continue  # an upload under way
                    found[os.fsencode(path).decode("utf-8", "replace")] = (
                        status.st_size,
                        status.st_mtime_ns,
                        status.st_ino,
                    )
                elif stat.S_ISDIR(status.st_mode) and entry.name not in _SKIPPED_FOLDERS and depth < _MAX_DEPTH:
                    waiting.append((path, depth + 1))
    return found
