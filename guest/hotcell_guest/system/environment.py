"""The environment variables of a sandbox: only those that the host sent."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import Any, Iterator, Mapping, Optional


@contextmanager
def variables_for_a_while(variables: Any) -> Iterator[None]:
    """Sets variables for one execution, and restores what was there before it."""
    if not isinstance(variables, dict) or not variables:
        yield
        return
    wanted = {str(name): str(value) for name, value in variables.items()}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    if "TZ" in wanted:
        time.tzset()
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        if "TZ" in wanted:
            time.tzset()


def apply_environment(variables: dict[str, str]) -> None:
    """Replaces os.environ, so that no variable of the image or of the host's environment is left."""
    wanted = {str(name): str(value) for name, value in variables.items()}
    if wanted == dict(os.environ):
        return
    os.environ.clear()
    os.environ.update(wanted)
    time.tzset()


def change_variables(changes: Mapping[str, Optional[str]]) -> dict[str, str]:
    """Sets variables of os.environ, and removes those whose value is None. Returns the whole environment."""
    for name, value in changes.items():
        if value is None:
            os.environ.pop(str(name), None)
        else:
            os.environ[str(name)] = str(value)
    if "TZ" in changes:
        time.tzset()
    return dict(os.environ)
