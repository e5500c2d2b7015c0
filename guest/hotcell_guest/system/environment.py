"""The environment variables of a sandbox: only those that the host sent."""

from __future__ import annotations

import os
import time


def apply_environment(variables: dict[str, str]) -> None:
    """Replaces os.environ, so that no variable of the image or of the host's environment is left."""
    wanted = {str(name): str(value) for name, value in variables.items()}
    if wanted == dict(os.environ):
        return
    os.environ.clear()
    os.environ.update(wanted)
    time.tzset()
