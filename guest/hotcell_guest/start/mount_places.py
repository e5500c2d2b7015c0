"""Mount points of a session: found and created without following links, in a private root if needed."""

from __future__ import annotations

import os
import stat
from typing import Iterable

from ..system import linux

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ROOT_OPTIONS = "size=1m,nr_inodes=4096,mode=755"


def open_folder(path: str) -> int:
    """A descriptor of a folder, for a mount or a lookup below it. Raises OSError if the last component of the path is a
    link.
    """
    return os.open(path, _FOLDER)


def bind_at(root: int, target: str, source: int) -> None:
    """Mounts the folder behind the descriptor `source` at `target` below `root`.

    SECURITY: only descriptors are used. A path would be resolved again, through links that code in a writable mount has
    planted.
    """
    place = _open_place(root, target)
    try:
        linux.mount(f"/proc/self/fd/{source}", f"/proc/self/fd/{place}", None, linux.MS_BIND | linux.MS_REC)
    finally:
        os.close(place)


def _open_place(root: int, target: str) -> int:
    place = os.dup(root)
    for name in target.strip("/").split("/"):
        outer = place
        try:
            place = _open_or_make(outer, name)
        finally:
            os.close(outer)
    return place


def _open_or_make(outer: int, name: str) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=outer)
    except FileNotFoundError:
        os.mkdir(name, 0o755, dir_fd=outer)
        return os.open(name, _FOLDER, dir_fd=outer)


def make_root(new: str, targets: Iterable[str], left_out: Iterable[str]) -> None:
    """Mounts a private root at `new`: it shows everything in "/", with private folders on the paths of `targets`.

    The root that sessions of a jail share is read-only, so mount points can be created only in this one. The folders
    `left_out` are not in it.
    """
    linux.mount("tmpfs", new, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, data=_ROOT_OPTIONS)
    hidden = set(left_out)
    _mirror("/", new, [path.strip("/").split("/") for path in (*targets, *hidden)], hidden)


def _mirror(old: str, new: str, ways: list[list[str]], left_out: set[str]) -> None:
    """Shows each entry of `old` in the folder `new`. Parent folders of mount points are created anew; a mount cannot be
    one of them. An entry that is removed meanwhile is left out: the host may change its folders at any time.
    """
    for entry in sorted(os.listdir(old)):
        here, there = os.path.join(old, entry), os.path.join(new, entry)
        if here in left_out:
            continue
        try:
            mode = os.lstat(here).st_mode
        except FileNotFoundError:
            continue
        further = [way[1:] for way in ways if way[0] == entry and len(way) > 1]
        if stat.S_ISLNK(mode):
            os.symlink(os.readlink(here), there)
        elif stat.S_ISDIR(mode) and further and not os.path.ismount(here):
            os.mkdir(there, 0o755)
            _mirror(here, there, further, left_out)
        else:
            _show(here, there, stat.S_ISDIR(mode))


def _show(here: str, there: str, is_folder: bool) -> None:
    if is_folder:
        os.mkdir(there, 0o755)
    else:
        os.close(os.open(there, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644))
    try:
        linux.mount(here, there, None, linux.MS_BIND | linux.MS_REC)
    except FileNotFoundError:
        (os.rmdir if is_folder else os.unlink)(there)


def enter_root(new: str) -> None:
    """Makes the root at `new` read-only, and the root of every process in this mount namespace. The old root is
    unmounted.
    """
    linux.mount(None, new, None, linux.MS_REMOUNT | linux.MS_BIND | linux.MS_RDONLY | linux.MS_NOSUID | linux.MS_NODEV)
    os.chdir(new)
    linux.pivot_root(".", ".")
    linux.detach(".")
    os.chdir("/")
