# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hints for a recording without frames: signal levels, and other ways to read the file."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from ... import recording, wifi
from ...wifi.synchroniser import SAMPLE_RATES
from .reading import nearest_rate
from .words import plural

TRIED_SAMPLES = 1 << 18    # samples tried per reading
_FORMATS = ("ci16_le", "cf32_le", "ci8", "cu8", "ci16_be", "cf32_be")
_CHANNELS = (1, 2, 4)
_RATES = (20e6, 25e6, 30.72e6, 40e6, 50e6, 61.44e6, 80e6)
# Report shares from these limits on: of clipped components, and of the power at 0 Hz.
_CLIPPED, _DIRECT = 1e-3, 0.3
_LOW_DBFS = -80
_SAME_RATE = 1e-3    # relative difference of two rates that need no two trials
_LEAST_OFFSET = 150    # Hz
# Samples at 20 MS/s, if frames were lost and if not: in a cabled set-up, the cyclic shifts of the
# transmit antennas are delays of up to 4 samples, and do no harm.
_LEAST_DELAY = {True: 3, False: 5}
_FULL_SCALE_OF_NOISE = (-2.5, -0.5)    # dBFS: uniformly distributed I and Q have -1.8 dBFS


class Levels:
    """Power, DC offset and clipping of a recording's channels, over all pieces.

    Args:
        num_channels: number of channels in the recording.
        largest: largest component in the sample format, None for floating point.

    Attributes:
        samples: number of samples of each channel so far.
        loudest: (power, first sample) of the piece with the most power.
    """

    def __init__(self, num_channels, largest):
        self._largest = largest
        self.samples = 0
        self.loudest = (-1.0, 0)
        self._power = np.zeros(num_channels)
        self._mean = np.zeros(num_channels, complex)
        self._before = 0.0
        self._clipped = np.zeros(num_channels, int)
        self._broken = np.zeros(num_channels, int)

    def add(self, piece):
        """Add the next samples (num_channels, n)."""
        for channel, samples in enumerate(piece):
            parts = samples.view(np.float32)
            with np.errstate(all="ignore"):
                power, mean = float(np.dot(parts, parts)), complex(samples.sum())
            if not np.isfinite(power) or not np.isfinite(mean):
                good = samples[np.isfinite(samples) & (np.abs(samples) < 1e15)]
                self._broken[channel] += samples.size - good.size
                power, mean = float(np.vdot(good, good).real), good.sum(dtype=complex)
            elif not power and parts.any():    # float32 has no such small squares
                power = float(np.square(parts, dtype=float).sum())
            self._power[channel] += power
            self._mean[channel] += mean
            largest = self._largest
            if largest is not None and max(parts.max(), -parts.min()) >= largest:
                self._clipped[channel] += np.count_nonzero(np.abs(parts) >= largest)
        total = float(self._power.sum())
        if total - self._before > self.loudest[0]:
            self.loudest = (total - self._before, self.samples)
        self._before = total
        self.samples += piece.shape[1]

    @property
    def dbfs(self):
        """Mean power in dBFS, (num_channels,); 0 dBFS is a constant signal of magnitude 1."""
        return 10 * np.log10(np.maximum(self._power / max(self.samples, 1), 1e-30))

    @property
    def silent(self):
        """Return whether all samples are 0."""
        return not self._power.any() and not self._broken.any()

    def as_json(self):
        """Return a dictionary for JSON."""
        count = max(self.samples, 1)
        return {"level_dbfs": [round(float(level), 2) for level in self.dbfs],
                "clipped_share": [float(n) / (2 * count) for n in self._clipped],
                "direct_current_share": [round(float(share), 6) for share in self._direct_share()],
                "not_finite": self._broken.tolist()}

    def _direct_share(self):
        count = max(self.samples, 1)
        return np.abs(self._mean / count)**2 / np.maximum(self._power / count, 1e-30)

    def remarks(self):
        """Return a sentence for each oddity of the samples."""
        said = ["levels: " + ", ".join(f"{level:.1f} dBFS" for level in self.dbfs)
                + " (mean power; 0 dBFS is a constant signal of magnitude 1)"]
        if self.silent:
            return ["all samples are 0"]
        for channel, level in enumerate(self.dbfs):
            name = f"channel {channel}" if self._power.size > 1 else "the recording"
            clipped = self._clipped[channel] / (2 * max(self.samples, 1))
            direct = self._direct_share()[channel]
            if not self._power[channel] and not self._broken[channel]:
                said.append(f"{name} holds only zeros")
            elif level < _LOW_DBFS and not self._broken[channel]:
                said.append(f"{name} is very weak: was the gain too low, is the format right?")
            if self._largest is None and level > 100:
                said.append(f"{name} is stronger than any radio's samples: is the format right?")
            if clipped > _CLIPPED:
                said.append(f"{name} is clipped: {100 * clipped:.1f} % of its values are at full "
                            "scale; was the gain too high?")
            if direct > _DIRECT:
                said.append(f"{name} has {100 * direct:.0f} % of its power at 0 Hz (DC offset)")
            if self._broken[channel]:
                said.append(f"{name} has {self._broken[channel]} samples that are NaN, infinite or "
                            "beyond 1e15: is the format right?")
            if (self._largest is not None and direct < 0.01
                    and _FULL_SCALE_OF_NOISE[0] < level < _FULL_SCALE_OF_NOISE[1]):
                said.append(f"{name} fills its whole range evenly, like bytes of another format or "
                            "byte order")
        return said


