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
from .vht_mu import VHTMU, VHTUser

__all__ = ["BY_NAME", "EHT", "HE", "HEMU", "HT", "VHT", "VHTMU", "FrameFormat", "Joint",
           "JointHE", "NonHT", "Unsupported"]

# Classes of received frames. The part of an HE MU frame for one user is an HE frame, and that of a
# VHT frame for several users a VHTUser.
BY_NAME = {kind.name: kind for kind in (NonHT, HT, VHT, VHTUser)}
BY_NAME |= dict.fromkeys(HE.NAMES, HE) | dict.fromkeys(EHT.NAMES, EHT)
