"""The outcome of a program."""

from __future__ import annotations

import os

from ..kernels.keeper import signal_name
from ..wire.frames import Head


def outcome_of(status: int) -> Head:
    """Converts `status`, as `wait` returns it."""
    if os.WIFSIGNALED(status):
        return ended_by(os.WTERMSIG(status))
    code = os.WEXITSTATUS(status)
    return {"kind": "ok"} if code == 0 else {"kind": "exited", "exitCode": code}


def ended_by(number: int) -> Head:
    return {"kind": "kernel-died", "signal": signal_name(number)}
