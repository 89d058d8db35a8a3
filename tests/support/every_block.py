# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every block of gnuradio.mimopack in a flowgraph: how to make it, and what it takes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import nr_loop
import numpy as np
import pmt
from detector_blocks import Sink, Source
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack import coding, recording
from gnuradio.mimopack.blocks import DETECTOR_BLOCKS, wifi_pdus
from gnuradio.mimopack.wifi.pdu import frame_to_pdus
from simulated import problem
from wifi_air import data_mpdu
from wifi_blocks import HOSTILE, Messages, mixed, pdu, post, receive, run
from wifi_frames import FRAMES

CODE = "wimax:576:1/2"
# Ports whose messages depend on the clock.
_TIMED = ("status", "health", "written")


def _number_of(name):
    """Return a function that reads a number of a block's ``counts()``."""
    return lambda block: block.counts()[name]


@dataclass
class Case:
    """A block, and what the tests do with it.

    Attributes:
        make: function (folder) that makes the block.
        inputs: an array of items for each stream input.
        tags: (item, key, value) of the first input, without which the block does nothing.
        good: {message input: message that the block accepts}.
        settings: {setting: value} that the message at port ``control`` changes.
        refused: {message input: function (block) that returns the number of refused messages}.
        inner: function (block) that returns (object, name) of a function that work() or a handler
            calls; None if that function has no reason to fail.
        failures: function (block) that returns the number of exceptions.
    """

    make: Callable
    inputs: tuple = ()
    tags: tuple = ()
    good: dict = field(default_factory=dict)
    settings: dict = field(default_factory=dict)
    refused: dict = field(default_factory=dict)
    inner: Callable = None
    failures: Callable = lambda block: block.failures()

    def __post_init__(self):
        self.inputs = tuple(self.inputs)
        if self.settings:
            self.good["control"] = pmt.to_pmt(self.settings)


@dataclass
class Played:
    """What a block has sent: an array of items for each stream output, lists of messages."""

    items: list
    messages: dict


class Keeper(Sink):
    """Collect items alone: pmt.to_python() of a hostile tag would crash."""

    def work(self, input_items, _output_items):
        n = len(input_items[0])
        self.parts.append(input_items[0].reshape(n, -1).copy())
        return n


class Talker(gr.basic_block):
    """Send messages on request, and end."""

    def __init__(self, messages, at_once):
        gr.basic_block.__init__(self, "talker", None, None)
        self._messages, self._at_once = messages, at_once
        self.message_port_register_out(pmt.intern("out"))

    def start(self):
        if self._at_once:
            self.say()
        return gr.basic_block.start(self)

    def say(self):
        for message in self._messages:
            self.message_port_pub(pmt.intern("out"), message)
        post(self, "system", pmt.cons(pmt.intern("done"), pmt.from_long(1)))


