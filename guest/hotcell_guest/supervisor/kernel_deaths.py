"""The outcome of an execution whose kernel died."""

from __future__ import annotations

import os
from typing import Optional

from ..kernels.keeper import signal_name
from ..wire.frames import Head
from .memory_kills import memory_kills, says_out_of_memory


class KernelDeaths:
    """Remembers how often the sandbox's memory limit has killed, to recognize the next kill."""

    def __init__(self) -> None:
        self._memory_kills = memory_kills()

    def outcome_of(self, status: int, reason: Optional[str]) -> Head:
        """Returns the outcome of an execution whose kernel died with `status` and without a report. `reason`: why it was being ended."""
        if reason is not None:
            return interrupted(reason)
        if os.WIFEXITED(status):
            return {"kind": "exited", "exitCode": os.WEXITSTATUS(status)}
        return self.told_apart({"kind": "kernel-died", "signal": signal_name(os.WTERMSIG(status))})

    def told_apart(self, outcome: Head) -> Head:
        """Recognizes a SIGKILL by the sandbox's memory limit, of a kernel or of a program that it ran."""
        if outcome.get("kind") != "kernel-died" or outcome.get("signal") != "SIGKILL":
            return outcome
        before, self._memory_kills = self._memory_kills, memory_kills()
        return {"kind": "out-of-memory"} if self._memory_kills > before else outcome


def after_last_words(outcome: Head, last_words: bytes) -> Head:
    """Corrects the outcome once all output of the kernel is known."""
    return {"kind": "out-of-memory"} if outcome["kind"] == "kernel-died" and says_out_of_memory(last_words) else outcome


def interrupted(reason: str) -> Head:
    return {"kind": "timed-out"} if reason == "timed-out" else {"kind": "interrupted"}
