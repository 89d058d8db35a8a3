# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Detectors that installed packages declare as entry points of the group ``GROUP``.

Finding their names reads the packages' metadata only. The code of a package runs when somebody asks
for its detector by name.
"""

import warnings
from importlib import metadata

GROUP = "gnuradio.mimopack.detectors"


def declared():
    """Return the entry points of all installed packages, a list."""
    try:
        return list(metadata.entry_points(group=GROUP))
    except Exception as error:    # the metadata of some package are damaged
        warnings.warn(f"the entry points of installed packages cannot be read: {error!r}",
                      RuntimeWarning, stacklevel=2)
        return []


def describe(entry):
    """Return a text with the package and the target of an entry point."""
    package = f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown package"
    return f"{entry.value} of {package}"


def load(name):
    """Import the detector that an entry point declares.

    Returns:
        What the entry point names; None if no package declares the name.

    Raises:
        ValueError: it cannot be imported, or several packages declare the name.
    """
    found = [entry for entry in declared() if entry.name == name]
    if not found:
        return None
    if len(found) > 1:
        raise ValueError(f"detector: got {name!r}, which several packages declare: "
                         f"{'; '.join(map(describe, found))}")
    try:
        return found[0].load()
    except (Exception, SystemExit) as error:
        raise ValueError(broken(found[0], repr(error))) from error


def broken(entry, why):
    """Return the message about a plug-in that cannot be used."""
    return f"detector: got {entry.name!r}, but its plug-in fails, {describe(entry)}: {why}"
