# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the receiver over a recording, and suggest what to check if nothing was decoded."""

from bisect import bisect_left, bisect_right
from itertools import pairwise

from ... import recording, wifi
from ...recording.timeline import between
from ...wifi.auto_detector import AUTO, strongest
from ...wifi.receiver import DEFAULT_DETECTOR
from .hints import Levels, antenna_remarks, search
from .opening import introduce, nearest_rate, own_files
from .summary import Summary
from .words import duration, plural

_PIECE = 1 << 20    # samples per antenna in each call of the receiver
_COMPARED = 1 << 19    # samples per antenna in which antennas are compared
_FRAMES_TO_ALIGN = 20    # enough to measure antennas
# Advice if all frames were lost for a reason with these words.
_ADVICE = {
    "but the frame has": "The frames have more streams than the recording has channels: are there "
                         "recordings of more antennas (--channels)?",
    "cannot detect": f"Another detector (--detector) can decode these frames, such as "
                     f"{DEFAULT_DETECTOR}.",
    "802.11": "The receiver names frames of 802.11ax and later, but does not decode them.",
    "failed: ": "The program failed on each of these frames: the error above says where."}


class Run:
    """A run of the receiver over a recording.

    Args:
        reader: ``recording.Reader`` or ``recording.RawReader``.
        sample_rate: sample rate, one that the receiver supports.
        on_frame: function called with each frame.
        gallery: ``pictures.Gallery`` or None.
        swap_iq: whether to exchange I and Q.
        align: whether to correct constant delays and carrier offsets between antennas.
        options: further arguments of the receiver.

    Attributes:
        summary, levels, counts: results so far.
        complete: whether all samples were searched.
        swap_iq: as above.
        explained: whether the antennas explain that frames are lost, after ``remarks``.

    Raises:
        ValueError, ImportError: as for ``wifi.Receiver``.
    """

    def __init__(self, reader, sample_rate, on_frame, gallery=None, swap_iq=False, align=False,
                 **options):
        self._reader, self._on_frame, self._gallery = reader, on_frame, gallery
        self.sample_rate = sample_rate
        self.swap_iq, self._align = swap_iq, align
        self._say = lambda line: None
        self._samples = self._adjusted()
        if options.get("detector") == AUTO:    # a recording can wait
            options["detector"] = strongest(options["backend"], options["threads"])
        self._receiver = wifi.Receiver(
            reader.num_channels, sample_rate, reader.frequency,
            keep_symbols=gallery is not None, **options)
        self._segments = getattr(reader, "segments", [])
        self._gaps = [round(one.start / self._samples.ratio)
                      for before, one in pairwise(self._segments)
                      if is_gap(before, one, self._samples.ratio * sample_rate)]
        self.summary = Summary()
        self.levels = Levels(reader.num_channels, reader.largest)
        self.complete = self.explained = False

    def _adjusted(self, **alignment):
        """Return the recording's samples as the receiver takes them."""
        equal = nearest_rate(self._reader.sample_rate)[1]
        return recording.Adjusted(self._reader, None if equal else self.sample_rate,
                                  self.swap_iq, **alignment)

    @property
    def counts(self):
        """Counts of the receiver."""
        return self._receiver.counts

    @property
    def samples(self):
        """Number of samples per channel searched so far."""
        return self.levels.samples

    @property
    def ratio(self):
        """Sample rate of the recording divided by the receiver's."""
        return self._samples.ratio

    @property
    def own_files(self):
        """Paths of the recording's files."""
        return own_files(self._reader)

    @property
    def start_time(self):
        """Time of the first sample in seconds since 1970; None if unknown."""
        return self._reader.start_time

    written = ()    # files written by the run itself, besides the outputs
    on_status = None    # never called: with a recording, the receiver cannot be too slow

    @property
    def num_channels(self):
        """Number of receive antennas."""
        return self._reader.num_channels

    @property
    def seconds(self):
        """Duration in seconds."""
        return self._samples.num_samples / self.sample_rate

    @property
    def title(self):
        """Description of the recording in one line."""
        return recording.printable(str(self._reader.path))

    def want_symbols(self, wanted):
        """Set whether the next frames should have equalised points."""
        self._receiver.keep_symbols = wanted or self._gallery is not None

    def introduce(self, say, warn):
        """Describe the recording."""
        self._say = say
        introduce(self._reader, self.sample_rate * self._samples.ratio, say, warn)
        if self._gaps:
            say(f"note: according to the times of its capture segments there "
                f"{'is' if len(self._gaps) == 1 else 'are'} {plural(len(self._gaps), 'gap')}")

    def discard(self):
        """Do nothing: a recording is only read."""

    def check(self, interrupt, progress, warn):
        """Compare checksums, and measure the antennas if they are to be aligned."""
        if isinstance(self._reader, recording.Reader):
            with interrupt.allowed():
                progress.update(0, "comparing checksums")
                for message in self._reader.checksum_errors():
                    self._reader.notes.append(message)
                    warn(message)
        if self._align:
            with interrupt.allowed():
                progress.update(0, "comparing antennas")
                self._measure()

    def _measure(self):
        """Find the delays and offsets of the antennas in the first piece with enough frames."""
        best, most = [], -1
        for piece in self._samples.pieces(_PIECE):
            reference, antennas = wifi.compare_antennas(piece, self.sample_rate)
            common = sum(one.common for one in antennas)
            if common > most:
                best, most = antennas, common
            if antennas[reference].frames >= _FRAMES_TO_ALIGN:
                break
        aligned = [f"antenna {index} by {plural(one.delay, 'sample')} and {one.offset_hz:+.0f} Hz"
                   for index, one in enumerate(best) if one.delay or one.offset_hz]
        self._samples = self._adjusted(delays=[one.delay for one in best],
                                       offsets=[one.offset_hz for one in best])
        self._reader.notes.append(
            f"aligned: {', '.join(aligned)}" if aligned else "nothing to align: the antennas fit, "
            "or have fewer than three frames in common")
        self._say(f"note: {self._reader.notes[-1]}")

    def decode(self, interrupt, progress):
        """Decode the recording.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed. Results so far are kept.
        """
        pieces = self._samples.pieces(_PIECE)
        while True:
            self._show(progress)
            with interrupt.allowed():
                piece = next(pieces, None)
                frames = (self._receiver.finish() if piece is None
                          else self._process(piece, self.samples))
            if piece is not None:
                self.levels.add(piece)
            if frames:
                progress.clear()
            for frame in frames:
                self.summary.add(frame)
                if self._gallery is not None:
                    self._gallery.add(frame)
                self._on_frame(frame, self._time(frame.start))
            if piece is None:
                break
        self.complete = True

    def _process(self, piece, first):
        """Return the frames of the next samples; split the samples at gaps."""
        frames, at, end = [], first, first + piece.shape[1]
        for gap in self._gaps[bisect_left(self._gaps, first):bisect_left(self._gaps, end)]:
            if gap > at:
                frames += self._receiver.process(piece[:, at - first:gap - first])
            frames += self._receiver.finish()
            self._receiver.restart(gap)
            at = gap
        return frames + self._receiver.process(piece[:, at - first:])

    def _time(self, sample):
        """Return the time (seconds, fraction) since 1970 of a sample, None if unknown."""
        sample *= self._samples.ratio
        index = bisect_right(self._segments, sample, key=lambda one: one.start) - 1
        segment = self._segments[max(0, index)] if self._segments else None
        return segment and segment.time_at(sample)

    def remarks(self):
        """Return lines about the antennas, and about the samples if some frames were lost."""
        lines = self._antenna_remarks() if self.complete else []
        self.explained = bool(lines)
        if self.summary.total.mpdus_ok and self.summary.losses:
            lines += self.levels.remarks()[1:]
        return [f"note: {line}" for line in lines]

    def _antenna_remarks(self):
        if self.num_channels == 1 or self.levels.silent:
            return []
        first = self.levels.loudest[1]
        samples = self._samples.read(first, min(_COMPARED, self._samples.num_samples - first))
        return antenna_remarks(samples, self.sample_rate, bool(self.summary.losses))

    def hints(self, interrupt, progress):
        """Return lines that say what to check if no MPDU was correct."""
        return hints(self, self._reader, interrupt, progress)

    def ending(self, failure):
        """Return a message about a run that is not complete."""
        total = self._samples.num_samples
        if failure:
            return (f"Incomplete: stopped by an error within the first {self.samples} of {total} "
                    "samples.")
        return (f"Incomplete: interrupted after {self.samples} of {total} samples "
                f"({100 * self.samples / total:.0f} %).")

    def _show(self, progress):
        total = self._samples.num_samples
        progress.update(self.samples / total,
                        f"{duration(self.samples, self.sample_rate)} of "
                        f"{duration(total, self.sample_rate)}, "
                        f"{plural(self.summary.total.frames, 'frame')}, "
                        f"{self.summary.total.mpdus_ok} MPDUs with a correct FCS")

    def as_json(self):
        """Return a dictionary for summary.json."""
        reader = self._reader
        return {
            "recording": str(reader.path), "description": reader.description,
            "notes": reader.notes, "complete": self.complete,
            "channels": reader.num_channels, "datatype": reader.datatype,
            "sample_rate": self.sample_rate, "frequency": reader.frequency,
            "samples": self._samples.num_samples, "samples_searched": self.samples,
            "preambles": self.counts["preambles"], **self.levels.as_json(),
            **self.summary.as_json()}


