"""The guest's entry point: `zygote` for the process driver's shared shape, `sandbox` for a guest with its own sandbox."""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn


def main(arguments: list[str]) -> NoReturn:
    role, options = _parsed(arguments)
    workspace = options.get("workspace", "/workspace")
    channel = options.get("channel", "3")
    # The guest would inherit the umask of the server: files in a writable mount would be writable for all, or
    # inaccessible for their group.
    os.umask(0o022)
    gc.disable()  # nothing that is imported now is garbage
    if role == "zygote":
        from .start import zygote

        _collect_garbage_from_now_on()
        zygote.serve(int(channel), workspace)
    from .start import sandbox

    _collect_garbage_from_now_on()
    if "listen" in options:
        sandbox.leave_stdio()
        sandbox.serve(None, workspace, options["listen"], int(options["peer-uid"]) if "peer-uid" in options else None)
    sandbox.serve(sandbox.transport_of(channel), workspace)


def _collect_garbage_from_now_on() -> None:
    gc.freeze()  # the first collection need not visit what was imported
    gc.enable()


def _parsed(arguments: list[str]) -> tuple[str, dict[str, str]]:
    """The host's arguments: a role, then pairs of `--name` and value. `channel` is `stdio`, or the number of a socket's
    descriptor; `listen` a socket's path, or @name, on which the channel can be connected again, for processes of the
    uid `peer-uid` only. argparse would take milliseconds of every start.
    """
    role, *pairs = arguments
    names = [name[2:] for name in pairs[::2]]
    if role not in ("zygote", "sandbox") or len(pairs) % 2 or not set(names) <= {"channel", "listen", "peer-uid", "workspace"}:
        raise SystemExit(f"hotcell_guest: not its arguments: {arguments}")
    return role, dict(zip(names, pairs[1::2]))


if __name__ == "__main__":
    main(sys.argv[1:])
