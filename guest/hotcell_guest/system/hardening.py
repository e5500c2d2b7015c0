"""The last barriers, the same under every driver, taken before anything of the user's runs. They cannot be taken back."""

from __future__ import annotations

import base64
from typing import Optional

from . import limits, linux


def harden(seccomp: Optional[str]) -> None:
    """No core dumps, no capability in any set, no new privileges, the host's system call filter; the supervisor closed to its own uid."""
    linux.set_dumpable(False)
    limits.forbid_core_dumps()
    linux.drop_all_capabilities()
    linux.no_new_privileges()
    if seccomp is not None:
        linux.install_seccomp(base64.b64decode(seccomp))
