"""What `hotcell setup process` asks of a Python that it has found."""

import importlib.util
import json
import os
import sys

print(
    json.dumps(
        {
            "python": os.path.realpath(sys.executable),
            "version": ".".join(map(str, sys.version_info[:3])),
            "basePrefix": sys.base_prefix,
            "hasEnsurePip": importlib.util.find_spec("ensurepip") is not None and importlib.util.find_spec("venv") is not None,
            "standardLibrary": os.__file__,
        }
    )
)
