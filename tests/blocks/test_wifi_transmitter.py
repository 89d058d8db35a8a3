# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The block wifi_transmitter: settings of each frame, bursts and their tags, spatial mapping."""

import flowgraphs
import numpy as np
import pmt
import pytest
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack import wifi
from wifi_air import data_mpdu
from wifi_blocks import (
    DEEP,
    LOOPS,
    bursts,
    loop,
    moment,
    orthonormal,
    pdu,
    post,
    receive_arrays,
    run,
)

MPDU = data_mpdu(150, 7)


@pytest.mark.quick
def test_frames_of_the_block_are_those_of_arrays():
    """Non-HT frames do not use the matrix; other frames must match its number of streams."""
    matrix = orthonormal(3, 2)
    messages = [pdu(MPDU[:-4]), pdu(MPDU[:-4], format="vht", num_streams=2, mcs=3),
                pdu(MPDU[:-4], format="non-ht", mcs=54), pdu(MPDU[:-4], mcs=3),
                pdu(MPDU[:-4], mcs=3, stbc=1)]
    source, samples, _ = bursts(messages, num_tx=3, format="ht", mcs=9, gap=0, backoff_db=0.0,
                                scrambler_seed=5, mapping=matrix.tolist(), clip=False)
    assert (source.frames(), source.refused()) == (4, 1)
    transmitter = wifi.Transmitter(3, mapping=matrix)
    wanted = [transmitter.mpdu(frame_format_of, [MPDU], 5)[1] for frame_format_of in (
        lambda n: wifi.HT(9, n), lambda n: wifi.VHT.of_length(3, n, 2),
        lambda n: wifi.NonHT(54, n), lambda n: wifi.HT(3, n, stbc=1))]
    assert np.array_equal(samples, np.concatenate(wanted, axis=1))


def test_eht_frames_of_the_block_are_those_of_arrays():
    messages = [pdu(MPDU[:-4]), pdu(MPDU[:-4], format="eht-mu", mcs=15),
                pdu(MPDU[:-4], format="eht-mu", mcs=13, num_streams=2, coding="ldpc", ltf=4,
                    gi_us=3.2, bss_color=7, txop=3, uplink=True),
                pdu(MPDU[:-4], format="eht-mu", mcs=14)]
    source, samples, _ = bursts(messages, num_tx=2, format="he-su", mcs=4, gap=0, backoff_db=0.0,
                                scrambler_seed=5, clip=False)
    assert (source.frames(), source.refused()) == (3, 1)
    transmitter = wifi.Transmitter(2)
    wanted = [transmitter.mpdu(make, [MPDU], 5)[1] for make in (
        lambda n: wifi.HE.of_length(4, n), lambda n: wifi.EHT.of_length(15, n),
        lambda n: wifi.EHT.of_length(13, n, 2, coding="ldpc", ltf=4, gi_us=3.2, bss_color=7,
                                     txop=3, uplink=True))]
    assert np.array_equal(samples, np.concatenate(wanted, axis=1))


def test_he_frames_of_the_block_are_those_of_arrays():
    messages = [pdu(MPDU[:-4]), pdu(MPDU[:-4], num_streams=2, mcs=9, ltf=4, gi_us=3.2),
                pdu(MPDU[:-4], coding="ldpc", mcs=11, bss_color=7, txop=3, uplink=True),
                pdu(MPDU[:-4], format="he-er-su"), pdu(MPDU[:-4], format="he-tb", ltf=1),
                pdu(MPDU[:-4], ltf=4, gi_us=1.6), pdu(MPDU[:-4], dcm=True, mcs=3, midamble=10)]
    source, samples, _ = bursts(messages, num_tx=2, format="he-su", mcs=4, gap=0, backoff_db=0.0,
                                scrambler_seed=5, clip=False, ru=(106, 2))
    assert (source.frames(), source.refused()) == (6, 1)
    wanted = [wifi.Transmitter(2).mpdu(lambda n, own=own: wifi.HE.of_length(apep_length=n, **own),
                                       [MPDU], 5)[1] for own in (
        {"mcs": 4}, {"mcs": 9, "num_streams": 2, "ltf": 4, "gi_us": 3.2},
        {"mcs": 11, "coding": "ldpc", "bss_color": 7, "txop": 3, "uplink": True},
        {"mcs": 0, "name": "he-er-su", "ru": (106, 2)},
        {"mcs": 0, "name": "he-tb", "ru": (106, 2), "ltf": 1, "gi_us": 1.6, "uplink": True},
        {"mcs": 3, "dcm": True, "midamble": 10})]
    assert np.array_equal(samples, np.concatenate(wanted, axis=1))


