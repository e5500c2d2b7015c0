"""Finishes a virtual environment whose packages are installed. Run by its own Python, at set-up: `finish.py <prefix>`.

The image and the environment of the process driver are finished in the same way: without the packages' own test suites,
compiled, with matplotlib's list of fonts, and with fonts for the characters that matplotlib's own font lacks. It prints
which of those are missing.
"""

from __future__ import annotations

import compileall
import dataclasses
import glob
import os
import re
import shutil
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.font_manager import FontEntry

# Families for characters that matplotlib's own font lacks. The first of each group that the machine has is used.
FALLBACKS = {
    "Chinese, Japanese and Korean": (
        *("WenQuanYi Zen Hei", "Noto Sans CJK SC", "Noto Sans CJK JP"),
        *("Source Han Sans SC", "WenQuanYi Micro Hei", "Droid Sans Fallback"),
    ),
    "emoji": ("Symbola", "Noto Emoji"),
}


def main(prefix: str) -> None:
    library = os.path.join(prefix, "lib")
    remove_test_suites(library)
    prepare_fonts(os.path.join(prefix, "hotcell", "matplotlib"))
    # Some packages ship files for other Python versions, which do not compile and are never imported.
    compileall.compile_dir(library, quiet=2, workers=0)


def remove_test_suites(library: str) -> None:
    """They are a tenth of the size and a third of the files, and nobody imports them."""
    for folder, names, _ in os.walk(library):
        if "tests" in names:
            names.remove("tests")
            shutil.rmtree(os.path.join(folder, "tests"))


def prepare_fonts(cache: str) -> None:
    """Makes matplotlib's list of fonts, which takes seconds, and names the families to use for characters that its own font lacks."""
    os.makedirs(cache, mode=0o755, exist_ok=True)
    os.environ["MPLCONFIGDIR"] = cache
    try:
        from matplotlib import font_manager
    except ImportError:
        return
    known = {font.name for font in font_manager.fontManager.ttflist}
    families = ["sans-serif"]
    for script, names in FALLBACKS.items():
        found = next((name for name in names if name in known), None)
        if found:
            families.append(found)
            list_every_weight(font_manager.fontManager.ttflist, found)
        else:
            print(f"Charts have no font for {script}.")
    font_manager.json_dump(font_manager.fontManager, glob.glob(os.path.join(cache, "fontlist-*.json"))[0])
    write_families(os.path.dirname(os.path.dirname(font_manager.__file__)), families)


def list_every_weight(fonts: list[FontEntry], family: str) -> None:
    """Lists a family that has few weights with all of them: matplotlib warns of each text whose weight a family lacks, a fallback too."""
    ours = [font for font in fonts if font.name == family]
    for weight in range(100, 1000, 100):
        if all(font.weight != weight for font in ours):
            fonts.append(dataclasses.replace(ours[0], weight=weight))


def write_families(packages: str, families: list[str]) -> None:
    """Writes them into the defaults of matplotlib and its styles and of seaborn, so that `rcdefaults()` and `set_theme()` keep them."""
    listed = ", ".join(families)
    data = os.path.join(packages, "matplotlib", "mpl-data")
    for file in [os.path.join(data, "matplotlibrc"), *glob.glob(os.path.join(data, "stylelib", "*.mplstyle"))]:
        replace(file, r"^(#?font\.family *:) *sans-serif *$", rf"\1 {listed}")
    in_seaborn = r'(?<="font\.family": )\["sans-serif"\]|(?<=\bfont=)"sans-serif"'
    replace(os.path.join(packages, "seaborn", "rcmod.py"), in_seaborn, repr(families))


def replace(path: str, pattern: str, replacement: str) -> None:
    """Replaces the file as a whole, because an installer may have linked it from a cache."""
    if not os.path.exists(path):
        return
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        file.write(re.sub(pattern, replacement, text, flags=re.M))
    os.replace(f"{path}.new", path)


if __name__ == "__main__":
    main(sys.argv[1])
