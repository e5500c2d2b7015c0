"""Names in a Java source: its file name, and the class that runs."""

from __future__ import annotations

import re
from typing import NamedTuple

# Each pattern matches up to the end of the source at the latest, so that no text is scanned twice.
_COMMENTS_AND_TEXTS = re.compile(
    r"//[^\n]*"
    r"|/\*.*?(?:\*/|\Z)"
    r'|"""(?:\\.|[^\\])*?(?:"""|\Z)'
    r'|"(?:\\.|[^"\\\n])*"?'
    r"|'(?:\\.|[^'\\\n])*'?",
    re.DOTALL,
)
_PACKAGE = re.compile(r"\bpackage\s+([\w.]+)\s*;")
_BRACE_OR_TYPE = re.compile(
    r"[{}]|(?<![\w.])((?:(?:public|abstract|final|sealed|non-sealed|strictfp)\s+){0,5})(?:class|record|enum|interface)\s+(\w+)"
)
_MAIN = re.compile(r"\bvoid\s+main\s*\(")


class _Type(NamedTuple):
    name: str
    is_public: bool
    has_main: bool


def java_names(source: str, by_default: str) -> tuple[str, str]:
    """Returns the file name, which is that of the public class, and the class with `main`, preferably the public one."""
    code = _COMMENTS_AND_TEXTS.sub(" ", source)
    types = _outer_types(code)
    public = next((one.name for one in types if one.is_public), None)
    with_main = sorted((one for one in types if one.has_main), key=lambda one: not one.is_public)
    runs = with_main[0].name if with_main else public or by_default
    package = _PACKAGE.search(code)
    return f"{public or by_default}.java", runs if package is None else f"{package[1]}.{runs}"


def _outer_types(code: str) -> list[_Type]:
    found: list[re.Match[str]] = []
    depth = 0
    for match in _BRACE_OR_TYPE.finditer(code):
        if match[0] == "{":
            depth += 1
        elif match[0] == "}":
            depth -= 1
        elif depth == 0:
            found.append(match)
    ends = [match.start() for match in found[1:]] + [len(code)]
    return [_Type(match[2], "public" in match[1], _MAIN.search(code, match.start(), end) is not None) for match, end in zip(found, ends)]
