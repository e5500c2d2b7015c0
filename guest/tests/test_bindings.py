"""Which names an execution changed."""

from __future__ import annotations

import gc
import time
import unittest
import weakref
from typing import Any, Optional

from hotcell_guest.interpreter.bindings import Bindings, assigned_names


class BindingsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.namespace: dict[Any, Any] = {}
        self.bindings = Bindings(self.namespace)

    def run_code(self, source: str) -> Optional[tuple[list[str], list[str], list[str]]]:
        code = compile(source, "<test>", "exec")
        self.bindings.will_run(code)
        exec(code, self.namespace)
        changes = self.bindings.changes()
        return None if changes is None else (changes["added"], changes["rebound"], changes["deleted"])

    def test_names_are_added_bound_anew_and_deleted(self) -> None:
        steps: list[tuple[str, Any]] = [
            ("a = 1\nb = [1]\n_c = 1\nimport os", (["a", "b"], [], [])),
            ("a\nb.append(a)", None),
            ("a = 1", None),
            ("a = 2", ([], ["a"], [])),
            ("a, (d, *e) = 3, (4, 5)", (["d", "e"], ["a"], [])),
            ("del d", ([], [], ["d"])),
            ("exec('late = 1')", (["late"], [], [])),
            ("def f():\n global late\n late = object()", (["f"], [], [])),
            ("f()", ([], ["late"], [])),
            ("class K:\n a = 9", (["K"], [], [])),
            ("for i in range(500): pass", (["i"], [], [])),
            ("for i in range(501): pass", ([], ["i"], [])),
            ("b = []; b = []; b = []", ([], ["b"], [])),
            ("o = object()", (["o"], [], [])),
            ("globals()['a b'] = 1", (["a b"], [], [])),
        ]
        for source, expected in steps:
            with self.subTest(source):
                self.assertEqual(self.run_code(source), expected)

    def test_nothing_is_kept_alive(self) -> None:
        self.run_code("class K: pass\nk = K()\nfull = [k]")
        gone = weakref.ref(self.namespace["k"])
        code = compile("k = None\nfull = None\nimport gc\nalive = gone() is not None", "<test>", "exec")
        self.namespace["gone"] = gone
        self.bindings.will_run(code)
        exec(code, self.namespace)
        gc.collect()
        self.assertFalse(self.namespace["alive"])

    def test_a_large_namespace_costs_no_more(self) -> None:
        self.namespace.update({f"n{number}": number for number in range(100_000)})
        self.bindings.accept()
        code = compile("n5 = 'new'\nfresh = 1", "<test>", "exec")
        begin = time.process_time()
        for _ in range(100):
            self.bindings.will_run(code)
            self.bindings.changes()
        self.assertLess((time.process_time() - begin) / 100, 0.001)
        self.bindings.will_run(code)
        exec(code, self.namespace)
        self.assertEqual(self.bindings.changes(), {"added": ["fresh"], "rebound": ["n5"], "deleted": [], "omitted": -1})

    def test_names_beyond_the_first_byte_of_an_instruction_are_read(self) -> None:
        source = "\n".join(f"v{number} = {number}" for number in range(1_000))
        self.assertEqual(sorted(assigned_names(compile(source, "<test>", "exec"))), sorted(f"v{number}" for number in range(1_000)))

    def test_what_travels_is_bounded(self) -> None:
        self.namespace.update({"\x01" * 190 + str(number): number for number in range(500)})
        self.bindings.will_run(compile("x", "<test>", "exec"))
        changes = self.bindings.changes()
        assert changes is not None
        self.assertLess(len(str(changes)), 20_000)
        self.assertEqual(changes["omitted"] + len(changes["added"]), 500)
