"""Code as people paste it runs as IPython would run it."""

from __future__ import annotations

import ast
import unittest

from hotcell_guest.interpreter.pasted_code import has_ipython_prompt, plain_code


class PastedCodeTest(unittest.TestCase):
    def test_an_indentation_of_the_whole_is_taken_away(self) -> None:
        self.assertEqual(plain_code("    def f():\n        return 1\n    f()"), "def f():\n    return 1\nf()")
        self.assertEqual(plain_code("\tx = 1\n\ty = 2"), "x = 1\ny = 2")

    def test_a_line_with_less_indentation_stays(self) -> None:
        self.assertEqual(plain_code("  x = 1\ny = 2"), "x = 1\ny = 2")

    def test_prompts_of_python_are_taken_away(self) -> None:
        self.assertEqual(plain_code(">>> for i in a:\n...     print(i)\n...\n>>> b"), "for i in a:\n    print(i)\n\nb")
        self.assertEqual(plain_code("for i in a:\n...     print(i)"), "for i in a:\n    print(i)")

    def test_prompts_of_ipython_are_taken_away(self) -> None:
        pasted = "In [12]: for i in a:\n    ...:     print(i)\n    ...: \n\nIn [13]: b"
        self.assertEqual(plain_code(pasted), "for i in a:\n    print(i)\n\n\nb")

    def test_prompts_that_are_indented_are_prompts(self) -> None:
        self.assertEqual(plain_code("    >>> x = 1\n    >>> x"), "x = 1\nx")
        self.assertEqual(plain_code("  In [1]: x = 1\n  In [2]: x"), "x = 1\nx")

    def test_lines_keep_their_numbers(self) -> None:
        self.assertEqual(plain_code("\n  \n  x = 1"), "\n\nx = 1")

    def test_code_without_prompts_and_indentation_stays_as_it_is(self) -> None:
        for code in ("", "\n", "   ", "x = 1", "def f():\n    return 1", "x = (", "a >>> b", "\n\nx\n"):
            self.assertEqual(plain_code(code).strip(), code.strip())

    def test_only_the_prompt_of_ipython_can_be_valid_python(self) -> None:
        ast.parse("In [1]: x = 1")
        self.assertTrue(has_ipython_prompt("In [1]: x = 1"))
        self.assertTrue(has_ipython_prompt("\n  In [1]: x = 1"))
        self.assertFalse(has_ipython_prompt("In[1]: int = 1"))
        self.assertFalse(has_ipython_prompt("x = In [1]"))
        self.assertFalse(has_ipython_prompt("import sys"))
