# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From samples to received vectors and channel matrices: the first steps of the receive chain."""

from collections import Counter
from dataclasses import replace

from .. import constellation as constellations
from ..checks import choice, flag, integer, positive
from .decoder import FrameDecoder, Settings
from .formats import EHT, Joint
from .formats.ht import UNEQUAL
from .frame import FrameVectors
from .he_users import SeveralUsers, users_of
from .synchroniser import Synchroniser

# How the problem of a frame begins that is not among the chosen ones.
NOT_CHOSEN = "not chosen: "
CONSTELLATIONS = tuple(dict.fromkeys(row[0] for row in EHT.MCS if row))    # of all formats


def stream_constellations(value):
    """Check a constellation of frames: a name, or the names of unequal modulation.

    Raises:
        ValueError: no frame has it.
    """
    unequal = tuple(dict.fromkeys(names for names, _ in UNEQUAL.values()))
    return value if value in unequal else choice("constellation", value, CONSTELLATIONS)


class ChannelEstimator:
    """Find frames in samples, estimate their channels and cut out their received vectors.

    These are the first steps of :class:`Receiver`. A MIMO detector and :class:`LlrDecoder` are the
    others. One thread at a time may use an object.

    Args:
        num_rx, sample_rate, frequency: see :class:`Receiver`.
        num_streams: number of streams of the frames to demodulate, 1..4, without a space-time block
            code and duplicates, so that H has ``num_rx`` rows and ``num_streams`` columns. None
            takes all frames.
        constellation: constellation of these frames, such as "wlan_qam16", or of the streams of
            unequal modulation, such as "wlan_qam16,wlan_qpsk"; None takes any.
        whitening, smoothing, threshold, he_trigger: see :class:`Receiver`. Trigger frames in the
            samples are not read.

    Raises:
        ValueError: an argument is not as above.

    Attributes:
        counts: Counter of "samples", "preambles", "frames" (found) and "demodulated". Frames that
            were not demodulated are counted under their problem.
    """

    def __init__(self, num_rx=1, sample_rate=20e6, frequency=None, num_streams=None,
                 constellation=None, whitening="antennas", smoothing=True, threshold=0.35,
                 he_trigger=None):
        self._sync = Synchroniser(num_rx, sample_rate, threshold, whitening, he_trigger)
        self.num_rx, self.sample_rate = self._sync.num_rx, self._sync.sample_rate
        self.num_streams = None if num_streams is None else integer(
            "num_streams", num_streams, 1, min(4, self.num_rx))
        self.constellation = (None if constellation is None
                              else stream_constellations(constellation))
        if None not in (self.num_streams, self.constellation):
            constellations.of_layers(self.constellation, self.num_streams)    # or ValueError
        frequency = None if frequency is None else positive("frequency", frequency)
        self._decoder = FrameDecoder(Settings(
            self.num_rx, self.sample_rate, self._sync.scale, frequency, detector=None,
            smoothing=flag("smoothing", smoothing), passes=1, iterations=1, feedback_scale=1.0,
            covariance=whitening == "covariance", detector_threads=1))
        self.counts = Counter()

    @property
    def threshold(self):
        """Threshold of preamble detection, for the next samples."""
        return self._sync.threshold

    @threshold.setter
    def threshold(self, threshold):
        self._sync.threshold = threshold

    def process(self, samples):
        """Process the next samples.

        Args:
            samples: (num_rx, n) complex, any n.

        Returns:
            list of :class:`FrameVectors` of the frames whose samples are complete, in the order of
            the stream. An HE MU frame has one for each user.

        Raises:
            ValueError: the shape is wrong.
        """
        return self._demodulated(self._sync.process(samples))

    def finish(self):
        """End the stream: return the remaining frames, and begin a new stream at sample 0."""
        return self._demodulated(self._sync.finish())

    def restart(self, origin=0):
        """Drop frames in progress. The next sample becomes sample ``origin`` of the stream."""
        self._sync.restart(origin)

    def _demodulated(self, found):
        self.counts["samples"] = self._sync.samples_seen
        self.counts["preambles"] = self._sync.preambles
        self.counts["frames"] += len(found)
        found = [part for one in found for part in self._parts(one)]
        out, able = [None] * len(found), []
        for index, one in enumerate(found):
            problem = self._decoder.problem(one) or self._refusal(one.format)
            if problem:
                out[index] = self._decoder.failed(one, problem)
            else:
                able.append(index)
        for batch in self._decoder.batches([found[i] for i in able], 1):
            indices = [able[i] for i in batch]
            for index, vectors in zip(indices, self._decoder.demodulate(
                    [found[i] for i in indices]), strict=True):
                out[index] = vectors
        for index, one in enumerate(out):
            if isinstance(one, FrameVectors):
                self.counts["demodulated"] += 1
            else:
                self.counts[one.problem] += 1
                out[index] = FrameVectors(one, nested=found[index].inside)
        return out

    def _parts(self, one):
        """Return the parts of a frame of several users, each for a user; or the frame itself."""
        if not isinstance(one.several, SeveralUsers) or one.truncated:
            return [one]
        users, reason = users_of(one, self._sync.scale)
        return [replace(one, format=user, several=None) for user in users] or [
            replace(one, problem=reason or one.problem)]

    def _refusal(self, f):
        """Return why frames of a format are not demodulated; "" if they are."""
        if f.midamble:
            return "midambles, which the open chain does not take"
        if isinstance(f, Joint):
            return "users that share a resource unit, whom the open chain does not take"
        others = self.num_streams is not None and (
            f.num_streams != self.num_streams or f.stbc or f.plan.copies > 1)
        if others or self.constellation not in (None, f.constellation):
            kind = ", STBC" if f.stbc else ", duplicate" if f.plan.copies > 1 else ""
            return (f"{NOT_CHOSEN}num_streams={f.num_streams}, "
                    f"constellation={f.constellation}{kind}")
        return ""
