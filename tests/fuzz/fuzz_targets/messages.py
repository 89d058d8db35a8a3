# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages to blocks.

The first byte of an input chooses a block's message handler, the others are the message (see
``pmts``).
"""

import re
from contextlib import contextmanager

import numpy as np
import pmt
from gnuradio import mimopack
from gnuradio.mimopack import _runtime, wifi
from gnuradio.mimopack.blocks import recording_stream, streams, wifi_pdus, wifi_pmt

from . import mutations, pmts
from .receiver import _STREAMS

MAX_LEN = 2304
mutate = mutations.of_bytes
_RATE = 20e6
_AIR = [samples for samples in _STREAMS if len(samples) == 2]
pmts.KEPT[:] = [samples.ravel() for samples in _AIR]


class _StrictLog(streams.BlockLog):
    """Let exceptions through that are no refusal: in a flowgraph the log only counts them."""

    def __init__(self):
        super().__init__(None)

    @contextmanager
    def guard(self, what, cleanup=None):
        try:
            yield
        except ValueError as error:
            assert str(error)
            self.failures += 1

    def warn(self, kind, line):
        # An error of Unicode is a ValueError too.
        assert "control message refused" not in line or re.search(
            r"refused: (ValueError|UnicodeDecodeError)\(", line), line

    def info(self, line):
        pass

    error = info


def _settings(block):
    return {name: getattr(block, name)() for name in block.CONTROLS}


def _strict(block):
    block._log = _StrictLog()
    return block


_ENCODER = _strict(mimopack.fec_encoder_pdu("wifi:648:1/2"))
_DECODER = _strict(mimopack.fec_decoder_pdu("wifi:648:1/2", iterations=2, threads=1))
_PCAP = _strict(mimopack.wifi_pcap_sink("/dev/null", time=1.0))
_TRANSMITTER = _strict(mimopack.wifi_transmitter(2, format="ht"))
_CONTROLLED = [_DECODER, _strict(mimopack.mimo_channel(2, 2)),
               _strict(mimopack.kbest_detector(2, 2))]
_RECEIVER = wifi.Receiver(2, detector="mmse", backend="cpu")
_VIEWS = [_strict(view) for view in (
    mimopack.wifi_symbols(2), mimopack.wifi_channel_view(2, 2), mimopack.wifi_meter(4),
    mimopack.wifi_condition_view(), mimopack.wifi_levels(2), mimopack.wifi_airtime(),
    mimopack.wifi_linear_loss())]


def _take_by(block):
    """Return a handler that gives a message to a block with a counter of refused messages."""
    def handle(message):
        before = block.refused()
        block._take(message)
        assert block.refused() - before in (0, 1)
    return handle


def _send(message):
    """The transmitter makes finite samples of a message, or refuses it."""
    _TRANSMITTER._queue.clear()
    _TRANSMITTER._accept(message)
    for arrays, _ in _TRANSMITTER._queue._waiting:
        assert all(np.isfinite(one.view(np.float32)).all() for one in arrays)


def _show_by(view):
    """Return a handler that gives a message to a display, which must draw finite values of it."""
    points = view is _VIEWS[0]    # which shows points as they come

    def handle(message):
        view._queue.clear()
        view._accept(message)
        for arrays, *_ in view._queue._waiting:
            assert len({len(one) for one in arrays}) == 1
            assert points or all(np.isfinite(one).all() for one in arrays)
    return handle


def _control(block):
    def handle(message):
        before = _settings(block)
        block._on_control(message)
        after = _settings(block)
        assert set(after) == set(before)
        # Each setting can be set to what it is.
        block._apply(after)
        block._apply(before)
    return handle


def _decode(message):
    """A found frame is refused, or decoded without an exception inside the receiver."""
    found = wifi_pmt.found_from_pmt(message, 2, _RATE)
    _RECEIVER.restart()
    _RECEIVER.counts.clear()
    with np.errstate(all="ignore"):
        frames = _RECEIVER.decode([found])
    assert not _RECEIVER.counts["failures"]
    for frame in frames:
        assert pmt.is_dict(wifi_pmt.frame_to_pmt(frame))


def _annotate(message):
    start, count, fields = recording_stream.frame_of(message)
    assert isinstance(start, int) and count >= 0 and isinstance(fields, dict)


def _convert(message):
    """A PMT becomes a value of Python; a number or text becomes the same PMT again."""
    info, blob = wifi_pdus.from_pmt(message)
    assert isinstance(blob, bytes)
    for name, value in info.items():
        assert type(value) is wifi_pdus.KEYS[name], name


def _values(message):
    value = _runtime.to_python(message)
    beyond = isinstance(value, int) and value >= 2**63    # from_long() takes 64 signed bits
    if not beyond and not isinstance(value, pmt.pmt_base):
        again = _runtime.to_python(_runtime.to_pmt(value))
        assert np.array_equal(value, again, equal_nan=isinstance(value, (float, np.ndarray)))
    told = _runtime.to_python_dict(message, dict.fromkeys(pmts.NAMES))
    assert set(told) <= set(pmts.NAMES)


HANDLERS = (*map(_take_by, (_ENCODER, _DECODER, _PCAP)), _send, _decode, _annotate, _convert,
            _values, *map(_control, _CONTROLLED), *map(_show_by, _VIEWS))


def check(data):
    """A message is refused with ValueError, or handled; nothing else happens."""
    if not data:
        return
    message = pmts.decode(data[1:])
    try:
        HANDLERS[data[0] % len(HANDLERS)](message)
    except ValueError as error:
        assert str(error)


def seeds():
    """Return messages that each handler accepts."""
    receiver = wifi.Receiver(2, keep_symbols=True)
    frames = [frame for samples in _AIR for frame in receiver.process(samples) + receiver.finish()]
    assert all(frame.complete for frame in frames)
    frame = frames[0]
    csi, points = wifi_pmt.csi_to_pmt(frame), wifi_pmt.symbols_to_pmt(frame, 100)
    told = wifi_pmt.frame_to_pmt(frame)
    found = []
    for samples in _AIR:
        sync = wifi.Synchroniser(2)
        one, = sync.process(samples) + sync.finish()
        found.append(wifi_pmt.found_to_pmt(one._replace(samples=samples, first=0), _RATE))
    pdus = wifi_pdus.frame_to_pmts(frame, 0)
    bits = pmt.cons(pmt.make_dict(), pmt.init_u8vector(324, [0, 1] * 162))
    llr = pmt.cons(pmt.PMT_NIL, pmt.init_s8vector(648, [-3, 4] * 324))
    sent = pmt.cons(_runtime.to_pmt_dict({"format": "vht", "mcs": 3, "tx_time": pmt.make_tuple(
        pmt.from_uint64(3), pmt.from_double(0.5))}), pmt.init_u8vector(30, [1] * 30))
    controls = [_runtime.to_pmt_dict(one) for one in (
        {"iterations": 5, "threads": 1}, {"snr_db": 20.0, "cfo": 0.0}, {"noise_var": 0.5})]
    views = [points, csi, told, csi, told, told, csi]
    messages = [bits, llr, pdus[0], sent, found[0], told, pdus[0], told,
                *controls, *views]
    return [bytes([index]) + pmts.encode(message)
            for index, message in [*enumerate(messages), *((4, one) for one in found[1:])]]
