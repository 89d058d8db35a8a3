# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``mimopack bench --suite`` measures: the one table of cases and targets.

Targets are Mbit/s of coded bits, QR and layout conversion included: of the CPU with two threads of
an AVX-512 Xeon at 2.6 to 3.85 GHz, y, H and LLRs in ordinary arrays; of the GPU on one H200, all
arrays on the device.
"""

from dataclasses import dataclass, field, replace

from ... import detectors
from .data import Setting


@dataclass(frozen=True)
class Case:
    """A detector with its parameters on one setting.

    Attributes:
        target: Mbit/s that it should reach, None where none is set.
        relative_to: the label of the case whose rate this one's target multiplies, so that the
            target is a ratio.
    """

    detector: str
    parameters: dict = field(default_factory=dict)
    setting: Setting = Setting()
    target: float | None = None
    relative_to: str | None = None

    @property
    def label(self):
        own = ", ".join(f"{SHORT.get(key, key)}={value}" for key, value in self.parameters.items())
        name = f"{self.detector}({own})" if own else self.detector
        period = self.setting.per_channel
        return f"{name}, T = {period}" if period > 1 else name

    def create(self, **common):
        """The detector; ValueError where it cannot be."""
        setting = self.setting
        return detectors.create(self.detector, num_tx=setting.num_tx, num_rx=setting.num_rx,
                                constellation=setting.constellation, **self.parameters, **common)


# What the other suites should reach.
OF_LINEAR = {16: 0.85}          # threads: share of linear growth
SINGLE_VECTOR = {"nway": 20e-6}    # seconds of a call with one vector
OF_NO_OP = 0.8                  # a block, beside one that does nothing, the CPU not the limit
WITH_SHARED_MATRICES = 60e6     # vectors/s of a block on a GPU, a matrix for 14 vectors
OF_LINK = 0.9                   # a GPU from pinned memory, of the link's own rate
SECOND_GPU = 1.95               # two GPUs over one, data on the devices

SHORT = {"num_passes": "N", "llr_clip": "clip"}
QPSK, QAM16, QAM64, QAM256 = (Setting(constellation=name)
                              for name in ("qpsk", "qam16", "qam64", "qam256"))
QAM16_8X8 = Setting(8, 8)


def shared(setting):
    """The setting with a matrix for 14 vectors, as many as an LTE subframe has symbols."""
    return replace(setting, per_channel=14)


def _nway(passes, setting, target=None):
    return Case("nway", {"num_passes": passes}, setting, target)


TARGETS = (
    _nway(1, QAM16, 1000), _nway(2, QAM16, 550), _nway(4, QAM16, 290),
    _nway(1, QAM64, 420), _nway(4, QAM64, 110),
    Case("fpfsd", {}, QAM16, 250), Case("fpfsd", {}, QAM64, 100),
    Case("sfsd", {}, QAM16, 250), Case("sfsd", {}, QAM64, 180),
    Case("mla", {}, QAM16, 10),
    Case("softsphere", {}, QAM16, 60), Case("softsphere", {}, QAM64, 10),
    Case("mmse", {}, QAM16, 800), Case("mmse", {}, QAM64, 700),
    Case("psd", {}, QPSK, 300), Case("psd", {}, QAM16, 60),
    Case("nway", {"num_passes": 4}, shared(QAM16), 1.1, "nway(N=4)"),
)

# For completeness; the exact enumerations of 64-QAM would take seconds for a vector.
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
        ("zf", {}), ("mmse", {}), ("nway", {"num_passes": 8}), ("fpfsd", {}),
        ("sfsd", {}), ("hfsd", {}), ("ep", {}), ("psd", {}), ("zfsic", {}), ("bitflip", {}))),
)

GPU_TARGETS = (
    _nway(1, QAM16, 150e3), _nway(2, QAM16, 85e3), _nway(4, QAM16, 45e3),
    _nway(1, QAM64, 60e3), _nway(4, QAM64, 15e3),
    Case("fpfsd", {}, QAM16, 45e3), Case("fpfsd", {}, QAM64, 15e3),
    Case("sfsd", {}, QAM16, 50e3), Case("sfsd", {}, QAM64, 30e3),
    Case("kbest", {"k": 16}, QAM16, 15e3),
    Case("mla", {}, QAM16, 2e3),
    Case("softsphere", {}, QAM16, 8e3), Case("softsphere", {}, QAM64, 1e3),
    Case("omap", {}, QAM16, 0.9e3),
    Case("psd", {}, QPSK, 20e3), Case("psd", {}, QAM16, 8e3),
    Case("mmse", {}, QAM16, 200e3),
)


def _same(case):
    return case.detector, sorted(case.parameters.items()), case.setting


GPU_OTHERS = (
    _nway(3, QAM16), Case("mmse", {}, QAM64),
    *(Case("softsphere", {"llr_clip": 8.0}, setting) for setting in (QAM16, QAM64)),
    _nway(4, shared(QAM16)), _nway(4, shared(QAM64)), Case("mmse", {}, shared(QAM16)),
    *(case for case in OTHERS if _same(case) not in map(_same, GPU_TARGETS)),
    _nway(4, QAM256), Case("fpfsd", {}, QAM256), _nway(6, Setting(6, 6)),
    _nway(8, Setting(8, 8, "qam64")),
)
