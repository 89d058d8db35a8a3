# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: record several antennas in SigMF."""

from contextlib import suppress

from ..checks import choice
from ..recording import OVERLOADS, Recorder, Writer
from .hierarchy import hierarchical_block
from .recording_stream import frame_of, message_taker, sample_taker
from .streams import BlockLog


class sigmf_multichannel_sink(hierarchical_block):
    """Record num_channels streams in SigMF. All channels of a recording have the same length.

    Ports:
        in 0 to num_channels - 1: complex: the samples of each channel. Full scale is 1.
        message in ``frames``: a dictionary for each frame to annotate, see below.

    A separate thread writes to disk. If the disk is too slow, the stream waits or samples are
    dropped (``overload``). The block writes the metadata when the flowgraph stops. If the flowgraph
    starts again, the recording continues with a new capture segment. In integer formats, samples
    beyond full scale are clipped and counted; a log line reports them when the flowgraph stops.

    Tags on the first input, as UHD and Soapy sources send them, describe the samples: rx_rate is
    the sample rate in samples per second, rx_freq is the centre frequency in Hz, and rx_time (a
    tuple of whole seconds since 1970 and a fraction) is the time. They override sample_rate,
    frequency and the host's clock. A change of frequency or a gap begins a new capture segment. A
    gap is a span of dropped samples, or an rx_time more than half a sample off the expected time.
    Tags with invalid values are ignored, counted and logged.

    Connect port ``frames`` to the port of that name of ``wifi_receiver``. A dictionary must have
    the keys ``start`` (first sample of the frame, counted at this block) and ``num_samples``; see
    ``recording.frame_annotation``. A frame gets an annotation if the recording holds all its
    samples. Messages may arrive after the end of the stream: the block writes the metadata again
    when the senders of messages have ended.

    A disk error ends the recording; the samples written before form a valid recording. If the disk
    refuses the metadata, the samples stay without them, and the log names the files. With overload
    "wait", a disk error also ends the flowgraph; with "drop", the stream continues.

    Args:
        path, num_channels, sample_rate, datatype, layout, frequency, description, fields: see
            ``recording.Writer``.
        timestamp: whether to write the host's time at the first samples as ``core:datetime`` if no
            tag gives a time.
        overwrite: whether to replace an existing recording.
        overload: what to do if the disk is too slow. "wait" stops the stream until there is room
            and loses no samples, which suits files. "drop" drops samples, which suits radios.
        buffer_mib: memory for samples that wait for the disk, in MiB, 16..1048576.
        checksum: whether to write ``core:sha512``. This takes about 2 s of one core per GB, so one
            core cannot keep up with four channels of 20 MS/s in cf32_le. None writes the checksum
            only with overload "wait".

    Raises:
        ValueError, FileExistsError, ImportError, OSError: see ``recording.Writer`` and
            ``recording.Recorder``.
    """

    def __init__(self, path, num_channels, datatype="cf32_le", sample_rate=20e6,
                 layout="interleaved", frequency=None, description="", fields=None,
                 timestamp=True, overwrite=False, overload="wait", buffer_mib=256,
                 checksum=None):
        choice("overload", overload, OVERLOADS)
        checksum = overload == "wait" if checksum is None else bool(checksum)
        self.writer = Writer(path, num_channels, sample_rate, datatype=datatype, layout=layout,
                             frequency=frequency, description=description, fields=fields,
                             overwrite=overwrite, checksum=checksum)
        self.recorder = Recorder(self.writer, overload, buffer_mib)
        channels = self.writer.num_channels
        hierarchical_block.__init__(self, "sigmf_multichannel_sink", channels)
        self._log = BlockLog(self)
        self._samples = sample_taker("sigmf_multichannel_sink_samples", channels,
                                     self.recorder.timeline, bool(timestamp), self, self._log,
                                     sample_rate if overload == "drop" else None)
        self.connect_inputs(self._samples)
        self._frames = message_taker(self, "frames", self._annotate, self._log, self.save)
        self._error_logged = False

    def counts(self):
        """Return a dictionary of counts since the block was made.

        - ``samples``: samples per channel accepted for writing
        - ``dropped``: samples per channel dropped because the disk was too slow or failed
        - ``drops``: number of times that dropping began
        - ``gaps``: gaps that tags rx_time show
        - ``lost``: samples per channel missing in these gaps
        - ``clipped``: real and imaginary parts clipped to full scale
        - ``annotations_left_out``: annotations that the last ``save`` did not write
        - ``failures``: invalid tags and messages
        """
        recorder = self.recorder
        return {"samples": recorder.num_samples, "dropped": recorder.dropped,
                "drops": recorder.drops, "gaps": recorder.timeline.gaps,
                "lost": recorder.timeline.lost, "clipped": recorder.clipped,
                "annotations_left_out": recorder.annotations_left_out,
                "failures": self._log.failures}

    def save(self):
        """Write the metadata of the samples and frames recorded so far.

        The block does this at each stop. Call it again if a receiver reports its last frames after
        the stop.
        """
        self._frames.drain()
        try:
            self.recorder.save()
        finally:
            self._has_failed()    # the disk may have failed at the last samples

    def close(self):
        """Write the metadata, end the thread and close the files. Recording cannot continue.

        Raises:
            OSError: as ``recording.Recorder.close``.
        """
        self._frames.drain()
        try:
            self.recorder.close()
        finally:
            self._has_failed()

    # sample_taker calls the following methods.

    def begin(self):
        """Begin a stream."""
        # Messages that waited until now belong to the previous stream.
        self._frames.drain()
        self.recorder.restart()

    def take(self, samples, first):
        """Record samples; return whether the stream continues."""
        recorder, taken = self.recorder, 0
        with suppress(OSError):    # logged below
            taken = recorder.write(samples, first)
        if self._has_failed():
            return recorder.overload == "drop"
        if taken < len(samples[0]):
            self._log.warn("samples dropped", "the disk is too slow: "
                           f"{recorder.dropped} samples per channel dropped so far")
        return True

    def end(self, _done):
        """End the stream."""
        self.save()
        recorder = self.recorder
        if recorder.clipped:
            self._log.warn("clipping", f"{recorder.clipped} values exceeded full scale and were "
                           "clipped: scale the signal down")
        line = recorder.timeline
        if line.gaps:
            self._log.warn(None, f"the rx_time tags show {line.gaps} gaps with {line.lost} missing "
                           "samples per channel")
        if recorder.dropped:
            self._log.warn(None, f"{recorder.dropped} samples per channel were dropped, "
                           f"{recorder.num_samples} were accepted")

    def _has_failed(self):
        """Return whether a disk error has ended the recording; log it the first time."""
        error = self.recorder.error
        if error is not None and not self._error_logged:
            self._error_logged = True
            self._log.error(f"recording ends here: {error}")
        return error is not None

    def _annotate(self, message):
        start, count, fields = frame_of(message)
        self.recorder.annotate(start, count, **fields)
