"""Prints the file name of the one wheel in a folder, and its metadata, as JSON: `wheel_metadata.py FOLDER`."""

import json
import os
import sys
import zipfile

MOST = 1 << 20

[name] = [name for name in os.listdir(sys.argv[1]) if name.endswith(".whl")]
with zipfile.ZipFile(os.path.join(sys.argv[1], name)) as wheel:
    [metadata] = [one for one in wheel.infolist() if one.filename.count("/") == 1 and one.filename.endswith(".dist-info/METADATA")]
    with wheel.open(metadata) as file:
        print(json.dumps({"file": name, "metadata": file.read(MOST).decode("utf-8", "replace")}))
