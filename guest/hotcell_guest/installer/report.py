"""What was installed, in the words of the program that was called."""

from __future__ import annotations

from typing import Any, Iterator

Installation = dict[str, Any]


def lines_for(program: str, done: Installation) -> Iterator[str]:
    installed = [(str(one["name"]), str(one["version"])) for one in done["installed"]]
    present = [(str(one["name"]), str(one["version"])) for one in done["present"]]
    if program == "npm":
        yield f"added {len(installed)} package{'' if len(installed) == 1 else 's'}" if installed else "up to date"
        yield from (f"+ {name}@{version}" for name, version in installed)
    elif program == "uv":
        yield from (f" + {name}=={version}" for name, version in installed)
        yield f"{'Installed' if installed else 'Audited'} {len(installed) or len(present)} packages"
    else:
        yield from (f"Requirement already satisfied: {name} ({version})" for name, version in present)
        if installed:
            yield "Successfully installed " + " ".join(f"{name}-{version}" for name, version in installed)


def notes_for(done: Installation) -> Iterator[str]:
    changed = ", ".join(f"{one['name']} {one['from']} -> {one['to']}" for one in done["superseded"])
    if changed:
        yield f"Other versions than before: {changed}."
    if done["needsReset"]:
        yield "If code has imported some of them already, reset the session (reset_session) to use the new versions."
