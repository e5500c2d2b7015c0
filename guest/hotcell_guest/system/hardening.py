"""The last barriers, the same under every driver, applied before any user code runs. They are irreversible."""

from __future__ import annotations

import base64
from typing import Optional

from . import limits, linux


def harden(seccomp: Optional[str]) -> None:
    """No core dumps, no capabilities, no new privileges, the host's system call filter; the supervisor is not dumpable."""
    linux.set_dumpable(False)
    limits.forbid_core_dumps()
    linux.drop_all_capabilities()
    linux.no_new_privileges()
    if seccomp is not None:
        linux.install_seccomp(base64.b64decode(seccomp))
