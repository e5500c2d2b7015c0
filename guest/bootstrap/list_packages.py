"""The version of this Python and the packages in it."""

import importlib.metadata
import json
import sys

found = [one.metadata["Name"] and (one.metadata["Name"].lower(), one.version) for one in importlib.metadata.distributions()]
print(json.dumps({"version": ".".join(map(str, sys.version_info[:3])), "packages": dict(one for one in found if one)}))