def antenna_remarks(samples, sample_rate, lost):
    """Return a sentence for each oddity of the antennas.

    Args:
        samples, sample_rate: as for ``wifi.compare_antennas``.
        lost: whether frames were lost.
    """
    reference, antennas = wifi.compare_antennas(samples, sample_rate)
    best, least = antennas[reference], _LEAST_DELAY[lost] * SAMPLE_RATES[sample_rate]
    remarks = []
    for index, antenna in enumerate(antennas):
        if antenna.copy_of is not None:
            remarks.append(f"antennas {antenna.copy_of} and {index} hold the same samples: was one "
                           "recorded twice?")
        if best.frames >= 5 and antenna.frames <= best.frames / 10:
            remarks.append(f"antenna {index} finds {antenna.frames} frames by itself, antenna "
                           f"{reference} finds {best.frames}: is it connected, and is its gain "
                           "right?")
        if abs(antenna.delay) >= least:
            remarks.append(f"antenna {index} is {abs(antenna.delay)} samples "
                           f"{'later' if antenna.delay > 0 else 'earlier'} than antenna "
                           f"{reference}: start all antennas at one sample; --align corrects a "
                           "constant delay")
        if abs(antenna.offset_hz) >= _LEAST_OFFSET:
            remarks.append(f"antenna {index} has another carrier than antenna {reference}, by "
                           f"{antenna.offset_hz:+.0f} Hz: give all radios one reference clock; "
                           "--align corrects a constant offset")
    return remarks


@dataclass(frozen=True)
class Reading:
    """Another way to read the bytes of a recording.

    Attributes:
        datatype, num_channels, sample_rate: as for ``recording.open_recording``.
        words: description for people, with the options to use.
        swap_iq: whether to exchange I and Q.
    """

    datatype: str
    num_channels: int
    sample_rate: float
    words: str
    swap_iq: bool


def other_readings(reader, swap_iq):
    """Return the readings worth a trial, most likely first.

    Args:
        reader: reader of the recording. For a collection, only the rate is changed, and I and Q.
        swap_iq: whether the first attempt has exchanged I and Q.
    """
    same = partial(Reading, reader.datatype, reader.num_channels)
    readings = [same(reader.sample_rate, "without --swap-iq" if swap_iq else
                     "with I and Q exchanged (--swap-iq)", not swap_iq)]
    readings += [same(rate, f"at {rate / 1e6:g} MS/s (--rate {rate / 1e6:g}e6)", swap_iq)
                 for rate in _RATES
                 if abs(rate / max(reader.sample_rate, 20e6) - 1) > _SAME_RATE]
    if _is_collection(reader):
        return readings
    formats = (reader.datatype, *(name for name in _FORMATS if name != reader.datatype))
    counts = (reader.num_channels, *(n for n in _CHANNELS if n != reader.num_channels))
    for name in formats:
        for count in counts:
            changed = [f"as {plural(count, 'channel')} (--channels {count})"] * (
                count != reader.num_channels) + [
                f"as {name} (--format {name})"] * (name != reader.datatype)
            if changed:
                readings.append(Reading(name, count, reader.sample_rate, " ".join(changed),
                                        swap_iq))
    return readings


def _is_collection(reader):
    return isinstance(reader, recording.Reader) and len(reader.streams) > 1


def try_reading(reader, reading, first):
    """Return the number of MPDUs with a correct FCS in a part of a recording, read in another way.

    Args:
        reader: reader of the recording.
        reading: :class:`Reading`.
        first: sample of ``reader`` to begin at.
    """
    kind = recording.get_datatype(reader.datatype)
    other = recording.get_datatype(reading.datatype)
    position = first * reader.num_channels * kind.component.itemsize
    rate, equal = nearest_rate(reading.sample_rate)
    try:
        # The reader was opened, so its files are allowed.
        opened = recording.Adjusted(recording.open_recording(
            reader.path, reading.datatype,
            None if _is_collection(reader) else reading.num_channels, reading.sample_rate,
            allow_outside=True), None if equal else rate, reading.swap_iq)
        start = min(int(position / (reading.num_channels * other.component.itemsize)
                        / opened.ratio), opened.num_samples)
        samples = opened.read(start, min(TRIED_SAMPLES, opened.num_samples - start))
    except (ValueError, OSError):
        return 0    # fewer bytes than one sample
    with np.errstate(all="ignore"):
        power = np.mean(np.abs(samples)**2, axis=1, dtype=float)
    # Bytes of another format often give such floats.
    if not np.isfinite(power).all() or power.max(initial=0) > 1e12:
        return 0
    receiver = wifi.Receiver(reading.num_channels, rate, detector="mmse")
    receiver.process(samples)
    receiver.finish()
    return receiver.counts["mpdus_ok"]


def search(reader, swap_iq, first, on_trial):
    """Try other readings of a recording without frames; return (whether one works, sentences).

    Args:
        reader, swap_iq: as for ``other_readings``.
        first: sample of the reader from which on they are tried.
        on_trial: function called before each trial with the completed share.
    """
    readings, fitting = other_readings(reader, swap_iq), []
    for index, reading in enumerate(readings):
        on_trial(index / len(readings))
        good = try_reading(reader, reading, first)
        if good:
            fitting.append((good, reading))
    part = f"{min(TRIED_SAMPLES, reader.num_samples)} samples from sample {first}"
    if fitting:
        fitting.sort(key=lambda trial: -trial[0])
        return True, [f"read {reading.words}, {part} on hold {plural(good, 'MPDU')} with a correct "
                      "frame check sequence" for good, reading in fitting[:3]]
    rates = ", ".join(f"{reading.sample_rate / 1e6:g}" for reading in readings
                      if reading.sample_rate != reader.sample_rate)
    text = f"Also tried, without success, on {part}: {readings[0].words}; {rates} MS/s"
    if not _is_collection(reader):
        text += (f"; {', '.join(map(str, _CHANNELS))} channels; the formats "
                 + ", ".join(_FORMATS))
    return False, [text]
