"""Pasted code: indented as a whole, or with the prompts of Python (`>>> `) or IPython (`In [1]: `). The rules are
IPython's.
"""

from __future__ import annotations

import re

_INDENT = re.compile(r"[ \t]+")
_PYTHON_FIRST = re.compile(r">>>( |$)")
_PYTHON_PROMPT = re.compile(r"(>>>|\.\.\.)( |$)")
_IPYTHON_FIRST = re.compile(r"\s*In \[\d+\]: ")
_IPYTHON_PROMPT = re.compile(r"In \[\d+\]: |\s*\.{3,}: ?")


def has_ipython_prompt(source: str) -> bool:
    """Call it before parsing: `In [1]: x = 1` is valid Python, an annotated assignment to `In[1]`."""
    return _IPYTHON_FIRST.match(source) is not None


def plain_code(source: str) -> str:
    """The code without prompts; lines keep their numbers. Only for code that does not parse, because it may change the
    meaning of valid code.
    """
    lines = source.split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), len(lines))
    code = _dedented(lines[first:])
    for initial, prompt in ((_PYTHON_FIRST, _PYTHON_PROMPT), (_IPYTHON_FIRST, _IPYTHON_PROMPT)):
        # The prompt of the first line is missing if the selection began too late.
        if code and (initial.match(code[0]) or (len(code) > 1 and prompt.match(code[1]))):
            code = [prompt.sub("", line, count=1) if prompt.match(line) else line for line in code]
    return "\n".join([""] * first + code)


def _dedented(lines: list[str]) -> list[str]:
    indent = _INDENT.match(lines[0]) if lines else None
    return lines if indent is None else [line[len(indent[0]) :] if line.startswith(indent[0]) else line for line in lines]
