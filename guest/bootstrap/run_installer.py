"""Runs our `pip`, `uv` or `npm` in a session that may install packages: `run.py <program> <arguments>`. The host puts it into the layer
of the installer, beside the modules that it imports."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from hotcell_guest.installer.program import main  # noqa: E402

sys.exit(main(sys.argv[1], sys.argv[2:]))
