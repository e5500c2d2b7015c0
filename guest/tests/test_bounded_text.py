"""Text fits into a frame, whatever characters it has."""

from __future__ import annotations

import pytest

from hotcell_guest.system.bounded_text import bounded_lines, cut, weight


@pytest.mark.parametrize("text", ["x" * 10_000, "é" * 10_000, "\0" * 10_000, "\U0001f600" * 10_000, "\ud800" * 10_000])
def test_a_text_that_is_cut_weighs_what_it_may(text: str) -> None:
    shown = cut(text, 1_000)
    assert weight([shown]) <= 1_064
    assert shown.endswith("…")


def test_a_text_that_fits_stays() -> None:
    assert cut("short", 5) == "short"


def test_of_too_many_lines_the_middle_is_left_out_and_counted() -> None:
    lines = [f"line {number}" for number in range(5_000)]
    shown = bounded_lines(lines, 32_768)
    assert shown[:10] == lines[:10]
    assert shown[-1] == lines[-1]
    omitted = 5_000 - (len(shown) - 1)
    assert f"  … {omitted} lines left out …" in shown


def test_lines_that_are_too_heavy_are_bounded_as_well() -> None:
    assert weight(bounded_lines(["\0" * 1_900] * 50, 32_768)) <= 32_768 + 100
    assert bounded_lines(["a", "b"], 32_768) == ["a", "b"]
