"""The guest's entry: `zygote` for the process driver's shared shape, `sandbox` for a guest that has a sandbox to itself."""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn


def main(arguments: list[str]) -> NoReturn:
    parser = argparse.ArgumentParser(prog="hotcell_guest")
    parser.add_argument("role", choices=("zygote", "sandbox"))
    parser.add_argument("--channel", default="3", help="`stdio`, or the number of a socket's descriptor")
    parser.add_argument("--listen", help="a socket path on which the channel can be connected again")
    parser.add_argument("--workspace", default="/workspace")
    options = parser.parse_args(arguments)
    if options.role == "zygote":
        from . import zygote

        zygote.serve(int(options.channel), options.workspace)
    from . import sandbox

    transport = None if options.listen else sandbox.transport_of(options.channel)
    sandbox.serve(transport, options.workspace, options.listen)


if __name__ == "__main__":
    main(sys.argv[1:])
