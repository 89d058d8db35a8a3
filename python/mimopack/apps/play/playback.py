# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Play a recording through the Wi-Fi receiver in a flowgraph."""

import time
from contextlib import suppress
from queue import Empty, SimpleQueue

from gnuradio import blocks, gr

from ...blocks import sigmf_multichannel_source, wifi_receiver
from ..interrupt import Interruption

_INTERVAL = 0.1    # seconds between two checks of a running flowgraph


class _Source(sigmf_multichannel_source):
    """Recording source that can end early, and logs no notes: the report contains them."""

    def __init__(self, reader, repeat=False):
        self._ended = False
        logging = gr.logging()
        level = logging.default_level()
        logging.set_default_level(gr.log_levels.off)
        try:
            # Times in the report count from the recording's start.
            sigmf_multichannel_source.__init__(self, reader, repeat=repeat, time_tags=False)
        finally:
            logging.set_default_level(level)

    def end(self):
        """End the stream at the next call of ``work``."""
        self._ended = True

    def _play(self, output_items):
        return -1 if self._ended else sigmf_multichannel_source._play(self, output_items)


class Playback:
    """Plays a recording through receivers; arguments as for ``wifi_receiver``.

    Args:
        interruption: ``Interruption`` that ends the recording at the present sample, or None.

    Attributes:
        counts, samples: the receiver's counts and the number of samples played, after
            :meth:`frames`.
    """

    def __init__(self, reader, sample_rate, backend="auto", iterations=1, interruption=None):
        self._reader, self._interruption = reader, interruption or Interruption()
        self._options = dict(num_rx=reader.num_channels, sample_rate=sample_rate,
                             frequency=reader.frequency, backend=backend, iterations=iterations)

    def receiver(self, detector):
        """Create a receiver with a detector."""
        return wifi_receiver(detector=detector, **self._options)

    def frames(self, detector, keep_symbols=False, on_look=lambda samples: None):
        """Play the recording once, and yield each ``wifi.ReceivedFrame``.

        ``keep_symbols`` says whether the frames have equalised points; ``on_look`` is called
        regularly with the number of samples searched.
        """
        source, receiver, frames = _Source(self._reader), self.receiver(detector), SimpleQueue()
        receiver.listen(lambda frame, time: frames.put(frame), symbols=keep_symbols)
        top = gr.top_block()
        for port in range(self._reader.num_channels):
            top.connect((source, port), (receiver, port))
        top.start()
        try:
            while not receiver.ended.is_set() or not frames.empty():
                self._look(source)
                on_look(receiver.counts()["samples"])
                with suppress(Empty):
                    yield frames.get(timeout=_INTERVAL)
        finally:
            top.stop()
            top.wait()
            self.counts, self.samples = receiver.counts(), source.nitems_written(0)
        if source.error is not None:
            raise source.error

    def _look(self, source):
        if self._interruption.happened:
            source.end()

    def time(self, detector, samples):
        """Repeat the recording for about ``samples`` samples; nothing receives the frames.

        Return (samples per antenna, seconds from the flowgraph's start to its end).
        """
        rounds = max(1, round(samples / self._reader.num_samples))
        source, receiver = _Source(self._reader, repeat=True), self.receiver(detector)
        top = gr.top_block()
        for port in range(self._reader.num_channels):
            top.connect((source, port), blocks.head(gr.sizeof_gr_complex,
                                                    rounds * self._reader.num_samples),
                        (receiver, port))
        start = time.perf_counter()
        top.start()
        try:
            while not receiver.ended.wait(_INTERVAL):
                self._look(source)
            seconds = time.perf_counter() - start
        finally:
            top.stop()
            top.wait()
        if source.error is not None:
            raise source.error
        return receiver.counts()["samples"], seconds
