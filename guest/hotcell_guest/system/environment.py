"""The environment variables of a sandbox: what the host gave, and nothing that was there before."""

from __future__ import annotations

import os
import time


def apply_environment(variables: dict[str, str]) -> None:
    """Replaces os.environ, so that neither an image nor the host's own environment shows through."""
    wanted = {str(name): str(value) for name, value in variables.items()}
    if wanted == dict(os.environ):
        return
    os.environ.clear()
    os.environ.update(wanted)
    time.tzset()
