"""Splits a command line into options and words."""

from __future__ import annotations

from typing import Collection, Iterator, NamedTuple, Optional

_MAX_WORDS = 5_000


class Option(NamedTuple):
    name: str
    """As it is known: `-r`, `--upgrade`. Empty for a word that is no option."""
    value: Optional[str]
    """The value of an option that has one; the word itself."""


def names_in(text: str) -> frozenset[str]:
    """A set of words, as they are easiest to read."""
    return frozenset(text.split())


def split(words: list[str], with_value: Collection[str]) -> Iterator[Option]:
    """Yields options and words in their order. `with_value` has the names of options that the next word belongs to, or the rest
    of the same one (`-rfile`, `--requirement=file`). After `--` all are words.
    """
    rest = iter(words[:_MAX_WORDS])
    for word in rest:
        if word == "--":
            yield from (Option("", one) for one in rest)
        elif word.startswith("--"):
            name, equals, value = word.partition("=")
            yield Option(name, value if equals else next(rest, None) if name in with_value else None)
        elif word.startswith("-") and len(word) > 1:
            yield from _short(word, rest, with_value)
        else:
            yield Option("", word)


def _short(word: str, rest: Iterator[str], with_value: Collection[str]) -> Iterator[Option]:
    """`-qU` is two options; `-rfile` is one."""
    for at in range(1, len(word)):
        name = f"-{word[at]}"
        if name in with_value:
            yield Option(name, word[at + 1 :].lstrip("=") or next(rest, None))
            return
        yield Option(name, None)
