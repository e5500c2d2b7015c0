"""The steps by which a fork of the zygote becomes a sandbox (process driver, shared shape).

The zygote's bubblewrap jail protects the host. These steps protect sessions from each other.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import Any, Callable

from ..system import linux, mount_identity
from ..system.descriptors import write_file
from ..system.site_layers import LAYERS
from . import mount_places, proc_cover

CONTROL_FOLDER = "/run/hotcell"
MOUNTS_FOLDER = "/mnt/hotcell"
# The layers of all sessions of the jail, each in a folder of its own. Covered with the folder above it.
_LAYERS_OF_ALL = f"{MOUNTS_FOLDER}/layers"
NAMESPACES = linux.CLONE_NEWUSER | linux.CLONE_NEWNS | linux.CLONE_NEWPID | linux.CLONE_NEWIPC | linux.CLONE_NEWUTS | linux.CLONE_NEWNET
EXCHANGED = "mount-exchanged"
# The devices that bubblewrap binds below /dev.
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_INSIDE_ID = 1000
_KEEP = linux.MS_NOSUID | linux.MS_NODEV


# Counters of this user namespace that also add up for all namespaces of one zygote.
_SHARED_COUNTERS = ("inotify_instances", "inotify_watches")
_SHARE = 16
_LEAST = 4
# SECURITY: settings of the session's own network, which is a loopback. Leaving multicast groups takes the host's
# network lock; connections closed with unread data are counted host-wide, and last for minutes unless they are given up
# after a second.
_NETWORK_SETTINGS = (("igmp_max_memberships", b"0"), ("tcp_orphan_retries", b"1"), ("tcp_rto_max_ms", b"1000"), ("tcp_fin_timeout", b"5"))


class JailError(Exception):
    """A step failed; the session must not start."""

    def __init__(self, step: str, cause: OSError) -> None:
        super().__init__(cause.strerror or str(cause))
        self.step = step
        self.errno = cause.errno


class ExchangedError(JailError):
    """A mounted folder is not the one that the host checked."""

    def __init__(self, target: str) -> None:
        super().__init__(EXCHANGED, OSError(errno.ESTALE, f"{target} is not the folder that was allowed"))


@dataclass(frozen=True)
class Jail:
    """The host's description of one session's mounts."""

    workspace: str
    disk_bytes: int
    tmp_bytes: int
    shm_bytes: int
    inodes: int
    proc: dict[str, list[str]]
    mounts: list[dict[str, Any]]
    layers: str

    @staticmethod
    def from_message(raw: dict[str, Any], workspace: str) -> Jail:
        return Jail(
            workspace=workspace,
            disk_bytes=int(raw["diskBytes"]),
            tmp_bytes=int(raw["tmpBytes"]),
            shm_bytes=int(raw["shmBytes"]),
            inodes=int(raw["inodes"]),
            proc=dict(raw["proc"]),
            mounts=list(raw["mounts"]),
            layers=str(raw["layers"]),
        )


def map_identity(uid: int, gid: int) -> None:
    """Called right after the clone: one uid and one gid exist in the new user namespace, so that the session can join
    no other group, and cannot return to the zygote's uid.
    """
    linux.set_dumpable(True)  # the change of uid has made /proc/self inaccessible for this process
    for name, text in (("setgroups", "deny"), ("uid_map", f"{_INSIDE_ID} {uid} 1"), ("gid_map", f"{_INSIDE_ID} {gid} 1")):
        write_file(f"/proc/self/{name}", text.encode("ascii"))
    os.setresuid(_INSIDE_ID, _INSIDE_ID, _INSIDE_ID)


def hide_cgroup() -> None:
    """Enters a cgroup namespace, which hides the host's cgroup path. Only after the host has moved this process into
    its cgroup.
    """
    linux.unshare(linux.CLONE_NEWCGROUP)


def prepare() -> None:
    """The setup that is the same for every session, called as pid 1 of the new namespaces. Raises JailError with the
    step.
    """
    _take_steps(("loopback", linux.loopback_up), ("hostname", lambda: linux.set_hostname("sandbox")))
    for counter in _SHARED_COUNTERS:
        _leave_for_others(counter)
    for setting, value in _NETWORK_SETTINGS:
        _set_network(setting, value)


def enter(jail: Jail, placed: Callable[[], None]) -> None:
    """Call it after `prepare`. `placed` returns when the host has moved this process into its cgroup. Raises JailError
    with the step.
    """
    _take_steps(("mounts", lambda: _mount_all(jail)), ("cgroup", placed), ("cgroup-namespace", hide_cgroup))


def _leave_for_others(counter: str) -> None:
    """SECURITY: limits this session to a part of the total of its zygote, so that it cannot use it up for the others."""
    try:
        with open(f"/proc/sys/fs/inotify/max_user_{counter[len('inotify_') :]}", "rb") as file:
            most = int(file.read())
        write_file(f"/proc/sys/user/max_{counter}", str(max(_LEAST, most // _SHARE)).encode("ascii"))
    except (OSError, ValueError):
        pass  # an older kernel counts per uid, and the session has its own


def _set_network(setting: str, value: bytes) -> None:
    try:
        write_file(f"/proc/sys/net/ipv4/{setting}", value)
    except OSError:
        pass  # an older kernel has only a host-wide setting, or none


def _take_steps(*steps: tuple[str, Callable[[], None]]) -> None:
    for step, work in steps:
        try:
            work()
        except OSError as error:
            raise JailError(step, error) from None


def _mount_all(jail: Jail) -> None:
    linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
    # SECURITY: sources are opened, and the folders that lead to them and to the host are covered, before any folder of
    # a caller is mounted: a link in a mounted folder then leads to neither.
    sources = [_open_source(mount) for mount in jail.mounts]
    # SECURITY: the mount is read-only, and that is locked: it belongs to the jail's user namespace.
    linux.mount(f"{_LAYERS_OF_ALL}/{jail.layers}", LAYERS, None, linux.MS_BIND)
    # The folder is covered, not unmounted: mounts of the jail cannot be removed from inside.
    linux.mount("none", MOUNTS_FOLDER, "tmpfs", _KEEP | linux.MS_NOEXEC | linux.MS_RDONLY, data="size=4k,nr_inodes=2,mode=000")
    covers = proc_cover.make_covers(CONTROL_FOLDER)
    # The jail's root is read-only already; a session can write only to the mounts below.
    targets = [str(mount["target"]) for mount in jail.mounts]
    if jail.workspace not in targets:
        _tmpfs(jail.workspace, jail.disk_bytes, jail.inodes, "0755")
    _tmpfs("/tmp", jail.tmp_bytes, jail.inodes, "1777")
    _tmpfs("/var/tmp", jail.tmp_bytes, jail.inodes, "1777")
    _tmpfs("/dev/shm", jail.shm_bytes, jail.inodes, "1777")
    for device in _DEVICES:
        _keep_inode(f"/dev/{device}")
    linux.mount("devpts", "/dev/pts", "devpts", linux.MS_NOSUID | linux.MS_NOEXEC, data="newinstance,ptmxmode=0666,mode=620,max=64")
    linux.mount("proc", "/proc", "proc", linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC)
    covers.cover("/proc", kept=jail.proc["kept"], covered=jail.proc["covered"])
    _bind_all(jail.workspace, list(zip(targets, sources)))


def _keep_inode(device: str) -> None:
    """SECURITY: this is the host's own inode, whose timestamps one session could set and every other read (a covert
    channel). A device on a read-only mount can still be written to.
    """
    kept = os.statvfs(device).f_flag & linux.LOCKED_FLAGS
    linux.mount(None, device, None, linux.MS_REMOUNT | linux.MS_BIND | linux.MS_RDONLY | kept)


def _open_source(mount: dict[str, Any]) -> int:
    """Opens the host folder that the jail holds at /mnt/hotcell/<index>. Its read-only flag is locked from outside."""
    source = mount_places.open_folder(f"{MOUNTS_FOLDER}/{int(mount['index'])}")
    if not mount_identity.is_expected(source, mount):
        raise ExchangedError(str(mount["target"]))
    return source


def _bind_all(workspace: str, mounts: list[tuple[str, int]]) -> None:
    """Binds all folders, outermost first, since they may be nested."""
    outside = [target for target, _ in mounts if not _is_below(target, (workspace, "/tmp"))]
    # If all targets are in the session's own folders, no private root is needed.
    root = MOUNTS_FOLDER if outside else "/"
    if outside:
        mount_places.make_root(root, outside, left_out=(CONTROL_FOLDER, MOUNTS_FOLDER))
    root_fd = mount_places.open_folder(root)
    for target, source in sorted(mounts, key=lambda mount: mount[0].count("/")):
        mount_places.bind_at(root_fd, target, source)
        os.close(source)
    os.close(root_fd)
    if outside:
        mount_places.enter_root(root)


def _is_below(path: str, folders: tuple[str, ...]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def _tmpfs(target: str, size_bytes: int, inodes: int, mode: str) -> None:
    linux.mount("tmpfs", target, "tmpfs", _KEEP, data=f"size={size_bytes},nr_inodes={inodes},mode={mode}")