def is_gap(before, segment, sample_rate):
    """Return whether samples are missing between two capture segments, by their times."""
    if before.time is None or segment.time is None:
        return False
    apart = between(before.time, segment.time) * sample_rate
    return abs(apart - (segment.start - before.start)) > 0.5


def hints(run, reader, interrupt, progress):
    """Return lines that say what to check if no MPDU was correct."""
    total = run.summary.total
    channels = plural(reader.num_channels, "channel")
    lines = ["", f"Searched {run.samples} samples of {channels} at {run.sample_rate / 1e6:g} MS/s "
                 f"for non-HT, HT and VHT frames; found "
                 f"{plural(run.counts['preambles'], 'preamble')} and "
                 f"{plural(total.frames, 'frame')}, no MPDU with a correct frame check sequence."]
    lines += run.levels.remarks()
    if run.levels.silent or run.explained:
        return lines
    for words, advice in _ADVICE.items():
        if total.frames and total.frames == sum(count for reason, (count, _)
                                                in run.summary.losses.items() if words in reason):
            return [*lines, advice]
    with interrupt.allowed():
        fits, said = search(reader, run.swap_iq, round(run.levels.loudest[1] * run.ratio),
                            lambda share: progress.update(
                                share, "looking for another reading of the file"))
    progress.clear()
    if not total.frames and not fits:
        lines.append("No other reading of the file gave Wi-Fi frames.")
    lines += said
    if total.frames and not fits:
        lines.append(f"Is the SNR (mean {total.snr_sum / total.frames:.1f} dB) high enough? Were "
                     "samples lost while recording?")
    elif not fits:
        lines.append("Are the sample rate (--rate), the format (--format) and the channels "
                     "(--channels) right? Does the recording hold OFDM Wi-Fi, and is it centred on "
                     "a Wi-Fi channel?")
    return lines
