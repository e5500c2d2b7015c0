"""Runs one command line: the host installs, or the real program runs."""

from __future__ import annotations

import os
import sys
from typing import Callable, Iterator

from ..wire.calling import Call, CallError
from .npm_line import parse_npm
from .pip_line import parse_pip
from .real_program import REAL, run_real
from .report import lines_for, notes_for
from .request import AsPip, Install, Invalid, NotOurs, OnlyWithNetwork, Shown
from .uv_line import parse_uv

_PARSERS: dict[str, Callable[[list[str], str], Install]] = {"pip": parse_pip, "pip3": parse_pip, "uv": parse_uv, "npm": parse_npm}
# Codes of a host that does not offer it, now or to this session.
_NOT_OFFERED = frozenset({"not-offered", "unknown-method"})
_WORKSPACE = "/workspace"


def main(program: str, words: list[str], workspace: str = _WORKSPACE) -> int:
    """Returns the exit code. `--as-module` first stands for `python -m pip`."""
    as_module = words[:1] == ["--as-module"]
    words = words[1:] if as_module else words
    if REAL in os.environ:
        run_real(program, words, as_module)
    try:
        request = _PARSERS[program](words, workspace)
        return _install(program, request)
    except NotOurs:
        run_real(program, words, as_module)
    except Shown as answer:
        print(answer)
        return 0
    except AsPip as asked:
        run_real("pip", asked.words, as_module=False)
    except OnlyWithNetwork as reason:
        if "HOTCELL_PROXY" in os.environ:
            run_real(program, words, as_module)
        return _fail(program, str(reason))
    except Invalid as problem:
        return _fail(program, str(problem))
    except CallError as error:
        if error.code in _NOT_OFFERED:
            run_real(program, words, as_module)
        return _fail(program, error.message or error.code)
    except KeyboardInterrupt:
        return 130


def _install(program: str, request: Install) -> int:
    if not request.packages:
        print("up to date")
        return 0
    argument = {"manager": request.manager, "packages": list(request.packages), "upgrade": request.upgrade}
    with Call("packages.install", argument) as made:
        made.close_write()
        for line in _lines(made):
            if not request.is_quiet:
                print(f"{program}: {line}", file=sys.stderr, flush=True)
        done = made.result(whole=True)
    if not request.is_quiet:
        for line in lines_for(program, done):
            print(line)
    sys.stdout.flush()
    for note in [*request.notes, *notes_for(done)]:
        print(f"note: {note}", file=sys.stderr)
    return 0


def _lines(made: Call) -> Iterator[str]:
    """The steps of the host, as it goes."""
    rest = b""
    while True:
        data = made.read()
        if not data:
            return
        *lines, rest = (rest + data).split(b"\n")
        yield from (line.decode("utf-8", "replace") for line in lines)


def _fail(program: str, text: str) -> int:
    before = {"npm": "npm error ", "uv": "error: "}.get(program, "ERROR: ")
    print(before + text, file=sys.stderr)
    return 1
