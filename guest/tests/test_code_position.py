"""Where the cursor stands, in code that is whole, broken off or hostile."""

from __future__ import annotations

import ast
import time
from typing import Any, Optional

import pytest

from hotcell_guest.answers.code_position import Position, call_around, chain_before, import_at, position_at


def _at(code: str) -> Position:
    """`|` is the cursor."""
    return position_at(code.replace("|", ""), code.index("|"))


def _chain(code: str) -> Optional[str]:
    position = _at(code)
    tree = chain_before(position, len(position.before))
    return None if tree is None else ast.unparse(tree)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("open('a/b|", "a/b"),
        ('x = """two\nlines|', "two\nlines"),
        ("f('done') + 'n|", "n"),
        ("'it\\'s |", "it\\'s "),
        ("'ends with a backslash\\|", "ends with a backslash"),
        ("rb'raw|", "raw"),
        ("'closed'|", None),
        ("# 'no string|", None),
        ("'ends with its line\nx|", None),
    ],
)
def test_the_text_of_an_open_string_is_known(code: str, text: Optional[str]) -> None:
    assert _at(code).string == text


def test_an_open_string_says_where_it_begins_and_with_which_prefix() -> None:
    position = _at("x = Rb'abc|")
    assert (position.string_prefix, position.string_start) == ("rb", 4)


@pytest.mark.parametrize(("code", "expected"), [("x  # note|", True), ("'#' + |", False), ("# note\n|", False)])
def test_a_comment_is_told_from_a_hash_in_a_string(code: str, expected: bool) -> None:
    assert _at(code).in_comment is expected


def test_what_is_made_blank_keeps_every_place() -> None:
    position = _at("f('(', \"[\")  # (\ng(|")
    assert len(position.blanked) == len(position.before)
    assert position.blanked.count("(") == 2


@pytest.mark.parametrize(("code", "prefix"), [("x.app|", "app"), ("x.|", ""), ("1 + größe|", "größe"), ("x2|", "x2"), ("2x|", "x")])
def test_the_prefix_is_the_part_of_a_name_before_the_cursor(code: str, prefix: str) -> None:
    assert _at(code).prefix == prefix


@pytest.mark.parametrize(
    ("code", "chain"),
    [
        ("a.b|", "a.b"),
        ("f(x)[0].c|", "f(x)[0].c"),
        ("1 + a.b|", "a.b"),
        ("return value|", "value"),
        ("''.join|", "''.join"),
        ("[1, 2]|", "[1, 2]"),
        ("x = {'a': (1, 2)}['a']|", "{'a': (1, 2)}['a']"),
        ("a . b|", "a.b"),
        ("return|", None),
        ("(|", None),
        (")|", None),
        ("a +|", None),
    ],
)
def test_the_expression_that_ends_at_the_cursor_is_found(code: str, chain: Optional[str]) -> None:
    assert _chain(code) == chain


@pytest.mark.parametrize(
    ("code", "place"),
    [
        ("f(|", 1),
        ("f(g(1), |", 1),
        ("f(g(|", 3),
        ("f(')', |", 1),
        ("x[f(1)](|", 7),
        ("(|", None),
        ("f[|", None),
        ("f()|", None),
        ("a = (1, |", None),
    ],
)
def test_the_call_around_the_cursor_is_found(code: str, place: Optional[int]) -> None:
    assert call_around(_at(code)) == place


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import nu|", ("module", "nu")),
        ("import os, sys.|", ("module", "sys.")),
        ("x = 1; from os.pa|", ("module", "os.pa")),
        ("from os import pa|", ("name", ("os", "pa"))),
        ("from os import (path,\n  se|", None),
        ("from os import path, se|", ("name", ("os", "se"))),
        ("imported|", None),
    ],
)
def test_a_name_that_is_being_imported_is_told_from_others(code: str, expected: Optional[tuple[str, Any]]) -> None:
    assert import_at(_at(code)) == expected


@pytest.mark.parametrize("piece", ["(", "'", '"""', "\\", "f(", "import a,", "[)", "#\n", "''' \\"])
def test_hostile_code_costs_no_more_than_its_length(piece: str) -> None:
    code = piece * (200_000 // len(piece))
    begun = time.process_time()
    position = position_at(code, len(code))
    chain_before(position, len(position.before))
    call_around(position)
    import_at(position)
    assert time.process_time() - begun < 2