def test_he_mu_frames_of_the_block_are_those_of_arrays():
    users = [{"sta_id": 1, "ru": (106, 1), "mcs": 5},
             {"sta_id": 2, "ru": (106, 2), "mcs": 3, "num_streams": 2, "coding": "ldpc"}]
    a, b, c = (data_mpdu(n, n) for n in (60, 61, 62))
    lengths = np.array([len(mpdu) - 4 for mpdu in (a, b, c)])
    joined = a[:-4] + b[:-4] + c[:-4]
    messages = [pdu(a[:-4] + b[:-4], ampdu=lengths[:2]),
                pdu(joined, ampdu=lengths, user=np.array([0, 1, 0])),
                pdu(joined, ampdu=lengths), pdu(joined, ampdu=lengths, user=np.array([0, 0, 0]))]
    source, samples, _ = bursts(messages, num_tx=2, format="he-mu", users=users, gap=0,
                                backoff_db=0.0, scrambler_seed=5, clip=False)
    assert (source.frames(), source.refused()) == (2, 2)
    wanted = []
    for mpdus in ([[a], [b]], [[a, c], [b]]):
        f, psdus = wifi.pack_users(lambda n: wifi.HEMU.of_lengths(users, n), mpdus)
        wanted.append(wifi.Transmitter(2).frame(f, psdus, 5))
    assert np.array_equal(samples, np.concatenate(wanted, axis=1))


def test_vht_mu_frames_of_the_block_are_those_of_arrays():
    users = [{"mcs": 5}, {"mcs": 3, "coding": "ldpc", "user_position": 2}]
    a, b = (data_mpdu(n, n) for n in (60, 61))
    lengths = np.array([len(mpdu) - 4 for mpdu in (a, b)])
    source, samples, _ = bursts(
        [pdu(a[:-4] + b[:-4], ampdu=lengths), pdu(a[:-4])], num_tx=2, format="vht-mu", users=users,
        short_gi=True, gap=0, backoff_db=0.0, scrambler_seed=5, clip=False, group_id=9,
        sample_rate=80e6, windowing=100e-9)
    assert (source.frames(), source.refused()) == (1, 1)
    f, psdus = wifi.pack_users(
        lambda n: wifi.VHTMU.of_lengths(users, n, short_gi=True, group_id=9), [[a], [b]])
    assert np.array_equal(samples, wifi.Transmitter(2, 80e6, windowing=100e-9).frame(f, psdus, 5))


@pytest.mark.parametrize(("backoff_db", "clips"), [(3.0, True), (14.0, False)])
def test_samples_beyond_full_scale_are_clipped_and_counted(backoff_db, clips):
    settings = {"num_tx": 2, "format": "ht", "mcs": 15, "gap": 0, "scrambler_seed": 5}
    messages = [pdu(MPDU[:-4])] * 3
    source, samples, _ = bursts(messages, backoff_db=backoff_db, **settings)
    free, wanted, _ = bursts(messages, backoff_db=backoff_db, clip=False, **settings)
    parts = np.stack([wanted.real, wanted.imag])
    beyond = (np.abs(parts) > 1).any(axis=0)
    assert beyond.any() == clips
    assert (source.clipped(), free.clipped()) == (beyond.sum(), 0)
    assert source.peak() == free.peak()
    assert max(np.abs(samples.real).max(), np.abs(samples.imag).max()) <= 1
    assert np.array_equal(samples, (np.clip(parts[0], -1, 1) + 1j * np.clip(parts[1], -1, 1)))


def test_frames_of_the_block_with_a_matrix_for_each_subcarrier_are_not_to_be_smoothed():
    matrices = orthonormal(2, 2, 56)
    source, samples, _ = bursts([pdu(MPDU[:-4]), pdu(MPDU[:-4], format="vht", num_streams=2)],
                                num_tx=2, format="ht", mcs=8, gap=0, backoff_db=0.0,
                                scrambler_seed=5, mapping=matrices, clip=False)
    transmitter = wifi.Transmitter(2, mapping=matrices)
    wanted = [transmitter.mpdu(frame_format_of, [MPDU], 5)[1] for frame_format_of in (
        lambda n: wifi.HT(8, n, smoothing=False),
        lambda n: wifi.VHT.of_length(0, n, 2, beamformed=True))]
    assert source.frames() == 2
    assert np.array_equal(samples, np.concatenate(wanted, axis=1))
    ht, vht = receive_arrays(np.insert(samples, [wanted[0].shape[1]] * 500, 0, axis=1))
    assert (ht.format.smoothing, vht.format.beamformed) == (False, True)
    assert [frame.mpdus[0].data for frame in (ht, vht)] == [MPDU, MPDU]


