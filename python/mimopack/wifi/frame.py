# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports of received frames."""

import math
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from .formats import FrameFormat

TRUNCATED = "truncated: the samples end before the frame does"
# What only one format's signal fields say.
_OWN = {"ht": ("aggregated", "greenfield"),
        "vht": ("aggregated", "beamformed", "group_id", "partial_aid")}
_NOT_KNOWN = dict.fromkeys(("format", "mcs", "num_streams", "stbc", "bandwidth_mhz", "short_gi",
                            "coding", "length", "aggregated", "greenfield", "beamformed",
                            "group_id", "partial_aid"))


@dataclass(frozen=True)
class ChannelState:
    """Channel matrices of a frame (CSI).

    Attributes:
        carriers: int64 (n,), numbers of the subcarriers, ascending: distance from the centre of the
            frame's channel in units of the carrier spacing.
        matrices: complex64 (n, num_rx, N_STS). Y_k = H_k X_k with E|X|^2 = 1 per space-time
            stream and Y in full scales of the samples: the mean power of antenna r at the
            input is sum_k,i |H_k[r, i]|^2. The standard's cyclic shifts and the turns of a
            wide channel's parts (gamma_k) are taken out; the FFT window begins at the first
            path or before it.
        noise: float64 (num_rx,), noise power of an antenna in one subcarrier, in the same unit.
    """

    carriers: np.ndarray
    matrices: np.ndarray
    noise: np.ndarray


@dataclass
class ReceivedFrame:
    """A frame that was found, with what was decoded of it.

    Attributes:
        start: sample of the stream at which its short training field begins.
        num_samples: samples that it takes by its signal fields.
        sample_rate: samples per second.
        frequency: centre of the frame's channel in Hz; None where the stream's is not known.
        centre_hz: the same against the centre of the samples' band.
        format: :class:`formats.FrameFormat`; None where it is not known or not supported.
        problem: why nothing was decoded; "" where something was.
        cfo_hz: carrier offset of the transmitter against the receiver.
        sampling_offset_ppm: offset of its sampling clock, positive where it is fast, as cfo_hz is;
            uncertain by about 10 ppm in frames below 100 us, 0 in frames without payload.
        snr_db: mean over antennas of signal over noise power, per subcarrier.
        antenna_snr_db: (num_rx,) the same of each antenna.
        level_dbfs: (num_rx,) mean power of the frame's preamble, 0 for a constant of magnitude 1.
        noise_dbfs: (num_rx,) noise power in the band that the frame takes, likewise.
        condition_db: condition number of the channel matrices, mean over subcarriers of its dB;
            nan where there are none.
        evm_db: (num_streams,) error vector magnitude of the equalised points of each stream.
        detector: name of the detector in use, "" where none was.
        scrambler_seed: that of the transmitter, 0 where it was not found.
        psdu: bytes, right or wrong.
        mpdus: tuple of :class:`mac.Mpdu`.
        complete: whether these are all MPDUs of the frame and their frame check sequences fit: of
            an A-MPDU no part is left in which another could have been.
        channel: :class:`ChannelState`; None where there is none.
        symbols: complex64 (num_symbols, data subcarriers, num_streams), equalised, or None.
        announced: what the signal fields say where format is None, with the keys of
            :meth:`as_json`; empty where they were not read.
    """

    start: int
    num_samples: int
    sample_rate: float
    frequency: float | None
    format: FrameFormat | None
    problem: str
    cfo_hz: float
    snr_db: float
    antenna_snr_db: tuple
    level_dbfs: tuple
    noise_dbfs: tuple
    centre_hz: float = 0.0
    sampling_offset_ppm: float = 0.0
    condition_db: float = float("nan")
    evm_db: tuple = ()
    detector: str = ""
    scrambler_seed: int = 0
    psdu: bytes = b""
    mpdus: tuple = ()
    complete: bool = False
    channel: ChannelState | None = None
    symbols: np.ndarray | None = None
    announced: dict = field(default_factory=dict)

    @property
    def time(self):
        """Seconds from the stream's first sample to the frame's."""
        return self.start / self.sample_rate

    @property
    def fcs_ok(self):
        """Whether there are MPDUs and the frame check sequences of all that were found fit."""
        return bool(self.mpdus) and all(mpdu.fcs_ok for mpdu in self.mpdus)

    def as_json(self):
        """A dictionary of what JSON has; ``format`` is None where it is not known."""
        return self.facts() | {
            "psdu": self.psdu.hex(),
            "mpdus": [{"hex": mpdu.data.hex(), "fcs_ok": mpdu.fcs_ok} for mpdu in self.mpdus]}

    def facts(self):
        """:meth:`as_json` without the bytes, the keys psdu and mpdus."""
        return {
            "start": self.start, "time": self.time, "num_samples": self.num_samples,
            **_NOT_KNOWN, **(self.announced if self.format is None
                             else _of_format(self.format, self.sample_rate_scale)),
            "problem": self.problem, "cfo_hz": _json(self.cfo_hz),
            "sampling_offset_ppm": _json(self.sampling_offset_ppm), "snr_db": _json(self.snr_db),
            "antenna_snr_db": _json(self.antenna_snr_db), "level_dbfs": _json(self.level_dbfs),
            "noise_dbfs": _json(self.noise_dbfs), "condition_db": _json(self.condition_db),
            "evm_db": _json(self.evm_db), "detector": self.detector,
            "scrambler_seed": self.scrambler_seed, "frequency": self.frequency,
            "complete": self.complete}

    @property
    def sample_rate_scale(self):
        """1; 0.5 or 0.25 for the 10 and 5 MHz channels of 802.11p."""
        return min(1.0, self.sample_rate / 20e6)


@lru_cache(maxsize=1024)
def _of_format(f, scale):
    """What :meth:`ReceivedFrame.facts` tells of a format; scale of the nominal 20 MS/s."""
    # Narrow channels divide the rate in Mbit/s, which the MCS of a non-HT frame is.
    mcs = f.mcs if f.name != "non-ht" or scale == 1 else f.mcs * scale
    return {"format": f.name, "mcs": mcs, "num_streams": f.num_streams, "stbc": f.stbc,
            "bandwidth_mhz": f.bandwidth_mhz * scale, "short_gi": f.short_gi, "coding": f.coding,
            "length": f.length, **{name: getattr(f, name) for name in _OWN.get(f.name, ())}}


def _json(value):
    """A number that JSON has, None for nan and infinities; tuples element by element."""
    if type(value) is tuple:
        return [round(float(one), 3) if math.isfinite(one) else None for one in value]
    return round(float(value), 3) if math.isfinite(value) else None
