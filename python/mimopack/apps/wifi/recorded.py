# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The frames of a recording, and what to check if none was decoded."""

from bisect import bisect_left, bisect_right
from contextlib import suppress
from itertools import pairwise
from threading import Thread

import numpy as np

from ... import recording, wifi
from ...recording.timeline import between
from ...wifi.auto_detector import AUTO, strongest
from ...wifi.receiver import DEFAULT_DETECTOR
from .hints import Levels, antenna_remarks, search
from .reading import introduce, nearest_rate, own_files
from .source import FrameSource
from .words import plural

_PIECE = 1 << 20    # samples per antenna in each call of the receiver
_COMPARED = 1 << 19    # samples per antenna in which antennas are compared
_FRAMES_TO_ALIGN = 20    # enough to measure antennas
# Advice if all frames were lost for a reason with these words.
_ADVICE = {
    "but the frame has": "The frames have more streams than the recording has channels: are there "
                         "recordings of more antennas (--channels)?",
    "cannot detect": f"Another detector (--detector) can decode these frames, such as "
                     f"{DEFAULT_DETECTOR}.",
    "Trigger frame": "--he-trigger FILE can tell what the Trigger frame has asked for: "
                     "docs/wifi.md.",
    "EHT ": "The receiver names these frames of 802.11be, but does not decode them.",
    "failed: ": "The program failed on each of these frames: the error above says where."}