@pytest.mark.parametrize(("mapping", "refused"), [
    ("[[0.6, 0.8], [-0.8, 0.6]]", False), ("numpy.eye(2)", False), ("numpy.eye(3)", True),
    ("'dft'", True)])
def test_companion_takes_a_mapping(companion, tmp_path, mapping, refused):
    blocks = [
        flowgraphs.block("imported", "import", imports="import numpy"),
        flowgraphs.block("tx", "mimopack_wifi_transmitter", num_tx="2", format="ht", mcs="8",
                         mapping=mapping),
        *[flowgraphs.block(f"sink_{i}", "blocks_null_sink", type="complex") for i in range(2)],
        flowgraphs.block("strobe", "blocks_message_strobe", msg="pmt.PMT_NIL", period="1000")]
    connections = [["strobe", "strobe", "tx", "in"],
                   *[["tx", str(i), f"sink_{i}", "0"] for i in range(2)]]
    path = flowgraphs.save(tmp_path, blocks, connections)
    if refused:
        assert "mapping, windowing)" in companion.refusals(path, tmp_path)
        return
    script = companion.compiled(path, tmp_path).read_text()
    assert f"mapping={mapping}" in script


@pytest.mark.parametrize("settings", [
    {"mcs": 99}, {"mcs": "fast"}, {"mcs": True}, {"format": "ax"}, {"format": 3},
    {"format": "vht", "num_streams": 2}, {"format": "ht", "mcs": 8}, {"bandwidth_mhz": 40},
    {"format": "ht", "coding": "turbo"}, {"format": "ht", "stbc": 7},
    {"format": "ht", "short_gi": 2}, {"scrambler_seed": 128}, {"scrambler_seed": "x"},
    {"format": "eht-mu", "scrambler_seed": 2048},
    {"encoding": 8}, {"ampdu": np.array([3, 4])}, {"ampdu": np.array([], int)},
    {"ampdu": 5}, {"format": "ht", "ampdu": np.array([-1, 75])}, {"mcs": 12.5},
    {"bandwidth_mhz": 7}, {"tx_time": DEEP}, {"tx_time": "now"}, {"tx_time": 3.5},
    {"tx_time": moment(1, 1.5)}, {"tx_time": moment(1, np.nan)}, {"tx_time": moment(2**64 - 1, 0)},
    {"tx_time": pmt.make_tuple(pmt.PMT_T, pmt.from_double(0.0))}])
def test_transmitter_refuses_a_frame(settings):
    mpdu = data_mpdu(50)[:-4]
    source, _, ports = loop([pdu(mpdu, **settings), pdu(mpdu)], LOOPS["non-ht"])
    assert [data for _, data in ports["out"].pdus()] == [mpdu]
    assert (source.frames(), source.refused()) == (1, 1)


def test_settings_of_each_frame():
    a, b, c = (data_mpdu(n, n) for n in (60, 61, 62))
    messages = [
        pdu(a[:-4]), pdu(a[:-4], mcs=54), pdu(a[:-4], encoding=2),
        pdu(a, crc_included=True), pdu(a[:-4], mcs=36.0, scrambler_seed=99),
        pdu(a[:-4], format="ht"), pdu(a[:-4], format="ht", mcs=11, short_gi=True),
        pdu(a[:-4], format="vht", num_streams=2, mcs=5, coding="ldpc"),
        pdu(a[:-4] + b[:-4] + c[:-4], format="ht", mcs=12,
            ampdu=np.array([len(a) - 4, len(b) - 4, len(c) - 4])),
        pdu(a + b, format="vht", mcs=1, ampdu=np.array([len(a), len(b)]), crc_included=True),
        pdu(b"", format="vht", num_streams=2), pdu(b"", format="ht", mcs=8),
        pdu(a[:-4], snr=3.0, dlt=105, fcs_ok=True, mcs=9)]
    source, samples, _ = bursts(messages, num_tx=2, mcs=12)
    frames = receive_arrays(samples)
    assert (source.frames(), source.refused()) == (13, 0)
    assert [(f.format.name, f.format.mcs, f.format.num_streams, f.format.coding, f.format.short_gi)
            for f in frames] == [
        ("non-ht", 12, 1, "bcc", False), ("non-ht", 54, 1, "bcc", False),
        ("non-ht", 12, 1, "bcc", False), ("non-ht", 12, 1, "bcc", False),
        ("non-ht", 36, 1, "bcc", False), ("ht", 0, 1, "bcc", False), ("ht", 11, 2, "bcc", True),
        ("vht", 5, 2, "ldpc", False), ("ht", 12, 2, "bcc", False), ("vht", 1, 1, "bcc", False),
        ("vht", 0, 2, "bcc", False), ("ht", 8, 2, "bcc", False), ("non-ht", 9, 1, "bcc", False)]
    assert [[mpdu.data for mpdu in f.mpdus] for f in frames] \
        == [[a]] * 8 + [[a, b, c], [a, b], [], [], [a]]
    assert frames[4].scrambler_seed == 99
    assert frames[10].channel.matrices.shape == (56, 2, 2)


