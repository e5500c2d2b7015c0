"""The command line of `uv`, of which only `uv pip install` is ours."""

from __future__ import annotations

from .options import names_in
from .pip_line import parse_pip
from .request import AsPip, Install, NotOurs, OnlyWithNetwork

# They fetch packages into a project, a tool's own environment or a Python.
_FETCHES = names_in("add remove sync lock tool python")
# Subcommands of `uv pip` that pip has too. uv would look for a virtual environment, and see no layers.
_SAME_IN_PIP = names_in("list show freeze check")
_HARMLESS = names_in("-q --quiet -v --verbose --no-cache -n --no-progress --offline --native-tls --no-python-downloads")


def parse_uv(words: list[str], workspace: str) -> Install:
    at = next((index for index, word in enumerate(words) if not word.startswith("-")), len(words))
    before, command, rest = words[:at], words[at : at + 1], words[at + 1 :]
    if not set(before) <= _HARMLESS:
        raise NotOurs
    if command == ["pip"] and rest[:1] and rest[0] in _SAME_IN_PIP:
        raise AsPip(rest)
    if command == ["pip"]:
        return parse_pip([word for word in before if word in ("-q", "--quiet")] + _without_python(rest), workspace)
    if command and command[0] in _FETCHES and "--help" not in rest:
        raise OnlyWithNetwork(f"uv {command[0]} needs a network, which this session does not have. `uv pip install NAME` works without.")
    raise NotOurs


def _without_python(words: list[str]) -> list[str]:
    """`--python 3.12` and its like: there is one Python here that packages are installed for."""
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in ("-p", "--python"):
            next(rest, None)
        elif not word.startswith("--python="):
            kept.append(word)
    return kept
