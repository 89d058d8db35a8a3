# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cases of the suites ``cpu`` and ``gpu``."""

from dataclasses import replace

from gnuradio.mimopack.apps.bench.data import Setting
from gnuradio.mimopack.apps.bench.detector import Case

QPSK, QAM16, QAM64, QAM256 = (Setting(constellation=name)
                              for name in ("qpsk", "qam16", "qam64", "qam256"))
QAM16_8X8 = Setting(8, 8)


def shared(setting):
    """Return the setting with 14 vectors per matrix, the number of symbols in an LTE subframe."""
    return replace(setting, per_channel=14)


def _passes(n):
    return {"num_passes": n}


# Measured with every instruction set.
MAIN = (
    *(Case("nway", _passes(n), QAM16) for n in (1, 2, 4)),
    *(Case("nway", _passes(n), QAM64) for n in (1, 4)),
    *(Case(name, {}, setting) for name in ("fpfsd", "sfsd") for setting in (QAM16, QAM64)),
    Case("mla", {}, QAM16),
    *(Case(name, {}, setting) for name in ("softsphere", "mmse") for setting in (QAM16, QAM64)),
    *(Case("psd", {}, setting) for setting in (QPSK, QAM16)),
    Case("nway", _passes(4), shared(QAM16)),
)
# Exact enumerations of 64-QAM would take seconds per vector.
OTHERS = (
    Case("zf", {}, QAM16), Case("zf", {}, QAM64),
    Case("omap", {}, QAM16),
    *(Case("mla", {"method": method}, QAM16) for method in ("plain", "table")),
    Case("hfsd", {}, QAM16), Case("hfsd", {}, QAM64),
    Case("ep", {}, QAM16), Case("ep", {}, QAM64),
    Case("mmsepic", {}, QAM16), Case("mmsepic", {}, QAM64),
    Case("sd", {}, QAM16), Case("asd", {}, QAM16),
    Case("zfsic", {}, QAM16), Case("bitflip", {}, QAM16),
    *(Case("kbest", {"k": k}, setting) for k in (16, 64) for setting in (QAM16, QAM64)),
    Case("trellis", {}, QAM16),
    *(Case(name, parameters, QAM16_8X8) for name, parameters in (
        ("zf", {}), ("mmse", {}), ("nway", _passes(8)), ("fpfsd", {}),
        ("sfsd", {}), ("hfsd", {}), ("ep", {}), ("psd", {}), ("zfsic", {}), ("bitflip", {}))),
)
GPU_CASES = (
    *MAIN, *OTHERS,
    Case("nway", _passes(3), QAM16),
    *(Case("softsphere", {"llr_clip": None}, setting) for setting in (QAM16, QAM64)),
    Case("nway", _passes(4), shared(QAM64)), Case("mmse", {}, shared(QAM16)),
    Case("nway", _passes(4), QAM256), Case("fpfsd", {}, QAM256),
    Case("nway", _passes(6), Setting(6, 6)),
    Case("nway", _passes(8), Setting(8, 8, "qam64")),
)
