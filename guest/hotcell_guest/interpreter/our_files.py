"""The guest's own files: their frames and warnings are not the user's."""

from __future__ import annotations

import os

# The folder of the whole guest, which this package is a part of.
_OUR_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def is_our_file(file: str) -> bool:
    return file.startswith(_OUR_FOLDER)
