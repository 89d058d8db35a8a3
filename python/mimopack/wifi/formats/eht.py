# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""EHT frames (802.11be, clause 36) for one user: EHT MU without OFDMA.

The numbers of sections, equations and tables are those of IEEE 802.11be-2024.
"""

from dataclasses import dataclass
from functools import cached_property

from ...checks import integer
from ..he_signal_b import bits_per_symbol
from .base import TAIL, Unsupported
from .he import HE, HE_MCS

# Bits of the EHT-SIG of a frame for one user: common field, User field, CRC and tail (§36.3.12.8).
COMMON, USER, CRC = 20, 22, 4
# {field EHT-SIG MCS: (MCS, whether it has dual carrier modulation)}
SIG_MCS = ((0, False), (1, False), (3, False), (0, True))


@dataclass(frozen=True)
class EHT(HE):
    """An EHT MU frame for one user without OFDMA.

    Its symbols and coding are those of an HE frame that fills the channel. It has 4096-QAM, a
    scrambler with 11 bits of state, and EHT-SIG in place of HE-SIG-B.

    The EHT-LTFs are assumed to be HE's of the same bandwidth. Frames of another implementation
    confirm that in 20 MHz. In 80 and 160 MHz, 802.11be probably has sequences of its own.

    Args:
        mcs: 0..13, or 15 for BPSK of rate 1/2 with dual carrier modulation and one stream. BCC has
            MCS 0..9 and 15.
        bandwidth_mhz: 20, 40, 80 or 160. Wider channels than 20 MHz need LDPC.
        gi_us, ltf: 2x EHT-LTFs with 0.8 or 1.6 us, 4x EHT-LTFs with 0.8 or 3.2 us.
        packet_extension_us: 0, 4, 8, 12, 16 or 20.
        sig_mcs: field EHT-SIG MCS, 0..3: BPSK, QPSK, 16-QAM, and BPSK with dual carrier modulation,
            all of rate 1/2.
        num_sig_b: number of EHT-SIG symbols; 0 takes as many as needed.
        sta_id: 11 bits of the receiver's association identifier.

    The other arguments are those of :class:`HE`. EHT frames have no STBC and no midambles; ``dcm``
    follows from the MCS.

    Raises:
        Unsupported, ValueError: as for :class:`HE`.
    """

    name: str = "eht-mu"
    sig_mcs: int = 0

    scrambler = 11
    NAMES = ("eht-mu",)
    # MCS 14 sends all twice in a channel of 80 MHz or more (EHT DUP).
    MCS = (*HE_MCS, ("wlan_qam4096", "3/4"), ("wlan_qam4096", "5/6"), None, ("wlan_bpsk", "1/2"))
    EXTENSIONS_US = (*HE.EXTENSIONS_US, 20)

    def __post_init__(self):
        integer("sig_mcs", self.sig_mcs, 0, len(SIG_MCS) - 1)
        integer("num_sig_b", self.num_sig_b, 0, 32)
        if not self.num_sig_b:
            object.__setattr__(self, "num_sig_b", sig_symbols(self.sig_mcs))
        if self.dcm and self.mcs != 15:
            raise ValueError(f"dcm: got True with MCS {self.mcs}, only MCS 15 has it")
        object.__setattr__(self, "dcm", self.mcs == 15)
        super().__post_init__()

    def _check_combination(self):
        for name in ("stbc", "midamble", "masked_ltf"):
            if getattr(self, name):
                raise ValueError(f"{name}: got {getattr(self, name)}, EHT frames do not have it")
        if self.num_streams > 4:
            raise Unsupported(f"{self.num_streams} spatial streams")
        if self.dcm and self.num_streams > 1:
            raise Unsupported(f"EHT MCS 15 with {self.num_streams} streams (excluded by the "
                              "standard)")
        if self.coding == "bcc" and (self.ru.size > 242 or 9 < self.mcs < 15):
            raise Unsupported(f"BCC with EHT MCS {self.mcs} on {self.ru.size} tones (excluded by "
                              "the standard)")

    @cached_property
    def doppler(self):
        """None: EHT frames have no such field."""
        return None


def sig_symbols(sig_mcs):
    """Return the number of symbols that the EHT-SIG of a frame for one user needs."""
    return -(-(COMMON + USER + CRC + TAIL) // bits_per_symbol(*SIG_MCS[sig_mcs]))