class RecordedFrames(FrameSource):
    """The frames of a recording.

    Args:
        reader: ``recording.Reader`` or ``recording.RawReader``.
        sample_rate: sample rate, one that the receiver supports.
        swap_iq: whether to exchange I and Q.
        align: whether to correct constant delays and carrier offsets between antennas.
        keep_symbols: whether the frames have equalised points.
        options: further arguments of the receiver.

    Raises:
        ValueError, ImportError: as for ``wifi.Receiver``.
    """

    def __init__(self, reader, sample_rate, swap_iq=False, align=False, keep_symbols=False,
                 **options):
        super().__init__(sample_rate, reader.num_channels)
        self._reader, self._swap_iq, self._align = reader, swap_iq, align
        self._keep_symbols = keep_symbols
        self._samples = self._adjusted()
        if options.get("detector") == AUTO:    # a recording can wait
            options["detector"] = strongest(options["backend"], options["threads"])
        self._receiver = wifi.Receiver(reader.num_channels, sample_rate, reader.frequency,
                                       keep_symbols=keep_symbols, **options)
        self._segments = getattr(reader, "segments", [])
        self._gaps = [round(segment.start / self._samples.ratio)
                      for before, segment in pairwise(self._segments)
                      if is_gap(before, segment, self._samples.ratio * sample_rate)]
        self._levels = Levels(reader.num_channels, reader.largest)
        self.title = recording.printable(str(reader.path))
        self.seconds = self._samples.num_samples / sample_rate
        self.start_time, self.own_files = reader.start_time, own_files(reader)

    def _adjusted(self, **alignment):
        """Return the recording's samples as the receiver takes them."""
        equal = nearest_rate(self._reader.sample_rate)[1]
        return recording.Adjusted(self._reader, None if equal else self.sample_rate,
                                  self._swap_iq, **alignment)

    @property
    def samples(self):
        """Number of samples per channel searched so far."""
        return self._levels.samples

    def want_symbols(self, wanted):
        """Set whether the next frames should have equalised points."""
        self._receiver.keep_symbols = wanted or self._keep_symbols

    def introduce(self, say, warn):
        super().introduce(say, warn)
        introduce(self._reader, self.sample_rate * self._samples.ratio, say, warn)
        if self._gaps:
            say(f"note: according to the times of its capture segments there "
                f"{'is' if len(self._gaps) == 1 else 'are'} {plural(len(self._gaps), 'gap')}")

    def frames(self, progress):
        """Yield each frame and its time; see ``FrameSource``."""
        checksums = self._compare_checksums()
        if self._align:
            progress.update(0, "comparing antennas")
            self._measure_antennas()
        try:
            for piece in self._samples.pieces(_PIECE):
                self._show(progress)
                frames = self._process(piece, self.samples)
                self._levels.add(piece)
                yield from self._counted(frames)
            yield from self._counted(self._receiver.finish())
        except OSError:    # frames of the samples before it are in progress
            none = np.empty((self.num_channels, 0), np.complex64)
            yield from self._counted(self._receiver.process(none))
            raise
        self.complete = True
        for message in checksums():
            self._reader.notes.append(message)
            self._warn(message)

    def _compare_checksums(self):
        """Compare checksums in a thread, which takes 2 s per GB.

        Return a function that waits for the end and returns a text for each difference.
        """
        if not isinstance(self._reader, recording.Reader):
            return list
        messages = []

        def compare():
            with suppress(OSError):    # the receiver finds it too
                messages.extend(self._reader.checksum_errors())

        thread = Thread(target=compare, daemon=True)
        thread.start()

        def result():
            thread.join()
            return messages

        return result

    def _measure_antennas(self):
        """Find the delays and offsets of the antennas in the first piece with enough frames."""
        best, most = [], -1
        for piece in self._samples.pieces(_PIECE):
            reference, antennas = wifi.compare_antennas(piece, self.sample_rate)
            common = sum(antenna.common for antenna in antennas)
            if common > most:
                best, most = antennas, common
            if antennas[reference].frames >= _FRAMES_TO_ALIGN:
                break
        aligned = [f"antenna {index} by {plural(antenna.delay, 'sample')} and "
                   f"{antenna.offset_hz:+.0f} Hz" for index, antenna in enumerate(best)
                   if antenna.delay or antenna.offset_hz]
        self._samples = self._adjusted(delays=[antenna.delay for antenna in best],
                                       offsets=[antenna.offset_hz for antenna in best])
        self._reader.notes.append(
            f"aligned: {', '.join(aligned)}" if aligned else "nothing to align: the antennas fit, "
            "or have fewer than three frames in common")
        self._say(f"note: {self._reader.notes[-1]}")

    def _process(self, piece, first):
        """Return the frames of the next samples; split the samples at gaps."""
        frames, at, end = [], first, first + piece.shape[1]
        for gap in self._gaps[bisect_left(self._gaps, first):bisect_left(self._gaps, end)]:
            if gap > at:
                frames += self._receiver.process(piece[:, at - first:gap - first])
            frames += self._receiver.finish()
            self._receiver.restart(gap)
            at = gap
        # Threads decode these samples while frames of the last ones are reported.
        return frames + self._receiver.process(piece[:, at - first:], wait=False)

    def _counted(self, frames):
        for frame in frames:
            self.summary.add(frame)
            yield frame, self._time(frame.start)

    def _time(self, sample):
        """Return the time (seconds, fraction) since 1970 of a sample, None if unknown."""
        sample *= self._samples.ratio
        index = bisect_right(self._segments, sample, key=lambda segment: segment.start) - 1
        segment = self._segments[max(0, index)] if self._segments else None
        return segment and segment.time_at(sample)

    def _show(self, progress):
        total = self._samples.num_samples
        progress.update(self.samples / total, self._progress_text(
            f"{self._duration(self.samples)} of {self._duration(total)}"))

    def remarks(self, progress):
        """Return lines about the antennas and the samples, and hints if no MPDU was correct."""
        total = self.summary.total
        antennas = self._antenna_remarks() if self.complete else []
        lines = [*antennas]
        if total.mpdus_ok and self.summary.losses:
            lines += self._levels.remarks()[1:]
        if self.sample_rate < 20e6 and any(" MCS " in name for name in self.summary.rows):
            lines.append("channels of 5 and 10 MHz have only non-HT frames in the standard, others "
                         "were found: is the sample rate (--rate) right?")
        lines = [f"note: {line}" for line in lines]
        if self.complete and not total.mpdus_ok:
            lines += map(recording.printable, self._hints(progress, explained=bool(antennas)))
        return lines

    def _antenna_remarks(self):
        if self.num_channels == 1 or self._levels.silent:
            return []
        first = self._levels.loudest[1]
        samples = self._samples.read(first, min(_COMPARED, self._samples.num_samples - first))
        return antenna_remarks(samples, self.sample_rate, bool(self.summary.losses))

    def _hints(self, progress, explained):
        """Return lines that say what to check if no MPDU was correct."""
        total = self.summary.total
        lines = ["", f"Searched {self.samples} samples of {plural(self.num_channels, 'channel')} "
                     f"at {self.sample_rate / 1e6:g} MS/s for Wi-Fi frames; found "
                     f"{plural(self._receiver.counts['preambles'], 'preamble')} and "
                     f"{plural(total.frames, 'frame')}, no MPDU with a correct frame check "
                     "sequence."]
        lines += self._levels.remarks()
        if self._levels.silent or explained:
            return lines
        for words, advice in _ADVICE.items():
            if total.frames and total.frames == sum(
                    count for reason, (count, _) in self.summary.losses.items()
                    if words in reason):
                return [*lines, advice]
        fits, said = search(self._reader, self._swap_iq,
                            round(self._levels.loudest[1] * self._samples.ratio),
                            lambda share: progress.update(
                                share, "looking for another reading of the file"))
        progress.clear()
        if not total.frames and not fits:
            lines.append("No other reading of the file gave Wi-Fi frames.")
        lines += said
        if total.frames and not fits:
            lines.append(f"Is the SNR (mean {total.snr_sum / total.frames:.1f} dB) high enough? "
                         "Were samples lost while recording?")
        elif not fits:
            lines.append("Are the sample rate (--rate), the format (--format) and the channels "
                         "(--channels) right? Does the recording hold OFDM Wi-Fi, and is it "
                         "centred on a Wi-Fi channel?")
        return lines

    def ending(self, failure):
        """Return a message about a run that is not complete."""
        total = self._samples.num_samples
        if failure:
            return (f"Incomplete: stopped by an error within the first {self.samples} of {total} "
                    "samples.")
        return (f"Incomplete: interrupted after {self.samples} of {total} samples "
                f"({100 * self.samples / total:.0f} %).")

    def as_json(self):
        """Return a dictionary for summary.json."""
        reader = self._reader
        return {
            "recording": str(reader.path), "description": reader.description,
            "notes": reader.notes, "complete": self.complete,
            "channels": reader.num_channels, "datatype": reader.datatype,
            "sample_rate": self.sample_rate, "frequency": reader.frequency,
            "samples": self._samples.num_samples, "samples_searched": self.samples,
            "preambles": self._receiver.counts["preambles"], **self._levels.as_json(),
            **self.summary.as_json()}


def is_gap(before, segment, sample_rate):
    """Return whether samples are missing between two capture segments, by their times."""
    if before.time is None or segment.time is None:
        return False
    apart = between(before.time, segment.time) * sample_rate
    return abs(apart - (segment.start - before.start)) > 0.5