def test_pdus_of_the_receiver_can_be_sent_again():
    mpdus = [data_mpdu(40 + i, i)[:-4] for i in range(4)]
    _, _, first = loop([pdu(mpdu) for mpdu in mpdus], LOOPS["vht"])
    source, _, again = loop(first["out"].messages(), {"num_tx": 4, "gap": 700})
    assert source.refused() == 0
    for (old, data), (new, same) in zip(first["out"].pdus(), again["out"].pdus(), strict=True):
        assert data == same
        assert [old[key] for key in ("format", "mcs", "num_streams", "coding")] \
            == [new[key] for key in ("format", "mcs", "num_streams", "coding")]


def test_bursts_are_tagged_on_every_output():
    when = moment(12, 0.5)
    mpdus = [data_mpdu(30)[:-4], data_mpdu(333)[:-4]]
    messages = [pdu(mpdus[0], tx_time=when), pdu(mpdus[1])]
    source, samples, tags = bursts(messages, num_tx=2, format="ht", mcs=8, gap=111,
                                   length_tag_name="burst", backoff_db=6.0, clip=False)
    lengths = [wifi.HT(8, len(mpdu) + 4).num_samples + 111 for mpdu in mpdus]
    assert samples.shape == (2, sum(lengths))
    for port in tags:
        assert sorted((t.offset, str(t.key), pmt.to_python(t.value)) for t in port) == [
            (0, "burst", lengths[0]), (0, "frame", 0), (0, "tx_time", (12, 0.5)),
            (lengths[0], "burst", lengths[1]), (lengths[0], "frame", 1)]
    assert not samples[:, lengths[0] - 111:lengths[0]].any()
    power = np.mean(np.abs(samples[:, :lengths[0] - 111])**2, axis=1).sum()
    assert 10 * np.log10(power) == pytest.approx(-6, abs=0.3)
    assert source.peak() == pytest.approx(np.abs(samples).max())
    source.set_backoff_db(20)
    assert source.backoff_db() == 20


@pytest.mark.parametrize(("format", "seed", "wanted"), [
    ("non-ht", 0, [1, 2, 3]), ("non-ht", 77, [77, 77, 77]), ("eht-mu", 1300, [1300, 1300, 1300])])
def test_scrambler_seeds(format, seed, wanted):
    _, samples, _ = bursts([pdu(data_mpdu(40)[:-4])] * 3, format=format, scrambler_seed=seed,
                           gap=500)
    assert [frame.scrambler_seed for frame in receive_arrays(samples)] == wanted


def test_transmitter_ends_at_eof_and_starts_again():
    source = mimopack.wifi_transmitter(gap=0)
    sink = blocks.vector_sink_c()
    top = gr.top_block()
    top.connect(source, sink)
    for runs in (1, 2):
        post(source, "in", pdu(data_mpdu(40)[:-4]))
        post(source, "in", pmt.PMT_EOF)
        run(top)
        assert len(sink.data()) == runs * wifi.NonHT(6, len(data_mpdu(40))).num_samples


def test_transmitter_drops_what_it_cannot_hold():
    source, samples, _ = bursts([pdu(b"x" * 20, mcs=54)] * 1500, gap=0)
    assert source.frames() + source.dropped() == 1500
    assert source.frames() >= 1000
    assert samples.shape[1] == source.frames() * wifi.NonHT(54, 24).num_samples


def test_transmitter_setters():
    source = mimopack.wifi_transmitter(num_tx=2, format="ht", mcs=3)
    source.set_mcs(12)
    with pytest.raises(ValueError, match="num_tx: got 2"):
        source.set_mcs(16)
    with pytest.raises(ValueError, match="backoff_db: got nan"):
        source.set_backoff_db(float("nan"))
    assert (source.mcs(), source.backoff_db()) == (12, 12.0)
