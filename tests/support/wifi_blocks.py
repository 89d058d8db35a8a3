# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Wi-Fi blocks in flowgraphs: messages and samples for them, and what comes out."""

import threading

import flowgraphs
import numpy as np
import pmt
import pytest
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack import wifi
from gnuradio.mimopack._runtime import to_pmt, to_pmt_dict
from wifi_air import air, data_mpdu


def post(block, port, message):
    block.to_basic_block()._post(pmt.intern(port), message)


def done(value):
    return pmt.cons(pmt.intern("done"), pmt.from_long(value))


def pdu(data, **settings):
    facts = pmt.PMT_NIL
    for name, value in settings.items():
        value = value if isinstance(value, pmt.pmt_base) else to_pmt(value)
        facts = pmt.dict_add(facts, pmt.intern(name), value)
    return pmt.cons(facts, pmt.init_u8vector(len(data), list(data)))


def moment(seconds, fraction=0.0):
    return pmt.make_tuple(pmt.from_uint64(seconds), pmt.from_double(fraction))


def orthonormal(num_tx, streams, *shape, seed=1):
    """Return random matrices (*shape, num_tx, streams) with orthonormal columns."""
    matrices = np.random.default_rng(seed).standard_normal((*shape, num_tx, streams, 2)) @ [1, 1j]
    return np.linalg.qr(matrices)[0]


def nested(depth):
    """What no conversion that recurses survives."""
    value = pmt.PMT_NIL
    for _ in range(depth):
        value = pmt.cons(value, pmt.PMT_NIL)
    return value


def nested_dict(depth):
    """Return nested dictionaries. pmt.to_python takes exponentially long to convert them."""
    value = pmt.make_dict()
    for _ in range(depth):
        value = pmt.dict_add(pmt.make_dict(), pmt.intern("detector"), value)
    return value


DEEP = nested(100000)


class Messages(flowgraphs.Messages):
    """Keeps messages, over several starts."""

    def start(self):
        # GNU Radio 3.10 does not forget that an earlier run has ended.
        post(self, "system", done(0))
        return gr.basic_block.start(self)

    def messages(self):
        return [message for _, message in self.received]

    def pdus(self):
        """(dictionary, bytes) of each."""
        return [(pmt.to_python(pmt.car(m)), bytes(pmt.u8vector_elements(pmt.cdr(m))))
                for m in self.messages()]


class Sender(gr.basic_block):
    """Sends messages as soon as the flowgraph runs, and ends."""

    def __init__(self, messages):
        gr.basic_block.__init__(self, "sender", None, None)
        self.messages = messages
        self.message_port_register_out(pmt.intern("out"))

    def start(self):
        for message in self.messages:
            self.message_port_pub(pmt.intern("out"), message)
        post(self, "system", done(1))
        return gr.basic_block.start(self)


class Samples(gr.sync_block):
    """Plays samples of several antennas in pieces of random lengths, once in each run, and calls a
    function before the piece that begins at a sample."""

    def __init__(self, samples, seed=1, tags=(), events=()):
        self.samples, self.tags, self.events = samples, list(tags), dict(events)
        self.rng = np.random.default_rng(seed)
        gr.sync_block.__init__(self, "samples", None, [np.complex64] * len(samples))

    def start(self):
        self.at = 0
        return True

    def work(self, _input_items, output_items):
        left = self.samples.shape[1] - self.at
        if not left:
            return -1
        if self.at in self.events:
            self.events.pop(self.at)()
        ends = [event - self.at for event in self.events if event > self.at]
        count = min(left, len(output_items[0]), int(self.rng.integers(1, 5000)), *ends)
        for out, row in zip(output_items, self.samples, strict=True):
            out[:count] = row[self.at:self.at + count]
        for offset, key, value in self.tags:
            if self.at <= offset < self.at + count:
                self.add_item_tag(0, self.nitems_written(0) + offset - self.at, pmt.intern(key),
                                  value)
        self.at += count
        return count


def run(top, most=100000000, seconds=60):
    """Run to the end; a flowgraph that hangs fails the test."""
    top.start(most)
    waiter = threading.Thread(target=top.wait, daemon=True)
    waiter.start()
    waiter.join(seconds)
    if waiter.is_alive():
        top.stop()
        waiter.join(10)
        pytest.fail("the flowgraph did not end by itself")


