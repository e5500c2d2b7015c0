"""What a kernel says of its end is taken member by member: user code may have written it."""

from __future__ import annotations

from typing import Any

import pytest

from hotcell_guest.supervisor.checked_outcome import checked_outcome, natural

_RAISED = {"kind": "raised", "name": "ValueError", "message": "no", "traceback": ["line"]}
_FRAME = {"file": "a.py", "line": 1, "function": "f", "own": True}


@pytest.mark.parametrize(
    "outcome",
    [
        {"kind": "ok"},
        {"kind": "timed-out"},
        {"kind": "interrupted"},
        {"kind": "out-of-memory"},
        {"kind": "exited", "exitCode": 255},
        {"kind": "kernel-died"},
        {"kind": "kernel-died", "signal": "SIGRTMIN+1"},
        _RAISED,
        {**_RAISED, "hint": "try", "frames": [_FRAME]},
        {**_RAISED, "message": "x" * 8_192},
    ],
)
def test_an_outcome_passes_as_it_is(outcome: Any) -> None:
    assert checked_outcome(outcome) == outcome


def test_members_that_nobody_knows_are_left_out() -> None:
    assert checked_outcome({"kind": "ok", "restarted": True, "missing": ["x"]}) == {"kind": "ok"}
    assert checked_outcome({**_RAISED, "frames": [{**_FRAME, "more": 1}]})["frames"] == [_FRAME]


@pytest.mark.parametrize(
    "outcome",
    [
        None,
        [],
        "ok",
        {},
        {"kind": None},
        {"kind": ["ok"]},
        {"kind": "unavailable", "missing": ["node"]},
        {"kind": "sandbox-lost"},
        {"kind": "exited"},
        {"kind": "exited", "exitCode": 256},
        {"kind": "exited", "exitCode": -1},
        {"kind": "exited", "exitCode": True},
        {"kind": "exited", "exitCode": 1.0},
        {"kind": "kernel-died", "signal": "SIGKILL\n"},
        {"kind": "kernel-died", "signal": None},
        {"kind": "kernel-died", "signal": "SIG" + "A" * 17},
        {"kind": "raised", "name": "E", "message": "m"},
        {**_RAISED, "message": "x" * 8_193},
        {**_RAISED, "message": "\U0001f600" * 4_097},
        {**_RAISED, "traceback": "line"},
        {**_RAISED, "traceback": [1]},
        {**_RAISED, "traceback": [""] * 2_001},
        {**_RAISED, "hint": None},
        {**_RAISED, "frames": [{**_FRAME, "own": 1}]},
        {**_RAISED, "frames": [{**_FRAME, "line": 2**53}]},
        {**_RAISED, "frames": [_FRAME] * 51},
        {**_RAISED, "frames": [None]},
    ],
)
def test_anything_else_is_no_outcome(outcome: Any) -> None:
    with pytest.raises(ValueError, match=r"^finished: "):
        checked_outcome(outcome)


@pytest.mark.parametrize(("value", "expected"), [(0, 0), (2**53 - 1, 2**53 - 1), (3.0, 3)])
def test_a_number_that_counts(value: Any, expected: int) -> None:
    assert natural(value) == expected


@pytest.mark.parametrize("value", [-1, 2**53, float("inf"), float("nan"), "x", None])
def test_a_number_that_counts_nothing(value: Any) -> None:
    with pytest.raises((ValueError, TypeError, OverflowError)):
        natural(value)
