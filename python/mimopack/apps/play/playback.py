# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Play a recording through the Wi-Fi receiver in a flowgraph, and collect the receiver's messages.
"""

import time

import pmt
from gnuradio import blocks, gr

from ...blocks import sigmf_multichannel_source, wifi_receiver
from ...blocks.streams import remaining
from ...blocks.wifi_pdus import from_pmt
from ..waiter import Flowgraph, Waiter

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


class _Listener(gr.basic_block):
    """Block that passes messages to functions.

    Args:
        on_message: dictionary {name of a port: function that takes a PMT}.
    """

    def __init__(self, on_message):
        gr.basic_block.__init__(self, "listener", None, None)
        self.error = None
        self._handlers = {}
        for name, function in on_message.items():
            self.message_port_register_in(pmt.intern(name))
            handler = self._handlers[name] = self._guarded(function)
            # GNU Radio finds a handler by its name.
            handler.__name__ = f"take_{name}"
            setattr(self, handler.__name__, handler)
            self.set_msg_handler(pmt.intern(name), handler)

    def stop(self):
        for name, handler in self._handlers.items():
            for message in remaining(self, pmt.intern(name)):
                handler(message)
        return gr.basic_block.stop(self)

    def _guarded(self, function):
        def take(message):
            try:
                function(message)
            except Exception as error:    # the scheduler would swallow it; decode() raises it
                self.error = self.error or error
        return take


class Playback:
    """Plays a recording through a receiver.

    Args:
        reader: ``recording.Reader``.
        sample_rate: sample rate of the receiver, see ``wifi_receiver``.
        backend: backend of the detectors.
        iterations: passes of detector and decoder, see ``wifi_receiver``.
    """

    def __init__(self, reader, sample_rate, backend="auto", iterations=1):
        self._reader = reader
        self._options = dict(num_rx=reader.num_channels, sample_rate=sample_rate,
                             frequency=reader.frequency, backend=backend, iterations=iterations)

    def receiver(self, detector):
        """Create a receiver with a detector.

        Raises:
            ValueError: the receiver does not support the detector or an option.
        """
        return wifi_receiver(detector=detector, bad_fcs=True, **self._options)

    def decode(self, detector, tally, interrupt, on_progress=None, pcap_sink=None, views=None):
        """Play the recording once.

        Args:
            detector: name of a detector.
            tally: ``Tally`` that receives frames and MPDUs.
            interrupt: ``Interrupt``; the first Ctrl-C ends the recording at the present sample.
            on_progress: function called regularly with the number of samples searched, or None.
            pcap_sink: ``wifi_pcap_sink`` that receives the MPDUs, or None.
            views: object with methods ``add_symbols`` and ``add_csi``, which take PMTs; or None.

        Returns:
            (counts of the receiver, samples searched).

        Raises:
            OSError: the recording cannot be read.
        """
        top, source = Flowgraph(), _Source(self._reader)
        receiver = self.receiver(detector)
        functions = {"frames": lambda message: tally.add_frame(pmt.to_python(message)),
                     "out": lambda message: tally.add_mpdu(*from_pmt(message))}
        if views is not None:
            functions |= {"symbols": views.add_symbols, "csi": views.add_csi}
        listener = _Listener(functions)
        for port in range(self._reader.num_channels):
            top.connect((source, port), (receiver, port))
        for name in functions:
            top.msg_connect(receiver, name, listener, name)
        if pcap_sink is not None:
            top.msg_connect(receiver, "out", pcap_sink, "in")
        self._run(top, source, interrupt, lambda: on_progress and on_progress(
            receiver.counts()["samples"]))
        if listener.error is not None:
            raise listener.error
        return receiver.counts(), source.nitems_written(0)

    def time(self, detector, samples, interrupt):
        """Repeat the recording for about ``samples`` samples; nothing receives the messages.

        Returns:
            (samples per antenna, seconds from the flowgraph's start to its end).

        Raises:
            OSError: as :meth:`decode`.
        """
        rounds = max(1, round(samples / self._reader.num_samples))
        count = rounds * self._reader.num_samples
        top, source = Flowgraph(), _Source(self._reader, repeat=True)
        receiver = self.receiver(detector)
        for port in range(self._reader.num_channels):
            top.connect((source, port), blocks.head(gr.sizeof_gr_complex, count),
                        (receiver, port))
        start = time.perf_counter()
        self._run(top, source, interrupt)
        return receiver.counts()["samples"], time.perf_counter() - start

    @staticmethod
    def _run(top, source, interrupt, on_look=lambda: None):
        """Run a flowgraph to its end; the first Ctrl-C ends it early."""
        waiter = Waiter(top)
        ended = waiter.ended
        try:
            try:
                with interrupt.allowed():
                    while not ended.wait(_INTERVAL):
                        on_look()
            except KeyboardInterrupt:
                source.end()
                ended.wait()    # if it hangs, a further Ctrl-C raises here
        except BaseException:
            waiter.stop()
            raise
        for error in (waiter.failure, source.error):
            if error is not None:
                raise error
