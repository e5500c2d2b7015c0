"""The guest's entry point: `zygote` for the process driver's shared shape, `sandbox` for a guest with its own sandbox."""

from __future__ import annotations

import argparse
import os
import sys
from typing import NoReturn


def main(arguments: list[str]) -> NoReturn:
    parser = argparse.ArgumentParser(prog="hotcell_guest")
    parser.add_argument("role", choices=("zygote", "sandbox"))
    parser.add_argument("--channel", default="3", help="`stdio`, or the number of a socket's descriptor")
    parser.add_argument("--listen", help="a socket's path, or @name, on which the channel can be connected again")
    parser.add_argument("--peer-uid", type=int, help="only processes of this uid may connect there")
    parser.add_argument("--workspace", default="/workspace")
    options = parser.parse_args(arguments)
    # The guest would inherit the umask of the server: files in a writable mount would be writable for all, or
    # inaccessible for their group.
    os.umask(0o022)
    if options.role == "zygote":
        from .start import zygote

        zygote.serve(int(options.channel), options.workspace)
    from .start import sandbox

    if options.listen:
        sandbox.leave_stdio()
        sandbox.serve(None, options.workspace, options.listen, options.peer_uid)
    sandbox.serve(sandbox.transport_of(options.channel), options.workspace)


if __name__ == "__main__":
    main(sys.argv[1:])
