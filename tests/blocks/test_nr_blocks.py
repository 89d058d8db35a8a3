# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The blocks of the 5G NR uplink: open chain, whole receiver, transmitter."""

import json
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pmt
import pytest
from detector_blocks import Sink, Source
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack import constellation, detectors, nr
from gnuradio.mimopack._runtime import to_pmt_dict
from nr_loop import CARRIER, CONFIG, USERS, received, stream
from wifi_blocks import HOSTILE, Messages, Samples, Sender, moment, pdu, play, run

SYMBOLS, SUBCARRIERS = CARRIER.symbols_per_slot, CARRIER.num_subcarriers
VECTORS = nr.resources(CONFIG).num_data


def layers(users):
    """Return the constellations of all users' layers."""
    return [user.constellation for user in users for _ in range(user.num_layers)]


def chain(samples, users=(CONFIG,), detector="nway", source=None, llr_type="float32", **arguments):
    """Run the open chain; return (blocks, {port: messages})."""
    num_rx = len(samples)
    parts = [mimopack.nr_ofdm_demodulator(list(users), num_rx, **arguments),
             mimopack.nr_channel_estimator(list(users), num_rx),
             getattr(mimopack, f"{detector}_detector")(
                 len(layers(users)), num_rx, layers(users), backend="cpu", llr_type=llr_type),
             mimopack.nr_llr_decoder(list(users), llr_type=llr_type, backend="cpu")]
    return parts, play(samples, parts, {port: (parts[-1], port) for port in ("out", "blocks")},
                       source)


def facts(messages):
    return [pmt.to_python(message) for message in messages]


def data(messages):
    return [bytes(pmt.u8vector_elements(pmt.cdr(message))) for message in messages]


@pytest.mark.quick
@pytest.mark.parametrize("users", [
    (CONFIG,), tuple(USERS), tuple(replace(user, ptrs=nr.Ptrs()) for user in USERS),
    (replace(CONFIG, num_prb=None, prb_set=(0, 1, 4)),)],
    ids=["one user", "two users", "two users with PT-RS", "list of PRBs"])
def test_the_chain_and_the_receiver_block_send_the_blocks_of_the_arrays(users):
    samples, sent = received(users=users)
    wanted = nr.PuschReceiver(list(users), 2, "nway", 1, "cpu").process_samples(samples)
    (*_, decoder), found = chain(samples, users)
    block = mimopack.nr_pusch_receiver(list(users), 2, "nway", 1, backend="cpu")
    whole = play(samples, [block], {port: (block, port) for port in ("out", "blocks")})
    for messages in (found, whole):
        assert data(messages["out"]) == sent == [block.data for block in wanted]
        for fact, block in zip(facts(messages["blocks"]), wanted, strict=True):
            assert (fact["slot"], fact["user"], fact["crc_ok"]) == (block.slot, block.user, True)
            # Estimates of the first slots depend on how many come in a call.
            assert fact["snr_db"] == pytest.approx(block.snr_db, abs=0.5)
            assert fact["n_rnti"] == users[block.user].n_rnti
            assert fact["num_bits"] == len(block.bits)
    assert decoder.counts() == {
        "slots": 24, "blocks": len(sent), "blocks_ok": len(sent), "cut": 0, "malformed": 0,
        "untagged": 0, "failures": 0}


@pytest.mark.gpu
@pytest.mark.parametrize("users", [(CONFIG,), tuple(USERS)], ids=["one user", "two users"])
def test_the_receiver_block_on_a_gpu_sends_the_blocks_that_were_sent(users):
    samples, sent = received(num_slots=80, users=users)
    block = mimopack.nr_pusch_receiver(list(users), 2, "nway", 1, backend="cuda")
    assert data(play(samples, [block], {"out": (block, "out")})["out"]) == sent


