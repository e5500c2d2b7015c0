"""HTML as text to read."""

from __future__ import annotations

import time

import pytest

from hotcell_guest.display.html_text import html_text

_TABLE = """<table border="1"><thead><tr><th></th><th>name</th><th>price</th></tr></thead>
<tbody><tr><th>0</th><td>a &amp; b</td><td>1</td></tr><tr><th>1</th><td>c<br>d</td><td>23.5</td></tr></tbody></table>"""


def test_a_table_has_aligned_columns() -> None:
    assert html_text(_TABLE).split("\n") == [
        "  | name  | price",
        "--+-------+------",
        "0 | a & b | 1",
        "1 | c d   | 23.5",
    ]


def test_blocks_lists_links_and_code_keep_their_form() -> None:
    page = """<head><title>x</title><style>p {}</style></head><h2>Title</h2><p>Some   <b>bold</b>
    text<br>next</p><ul><li>one<ul><li>inner</li></ul></li><li>two</li></ul><ol><li>a<li>b</ol>
    <a href="https://example.org/x">there</a><pre>def f():\n    return 1</pre><script>alert("1 < 2")</script>
    <img alt="a cat" src="data:image/png;base64,AAAA"><iframe src="https://example.org"></iframe>"""
    assert html_text(page) == (
        "## Title\n\nSome bold text\nnext\n- one\n  - inner\n- two\n1. a\n2. b\nthere (https://example.org/x)\n"
        "def f():\n    return 1\n[image: a cat][iframe: https://example.org]"
    )


def test_a_table_in_a_cell_and_a_quoted_bracket_stay_in_place() -> None:
    assert html_text("<table><tr><td>a<table><tr><td>x</td></tr></table></td><td>b</td></tr></table>") == "a x | b"
    assert html_text('<p title="1 > 0">text</p> 1 < 2') == "text\n1 < 2"


@pytest.mark.parametrize(
    "repeated", ["<table>", "<a ", "<td>", "<", "&", "<td>x", "<!--", "<ul><li>", "<script>", '<a "', "<pre>", "</table>", "</td>"]
)
def test_hostile_markup_takes_linear_time(repeated: str) -> None:
    html = f"<table><tr>{repeated * (400_000 // len(repeated))}"
    begin = time.process_time()
    html_text(html)
    assert time.process_time() - begin < 5