def receive(samples, most=100000000, runs=1, controls=(), source=None, prepare=None, **parameters):
    """(receiver, messages of each port) of a finished flowgraph."""
    top = gr.top_block()
    source = source or Samples(samples)
    receiver = mimopack.wifi_receiver(len(samples), **parameters)
    if prepare:
        prepare(receiver)
    ports = {name: Messages() for name in ("out", "frames", "csi", "symbols")}
    for port in range(len(samples)):
        top.connect((source, port), (receiver, port))
    for name, sink in ports.items():
        top.msg_connect(receiver, name, sink, "in")
    if controls:
        sender = Sender(controls)
        top.msg_connect(sender, "out", receiver, "control")
    for _ in range(runs):
        run(top, most)
    return receiver, ports


def two_halves(samples, **parameters):
    """Return (synchroniser, decoder, messages between them, messages of each port)."""
    top, source = gr.top_block(), Samples(samples)
    synchroniser = mimopack.wifi_synchroniser(len(samples), **parameters)
    decoder = mimopack.wifi_decoder(len(samples))
    cut, ports = Messages(), {name: Messages() for name in ("out", "frames", "csi", "symbols")}
    for port in range(len(samples)):
        top.connect((source, port), (synchroniser, port))
    top.msg_connect(synchroniser, "frames", decoder, "in")
    top.msg_connect(synchroniser, "frames", cut, "in")
    for name, sink in ports.items():
        top.msg_connect(decoder, name, sink, "in")
    run(top)
    return synchroniser, decoder, cut, ports


def play(samples, streams, ports, source=None):
    """Run a flowgraph; return {name: messages}.

    Args:
        samples: complex64 (antennas, n).
        streams: lists of blocks in a row, the first of which takes the samples, and then streams
            of two outputs as long as the next block has two inputs.
        ports: {name: (block, message port)}.
        source: block that plays the samples.
    """
    top, source = gr.top_block(), source or Samples(samples)
    for port in range(len(samples)):
        top.connect((source, port), (streams[0], port))
    for one, other in zip(streams, streams[1:], strict=False):
        for port in range(other.input_signature().min_streams()):
            top.connect((one, port), (other, port))
    sinks = {name: Messages() for name in ports}
    for name, (block, port) in ports.items():
        top.msg_connect(block, port, sinks[name], "in")
    run(top)
    assert not any(block.failures() for block in streams if hasattr(block, "failures"))
    return {name: sink.messages() for name, sink in sinks.items()}


def chain(samples, make=mimopack.nway_detector, source=None, llr_type="float32", of_rx=None,
          **chosen):
    """Run the open chain; return (estimator, decoder, {name: messages})."""
    num_rx, streams = len(samples), chosen["num_streams"]
    estimator = mimopack.wifi_channel_estimator(num_rx, **chosen, **(of_rx or {}))
    detector = make(streams, num_rx, chosen["constellation"], backend="cpu", llr_type=llr_type)
    decoder = mimopack.wifi_llr_decoder(**chosen, llr_type=llr_type)
    return estimator, decoder, play(samples, [estimator, detector, decoder], {
        "out": (decoder, "out"), "frames": (decoder, "frames"), "others": (estimator, "frames")},
        source)


def mixed(num_rx=2, count=12, **arguments):
    """A stream of frames of all formats, and what was sent."""
    kinds = [lambda n: wifi.NonHT(24, n), lambda n: wifi.HT(11, n),
             lambda n: wifi.VHT.of_length(3, n, 2), lambda n: wifi.HT(4, n, coding="ldpc"),
             lambda n: wifi.HT(9, n, short_gi=True, aggregated=True)]
    frames = []
    for i in range(count):
        kind = kinds[i % len(kinds)]
        several = kind(4).aggregated
        frames.append((kind, [data_mpdu(40 + 31 * i + k, 10 * i + k)
                              for k in range(1 + 2 * several)]))
    return air(frames, num_rx, **arguments)


def expected(sent):
    return [mpdu[:-4] for frame in sent for mpdu in frame.mpdus]


LOOPS = {
    "non-ht": {"num_tx": 1, "format": "non-ht", "mcs": 54},
    "ht": {"num_tx": 2, "format": "ht", "mcs": 11},
    "ht-ldpc-ampdu": {"num_tx": 3, "format": "ht", "mcs": 17, "coding": "ldpc", "short_gi": True,
                      "aggregated": True},
    "greenfield": {"num_tx": 2, "format": "ht", "mcs": 10, "greenfield": True},
    "stbc": {"num_tx": 2, "format": "ht", "mcs": 3, "stbc": 1},
    "vht": {"num_tx": 4, "format": "vht", "mcs": 3, "num_streams": 4},
    "vht80": {"num_tx": 2, "format": "vht", "mcs": 4, "num_streams": 2, "bandwidth_mhz": 80,
              "sample_rate": 80e6}}