@pytest.mark.parametrize("ports", [(0,), (0, 2)])
def test_transform_precoding(ports):
    """Each user's symbols come as a component of vectors, and any detector slices them."""
    users = [nr.PuschConfig(carrier=CARRIER, transform_precoding=True, mcs=nr.Mcs(index=12),
                            dmrs_ports=(port,), n_rnti=10 + port, dmrs=nr.Dmrs(
                                additional_position=1)) for port in ports]
    samples, sent = received(num_slots=4, users=tuple(users))
    parts = [mimopack.nr_ofdm_demodulator(users, 2), mimopack.nr_channel_estimator(users, 2),
             mimopack.mmse_detector(len(users), len(users), layers(users), backend="cpu"),
             mimopack.nr_llr_decoder(users, backend="cpu")]
    found = play(samples, parts, {"out": (parts[-1], "out")})
    assert data(found["out"]) == sent


def grids(count=5, snr_db=30.0):
    """Return the :class:`nr.SlotGrid` objects of samples."""
    found = stream()
    samples, _ = received(snr_db=snr_db)
    return (found.process(samples) + found.finish())[:count]


def vectors(slots, drop=(), number=None, estimator=None):
    """Run grids through nr_channel_estimator; return (estimator, sinks of y and h).

    ``drop`` are items that are left out, and ``estimator`` is one that ran before.
    """
    items = np.concatenate([slot.grid for slot in slots], axis=1)
    kept = np.delete(np.arange(items.shape[1]), list(drop))
    tags = [(int(np.flatnonzero(kept == SYMBOLS * index)[0]), "nr_slot",
             slot.number if number is None else number)
            for index, slot in enumerate(slots) if SYMBOLS * index in kept]
    estimator = estimator or mimopack.nr_channel_estimator(CONFIG, 2)
    top, sinks = gr.top_block(), [Sink(np.complex64, 2), Sink(np.complex64, 4)]
    sources = [Source(row[kept], () if port else tags, 5) for port, row in enumerate(items)]
    for port in range(2):
        top.connect(sources[port], (estimator, port))
        top.connect((estimator, port), sinks[port])
    run(top)
    return estimator, sinks


def test_another_run_is_another_channel():
    slots = grids(4)
    estimator, (_, before) = vectors(grids(20, snr_db=0.0))
    _, (_, after) = vectors(slots, estimator=estimator)
    _, (_, expected) = vectors(slots)
    assert len(before.items()) >= 5 * VECTORS    # enough to learn a profile
    np.testing.assert_array_equal(after.items(), expected.items())


@pytest.mark.parametrize("snr_db", [8.0, 30.0])
def test_llrs_of_the_streams_equal_the_receivers(snr_db):
    """The soft bits of the decoder are linear in the LLRs, so they show whether LLRs are equal.

    Four slots are too few to learn a common profile from, which depends on the slots of a call.
    """
    slots = grids(4, snr_db=snr_db)
    _, (y, h) = vectors(slots)
    detector = detectors.NWay(2, 2, CONFIG.constellation, backend="cpu")
    llr = detector.detect(y.items(), h.items().reshape(-1, 2, 2), 1.0).reshape(4, VECTORS, -1)
    numbers = [slot.number for slot in slots]
    receiver = nr.PuschReceiver(CONFIG, 2, detector=None, backend="cpu")
    decoded = receiver.decode(llr, [nr.ReceivedSlot(number, np.ones(2)) for number in numbers])
    wanted = nr.PuschReceiver(CONFIG, 2, "nway", 1, "cpu").process(
        np.stack([slot.grid for slot in slots]), numbers)
    for one, other in zip(decoded, wanted, strict=True):
        np.testing.assert_allclose(one.soft, other.soft, atol=0.02)
        assert one.crc_ok == other.crc_ok


def test_tags_of_the_vectors():
    slots = grids()
    _, (y, _) = vectors(slots)
    found = {(item, key): value for item, key, value in y.tags}
    assert len(found) == 10
    for index, slot in enumerate(slots):
        assert found[index * VECTORS, "noise_var"] == 1
        told = found[index * VECTORS, "nr_pusch"]
        assert told["slot"] == slot.number and told["num_vectors"] == VECTORS
        assert told["layer_snr_db"] == pytest.approx([26.6, 26.6], abs=5)


