"""What a command line asks for."""

from __future__ import annotations

from typing import NamedTuple


class Install(NamedTuple):
    """Packages that the host is asked to install."""

    manager: str
    packages: tuple[str, ...]
    upgrade: bool = False
    is_quiet: bool = False
    notes: tuple[str, ...] = ()
    """Sentences about what is different from the real program."""


class NotOurs(Exception):
    """The real program has to do it, as if ours were not there."""


class OnlyWithNetwork(Exception):
    """The real program could do it in a session with a network. The text says what to do without."""


class Invalid(Exception):
    """The command line, or a file that it names, is wrong whoever runs it."""


class Shown(Exception):
    """The answer is known here: the text is printed, and nothing runs."""


class AsPip(Exception):
    """The real pip does it, in place of a program that the sandbox may not have. `words` come after `pip`."""

    def __init__(self, words: list[str]) -> None:
        super().__init__()
        self.words = words
