"""The environment variables of a sandbox: what the host gave, and nothing that was there before."""

from __future__ import annotations

import os
import time


def apply_environment(variables: dict[str, str]) -> None:
    """Replaces os.environ, so that neither an image nor the host's own environment shows through."""
    os.environ.clear()
    os.environ.update({str(name): str(value) for name, value in variables.items()})
    time.tzset()
