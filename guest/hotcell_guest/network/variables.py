"""The environment variables of the network: a layer over those of the session, which comes and goes while kernels live."""

from __future__ import annotations

import re
from typing import Mapping, Optional

_BRACES = re.compile(r"\{([a-z0-9_-]+)\}")
_FILES = frozenset({"ca", "preload"})
Changes = dict[str, Optional[str]]
"""New values by name; None removes the variable."""


class NetworkVariables:
    """Knows what is below the layer, so that it can be taken away again, and which kernel has seen which change."""

    def __init__(self) -> None:
        self._below: Changes = {}
        self._current: dict[str, str] = {}
        self._version = 0
        self._changed: dict[str, tuple[int, Optional[str]]] = {}

    def replace(self, templates: Mapping[str, str], places: Mapping[str, str], environment: Mapping[str, str]) -> Changes:
        """Returns what changes in `environment` when these variables take the place of those before."""
        for name in templates:
            if name not in self._below:
                self._below[name] = environment.get(name)
        wanted: dict[str, str] = {}
        for name, template in templates.items():
            value = filled(template, {**places, "before": self._below[name] or ""})
            if value is not None:
                wanted[name] = value
        changes: Changes = {name: value for name, value in wanted.items() if self._current.get(name) != value}
        changes.update({name: self._below[name] for name in self._current if name not in wanted})
        self._below = {name: self._below[name] for name in wanted}
        self._current = wanted
        if changes:
            self._version += 1
            self._changed.update({name: (self._version, value) for name, value in changes.items()})
        return changes

    @property
    def version(self) -> int:
        """Counts the changes, from 0."""
        return self._version

    def since(self, version: int) -> Changes:
        """What has changed since that version, as it is now."""
        return {name: value for name, (changed_in, value) in self._changed.items() if changed_in > version}


def filled(template: str, places: Mapping[str, str]) -> Optional[str]:
    """Fills the braces of a value. Returns None if it names a file that does not exist: then the variable is not set at all."""
    named = set(_BRACES.findall(template))
    if not named.isdisjoint(_FILES.difference(places)):
        return None
    # In one pass: what is filled in may have braces of its own.
    return _BRACES.sub(lambda found: places.get(found[1], found[0]), template).strip()