def loop(messages, transmitter, num_rx=None, snr_db=40.0, **parameters):
    """(transmitter, receiver, ports) of messages through transmitter, channel and receiver."""
    top, sender = gr.top_block(), Sender(messages)
    num_tx = transmitter.get("num_tx", 1)
    num_rx = num_rx or num_tx
    rate = transmitter.get("sample_rate", 20e6)
    source = mimopack.wifi_transmitter(**transmitter)
    channel = mimopack.mimo_channel(num_tx, num_rx, cfo=40e3, snr_db=snr_db, sample_rate=rate,
                                    signal_power=10**-1.2, rho_tx=0, seed=7)
    receiver = mimopack.wifi_receiver(num_rx, rate, **parameters)
    ports = {name: Messages() for name in ("out", "frames")}
    top.msg_connect(sender, "out", source, "in")
    for port in range(num_tx):
        top.connect((source, port), (channel, port))
    for port in range(num_rx):
        top.connect((channel, port), (receiver, port))
    for name, sink in ports.items():
        top.msg_connect(receiver, name, sink, "in")
    run(top)
    return source, receiver, ports


HOSTILE = {
    "deep": DEEP, "deep pair": pmt.cons(pmt.intern("detector"), DEEP),
    "deep dict": pmt.dict_add(pmt.make_dict(), pmt.intern("detector"), DEEP),
    "deep dicts": nested_dict(700), "deep pair of dicts": pmt.cons(nested_dict(700), pmt.PMT_NIL),
    "deep key": pmt.dict_add(pmt.make_dict(), DEEP, pmt.PMT_T),
    "many": to_pmt_dict({f"key {index}": index for index in range(1000)}),
    "true": pmt.PMT_T, "nil": pmt.PMT_NIL, "symbol": pmt.intern("x"), "number": pmt.from_long(5),
    "bytes": pmt.init_u8vector(3, [1, 2, 3]), "pair": pmt.cons(pmt.PMT_NIL, pmt.PMT_NIL),
    "text": pmt.cons(pmt.PMT_NIL, pmt.intern("payload")), "dict": pmt.to_pmt({"mcs": 3}),
    "no dict": pmt.cons(pmt.from_long(1), pmt.init_u8vector(2, [1, 2])),
    "list": pmt.to_pmt([1, 2, 3]), "tuple": pmt.make_tuple(pmt.PMT_T, pmt.PMT_F),
    "floats": pmt.cons(pmt.make_dict(), pmt.init_f32vector(2, [1.0, 2.0])),
    "points": pmt.cons(pmt.make_dict(), pmt.init_c32vector(2, [1j, 2])),
    "no points": pmt.cons(pmt.make_dict(), pmt.init_c32vector(0, [])),
    "any": pmt.cons(to_pmt_dict({"num_streams": 0, "num_rx": -1, "format": 7,
                                      "num_mpdus_ok": "many", "snr_db": "much"}),
                    pmt.init_c32vector(2, [1j, 2])),
    "huge": pmt.cons(to_pmt_dict({"num_streams": 2**40, "num_points": 2**60}),
                     pmt.init_c32vector(2, [1j, 2])),
    "no finite": pmt.cons(to_pmt_dict({"mcs": float("nan"), "num_streams": float("inf")}),
                          pmt.init_u8vector(2, [1, 2]))}


def bursts(messages, **parameters):
    """(transmitter, samples, tags of each output) of messages."""
    top, sender = gr.top_block(), Sender(messages)
    source = mimopack.wifi_transmitter(**parameters)
    sinks = [blocks.vector_sink_c() for _ in range(parameters.get("num_tx", 1))]
    top.msg_connect(sender, "out", source, "in")
    for port, sink in enumerate(sinks):
        top.connect((source, port), sink)
    run(top)
    return source, np.array([s.data() for s in sinks], np.complex64), [s.tags() for s in sinks]


def receive_arrays(samples, **parameters):
    receiver = wifi.Receiver(len(samples), **parameters)
    padded = np.pad(samples, [(0, 0), (500, 500)])
    rng = np.random.default_rng(2)
    padded += 1e-4 * (rng.standard_normal(padded.shape) + 1j * rng.standard_normal(padded.shape))
    return receiver.process(padded.astype(np.complex64)) + receiver.finish()
