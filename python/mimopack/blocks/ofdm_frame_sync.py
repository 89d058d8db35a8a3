# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: find OFDM frames in the samples of several antennas."""

import numpy as np
import pmt

from ..ofdm import FrameSync, Parameters
from .frame_stream import FRAME_TAG, queued_block

_FRAMES = pmt.intern("frames")


class ofdm_frame_sync(queued_block):
    """Detection, timing and carrier offset of OFDM frames, from all antennas together.

    Inputs are the samples of num_rx antennas (complex, 20 MS/s), outputs their symbols of 64
    samples with cyclic prefix and carrier offset removed: the first long training field twice, the
    others, the data. Frames follow each other without anything between. The first item of a frame
    carries on every output the tag "frame", a dictionary:

        frame (number), start (sample of the stream), cfo (Hz), items (symbols of this frame)

    Message port "frames": a dictionary per frame with the keys event ("found" or "truncated"),
    frame, start, cfo and samples. A frame is truncated if another begins inside it, or the stream
    ends; none of its symbols come out. At the end of the stream the message may come too late for
    the receiver; the counts and the logger have it in any case. See ``ofdm.FrameSync``.

    Raises:
        ValueError: a parameter that ``ofdm.Parameters`` or ``ofdm.FrameSync`` refuses.
    """

    def __init__(self, num_tx=4, num_rx=4, constellation="wlan_qam16", code_rate="1/2",
                 payload_length=500, threshold=0.35):
        self.parameters = Parameters(num_tx, constellation, code_rate, payload_length)
        self._sync = FrameSync(self.parameters, num_rx, threshold)
        # One item is 80 samples.
        queued_block.__init__(self, "ofdm_frame_sync", [np.complex64] * num_rx,
                              [(np.complex64, 64)] * num_rx, rate=(1, 80), multiple=512)
        self.message_port_register_out(_FRAMES)

    def samples_seen(self):
        """Samples per antenna since the block was made."""
        return self._sync.samples_seen

    def frames_found(self):
        """Complete frames."""
        return self._sync.frames_found

    def frames_truncated(self):
        """Frames that broke off."""
        return self._sync.frames_truncated

    def failures(self):
        """Calls in which the synchroniser failed, and the samples at hand were given up."""
        return self._log.failures

    def _finish(self):
        with self._log.guard("the end of the stream", self._sync.restart):
            self._report(self._sync.finish())

    def _take(self, samples):
        end = self._sync.samples_seen + len(samples[0])
        with self._log.guard(f"samples up to {end}", lambda: self._sync.resume(end)):
            self._report(self._sync.process(np.stack(samples)))

    def _report(self, frames):
        for frame in frames:
            info = {"frame": frame.number, "start": frame.start, "cfo": frame.cfo}
            self.message_port_pub(_FRAMES, pmt.to_pmt(
                {"event": "truncated" if frame.truncated else "found", **info,
                 "samples": frame.num_samples}))
            if frame.truncated:
                self._log.warn(
                    "frames that break off",
                    f"frame {frame.number} at sample {frame.start} breaks off after "
                    f"{frame.num_samples} of {frame.parameters.frame_samples} samples")
            else:
                tag = pmt.to_pmt({**info, "items": frame.symbols.shape[1]})
                self._queue.put(list(frame.symbols),
                                [(port, FRAME_TAG, tag) for port in range(len(frame.symbols))])
