"""The last frame of an execution to the host: what the kernel reported, and what only the supervisor knows."""

from __future__ import annotations

import json
import time

from ..files.artifacts import Changes
from ..wire.frames import Head
from .execution import Execution

_MAX_ARTIFACTS_BYTES = 262_144


def finished(execution: Execution, outcome: Head, state: str, changes: Changes) -> tuple[Head, bytes]:
    """Its head and its body (section 7)."""
    report = execution.report
    assert report is not None
    head: Head = {
        "type": "finished",
        "execution": execution.name,
        "outcome": outcome,
        "state": state,
        "durationMs": round((time.monotonic() - execution.started) * 1000, 3),
        "cpuMs": report.cpu_ms,
        "peakMemoryBytes": report.peak_memory_bytes,
        "artifactsOmitted": changes.omitted,
    }
    value = artifacts = b""
    if execution.value is not None:
        head["value"], value = execution.value
    if report.variables is not None:
        head["variables"] = report.variables
    if execution.restarted is not None:
        head["restarted"] = execution.restarted
    if changes.files:
        artifacts = json.dumps(changes.files, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
    if len(artifacts) > _MAX_ARTIFACTS_BYTES:
        artifacts, head["artifactsOmitted"] = b"", len(changes.files) + max(0, changes.omitted)
    return head, value + artifacts


def finished_without_kernel(name: str, outcome: Head) -> Head:
    """Of one that no kernel was needed for. It has no body."""
    nothing = {"durationMs": 0, "cpuMs": 0, "peakMemoryBytes": 0, "artifactsOmitted": 0}
    return {"type": "finished", "execution": name, "outcome": outcome, "state": "kept", **nothing}
