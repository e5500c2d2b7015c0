"""Objects whose metaclass has an opinion on equality: nobody asks it, and they are shown and bound like others."""

from __future__ import annotations

import socket
from typing import Any, Iterator

import pytest

from hotcell_guest.answers.completion import kind_of
from hotcell_guest.answers.inspection import signature_of
from hotcell_guest.display.screen import Screen
from hotcell_guest.interpreter.shell import Shell
from hotcell_guest.kernels.link import Link
from hotcell_guest.objects import known_types, tables
from hotcell_guest.objects.short_text import short_text
from hotcell_guest.objects.summaries import length_of
from hotcell_guest.system.deadline import Deadline

# `__eq__` alone makes the class unhashable, which is what people write.
_MADE = "class M(type):\n    def __eq__(cls, other): raise SystemExit('asked')\nclass C(list, metaclass=M): pass"


@pytest.fixture
def shell() -> Iterator[tuple[Shell, Screen]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        screen = Screen(Link(theirs), lambda: None)
        yield Shell(screen), screen


def test_they_are_shown_and_bound_anew(shell: tuple[Shell, Screen]) -> None:
    interpreter, screen = shell
    outcomes = [interpreter.run(code, "<cell>") for code in (_MADE, "c = C()", "c = C()", "c")]
    assert outcomes == [{"kind": "ok"}] * 4
    value = screen.take_value()
    assert value is not None
    assert value[1] == b"[]"


def test_they_are_looked_at_without_being_asked() -> None:
    scope: dict[str, Any] = {}
    exec(_MADE, scope)
    value = scope["C"]([1, 2])
    assert "C" in short_text(value, 100)
    assert kind_of(value) == "instance"
    assert kind_of(scope["C"]) == "class"
    assert signature_of(value) is None
    assert length_of(value) == 2
    assert known_types.text_keys(value) == []
    with Deadline(5):
        assert tables.describer(value) is None
        assert not tables.prints_itself(value)
