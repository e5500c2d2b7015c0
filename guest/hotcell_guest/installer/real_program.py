"""The program of the same name that ours stands before."""

from __future__ import annotations

import os
import sys
from typing import NoReturn, Optional

LAYERS = "/opt/hotcell/layers"
REAL = "HOTCELL_REAL_INSTALLER"
"""Set for the real program and for what it starts: `python -m pip` is the real one then."""


def run_real(program: str, words: list[str], as_module: bool) -> NoReturn:
    """Becomes the real program."""
    os.environ[REAL] = "1"
    if as_module:
        os.execv(sys.executable, [sys.executable, "-m", "pip", *words])
    path = find_real(program, os.environ.get("PATH", os.defpath))
    if path is None:
        print(f"{program}: this sandbox does not have it. Only packages can be installed: {_USAGE[program]}", file=sys.stderr)
        sys.exit(127)
    os.execv(path, [path, *words])


_USAGE = {"pip": "pip install NAME", "pip3": "pip3 install NAME", "uv": "uv pip install NAME", "npm": "npm install NAME"}


def find_real(program: str, path: str, layers: str = LAYERS) -> Optional[str]:
    """One that was installed comes first, as it would on the PATH."""
    try:
        numbers = sorted((name for name in os.listdir(layers) if name.isdigit() and int(name) > 0), reverse=True)
    except OSError:
        numbers = []
    folders = [os.path.join(layers, name, part) for name in numbers for part in ("bin", "node_modules/.bin")]
    folders += [folder for folder in path.split(os.pathsep) if folder and not os.path.abspath(folder).startswith(layers)]
    found = (os.path.join(folder, program) for folder in folders)
    return next((one for one in found if os.path.isfile(one) and os.access(one, os.X_OK)), None)
