"""Runs the pip of this host once for each argument, in one process: most of its time is taken by loading it. The first argument is the
line that is printed after each answer."""

import runpy
import sys

_, between, *questions = sys.argv
for question in questions:
    sys.argv = ["pip", *question.split()]
    try:
        runpy.run_module("pip", run_name="__main__", alter_sys=True)
    except SystemExit:
        pass
    print(between, flush=True)
