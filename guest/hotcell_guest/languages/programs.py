"""Programs on the sandbox's PATH."""

from __future__ import annotations

import os
from typing import Optional


def missing_commands(needs: list[str], path: Optional[str] = None) -> list[str]:
    """Those that are on no folder of PATH, or lie where this user cannot run them."""
    folders = (path if path is not None else os.environ.get("PATH", os.defpath)).split(os.pathsep)
    return [name for name in needs if not any(_is_program(os.path.join(folder, name)) for folder in folders)]


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
