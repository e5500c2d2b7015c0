"""The `network` request of the host (section 10a), checked."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ..wire.refusal import Refusal

KINDS = frozenset({"proxy", "forward", "credentials"})
# What braces in a variable may name besides listeners.
PLACES = frozenset({"ca", "preload", "before"})
_MOST_LISTENERS = 64
_MOST_VARIABLES = 256
_LISTENER = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class NetworkRequest(NamedTuple):
    """`listen` has the kind of each listener by its name, in order; `variables` have braces in their values."""

    listen: dict[str, str]
    variables: dict[str, str]

    @classmethod
    def from_message(cls, head: dict[str, Any]) -> NetworkRequest:
        """Raises Refusal, or what a member of the wrong kind raises."""
        listen = {str(each["name"]): str(each["kind"]) for each in head["listen"]}
        variables = {str(name): str(value) for name, value in head["variables"].items()}
        if len(listen) < len(head["listen"]) or len(listen) > _MOST_LISTENERS or len(variables) > _MOST_VARIABLES:
            raise Refusal("bad-request", "network: a name is there twice, or there are too many")
        for name, kind in listen.items():
            if _LISTENER.fullmatch(name) is None or name in PLACES or kind not in KINDS:
                raise Refusal("bad-request", f"network: no listener can be named {name[:80]!r} and be a {kind[:80]!r}")
        for name, value in variables.items():
            if _VARIABLE.fullmatch(name) is None or "\0" in value:
                raise Refusal("bad-request", f"network: no variable can be named {name[:80]!r}, or have a value with NUL")
        return cls(listen, variables)
