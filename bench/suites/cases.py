# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cases of the suites and their targets.

Targets are in Mbit/s of coded bits and include QR decomposition and layout conversion. CPU targets
are for two threads of an AVX-512 Xeon at 2.6 to 3.85 GHz, with y, H and LLRs in ordinary arrays.
GPU targets are for one H200 with all arrays on the device.
"""

from dataclasses import dataclass, replace

from gnuradio.mimopack.apps.bench.data import Setting
from gnuradio.mimopack.apps.bench.detector import Case


@dataclass(frozen=True)
class Target(Case):
    """A case and its target rate.

    Attributes:
        rate: target in Mbit/s, or a factor if ``relative_to`` is given.
        relative_to: label of the case whose measured rate is multiplied by ``rate``.
    """

    rate: float = 0.0
    relative_to: str | None = None


# Targets of the other suites.
OF_LINEAR = {16: 0.85}          # threads: share of linear growth
SINGLE_VECTOR = {"nway": 20e-6}    # seconds for a call with one vector
OF_NO_OP = 0.8                  # rate of a block over a no-op block, if the CPU is not the limit
WITH_SHARED_MATRICES = 60e6     # vectors/s of a block on a GPU, 14 vectors per matrix
OF_LINK = 0.9                   # rate of a GPU from pinned memory over the rate of the link
SECOND_GPU = 1.95               # speed-up of two GPUs over one, data on the devices

QPSK, QAM16, QAM64, QAM256 = (Setting(constellation=name)
                              for name in ("qpsk", "qam16", "qam64", "qam256"))
QAM16_8X8 = Setting(8, 8)


def shared(setting):
    """Return the setting with 14 vectors per matrix, the number of symbols in an LTE subframe."""
    return replace(setting, per_channel=14)


def _passes(n):
    return {"num_passes": n}


TARGETS = (
    Target("nway", _passes(1), QAM16, 1000), Target("nway", _passes(2), QAM16, 550),
    Target("nway", _passes(4), QAM16, 290),
    Target("nway", _passes(1), QAM64, 420), Target("nway", _passes(4), QAM64, 110),
    Target("fpfsd", {}, QAM16, 250), Target("fpfsd", {}, QAM64, 100),
    Target("sfsd", {}, QAM16, 250), Target("sfsd", {}, QAM64, 180),
    Target("mla", {}, QAM16, 10),
    Target("softsphere", {}, QAM16, 60), Target("softsphere", {}, QAM64, 10),
    Target("mmse", {}, QAM16, 800), Target("mmse", {}, QAM64, 700),
    Target("psd", {}, QPSK, 300), Target("psd", {}, QAM16, 60),
    Target("nway", _passes(4), shared(QAM16), 1.1, "nway(N=4)"),
)

# Other detectors, for completeness. Exact enumerations of 64-QAM would take seconds per vector.
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

GPU_TARGETS = (
    Target("nway", _passes(1), QAM16, 150e3), Target("nway", _passes(2), QAM16, 85e3),
    Target("nway", _passes(4), QAM16, 45e3),
    Target("nway", _passes(1), QAM64, 60e3), Target("nway", _passes(4), QAM64, 15e3),
    Target("fpfsd", {}, QAM16, 45e3), Target("fpfsd", {}, QAM64, 15e3),
    Target("sfsd", {}, QAM16, 50e3), Target("sfsd", {}, QAM64, 30e3),
    Target("kbest", {"k": 16}, QAM16, 15e3),
    Target("mla", {}, QAM16, 2e3),
    Target("softsphere", {}, QAM16, 8e3), Target("softsphere", {}, QAM64, 1e3),
    Target("omap", {}, QAM16, 0.9e3),
    Target("psd", {}, QPSK, 20e3), Target("psd", {}, QAM16, 8e3),
    Target("mmse", {}, QAM16, 200e3),
)


def _same(case):
    return case.detector, sorted(case.parameters.items()), case.setting


GPU_OTHERS = (
    Case("nway", _passes(3), QAM16), Case("mmse", {}, QAM64),
    *(Case("softsphere", {"llr_clip": None}, setting) for setting in (QAM16, QAM64)),
    Case("nway", _passes(4), shared(QAM16)), Case("nway", _passes(4), shared(QAM64)),
    Case("mmse", {}, shared(QAM16)),
    *(case for case in OTHERS if _same(case) not in map(_same, GPU_TARGETS)),
    Case("nway", _passes(4), QAM256), Case("fpfsd", {}, QAM256),
    Case("nway", _passes(6), Setting(6, 6)),
    Case("nway", _passes(8), Setting(8, 8, "qam64")),
)
