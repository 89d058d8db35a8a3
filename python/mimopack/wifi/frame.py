# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports of received frames."""

import math
from dataclasses import dataclass, field, replace

import numpy as np

from .fields import of_user, report
from .formats import FrameFormat

# Problem of a frame whose samples are not complete.
TRUNCATED = "truncated: the samples end before the frame does"

@dataclass
class ChannelState:
    """Channel matrices of a frame (CSI).

    Attributes:
        carriers: int64 (n,), indices of the subcarriers, ascending. An index is the distance from
            the centre of the frame's channel in carrier spacings.
        matrices: complex64 (n, num_rx, N_STS), H_k in Y_k = H_k X_k with E|X|^2 = 1 per space-time
            stream. Y is relative to full scale, so the mean power of antenna r is
            sum_k,i |H_k[r, i]|^2. The matrices exclude the standard's cyclic shifts and the phase
            rotations of a wide channel (gamma_k). The FFT window begins at the first path or
            before it.
        noise: float64 (num_rx,), noise power per antenna in one subcarrier, in the unit of
            ``|matrices|^2``.
    """

    carriers: np.ndarray
    matrices: np.ndarray
    noise: np.ndarray


@dataclass
class ReceivedFrame:
    """A frame that was found, and its decoded contents.

    Attributes:
        start: first sample of the short training field, counted from the start of the stream.
        num_samples: number of samples of the frame according to its signal fields.
        sample_rate: samples per second.
        frequency: centre frequency of the frame's channel in Hz; None if the frequency of the
            stream is unknown.
        format: :class:`formats.FrameFormat`; None if unknown or not supported.
        problem: why the frame was not decoded; "" if it was.
        cfo_hz: carrier frequency offset of the transmitter relative to the receiver, in Hz.
        snr_db: SNR in dB, mean over subcarriers and antennas.
        antenna_snr_db: (num_rx,), SNR of each antenna in dB.
        level_dbfs: (num_rx,), mean power of the preamble in dBFS. 0 dBFS is the power of a constant
            signal of magnitude 1.
        noise_dbfs: (num_rx,), noise power in the band of the frame, in dBFS.
        centre_hz: centre of the frame's channel in Hz, relative to the centre of the samples' band.
        psdu: bytes of the PSDU, correct or not.
        symbols: complex64 (num_symbols, data subcarriers, num_streams), equalised, or None.
        sampling_offset_ppm: offset of the transmitter's sampling clock in ppm. Like cfo_hz, it is
            positive if the transmitter's clock is fast. The uncertainty is about 10 ppm in frames
            shorter than 100 us. The value is 0 in frames without payload.
        condition_db: condition number of the channel matrices in dB, mean over subcarriers; nan
            without matrices.
        evm_db: (num_streams,), error vector magnitude of the equalised points in dB, per stream.
        detector: name of the detector used, with its parameters, as in "kbest:k=8"; "" if none was.
        scrambler_seed: scrambler seed of the transmitter, 1..127; 0 if it was not found.
        mpdus: tuple of :class:`mac.Mpdu`.
        complete: whether ``mpdus`` holds all MPDUs of the frame, each with a correct FCS. An A-MPDU
            is complete if no remaining part could hold another MPDU.
        channel: :class:`ChannelState`; None if there is none.
        users: tuple of :class:`ReceivedFrame`, one for each user of a frame of several users. The
            frame itself then has the facts of its first user, and the MPDUs of all.
        announced: dictionary of the fields that were read if ``format`` is None, with keys of
            :meth:`as_json`; empty if no fields were read.
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
    psdu: bytes = b""
    symbols: np.ndarray | None = None
    sampling_offset_ppm: float = 0.0
    condition_db: float = math.nan
    evm_db: tuple = ()
    detector: str = ""
    scrambler_seed: int = 0
    mpdus: tuple = ()
    complete: bool = False
    channel: ChannelState | None = None
    announced: dict = field(default_factory=dict)
    users: tuple = ()

    @property
    def parts(self):
        """The reports of all users; of a frame without users, the frame itself."""
        return self.users or (self,)

    @property
    def time(self):
        """Seconds from the first sample of the stream to the first sample of the frame."""
        return self.start / self.sample_rate

    @property
    def fcs_ok(self):
        """True if the frame has MPDUs, and every MPDU found has a correct FCS."""
        return bool(self.mpdus) and all(mpdu.fcs_ok for mpdu in self.mpdus)

    def as_json(self):
        """Return the report as a dictionary for JSON. Unknown values are None."""
        values = self.facts()
        values["psdu"] = self.psdu.hex()
        values["mpdus"] = _mpdus_as_json(self.mpdus)
        values["users"] = [
            of_user(user) | {"psdu": user.psdu.hex(), "mpdus": _mpdus_as_json(user.mpdus)}
            for user in self.users]
        return values

    def facts(self):
        """Return the dictionary of :meth:`as_json` without the keys psdu, mpdus and users."""
        return report(self)

    @property
    def sample_rate_scale(self):
        """Sample rate / (20 MS/s), at most 1: 0.5 or 0.25 in a 10 or 5 MHz channel of 802.11p."""
        return min(1.0, self.sample_rate / 20e6)


def of_users(users):
    """Return the report of a frame with the reports of its users."""
    first, *others = users
    return replace(
        first, users=tuple(users), psdu=b"" if others else first.psdu,
        mpdus=tuple(mpdu for user in users for mpdu in user.mpdus),
        complete=all(user.complete for user in users))


def _mpdus_as_json(mpdus):
    return [{"hex": data.hex(), "fcs_ok": fcs_ok} for data, fcs_ok, _ in mpdus]


@dataclass
class FrameVectors:
    """Received vectors and channel matrices of a frame, for a MIMO detector.

    Model: y = H x + w with E|x_i|^2 = 1 and w ~ CN(0, noise_var I), since y and H are divided by
    the standard deviation of the noise of each antenna. A detector takes the attributes as they
    are: ``detector.detect(vectors.y, vectors.h, vectors.noise_var)``.

    Attributes:
        frame: :class:`ReceivedFrame` without PSDU and MPDUs. Its ``problem`` says why there are no
            vectors.
        y: complex64 (n, R), n = num_data * T received vectors of the num_data subcarriers. The T
            vectors of a subcarrier follow each other. Subcarriers ascend. T counts the data
            symbols, or their pairs with a space-time block code. The R rows are the antennas. A
            duplicate frame has one row per antenna and copy, a space-time block code two rows per
            antenna. None if ``frame`` has a problem.
        h: complex64 (num_data, R, S), channel matrices; each holds for T vectors. The S columns are
            the streams. A space-time block code has two columns per stream.
        noise_var: variance of the noise and of the channel estimation error.
        nested: whether the frame began before an earlier frame had ended according to its signal
            fields. Such a frame is real only if it has an MPDU with a correct FCS.
        sig_b: VHT-SIG-B without tail, a byte for each bit; empty for other formats.
    """

    frame: ReceivedFrame
    y: np.ndarray | None = None
    h: np.ndarray | None = None
    noise_var: float = math.nan
    nested: bool = False
    sig_b: bytes = b""
