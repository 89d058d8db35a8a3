# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: record several antennas to SigMF."""

from gnuradio import gr

from ..checks import choice
from ..recording import OVERLOADS, Recorder, Writer
from .recording_stream import frame_of, message_taker, sample_taker
from .streams import BlockLog


class sigmf_multichannel_sink(gr.hier_block2):
    """Record num_channels streams to SigMF, all channels up to the same sample.

    A thread of its own writes. Where the disk does not keep up, the stream waits or samples are
    dropped (``overload``). Metadata is written when the flowgraph stops; started again, the block
    goes on where it stopped, in a new capture segment. Samples beyond full scale in integer formats
    are clipped, counted and reported at the stop.

    Tags on the first input, as UHD's and Soapy's sources send them, tell the truth about the
    samples: rx_rate the sample rate, rx_freq the centre frequency, rx_time (a tuple of seconds
    since 1970 and a fraction) the time. They take the place of sample_rate, frequency and the
    host's clock. A new frequency begins a new capture segment, and so does a gap: samples that were
    dropped, or an rx_time that differs by more than half a sample from what the one before and the
    rate say. Tags with other values are left out, counted and logged.

    Message port ``frames`` takes a dictionary for each frame, as ``wifi_receiver``'s port of this
    name sends it, and annotates the frame's samples, see ``recording.frame_annotation``. Needed are
    ``start``, by the count of the samples that reach this block, and ``num_samples``. A frame that
    is not in the recording as a whole gets no annotation. The recording holds a million annotations
    at most. Frames may come after their samples, or after the stream has ended: the metadata is
    written again when the senders have ended.

    An error of the disk ends the recording, and what was written stays a valid one. With "wait" it
    ends the flowgraph as well, with "drop" the stream goes on.

    Args:
        path, num_channels, sample_rate, datatype, layout, frequency, description, fields: as
            for ``recording.Writer``.
        timestamp: write the host's time at which the first samples came as ``core:datetime``,
            where no tag says it.
        overwrite: replace a recording of this name.
        overload: "wait" holds the stream until the disk is ready and loses nothing, as files need
            it; "drop" leaves out whole spans of samples, as radios need it.
        buffer_mib: memory for samples that wait for the disk, in MiB.
        checksum: write ``core:sha512``, which takes about 2 s of a core per GB: four channels of
            20 MS/s in cf32_le are more than one core can do. None does with "wait" only.

    Raises:
        ValueError, FileExistsError: as ``recording.Writer`` and ``recording.Recorder``.
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
        gr.hier_block2.__init__(self, "sigmf_multichannel_sink",
                                gr.io_signature(channels, channels, gr.sizeof_gr_complex),
                                gr.io_signature(0, 0, 0))
        self._log = BlockLog(self)
        self._samples = sample_taker("sigmf_multichannel_sink_samples", channels,
                                     self.recorder.timeline, bool(timestamp), self, self._log,
                                     sample_rate if overload == "drop" else None)
        for port in range(channels):
            self.connect((self, port), (self._samples, port))
        self._frames = message_taker("frames", self._annotate, self._save, self._log)
        self.message_port_register_hier_in("frames")
        self.msg_connect(self, "frames", self._frames, "frames")
        self._told_error = False

    def counts(self):
        """Dictionary of what was counted since the block was made.

        Keys: ``samples`` (per channel, taken to be written), ``dropped`` (per channel, because of
        the disk), ``drops`` (spans of them), ``gaps`` and ``lost`` (times that did not continue,
        and the samples that these say are missing), ``clipped`` (components),
        ``annotations_left_out`` (as of the last stop), ``failures`` (tags and messages left out).
        """
        recorder = self.recorder
        return {"samples": recorder.num_samples, "dropped": recorder.dropped,
                "drops": recorder.drops, "gaps": recorder.timeline.gaps,
                "lost": recorder.timeline.lost, "clipped": recorder.clipped,
                "annotations_left_out": recorder.annotations_left_out,
                "failures": self._log.failures}

    def save(self):
        """Write the metadata of what was recorded so far, with the frames that were reported.

        The block does so at each stop. A receiver that was stopped from outside may report its last
        frames after that.
        """
        self._frames.drain()
        self.recorder.save()

    def close(self):
        """Write the metadata, end the thread and close the files: nothing more is recorded."""
        self._frames.drain()
        self.recorder.close()

    # What the samples' part calls.

    def begin(self):
        """A stream begins."""
        # Messages that came since the last stream ended are about that one.
        self._frames.drain()
        self.recorder.restart()

    def take(self, samples, first):
        """Take samples; returns whether the stream goes on."""
        recorder = self.recorder
        try:
            taken = recorder.write(samples, first)
        except OSError:
            taken = 0
        if recorder.error is not None:
            if not self._told_error:
                self._told_error = True
                self._log.error(f"recording ends here: {recorder.error}")
            return recorder.overload == "drop"
        if taken < len(samples[0]):
            self._log.warn("samples dropped", "the disk is too slow: "
                           f"{recorder.dropped} samples per channel were dropped so far")
        return True

    def end(self):
        """The stream has ended."""
        recorder = self.recorder
        self._frames.drain()
        self._save()
        recorder.stop()
        if recorder.clipped:
            self._log.warn("clipping", f"{recorder.clipped} values were beyond full scale and "
                           "clipped: scale the signal down")
        line = recorder.timeline
        if line.gaps:
            self._log.warn(None, f"{line.gaps} gaps by the tags rx_time, {line.lost} samples per "
                           "channel are missing in them"
                           + (f"; {line.untold} changes had no room in the metadata"
                              if line.untold else ""))
        if recorder.dropped:
            self._log.warn(None, f"{recorder.dropped} samples per channel were not recorded, "
                           f"{recorder.num_samples} were taken")

    def _annotate(self, message):
        start, count, fields = frame_of(message)
        self.recorder.annotate(start, count, **fields)

    def _save(self):
        try:
            self.recorder.save()
        except Exception as error:  # one that leaves stop() would end the process
            self._log.error(f"no metadata written: {error!r}")
