"""The examples that both sides of the protocol are tested against."""

from __future__ import annotations

import json
import os
from typing import Any


def load() -> dict[str, Any]:
    path = os.path.join(os.path.dirname(__file__), "..", "protocol-examples.json")
    with open(path, encoding="utf-8") as file:
        examples: dict[str, Any] = json.load(file)
    return examples
