# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Imitate missing packages."""

import builtins
import sys


def hide(monkeypatch, package):
    """Make the import of a package fail."""
    for name in [*sys.modules]:
        if name.split(".")[0] == package or name.startswith("gnuradio.mimopack.apps.wifi.") and (
                name.split(".")[-1] in ("view", "plots", "metrics")):
            monkeypatch.delitem(sys.modules, name)
    real = builtins.__import__

    def missing(name, *arguments, **options):
        if name.split(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", missing)
