# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Soft MIMO detectors on arrays, with one interface (see ``Detector``).

    det = detectors.NWay(num_tx=4, num_rx=4, constellation="qam16")
    llr = det.detect(y, h, noise_var)          # (n, nt*m) float32, ln P(1)/P(0)
    det = detectors.create("nway:num_passes=2", num_tx=4)    # by name

Here n is the number of received vectors, nt the number of layers (transmit antennas), nr the number
of receive antennas, M the number of constellation points and m = log2(M) the bits per symbol. The
numbers 000 to 004 stand for papers; docs/references.md lists them.
"""

from .base import Detector
from .breadth_first import KBest, Trellis
from .exhaustive import MLA, OMAP
from .fsd import HFSD, SFSD
from .iterative import EP, MMSEPIC
from .linear import MMSE, ZF
from .lookup import compile_module, find, look_up, names, register
from .nway import FPFSD, NWay
from .sic import ZFSIC, BitFlip
from .softsphere import SoftSphere
from .sphere import ASD, PSD, SD

# The class of each detector by its name. ``register`` adds to them, and ``find`` the detectors of
# installed packages.
REGISTRY = {detector.name: detector for detector in (
    ZF, MMSE, MMSEPIC, EP, NWay, FPFSD, HFSD, SFSD, ZFSIC, BitFlip, KBest, Trellis, SD, ASD, PSD,
    SoftSphere, MLA, OMAP)}


def create(name, **parameters):
    """Make a detector by its name.

    Args:
        name: one of ``names()``; parameters may follow, as in "nway:num_passes=2".
        parameters: keyword arguments of the detector's class.

    Raises:
        ValueError: there is no detector of this name, a parameter after the name does not exist, or
            a parameter has a forbidden value.
        TypeError: the detector does not have one of the keyword arguments.
    """
    factory = look_up(name)
    return factory.kind(**factory.keywords | parameters)


def hard_decisions(llr):
    """Return the bits (uint8) of LLRs of any shape: 1 where the LLR is positive."""
    return (llr > 0).astype("uint8")


__all__ = ["ASD", "EP", "FPFSD", "HFSD", "MLA", "MMSE", "MMSEPIC", "OMAP", "PSD", "REGISTRY", "SD",
           "SFSD", "ZF", "ZFSIC", "BitFlip", "Detector", "KBest", "NWay", "SoftSphere", "Trellis",
           "compile_module", "create", "find", "hard_decisions", "look_up", "names", "register"]
