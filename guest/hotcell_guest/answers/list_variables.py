"""`variables.list`: the variables of the session, page by page."""

from __future__ import annotations

import types
from typing import Any, Iterator

from ..objects.summaries import summaries
from .answer import Asked

_MAX_NAMES = 1_000
_MAX_NAME_CHARS = 1_000


def answer(asked: Asked) -> dict[str, Any]:
    offset = asked.number("offset", 0, 10**9)
    limit = asked.number("limit", 200, _MAX_NAMES)
    wanted = asked.head.get("filter") or ""
    found = list(_visible(asked, str(wanted).casefold()))
    page = found[offset : offset + limit]
    described = summaries([value for _, value in page], asked.deadline)
    return {"total": len(found), "variables": [{"name": name, **summary} for (name, _), summary in zip(page, described)]}


def _visible(asked: Asked, wanted: str) -> Iterator[tuple[str, Any]]:
    """Names in order of creation, without those of Hotcell and IPython."""
    hidden, modules = bool(asked.head.get("hidden")), bool(asked.head.get("modules"))
    of_ipython = asked.shell.names_of_ipython()
    for name, value in list(asked.namespace.items()):
        if type(name) is not str or len(name) > _MAX_NAME_CHARS or name in OURS or of_ipython.get(name, asked) is value:
            continue
        if (hidden or not name.startswith("_")) and (modules or type(value) is not types.ModuleType) and wanted in name.casefold():
            yield name, value


OURS = frozenset(
    {"__name__", "__doc__", "__package__", "__loader__", "__spec__", "__builtins__", "__builtin__", "__annotations__", "__file__"}
)
