"""How a fork of the zygote becomes a sandbox of its own (process driver, shared shape), step by step.

The zygote's bubblewrap jail protects the host. What is done here protects sessions from each other.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Callable

from . import linux
from .descriptors import write_file

CONTROL_FOLDER = "/run/hotcell"
MOUNTS_FOLDER = "/mnt/hotcell"
NAMESPACES = linux.CLONE_NEWUSER | linux.CLONE_NEWNS | linux.CLONE_NEWPID | linux.CLONE_NEWIPC | linux.CLONE_NEWUTS | linux.CLONE_NEWNET
_INSIDE_ID = 1000
_KEEP = linux.MS_NOSUID | linux.MS_NODEV


# Counted for this user namespace and, added up, for all that one zygote made.
_SHARED_COUNTERS = ("inotify_instances", "inotify_watches")
_SHARE = 16
_LEAST = 4


class JailError(Exception):
    """A step could not be done; the session must not go on."""

    def __init__(self, step: str, cause: OSError) -> None:
        super().__init__(cause.strerror or str(cause))
        self.step = step
        self.errno = cause.errno


@dataclass(frozen=True)
class Jail:
    """What the host decides about one session's inside."""

    workspace: str
    disk_bytes: int
    tmp_bytes: int
    shm_bytes: int
    inodes: int
    mounts: list[dict[str, Any]]

    @staticmethod
    def from_message(raw: dict[str, Any], workspace: str) -> Jail:
        return Jail(
            workspace=workspace,
            disk_bytes=int(raw["diskBytes"]),
            tmp_bytes=int(raw["tmpBytes"]),
            shm_bytes=int(raw["shmBytes"]),
            inodes=int(raw["inodes"]),
            mounts=list(raw["mounts"]),
        )


def map_identity(uid: int, gid: int) -> None:
    """Right after the clone: one uid and one gid exist in the new user namespace. There is no other group to take, and no way back to the
    zygote's uid."""
    linux.set_dumpable(True)  # the change of uid has closed /proc/self to this process itself
    for name, text in (("setgroups", "deny"), ("uid_map", f"{_INSIDE_ID} {uid} 1"), ("gid_map", f"{_INSIDE_ID} {gid} 1")):
        write_file(f"/proc/self/{name}", text.encode("ascii"))
    os.setresuid(_INSIDE_ID, _INSIDE_ID, _INSIDE_ID)


def hide_cgroup() -> None:
    """Only once the host has put this process into its cgroup: from there a namespace hides the way to it."""
    linux.unshare(linux.CLONE_NEWCGROUP)


def prepare() -> None:
    """Called as pid 1 of the new namespaces: what is the same for every session. Raises JailError naming the step."""
    _take_steps(("loopback", linux.loopback_up), ("hostname", lambda: linux.set_hostname("sandbox")))
    for counter in _SHARED_COUNTERS:
        _leave_for_others(counter)


def enter(jail: Jail, placed: Callable[[], None]) -> None:
    """After `prepare`. `placed` comes back when the host has put it into its cgroup. Raises JailError naming the step."""
    _take_steps(("mounts", lambda: _mount_all(jail)), ("cgroup", placed), ("cgroup-namespace", hide_cgroup))


def _leave_for_others(counter: str) -> None:
    """SECURITY: this session may use a part of what all sessions of its zygote have together, so that none uses it up for the others."""
    try:
        with open(f"/proc/sys/fs/inotify/max_user_{counter[len('inotify_') :]}", "rb") as file:
            most = int(file.read())
        write_file(f"/proc/sys/user/max_{counter}", str(max(_LEAST, most // _SHARE)).encode("ascii"))
    except (OSError, ValueError):
        pass  # an older kernel counts for the uid, which is the session's own


def _take_steps(*steps: tuple[str, Callable[[], None]]) -> None:
    for step, work in steps:
        try:
            work()
        except OSError as error:
            raise JailError(step, error) from None


def _mount_all(jail: Jail) -> None:
    linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
    # The jail's root is read-only already; what is mounted below is all that a session can write to.
    workspace_mount = next((mount for mount in jail.mounts if mount["target"] == jail.workspace), None)
    if workspace_mount is None:
        _tmpfs(jail.workspace, jail.disk_bytes, jail.inodes, "0755")
    else:
        _bind(workspace_mount)
    _tmpfs("/tmp", jail.tmp_bytes, jail.inodes, "1777")
    _tmpfs("/var/tmp", jail.tmp_bytes, jail.inodes, "1777")
    _tmpfs("/dev/shm", jail.shm_bytes, jail.inodes, "1777")
    linux.mount("devpts", "/dev/pts", "devpts", linux.MS_NOSUID | linux.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    linux.mount("proc", "/proc", "proc", linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC)
    for mount in jail.mounts:
        if mount is not workspace_mount:
            _bind(mount)
    # SECURITY: covered, not unmounted: what the jail mounted cannot be taken away from inside, only hidden.
    for folder in (CONTROL_FOLDER, MOUNTS_FOLDER):
        linux.mount("none", folder, "tmpfs", _KEEP | linux.MS_NOEXEC | linux.MS_RDONLY, "size=4k,nr_inodes=2,mode=000")


def _tmpfs(target: str, size_bytes: int, inodes: int, mode: str) -> None:
    linux.mount("tmpfs", target, "tmpfs", _KEEP, f"size={size_bytes},nr_inodes={inodes},mode={mode}")


def _bind(mount: dict[str, Any]) -> None:
    """A host folder that the jail holds at /mnt/hotcell/<index>, at its place. Read-only stays locked from outside."""
    target = str(mount["target"])
    os.makedirs(target, exist_ok=True)
    linux.mount(f"{MOUNTS_FOLDER}/{int(mount['index'])}", target, None, linux.MS_BIND | linux.MS_REC)
