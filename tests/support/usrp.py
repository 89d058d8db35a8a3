# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-in for a USRP: gr-uhd's source without a device."""

import time
from types import SimpleNamespace

import numpy as np
import pmt
import pytest
from gnuradio import blocks, gr
from gnuradio.mimopack import recording
from wifi_sky import FREQUENCY, LOST, RATE, middle_of


class Usrp(gr.sync_block):
    """Stand-in for gr-uhd's source of a device with two channels; it loses samples in a frame."""

    made, boards, locked = None, 1, True

    def __init__(self, address, stream_args):
        channels = list(stream_args.channels)
        gr.sync_block.__init__(self, "usrp_source", None, [np.complex64] * len(channels))
        self.address, self.calls, self.position, self.clock = address, [], 0, 0.0
        self.begins, self.behind = None, 0.0
        Usrp.made = self

    def __getattr__(self, name):
        if name not in self.real:
            return gr.sync_block.__getattr__(self, name)
        answers = {"num_mboards": self.boards, "antennas": ["TX/RX", "RX2"], "samp_rate": RATE,
                   "center_freq": FREQUENCY,
                   "gain_range": SimpleNamespace(start=lambda: 0.0, stop=lambda: 76.0),
                   "bandwidth": 18e6}

        def call(*arguments):
            self.calls.append((name, *arguments))
            if name == "set_antenna" and arguments[0] not in answers["antennas"]:
                raise RuntimeError(f"AssertionError: assertion failed:\n  {arguments[0]} is not a "
                                   "valid antenna.\n  possible values are: [TX/RX, RX2].\n")
            return answers.get(name.removeprefix("get_"))
        return call

    def set_samp_rate(self, rate):
        """Refuse channels that the device does not have, as gr-uhd does only here."""
        self.calls.append(("set_samp_rate", rate))
        if self.output_signature().max_streams() > 2:
            raise RuntimeError("LookupError: IndexError: multi_usrp: RX channel 2 out of range for "
                               "configured RX frontends")

    def get_mboard_sensor_names(self, _board=0):
        return ["ref_locked"]

    def get_mboard_sensor(self, _name, _board=0):
        return SimpleNamespace(to_bool=lambda: self.locked)

    def get_time_now(self):
        return self.uhd.time_spec(self.clock)

    def set_time_now(self, spec):
        self.clock = spec.get_real_secs()

    def set_time_unknown_pps(self, spec):
        """Set the clock as multi_usrp.cpp of UHD does, with pulses at whole seconds.

        UHD waits for a pulse, and lets the clock be set at the next one. ``behind`` is then the
        host's time minus that of the device.
        """
        pulse = int(time.time()) + 1
        time.sleep(pulse - time.time())
        self.clock, self.behind = spec.get_real_secs(), pulse + 1 - spec.get_real_secs()
        time.sleep(1)

    def start(self):
        # As gr-uhd does, for several channels together.
        self.begins = self.get_time_now() + self.uhd.time_spec(0.1)
        return gr.sync_block.start(self)

    def work(self, _inputs, outputs):
        """Output the samples, except for a gap after which UHD tags the time again."""
        if self.position in (0, self.gap):
            sample = self.position + LOST * bool(self.position)
            spec = self.begins + self.uhd.time_spec(sample / RATE)
            for port in range(len(outputs)):
                self.add_item_tag(port, self.nitems_written(port), pmt.intern("rx_time"),
                                  pmt.make_tuple(pmt.from_uint64(int(spec.get_full_secs())),
                                                 pmt.from_double(spec.get_frac_secs())))
        end = self.gap if self.position < self.gap else self.samples.shape[1]
        count = min(len(outputs[0]), end - self.position)
        for port, output in enumerate(outputs):
            output[:count] = self.samples[port, self.position:self.position + count]
        self.position += count
        return count or -1


def put_in_place(sky, monkeypatch):
    """Let gr-uhd's source be the stand-in, which plays a recording of ``wifi_sky``."""
    uhd = pytest.importorskip("gnuradio.uhd")
    gap = middle_of(sky, 4)
    samples = recording.Reader(sky.path).read()
    # Only methods of gr-uhd may be called.
    own = set(dir(uhd.usrp_source)) - set(dir(blocks.head))
    monkeypatch.setattr(Usrp, "real", own, raising=False)
    monkeypatch.setattr(Usrp, "uhd", uhd, raising=False)
    monkeypatch.setattr(Usrp, "gap", gap, raising=False)
    monkeypatch.setattr(Usrp, "samples", np.delete(samples, np.s_[gap:gap + LOST], axis=1),
                        raising=False)
    monkeypatch.setattr(uhd, "usrp_source", Usrp)
