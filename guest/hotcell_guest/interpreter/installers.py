"""Finds commands that install packages, for the hint after one that failed."""

from __future__ import annotations

import re
from typing import Any

_INSTALLS = re.compile(
    r"(?:^|[\s;&|/'\"])(pip3?(?:\.\d+)?|uv|conda|mamba|micromamba|poetry|npm|pnpm|yarn|apt|apt-get)['\"]?\s"
    r"(?:[^;&|\n]*\s)?(install|add|sync|ci|download)\b"
)
_MAX_CHARS = 2_000


class InstallError(Exception):
    """A command that installs packages has failed."""

    __module__ = "hotcell"  # tracebacks name it; where it lies says nothing to a user


def installer_in(command: Any) -> str:
    """The name of the installer that a command starts; empty for another command."""
    if isinstance(command, (list, tuple)):
        command = " ".join(word for word in command if type(word) is str)
    if type(command) is not str:
        return ""
    found = _INSTALLS.search(command[:_MAX_CHARS])
    return found.group(1) if found else ""
