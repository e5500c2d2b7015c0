"""The last frame of an execution to the host: the kernel's report, and the members that only the supervisor knows."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from ..files.artifacts import MAX_REPORTED_BYTES, Changes
from ..wire.frames import Head

if TYPE_CHECKING:
    from .kernel_run import KernelRun


def finished(run: KernelRun, outcome: Head, state: str, changes: Changes) -> tuple[Head, bytes]:
    """Returns the head and the body (section 7)."""
    report = run.report
    assert report is not None
    head: Head = {
        "type": "finished",
        "execution": run.name,
        "outcome": outcome,
        "state": state,
        "durationMs": round((time.monotonic() - run.started) * 1000, 3),
        "cpuMs": report.cpu_ms,
        "peakMemoryBytes": report.peak_memory_bytes,
        "artifactsOmitted": changes.omitted,
    }
    value = message = artifacts = b""
    if run.value is not None:
        head["value"], value = run.value
    if run.message and outcome["kind"] == "raised":
        message = run.message
        head["message"] = {"bytes": len(message)}
    if report.variables is not None:
        head["variables"] = report.variables
    if run.restarted is not None:
        head["restarted"] = run.restarted
    if changes.files:
        artifacts = json.dumps(changes.files, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
    if len(artifacts) > MAX_REPORTED_BYTES:
        artifacts, head["artifactsOmitted"] = b"", len(changes.files) + max(0, changes.omitted)
    return head, value + message + artifacts


def finished_without_kernel(name: str, outcome: Head) -> Head:
    """Returns the head for an execution that needed no kernel. It has no body."""
    nothing = {"durationMs": 0, "cpuMs": 0, "peakMemoryBytes": 0, "artifactsOmitted": 0}
    return {"type": "finished", "execution": name, "outcome": outcome, "state": "kept", **nothing}
