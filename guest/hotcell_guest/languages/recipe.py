"""A recipe for one source: the name of its file, and the commands with their paths filled in."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any, Optional

from .java_source import java_names


@dataclass(frozen=True)
class Recipe:
    """`main` is the program to run: the source without its extension, or in Java the class with `main`."""

    language: str
    source_name: str
    main: str
    build: Optional[list[str]]
    run: list[str]
    environment: dict[str, str]

    @staticmethod
    def from_message(raw: dict[str, Any], filename: str, source: bytes) -> Recipe:
        """Raises KeyError, TypeError or ValueError for an invalid recipe, although the host has checked it."""
        name = _source_name(str(raw["fileName"]), [str(one) for one in raw.get("extensions", [])], filename)
        main = os.path.splitext(name)[0]
        if name.endswith(".java"):
            name, main = java_names(source.decode("utf-8", "replace"), main)
        build = raw.get("build")
        return Recipe(
            language=re.sub(r"[^a-z0-9]", "-", str(raw["language"])),
            source_name=name,
            main=main,
            build=None if build is None else [str(word) for word in build],
            run=[str(word) for word in raw["run"]],
            environment={str(name): str(value) for name, value in raw.get("environment", {}).items()},
        )

    def command(self, words: list[str], folder: str, *, of_build: bool) -> tuple[list[str], dict[str, str]]:
        """Returns the arguments and the variables. A build runs in its folder, so that its messages name the source as the user does."""
        values = {
            "{source}": self.source_name if of_build else os.path.join(folder, self.source_name),
            "{program}": os.path.join(folder, "program"),
            "{folder}": folder,
            "{main}": self.main,
            "{workspace}": os.getcwd(),
        }

        def fill(text: str) -> str:
            return re.sub(r"\{[a-z]+\}", lambda match: values.get(match[0], match[0]), text)

        return [fill(word) for word in words], {name: fill(value) for name, value in self.environment.items()}


def _source_name(by_default: str, extensions: list[str], filename: str) -> str:
    """The user's own file name, if its extension belongs to the language."""
    name = os.path.basename(filename)
    fits = os.path.splitext(name)[1] in extensions and re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}", name) is not None
    return name if fits else by_default
