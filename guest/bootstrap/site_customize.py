"""The `sitecustomize` in the folder `hooks` beside the layers, for a Python whose environment has no `.pth` file of ours. `hotcell_layers`
is beside it (system/site_layers.py)."""

import os

import hotcell_layers  # type: ignore[import-not-found]

hotcell_layers.add_layers()
hotcell_layers.run_next_sitecustomize(os.path.dirname(__file__))