@pytest.mark.parametrize("drop, slots, cut, untagged", [
    ((), 4, 0, 0), ((20,), 3, 1, 0), ((28,), 3, 0, 13), ((0, 1, 55), 2, 0, 12),
    (range(28, 42), 3, 0, 0)])
def test_a_slot_is_whole_or_absent(drop, slots, cut, untagged):
    whole = vectors(grids(4))[1]
    estimator, sinks = vectors(grids(4), drop)
    assert estimator.counts() == {"slots": slots, "cut": cut, "malformed": 0,
                                  "untagged": untagged, "failures": 0}
    gone = {item // SYMBOLS for item in drop}
    kept = [slot for slot in range(4) if slot not in gone]
    for sink, every in zip(sinks, whole, strict=True):
        wanted = every.items().reshape(4, VECTORS, -1)[kept]
        np.testing.assert_array_equal(sink.items().reshape(wanted.shape), wanted)


@pytest.mark.parametrize("cut", [0, 60, 400])
def test_the_end_of_the_samples_flushes_whole_slots(cut):
    """``received`` adds 50 samples after the last slot."""
    samples, sent = received(num_slots=3)
    parts, found = chain(samples[:, :samples.shape[1] - cut])
    assert data(found["out"]) == sent[:3 if not cut else 2]
    assert [part.counts()["slots"] for part in (*parts[:2], parts[3])] == [
        len(found["out"])] * 3


def test_the_time_of_the_samples_reaches_the_messages():
    samples, _ = received(num_slots=4, delay=0)
    source = Samples(samples, tags=[(0, "rx_time", moment(1000, 0.25))])
    _, found = chain(samples, source=source)
    block = mimopack.nr_pusch_receiver(CONFIG, 2)
    whole = play(samples, [block], {"blocks": (block, "blocks")},
                 Samples(samples, tags=[(0, "rx_time", moment(1000, 0.25))]))
    for messages in (found["blocks"], whole["blocks"]):
        told = facts(messages)
        assert [fact["time"] for fact in told] == pytest.approx(
            [1000.25 + 0.5e-3 * slot for slot in range(4)], abs=3 / 3.84e6)
        assert [fact["rx_time"][0] for fact in told] == [1000] * 4


def test_int8_llrs():
    samples, sent = received(num_slots=4)
    _, found = chain(samples, llr_type="int8")
    assert data(found["out"]) == sent


def test_given_timing_and_a_later_first_slot():
    """The second slot begins at sample 1920."""
    samples, sent = received(num_slots=4, delay=0, cfo=0.0)
    parts, found = chain(samples, slot=1, start=1919)
    assert data(found["out"]) == sent[1:]
    assert [fact["frame_slot"] for fact in facts(found["blocks"])] == [1, 2, 3]


def test_an_unknown_first_slot():
    samples, sent = received(num_slots=4)
    block = mimopack.nr_pusch_receiver(CONFIG, 2)
    found = play(samples[:, 1500:], [block], {"out": (block, "out"), "blocks": (block, "blocks")})
    assert data(found["out"]) == sent[1:]
    assert [fact["slot"] for fact in facts(found["blocks"])] == [1, 2, 3]


@pytest.mark.parametrize("lead", [5, 30, 100])
@pytest.mark.parametrize("level", [0.0, 0.03])
def test_noise_or_zeros_before_the_signal(lead, level):
    samples, sent = received(num_slots=30)
    noise = np.random.default_rng(7).normal(0, level, (2, 1920 * lead, 2)) @ [1, 1j]
    block = mimopack.nr_pusch_receiver(CONFIG, 2, "mmse", 1)
    found = play(np.concatenate([noise, samples], axis=1), [block], {"out": (block, "out")})
    assert data(found["out"]) == sent
    assert block.counts()["blocks"] == 30 and block.failures() == 0


@pytest.mark.parametrize("value", [np.nan, np.inf, 0])
def test_unusable_samples_cost_their_slot(value):
    """The receiver learns the profile from slots around."""
    samples, sent = received(num_slots=30)
    samples = samples.copy()
    samples[:, 300 + 1920 * 11:300 + 1920 * 12] = value
    block = mimopack.nr_pusch_receiver(CONFIG, 2, "mmse", 1)
    found = play(samples, [block], {"out": (block, "out")})
    assert data(found["out"]) == sent[:11] + sent[12:]
    assert (block.counts()["blocks"], block.counts()["blocks_ok"], block.failures()) == (30, 29, 0)


def test_after_a_gap_the_number_of_the_next_slot_is_found():
    """The second part begins within slot 1."""
    samples, sent = received(num_slots=4)
    twice = np.concatenate([samples, samples[:, 1500:]], axis=1)
    gap = samples.shape[1]
    source = Samples(twice, tags=[(0, "rx_time", moment(1000, 0.0)),
                                  (gap, "rx_time", moment(1001, 0.0))])
    parts, found = chain(twice, source=source)
    assert data(found["out"]) == sent + sent[1:]
    told = facts(found["blocks"])
    assert [fact["slot"] for fact in told] == [0, 1, 2, 3, 21, 22, 23]
    assert [fact["frame_slot"] for fact in told] == [0, 1, 2, 3, 1, 2, 3]
    assert parts[0].counts()["gaps"] == 1


def test_blocks_with_a_wrong_crc_are_reported():
    samples, sent = received(num_slots=4, snr_db=-3.0)
    _, found = chain(samples)
    assert not found["out"] and [fact["crc_ok"] for fact in facts(found["blocks"])] == [False] * 4
    block = mimopack.nr_pusch_receiver(CONFIG, 2, bad_crc=True)
    whole = play(samples, [block], {"out": (block, "out")})
    assert len(whole["out"]) == 4 and data(whole["out"]) != sent
    assert block.counts()["blocks_ok"] == 0


def decoded(llr, tags, told=None):
    """Return nr_llr_decoder after LLRs."""
    decoder, source, top = mimopack.nr_llr_decoder(CONFIG), Source(llr, tags), gr.top_block()
    top.connect(source, decoder)
    if told is not None:
        top.msg_connect(decoder, "blocks", told, "in")
    run(top)
    return decoder


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_tags_of_slots(name):
    """A number is a valid slot."""
    estimator, (y, _) = vectors(grids(2), number=HOSTILE[name])
    assert estimator.counts()["malformed"] == (name != "number") * 2
    assert len(y.items() if y.parts else []) == (name == "number") * 2 * VECTORS
    decoder = decoded(np.ones((50, 8), np.float32), [(5, "nr_pusch", HOSTILE[name])])
    assert decoder.counts()["malformed"] == 1 and decoder.counts()["untagged"] == 50


@pytest.mark.parametrize("change", [
    {"num_vectors": VECTORS - 1}, {"layer_snr_db": [1.0]}, {"slot": -1}, {"slot": "0"},
    {"rx_time": "now"}])
def test_tags_of_another_configuration(change):
    told = {"slot": 0, "num_vectors": VECTORS, "layer_snr_db": [1.0, 2.0]} | change
    value = pmt.make_dict()
    for key, one in told.items():
        one = pmt.init_f64vector(len(one), one) if isinstance(one, list) else pmt.to_pmt(one)
        value = pmt.dict_add(value, pmt.intern(key), one)
    decoder = decoded(np.ones((50, 8), np.float32), [(0, "nr_pusch", value)])
    assert decoder.counts()["malformed"] == 1


def test_a_cut_slot_of_llrs_is_absent():
    slots = grids(2)
    _, (y, h) = vectors(slots)
    llr = detectors.NWay(2, 2, CONFIG.constellation, backend="cpu").detect(
        y.items(), h.items().reshape(-1, 2, 2), 1.0)
    tags = [(item - 7 * (item > 0), key, to_pmt_dict(value)) for item, key, value in y.tags
            if key == "nr_pusch"]
    told = Messages()
    decoder = decoded(np.delete(llr, range(7), axis=0), tags, told)
    assert [fact["slot"] for fact in facts(told.messages())] == [1]
    assert decoder.counts()["cut"] == 1 and (decoder.blocks(), decoder.lost()) == (1, 0)


def sent_by(block, messages=()):
    """Return (samples, tags of each output) of a transmitter."""
    top, sender = gr.top_block(), Sender(messages)
    ports = block.output_signature().max_streams()
    sinks = [blocks.vector_sink_c() for _ in range(ports)]
    top.msg_connect(sender, "out", block, "in")
    for port, sink in enumerate(sinks):
        top.connect((block, port), sink)
    run(top)
    tags = [defaultdict(dict) for _ in sinks]
    for found, sink in zip(tags, sinks, strict=True):
        for tag in sink.tags():
            found[tag.offset][pmt.to_python(tag.key)] = pmt.to_python(tag.value)
    return np.array([sink.data() for sink in sinks], np.complex64), tags


def test_the_transmitter_sends_the_samples_of_the_arrays():
    _, sent = received(num_slots=4)
    block = mimopack.nr_pusch_transmitter(CONFIG, random_slots=0, slot=18, backoff_db=3.0)
    samples, tags = sent_by(block, [pdu(one, slot=5, tx_time=moment(10, 0.5e-3 * slot))
                                    for slot, one in enumerate(sent)])
    bits = np.unpackbits(np.frombuffer(b"".join(sent), np.uint8)).reshape(4, -1)
    transmitter = nr.PuschTransmitter(CONFIG)
    wanted = np.concatenate([transmitter.samples(bits[:2], 18), transmitter.samples(bits[2:])],
                            axis=1)
    scale = np.linalg.norm(samples) / np.linalg.norm(wanted)
    np.testing.assert_allclose(samples, scale * wanted, atol=1e-5)
    power = np.mean(np.sum(np.abs(samples)**2, axis=0))
    assert 10 * np.log10(power) == pytest.approx(-3, abs=0.3)
    assert tags == [{1920 * slot: {"nr_slot": 18 + slot, "packet_len": 1920,
                                   "tx_time": (10, 0.5e-3 * slot)} for slot in range(4)}] * 2
    assert block.slots() == 4 and block.sample_rate() == 3.84e6


def test_random_slots_end_and_are_received():
    transmitter = mimopack.nr_pusch_transmitter(CONFIG, random_slots=5, seed=3)
    samples, _ = sent_by(transmitter)
    assert samples.shape == (2, 5 * 1920) and transmitter.slots() == 5
    again, _ = sent_by(mimopack.nr_pusch_transmitter(CONFIG, random_slots=5, seed=3))
    np.testing.assert_array_equal(samples, again)
    _, found = chain(samples, start=0)
    assert [fact["crc_ok"] for fact in facts(found["blocks"])] == [True] * 5


def test_the_lengths_of_bursts_have_the_given_name():
    """With 60 kHz, every other slot has a longer first prefix."""
    config = nr.PuschConfig(carrier=nr.Carrier(n_size_grid=12, subcarrier_spacing_khz=60))
    block = mimopack.nr_pusch_transmitter(config, random_slots=3, length_tag_name="burst")
    samples, (tags,) = sent_by(block)
    lengths = [nr.Ofdm(config.carrier).slot_length(slot) for slot in range(3)]
    assert [facts["burst"] for _, facts in sorted(tags.items())] == lengths
    assert samples.shape[1] == sum(lengths) and lengths[0] > lengths[1]


def test_a_transmitter_per_user():
    top = gr.top_block()
    transmitters = [mimopack.nr_pusch_transmitter(USERS, user, 6, seed=user) for user in range(2)]
    channel = mimopack.mimo_channel(2, 3, sample_rate=3.84e6, snr_db=25, signal_power=2 * 10**-1.2,
                                    seed=1)
    receiver = mimopack.nr_pusch_receiver(USERS, 3)
    told = Messages()
    for port, transmitter in enumerate(transmitters):
        top.connect(transmitter, (channel, port))
    for port in range(3):
        top.connect((channel, port), (receiver, port))
    top.msg_connect(receiver, "out", told, "in")
    run(top)
    assert [(info["slot"], info["user"]) for info, _ in told.pdus()] == [
        (slot, user) for slot in range(6) for user in range(2)]


@pytest.mark.parametrize("message", [pdu(b"short"), pmt.cons(pmt.PMT_NIL, pmt.intern("text")),
                                     pmt.PMT_T, "moment"])
def test_the_transmitter_refuses_other_messages(message, capfd):
    _, sent = received(num_slots=4)
    if message == "moment":
        message = pdu(sent[1], tx_time="now")
    block = mimopack.nr_pusch_transmitter(CONFIG, random_slots=0)
    samples, _ = sent_by(block, [message, pdu(sent[0])])
    assert samples.shape[1] == 1920 and block.refused() == 1
    assert "skipped" in "".join(capfd.readouterr())


def test_forms_of_a_configuration(tmp_path):
    path = tmp_path / "cell.json"
    path.write_text(json.dumps(CONFIG.to_json()))
    for config in (CONFIG, [CONFIG], CONFIG.to_json(), str(path), path):
        block = mimopack.nr_pusch_transmitter(config)
        assert block.output_signature().max_streams() == 2
    for wrong, said in ((str(tmp_path / "none.json"), "none.json"), (5, "config: got 5"),
                        ([], "config"), ({"mcs": {"index": 99}}, "mcs.index"),
                        ([CONFIG, CONFIG], "DMRS ports")):
        with pytest.raises(ValueError, match=said):
            mimopack.nr_pusch_receiver(wrong)


@pytest.mark.parametrize("make, arguments, said", [
    ("nr_pusch_transmitter", {"user": 1}, "user"),
    ("nr_pusch_transmitter", {"random_slots": -1}, "random_slots"),
    ("nr_pusch_transmitter", {"backoff_db": 101}, "backoff_db"),
    ("nr_pusch_transmitter", {"slot": 20}, "slot"),
    ("nr_pusch_transmitter", {"length_tag_name": ""}, "length_tag_name: got ''"),
    ("nr_ofdm_demodulator", {"fft_size": 100}, "fft_size"),
    ("nr_ofdm_demodulator", {"start": -1}, "start"),
    ("nr_channel_estimator", {"num_rx": 0}, "num_rx"),
    ("nr_llr_decoder", {"llr_scale": 0}, "llr_scale"),
    ("nr_pusch_receiver", {"detector": "none"}, "none")])
def test_wrong_arguments(make, arguments, said):
    if make in ("nr_ofdm_demodulator", "nr_pusch_receiver"):
        arguments["num_rx"] = 2
    with pytest.raises(ValueError, match=said):
        getattr(mimopack, make)(CONFIG, **arguments)


def test_the_width_of_the_llrs():
    users = [nr.PuschConfig(carrier=CARRIER, n_rnti=user, dmrs_ports=(user,), mcs=nr.Mcs(index=i))
             for user, i in enumerate((3, 27))]
    decoder = mimopack.nr_llr_decoder(users)
    assert decoder.input_signature().sizeof_stream_item(0) == 4 * constellation.bits_per_vector(
        layers(users), 2)


def test_messages_of_a_downlink_with_two_codewords():
    config = nr.PdschConfig(carrier=CARRIER, num_layers=6, mcs=nr.Mcs(index=3),
                            dmrs=nr.Dmrs(length=2), symbol_allocation=(0, 14))
    transmitter, rng = nr.PdschTransmitter(config), np.random.default_rng(1)
    bits = [rng.integers(0, 2, (3, size), np.uint8) for size in transmitter.tb_sizes]
    samples = transmitter.samples(bits)
    samples = samples + rng.normal(0, 0.001, (*samples.shape, 2)) @ [1, 1j]
    block = mimopack.nr_pusch_receiver(config, 6, "mmse", 1, start=0, backend="cpu")
    messages = play(np.pad(samples, ((0, 0), (0, 500))).astype(np.complex64), [block],
                    {port: (block, port) for port in ("out", "blocks")})
    assert data(messages["out"]) == [np.packbits(word[slot]).tobytes()
                                     for slot in range(3) for word in bits]
    assert [(fact["slot"], fact["codeword"]) for fact in facts(messages["blocks"])] == [
        (slot, word) for slot in range(3) for word in range(2)]
