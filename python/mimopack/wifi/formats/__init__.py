# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Frame formats, one module each. These modules hold everything that depends on the format."""

from .base import FrameFormat, Unsupported
from .eht import EHT
from .he import HE
from .he_mu import HEMU
from .ht import HT
from .joint import Joint, JointHE
from .non_ht import NonHT
from .vht import VHT

__all__ = ["BY_NAME", "EHT", "HE", "HEMU", "HT", "VHT", "FrameFormat", "Joint", "JointHE",
           "NonHT", "Unsupported"]

# Classes of received frames. The part of an HE MU frame for one user is an HE frame.
BY_NAME = {kind.name: kind for kind in (NonHT, HT, VHT)}
BY_NAME |= dict.fromkeys(HE.NAMES, HE) | dict.fromkeys(EHT.NAMES, EHT)
