"""Whether a mounted folder is the one that the host checked, by its device and inode.

SECURITY: bubblewrap and container engines resolve the path of a folder again when they bind it. Code that can write
above that folder can put a link in its place between the check and the bind (TOCTOU). The host holds the folder open
meanwhile, so no other folder gets its inode.
"""

from __future__ import annotations

import os
from typing import Any, Union


def is_expected(place: Union[str, int], expected: dict[str, Any]) -> bool:
    """Compares a path, or an open descriptor, with `device` and `inode` as the host sent them. Links are not followed."""
    try:
        found = os.fstat(place) if isinstance(place, int) else os.lstat(place)
    except OSError:
        return False
    return (str(found.st_dev), str(found.st_ino)) == (str(expected["device"]), str(expected["inode"]))


def are_expected(mounts: Any) -> bool:
    """Checks the `mounts` of a host's configuration, each `{target, device, inode}`. Invalid values are refused."""
    try:
        return all(is_expected(str(mount["target"]), mount) for mount in mounts)
    except (KeyError, TypeError):
        return False
