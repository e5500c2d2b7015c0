"""The `execute` requests of the host, checked before a kernel gets them."""

from __future__ import annotations

from typing import Any

from ..languages.programs import missing_commands
from ..languages.table import PYTHON, kernel_of
from ..wire.frames import Head
from ..wire.refusal import Refusal


def kernel_asked_for(head: Head) -> str:
    """Returns the name of the kernel. Raises Refusal for a request that lacks a member or names a language that this guest does not run."""
    for name, kind in (("execution", str), ("stream", int), ("filename", str)):
        if not isinstance(head.get(name), kind):
            raise Refusal("bad-request", f"execute: {name} is missing")
    kernel_name = kernel_of(head.get("language", PYTHON), head.get("recipe"))
    if kernel_name is None:
        raise Refusal("not-offered", f"execute: this guest does not run {head['language']}")
    return kernel_name


def missing_of(names: Any) -> list[str]:
    """Returns the commands that the sandbox lacks. Raises ValueError if it is not a list of names."""
    if not isinstance(names, list) or not all(isinstance(name, str) and "/" not in name for name in names):
        raise ValueError("not a list of commands")
    return missing_commands(names)
