"""The names at the point of failure, with short values made by our own code: no user code runs."""

from __future__ import annotations

import re
import types

from ..objects.short_text import short_text
from .call_stack import Call, local_names
from .source_lines import excerpt

_MAX_NAMES = 30
_MAX_VALUE_CHARS = 120
_NAME = re.compile(r"[^\W\d]\w*")
# Definitions are left out: the code itself shows them.
_DEFINITIONS = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)


def names_in(call: Call) -> list[tuple[str, str]]:
    """The names of a function; of a module only those that the lines around the failure use."""
    values = local_names(call.frame)
    is_module = call.function == "<module>"
    around = excerpt(call.file, call.line, None, 2)
    used = list(dict.fromkeys(_NAME.findall(" ".join(line.partition("|")[2] for line in around))))
    order = [name for name in used if name in values]
    if not is_module:
        order.extend(name for name in values if name not in used)
    shown = [name for name in order if not name.startswith("__") and not isinstance(values[name], _DEFINITIONS)]
    return [(name[:100], short_text(values[name], _MAX_VALUE_CHARS)) for name in shown[:_MAX_NAMES]]
