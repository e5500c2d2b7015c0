"""The kernel's answers to questions (docs/guest-protocol.md, section 9). Imported with the first question."""

from __future__ import annotations

import importlib
import json
import os
from typing import Any, Callable

from ..interpreter.shell import Shell
from ..system.deadline import Deadline, TookTooLong
from ..wire.frames import MAX_BODY_BYTES, Frame, Head
from ..wire.refusal import Refusal

Answer = Callable[["Asked"], Any]

# Each question has a module of its own, which is loaded on first use.
_MODULES = {
    "complete": "completion",
    "inspect": "inspection",
    "variables.list": "list_variables",
    "variables.get": "get_variable",
    "variables.set": "set_variable",
}


class Asked:
    """The context of an answer."""

    def __init__(self, shell: Shell, frame: Frame, fds: list[int], deadline: Deadline) -> None:
        self.shell = shell
        self.namespace: dict[Any, Any] = shell.main.__dict__
        self.head = frame.head
        self.fds = fds
        self.text = frame.body.decode("utf-8", "replace")
        self.deadline = deadline

    def number(self, name: str, default: int, most: int) -> int:
        value = self.head.get(name, default)
        if type(value) is not int or value < 0:
            raise Refusal("bad-request", f"{name} is a whole number, not negative")
        return min(value, most)


def answer(shell: Shell, frame: Frame, fds: list[int], not_now: Callable[[], bool] = bool) -> tuple[Head, bytes]:
    """Returns head and body of the answer. Never raises, and returns in time unless user code prevents even that.

    While `not_now` returns true, nothing is interrupted.
    """
    kind = str(frame.head["kind"])
    deadline = Deadline(int(frame.head["timeoutMs"]) / 1000, not_now)
    try:
        try:
            with deadline:
                return _made(kind, Asked(shell, frame, fds, deadline))
        finally:
            deadline.stop()
            for fd in fds:
                os.close(fd)
    except Refusal as refusal:
        return _failed(refusal.code, str(refusal))
    except TookTooLong:
        return _failed("too-long", f"{kind}: it took longer than {frame.head['timeoutMs']} ms and was stopped; variables are kept")
    except BaseException as error:  # noqa: BLE001 - SystemExit too: a question ends no kernel
        return _failed("raised", f"{kind}: {describe_error(error)}")


def describe_error(error: BaseException) -> str:
    """An exception of the user in one bounded line. User code makes its text, within our timeout."""
    name = str.__str__(type(error).__name__)
    try:
        text = str.__str__(str(error))
    except Exception:  # noqa: BLE001 - the user's __str__
        text = "(its text could not be made)"
    return f"{name[:200]}: {text[:1_000]}"


def _made(kind: str, asked: Asked) -> tuple[Head, bytes]:
    module = _MODULES.get(kind)
    if module is None:
        raise Refusal("not-offered", f"{kind}: a Python kernel does not answer that")
    answered = importlib.import_module(f".{module}", __package__).answer(asked)
    body = json.dumps(answered, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
    if len(body) > MAX_BODY_BYTES:
        raise Refusal("bad-request", f"{kind}: the answer would have {len(body)} bytes; ask for less of it")
    return {"ok": True}, body


def _failed(code: str, message: str) -> tuple[Head, bytes]:
    return {"ok": False, "code": code, "message": message}, b""
