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


def add_variables(variables: dict[str, str], but: tuple[str, ...] = ()) -> dict[str, str]:
    """Adds variables to os.environ, except those in `but`. Returns the whole environment."""
    apply_environment({**os.environ, **{name: value for name, value in variables.items() if name not in but}})
    return dict(os.environ)