def play(block, ports_out, inputs, messages, tags=(), halfway=lambda: None):
    """Run a block, which must end by itself.

    Args:
        block: the block.
        ports_out: names of its message outputs.
        inputs: an array of items for each stream input.
        messages: {message input: messages}, sent when half of the items are on their way.
        tags: (item, key, value) of the first input.
        halfway: function called before these messages.
    """
    top = gr.top_block()
    talkers = [Talker(sent, not inputs) for sent in messages.values()]
    for port, talker in zip(messages, talkers, strict=True):
        top.msg_connect(talker, "out", block, port)

    def middle():
        halfway()
        for talker in talkers:
            talker.say()

    sources = [Source(items, () if port else tags, 97, None if port else (len(items) // 2, middle))
               for port, items in enumerate(inputs)]
    for port, source in enumerate(sources):
        top.connect(source, (block, port))
    kinds = list(block.out_sig()) if hasattr(block, "out_sig") else []
    sinks = [Keeper(kind.base.type, kind.shape[0] if kind.shape else 1) for kind in kinds]
    for port, sink in enumerate(sinks):
        top.connect((block, port), sink)
    outputs = block.output_signature()
    for port in range(len(kinds), max(0, outputs.max_streams())):    # of a hierarchical block
        top.connect((block, port), blocks.null_sink(outputs.sizeof_stream_item(port)))
    listeners = {port: Messages() for port in ports_out}
    for port, listener in listeners.items():
        top.msg_connect(block, port, listener, "in")
    run(top)
    return Played([sink.items() for sink in sinks],
                  {port: listener.messages() for port, listener in listeners.items()
                   if port not in _TIMED})


def make_with_ports(case, folder, monkeypatch):
    """Return (block, names of its message inputs, names of its message outputs)."""
    found = [], []
    for kind, names in zip(("in", "out"), found, strict=True):
        name = f"message_port_register_hier_{kind}"
        register = getattr(gr.hier_block2, name)
        monkeypatch.setattr(gr.hier_block2, name, lambda block, port, register=register,
                            names=names: names.append(port) or register(block, port))
    block = case.make(folder)
    if isinstance(block, gr.hier_block2):
        return block, *found
    return block, *([port for port in pmt.to_python(ports) if port != "system"]
                    for ports in (block.message_ports_in(), block.message_ports_out()))


def spoiled(message):
    """Yield a dictionary or PDU with a hostile value in place of each of its values."""
    facts, is_pdu = message, pmt.is_uniform_vector(pmt.cdr(message))
    if is_pdu:
        facts = pmt.car(message)
    keys = pmt.dict_keys(facts)
    for key in (pmt.nth(index, keys) for index in range(pmt.length(keys))):
        for name in ("deep", "deep dicts", "symbol", "number", "bytes", "tuple"):
            changed = pmt.dict_add(facts, key, HOSTILE[name])
            yield pmt.cons(changed, pmt.cdr(message)) if is_pdu else changed


@lru_cache(maxsize=1)
def received():
    """Return (samples of two antennas, {port: messages of wifi_receiver})."""
    samples, _ = mixed(count=6)
    return samples, {name: sink.messages() for name, sink in receive(samples)[1].items()}


def _cut_out():
    """Return a PDU of wifi_synchroniser."""
    block = mimopack.wifi_synchroniser(2)
    return play(block, ["frames"], tuple(received()[0][..., None]), {}).messages["frames"][0]


def _detector(make):
    y, h, *_ = problem(3000, 2, 2, "qpsk", 12.0)
    live = {p.name: 1 for p in make.DETECTOR.PARAMETERS if p.live}
    return Case(lambda folder: make(num_tx=2, num_rx=2, constellation="qpsk", backend="cpu"),
                (y, h.reshape(-1, 4)), settings={"noise_var": 0.2, **live},
                inner=lambda block: (block._detector, "detect"))


def _bits(*shape):
    return np.random.default_rng(1).integers(0, 2, shape, np.uint8)


def _reals(*shape):
    return np.random.default_rng(2).standard_normal(shape).astype(np.float32)


def _samples(*shape):
    return _reals(*shape, 2).view(np.complex64)[..., 0]


def _iterative():
    block = mimopack.codeword_modulator(CODE, 2, "qpsk")
    x, = play(block, [], (_bits(400, 288),), {}).items
    vectors = block.vectors()
    h = _samples(400, vectors, 2, 2)
    y = np.einsum("nvij,nvj->nvi", h, x.reshape(400, vectors, 2))
    y += 0.1 * _samples(400, vectors, 2)
    return Case(lambda folder: mimopack.iterative_receiver(
        2, 2, "qpsk", CODE, iterations=2, backend="cpu"),
        (y.reshape(400, -1), h.reshape(400, -1)), settings={"noise_var": 0.2, "iterations": 1},
        inner=lambda block: (block, "_noise"))


def _llr_pdu():
    llr = 4 * (2.0 * coding.get(CODE).encode(_bits(1, 288)) - 1)
    return pmt.cons(pmt.PMT_NIL, pmt.init_f32vector(576, llr.ravel().tolist()))


def _source(folder):
    writer = recording.Writer(folder / "played", 2, 20e6)
    with recording.Recorder(writer) as recorder:
        recorder.write(_samples(2, 5000), 0)
    return mimopack.sigmf_multichannel_source(folder / "played")


def _view(name, port, **arguments):
    return Case(lambda folder: getattr(mimopack, name)(**arguments),
                good={port: received()[1][port][1]}, refused={port: lambda block: block.refused()},
                inner=lambda block: (block, "_accept"), failures=lambda block: block.refused())


def _receiving(name, **settings):
    return Case(lambda folder: getattr(mimopack, name)(2), received()[0][..., None],
                settings={"threshold": 0.4, **settings},
                inner=lambda block: (block._sink.engine, "process"))


def _recording(name, inner, **good):
    frame = pmt.to_pmt({"start": 10, "num_samples": 20})
    return Case(lambda folder: getattr(mimopack, name)(folder / "made", 2),
                _samples(2, 20_000, 1), good={"frames": frame, **good},
                refused={"frames": _number_of("failures")}, inner=inner,
                failures=_number_of("failures"))


@lru_cache(maxsize=1)
def _nr_grids():
    """Return (grids, tags) of slots, for ``nr_channel_estimator``."""
    grids = [nr_loop.stream().process(nr_loop.received()[0])]
    slots = [*grids[0]]
    symbols = slots[0].grid.shape[1]
    return ([np.concatenate(rows) for rows in zip(*(slot.grid for slot in slots), strict=True)],
            tuple((symbols * index, "nr_slot", slot.number) for index, slot in enumerate(slots)))


def _nr_samples(name):
    return Case(lambda folder: getattr(mimopack, name)(nr_loop.CONFIG, 2),
                nr_loop.received()[0][..., None],
                inner=lambda block: (block._sink.engine, "process"))


# {name of a block with stream inputs: function that makes its case}. All detectors share a class.
STREAMS = {
    "nway_detector": lambda: _detector(DETECTOR_BLOCKS["nway_detector"]),
    "ber_meter": lambda: Case(
        lambda folder: mimopack.ber_meter(10, 2, 1), (_bits(2000, 10), _bits(2000, 20))),
    "codeword_modulator": lambda: Case(
        lambda folder: mimopack.codeword_modulator(CODE, 2, "qpsk"), (_bits(2000, 288),)),
    "fec_decoder": lambda: Case(
        lambda folder: mimopack.fec_decoder(CODE, backend="cpu"), (_reals(1000, 576),),
        settings={"iterations": 3}, inner=lambda block: (block._engine, "decide")),
    "fec_encoder": lambda: Case(
        lambda folder: mimopack.fec_encoder(CODE), (_bits(2000, 288),)),
    "iterative_receiver": _iterative,
    "llr_meter": lambda: Case(
        lambda folder: mimopack.llr_meter(period=50), (_reals(9000, 1), _bits(9000, 1))),
    "mimo_channel": lambda: Case(
        lambda folder: mimopack.mimo_channel(2, 3, "tdl_a", 50e-9, seed=1), _samples(2, 20_000, 1),
        settings={"snr_db": 10.0, "cfo": 5.0}),
    "nr_channel_estimator": lambda: Case(
        lambda folder: mimopack.nr_channel_estimator(nr_loop.CONFIG, 2), *_nr_grids(),
        inner=lambda block: (block._receiver, "estimate")),
    "nr_llr_decoder": lambda: Case(
        lambda folder: mimopack.nr_llr_decoder(nr_loop.CONFIG, backend="cpu"), (_reals(9000, 8),),
        inner=lambda block: (block, "_take")),
    "nr_ofdm_demodulator": lambda: _nr_samples("nr_ofdm_demodulator"),
    "nr_pusch_receiver": lambda: _nr_samples("nr_pusch_receiver"),
    "ofdm_channel_estimator": lambda: Case(
        lambda folder: mimopack.ofdm_channel_estimator([[[1] * 8, [0] * 8] * 25], 2, 8),
        (1 + 0.1 * _samples(200, 8), 1 - 0.1 * _samples(200, 8)),
        inner=lambda block: (block._estimator, "vectors")),
    "ofdm_grid": lambda: Case(
        lambda folder: mimopack.ofdm_grid(2, "qpsk", 3, 2), (_reals(3000, 8),)),
    "ofdm_vectors": lambda: Case(
        lambda folder: mimopack.ofdm_vectors(2, 2, 3, 2),
        (_samples(2000, 3), _samples(2000, 3), _samples(1000, 12))),
    "rayleigh_channel": lambda: Case(
        lambda folder: mimopack.rayleigh_channel(2, 2, seed=1), (_samples(9000, 2),),
        settings={"snr_db": 10.0}),
    "sigmf_multichannel_sink": lambda: _recording(
        "sigmf_multichannel_sink", lambda block: (block.recorder, "write")),
    "sigmf_ring_sink": lambda: _recording(
        "sigmf_ring_sink", lambda block: (block.ring, "write"), trigger=pmt.intern("text")),
    "symbol_mapper": lambda: Case(
        lambda folder: mimopack.symbol_mapper(2, "qpsk"), (_bits(9000, 4),)),
    "wifi_channel_estimator": lambda: Case(
        lambda folder: mimopack.wifi_channel_estimator(2, num_streams=2),
        received()[0][..., None], settings={"threshold": 0.4},
        inner=lambda block: (block._sink.engine, "process")),
    "wifi_llr_decoder": lambda: Case(
        lambda folder: mimopack.wifi_llr_decoder(2), (_reals(9000, 8),),
        inner=lambda block: (block, "_take")),
    "wifi_receiver": lambda: _receiving("wifi_receiver", detector="mmse"),
    "wifi_synchroniser": lambda: _receiving("wifi_synchroniser"),
}
# The same for blocks that only messages feed.
MESSAGES = {
    "fec_decoder_pdu": lambda: Case(
        lambda folder: mimopack.fec_decoder_pdu(CODE, backend="cpu", llr_output=True),
        good={"in": _llr_pdu()}, settings={"iterations": 3},
        refused={"in": lambda block: block.refused()},
        inner=lambda block: (block, "_decode"), failures=lambda block: block.refused()),
    "fec_encoder_pdu": lambda: Case(
        lambda folder: mimopack.fec_encoder_pdu(CODE),
        good={"in": pmt.cons(pmt.PMT_NIL, pmt.to_pmt(_bits(288)))},
        refused={"in": lambda block: block.refused()},
        inner=lambda block: (type(block._code), "encode"), failures=lambda block: block.refused()),
    "nr_pusch_transmitter": lambda: Case(
        lambda folder: mimopack.nr_pusch_transmitter(nr_loop.CONFIG, random_slots=0),
        good={"in": pdu(nr_loop.received()[1][0])}, refused={"in": lambda block: block.refused()},
        inner=lambda block: (block, "_accept"), failures=lambda block: block.refused()),
    "wifi_airtime": lambda: _view("wifi_airtime", "frames", row_seconds=1e-5),
    "wifi_channel_view": lambda: _view("wifi_channel_view", "csi", num_rx=2),
    "wifi_condition_view": lambda: _view("wifi_condition_view", "csi"),
    "wifi_decoder": lambda: Case(
        lambda folder: mimopack.wifi_decoder(2), good={"in": _cut_out()},
        settings={"detector": "mmse"}, refused={"in": lambda block: block.failures()},
        inner=lambda block: (block._engine, "decode")),
    "wifi_levels": lambda: _view("wifi_levels", "frames", num_rx=2),
    "wifi_linear_loss": lambda: _view("wifi_linear_loss", "csi", least_streams=1, interval=0.0),
    "wifi_meter": lambda: _view("wifi_meter", "frames"),
    "wifi_pcap_sink": lambda: Case(
        lambda folder: mimopack.wifi_pcap_sink(folder / "made.pcap"),
        good={"in": wifi_pdus.to_pmt(*frame_to_pdus(FRAMES[0])[0])},
        refused={"in": lambda block: block.refused()},
        inner=lambda block: (block._writer, "write_pdu"), failures=lambda block: block.refused()),
    "wifi_symbols": lambda: _view("wifi_symbols", "symbols"),
    "wifi_transmitter": lambda: Case(
        lambda folder: mimopack.wifi_transmitter(), good={"in": pdu(data_mpdu(50, 1)[:-4])},
        refused={"in": lambda block: block.refused()},
        inner=lambda block: (block, "_accept"), failures=lambda block: block.refused()),
}
# Blocks without any input.
SOURCES = {
    "sigmf_multichannel_source": lambda: Case(
        _source, inner=lambda block: (block.reader, "read"),
        failures=lambda block: int(block.error is not None)),
}
