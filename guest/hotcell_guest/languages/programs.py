"""Programs on the sandbox's PATH."""

from __future__ import annotations

import os
from typing import Optional


def missing_commands(needs: list[str], path: Optional[str] = None) -> list[str]:
    """Returns the commands that are in no folder of PATH, or that this user cannot run."""
    folders = (path if path is not None else os.environ.get("PATH", os.defpath)).split(os.pathsep)
    return [name for name in needs if not any(_is_program(os.path.join(folder, name)) for folder in folders)]


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
