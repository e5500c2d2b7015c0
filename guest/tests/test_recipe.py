"""Recipes: names of sources, and commands with their paths filled in."""

from __future__ import annotations

import os
import unittest
from typing import Any

from hotcell_guest.languages.recipe import Recipe


def recipe(filename: str = "<execution 1>", source: str = "", **members: Any) -> Recipe:
    raw = {"language": "x", "fileName": "main.x", "extensions": [".x"], "run": ["run", "{source}"], **members}
    return Recipe.from_message(raw, filename, source.encode())


def java(source: str) -> tuple[str, str]:
    made = recipe(source=source, fileName="Main.java", extensions=[".java"])
    return made.source_name, made.main


class SourceNameTest(unittest.TestCase):
    def test_a_program_keeps_its_own_name_where_that_is_one_for_the_language(self) -> None:
        self.assertEqual(recipe("/home/me/count.x").source_name, "count.x")
        for other in ("<execution 1>", "count.py", "-rf.x", "a b.x", "..x", "a\n.x"):
            self.assertEqual(recipe(other).source_name, "main.x", other)

    def test_a_java_file_is_called_like_its_public_class(self) -> None:
        self.assertEqual(java("class A {}\npublic final class B { static void main(String[] a) {} }"), ("B.java", "B"))
        self.assertEqual(java("public record P(int x) { public static void main(String[] a) {} }"), ("P.java", "P"))

    def test_a_java_program_may_stand_in_one_line(self) -> None:
        line = "import java.util.*; public class A { static class B {} public static void main(String[] a) { } }"
        self.assertEqual(java(line), ("A.java", "A"))
        self.assertEqual(java("import a.B; abstract public class C {}"), ("C.java", "C"))
        self.assertEqual(java("package a; /* b */ @Deprecated public class A {} class B { static void main() {} }"), ("A.java", "a.B"))

    def test_what_java_comments_and_texts_say_is_nothing(self) -> None:
        said = '// public class C\n/* public class D */ class A { String s = "\\"; public class E {"; char c = \'{\'; void main() {} }'
        self.assertEqual(java(said), ("Main.java", "A"))
        self.assertEqual(java('class A { String s = """\n}\npublic class F {\n"""; }\npublic class B {}'), ("B.java", "B"))
        for endless in ("/*" * 500_000, '"""' + "\\" * 1_000_000, "class " * 200_000, "final " * 200_000, "{" * 1_000_000):
            self.assertEqual(java(endless)[0][-5:], ".java")

    def test_a_java_program_runs_the_class_with_main(self) -> None:
        self.assertEqual(java("package a.b;\nclass A {}\nclass App { public static void main(String[] a) {} }"), ("Main.java", "a.b.App"))
        self.assertEqual(java("interface I {}"), ("Main.java", "Main"))
        nested = "public class Outer {\n  static class Inner {}\n  public static void main(String... a) {}\n}"
        self.assertEqual(java(nested), ("Outer.java", "Outer"))


class CommandTest(unittest.TestCase):
    def test_paths_are_filled_in_once_and_unknown_words_stay(self) -> None:
        made = recipe("count.x", environment={"LIB": "{workspace}/lib"})
        words, environment = made.command(["{source}", "-o{program}", "{main}", "{other}"], "/b/{main}", of_build=False)
        self.assertEqual(words, ["/b/{main}/count.x", "-o/b/{main}/program", "count", "{other}"])
        self.assertEqual(environment, {"LIB": f"{os.getcwd()}/lib"})

    def test_a_build_names_the_source_as_the_user_does(self) -> None:
        self.assertEqual(recipe("count.x").command(["{source}"], "/b", of_build=True)[0], ["count.x"])
