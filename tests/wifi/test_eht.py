# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""EHT MU frames for one user: transmitter, receiver, and a decoder that is read with the standard.

test_he_captures.py has the frames of another implementation.
"""

from itertools import product

import numpy as np
import pytest
from gnuradio.mimopack import detectors
from gnuradio.mimopack.blocks import wifi_pmt
from gnuradio.mimopack.reference.wifi_he import Frame
from gnuradio.mimopack.wifi import (
    EHT,
    ChannelEstimator,
    LlrDecoder,
    Transmitter,
    Unsupported,
    eht_signal,
    mac,
)
from gnuradio.mimopack.wifi.bits import crc8
from gnuradio.mimopack.wifi.formats.he import TRAINING
from wifi_air import data_mpdu, frames_in, two_taps

PAIRS = TRAINING["eht-mu"]
# A combination for each MCS and number of streams; all EHT-LTFs, guard intervals, codes and
# modulations of the EHT-SIG in turn.
CASES = [(mcs, streams, *PAIRS[(mcs + streams) % 4],
          "ldpc" if 9 < mcs < 14 or (mcs + streams) % 2 else "bcc", mcs % 4)
         for mcs, streams in [*product(range(14), range(1, 5)), (15, 1)]]


def sent(f, seed=1300):
    """Return (samples, PSDU) of a frame that carries an MPDU."""
    psdu = mac.aggregate([data_mpdu(f.apep_length - 35)], f.length)
    return Transmitter(f.num_streams, 1e6 * f.bandwidth_mhz).frame(f, psdu, seed), psdu


def receive(samples, num_rx=None, noise=3e-5, sample_rate=20e6, **settings):
    """Return the only frame that the receiver finds."""
    rng = np.random.default_rng(8)
    received = 0.1 * two_taps(samples, num_rx or max(2, len(samples) + 1), rng)
    received = np.pad(received, [(0, 0), (700, 700)])
    received = received + noise * (rng.standard_normal((*received.shape, 2)) @ [1, 1j])
    frame, = frames_in(received, sample_rate, **settings)
    return frame


@pytest.mark.parametrize("mcs, streams, ltf, gi_us, coding, sig_mcs", CASES)
def test_each_mcs(mcs, streams, ltf, gi_us, coding, sig_mcs):
    f = EHT.of_length(mcs, 60 * (mcs + 1) * streams + 7 * streams, streams, ltf=ltf, gi_us=gi_us,
                      coding=coding, sig_mcs=sig_mcs, nominal_padding_us=(0, 8, 16, 20)[mcs % 4],
                      sta_id=1000 + mcs, bss_color=33, txop=60, spatial_reuse=5, uplink=True)
    samples, psdu = sent(f)
    assert samples.shape == (streams, f.num_samples)
    found = Frame(two_taps(samples, streams + 1, np.random.default_rng(1)))
    assert (found.format, found.psdus, found.symbols) == ("eht-mu", [psdu], f.num_symbols)
    user, = found.fields["users"]
    assert (user["mcs"], user["num_streams"], user["coding"]) == (mcs, streams, coding)
    frame = receive(samples)
    assert (frame.problem, frame.psdu) == ("", psdu)
    got = frame.format
    assert got == EHT(**{**vars_of(f), "ltf_count": f.num_ltf})
    assert frame.scrambler_seed == 1300


@pytest.mark.parametrize("bandwidth, every", [
    (40, range(0, 14, 2)), (80, range(1, 14, 2)), (160, (*range(0, 14, 2), 15))], ids=str)
def test_wide_channels(bandwidth, every):
    """MCSs with numbers of streams, EHT-LTFs and modulations of the EHT-SIG in turn."""
    for i, mcs in enumerate(every):
        streams = 1 if mcs == 15 else 1 + i % 4
        ltf, gi_us = PAIRS[(i + i // 4) % 4]
        f = EHT.of_length(mcs, 150 * (mcs % 14 + 2), streams, bandwidth_mhz=bandwidth, ltf=ltf,
                          gi_us=gi_us, coding="ldpc", sig_mcs=(i + bandwidth // 40) % 4,
                          nominal_padding_us=20, sta_id=5, bss_color=3)
        samples, psdu = sent(f)
        # The last symbol fades out for 50 ns.
        assert samples.shape == (streams, (f.num_samples + 1) * bandwidth // 20 - 1)
        found = Frame(two_taps(samples, streams + 1, np.random.default_rng(1)),
                      bandwidth_mhz=bandwidth)
        assert (found.format, found.psdus, found.symbols) == ("eht-mu", [psdu], f.num_symbols)
        frame = receive(samples, sample_rate=1e6 * bandwidth)
        assert (frame.problem, frame.psdu) == ("", psdu), f
        assert frame.format == EHT(**{**vars_of(f), "ltf_count": f.num_ltf})


@pytest.mark.quick
@pytest.mark.parametrize("bandwidth, part", [(40, 80), (20, 160), (80, 160)])
def test_a_channel_in_a_part_of_the_band(bandwidth, part):
    f = EHT.of_length(9, 1500, 2, bandwidth_mhz=bandwidth, coding="ldpc")
    psdu = mac.aggregate([data_mpdu(1400)], f.length)
    for centre in {(bandwidth - part) * 8 // 5, (part - bandwidth) * 8 // 5}:
        samples = Transmitter(2, 1e6 * part, centre).frame(f, psdu)
        frame = receive(samples, sample_rate=1e6 * part)
        assert (frame.problem, frame.psdu) == ("", psdu)
        assert frame.centre_hz == centre * 312.5e3


@pytest.mark.quick
@pytest.mark.parametrize("bandwidth, kept", [(40, 20), (160, 80)])
def test_a_part_of_a_wide_frame_is_named(bandwidth, kept):
    f = EHT.of_length(3, 500, bandwidth_mhz=bandwidth, coding="ldpc")
    samples, _ = sent(f)
    # Move the lowest channel to the middle, and take every second sample.
    turn = np.exp(2j * np.pi * (bandwidth - kept) / 2 / bandwidth * np.arange(samples.shape[1]))
    spectrum = np.fft.fft(samples * turn)
    middle = kept / bandwidth / 2
    spectrum[:, np.abs(np.fft.fftfreq(samples.shape[1])) > middle] = 0
    part = np.fft.ifft(spectrum)[:, ::bandwidth // kept]
    frame = receive(part, sample_rate=1e6 * kept)
    assert (frame.format, frame.problem) == (
        None, f"the samples hold only {kept} MHz of a {bandwidth} MHz frame")


def vars_of(f):
    """Return the fields of a format that a receiver knows."""
    return {name: getattr(f, name) for name in type(f).__dataclass_fields__
            if name != "apep_length"}


@pytest.mark.parametrize("coding", ["bcc", "ldpc"])
@pytest.mark.parametrize("mcs", [1, 15])
def test_every_padding_factor_and_extension(coding, mcs):
    seen = set()
    for apep in range(40, 200, 9):
        f = EHT.of_length(mcs, apep, coding=coding, nominal_padding_us=20)
        if f.pre_fec_padding in seen:
            continue
        seen.add(f.pre_fec_padding)
        samples, psdu = sent(f)
        assert Frame(samples).psdus == [psdu]
        frame = receive(samples)
        assert (frame.psdu, frame.format.packet_extension_us) == (psdu, 4 + 4 * f.pre_fec_padding)
    assert seen == {1, 2, 3, 4}


def test_more_training_fields_than_streams():
    f = EHT.of_length(4, 300, 2, ltf_count=4)
    samples, psdu = sent(f)
    assert Frame(two_taps(samples, 3, np.random.default_rng(1))).psdus == [psdu]
    assert receive(samples).psdu == psdu


def test_report():
    f = EHT.of_length(12, 900, gi_us=1.6, coding="ldpc", bss_color=9, txop=3, sta_id=7)
    report = receive(sent(f)[0]).as_json()
    assert report["format"] == "eht-mu" and report["users"] == []
    assert {name: report[name] for name in (
        "mcs", "num_streams", "bandwidth_mhz", "gi_us", "ltf", "ru", "dcm", "bss_color", "uplink",
        "txop", "spatial_reuse", "coding", "length", "aggregated", "midamble", "doppler",
        "short_gi")} == {
            "mcs": 12, "num_streams": 1, "bandwidth_mhz": 20.0, "gi_us": 1.6, "ltf": 2, "ru": "242",
            "dcm": False, "bss_color": 9, "uplink": False, "txop": 3, "spatial_reuse": 0,
            "coding": "ldpc", "length": f.length, "aggregated": True, "midamble": None,
            "doppler": None, "short_gi": None}


@pytest.mark.parametrize("changes, problem, told", [
    ({26: 0}, "EHT MU by OFDMA", {}),
    ({26: 0, 6: 1}, "EHT TB", {"format": "eht-tb", "uplink": True}),
    ({26: 0, 27: 1}, "EHT MU for several users (MU-MIMO)", {}),
    ({27: 1}, "EHT with a reserved type 3", {}),
    (dict.fromkeys(range(35, 42), 0), "EHT sounding frame", {}),
    ({3: 1}, "the samples hold only 20 MHz of a 40 MHz frame", {"bandwidth_mhz": 40}),
    ({5: 1}, "EHT in 320 MHz", {"bandwidth_mhz": 320}),
    ({4: 1, 29: 1}, "EHT with a punctured channel", {"bandwidth_mhz": 80}),
    ({4: 1} | dict.fromkeys(range(29, 33), 1),
     "the samples hold only 20 MHz of a 80 MHz frame", {"bandwidth_mhz": 80}),
    ({4: 1, 5: 1}, "802.11be (EHT) with bandwidth 6 (reserved)",
     {"format": None, "bandwidth_mhz": None}),
    ({0: 1}, "a frame newer than 802.11be: version 1 in its U-SIG",
     {"format": None, "bandwidth_mhz": None})])
def test_other_frames_are_named(monkeypatch, changes, problem, told):
    own = eht_signal.u_sig

    def u_sig(f):
        bits = own(f)[:42]
        bits[list(changes)] = list(changes.values())
        return np.concatenate([bits, crc8(bits)[:4], np.zeros(6, np.uint8)])

    monkeypatch.setattr(eht_signal, "u_sig", u_sig)
    f = EHT.of_length(3, 300, bss_color=21, txop=9)
    frame = receive(sent(f)[0])
    assert (frame.format, frame.problem) == (None, problem)
    report = frame.as_json()
    wanted = {"format": "eht-mu", "bandwidth_mhz": 20, "bss_color": 21, "txop": 9,
              "uplink": False} | told
    assert {name: report[name] for name in wanted} == wanted


@pytest.mark.parametrize("place, problem", [
    (48, "EHT-SIG CRC"),    # after this bit was encoded with its CRC
    (8, "field Number Of EHT-LTF Symbols 7 (reserved)"),
    (34, "EHT MCS 14 (reserved)")])
def test_eht_sig_that_makes_no_frame(monkeypatch, place, problem):
    own = eht_signal.eht_sig

    def eht_sig(f):
        bits = own(f)[:42]
        if place == 8:
            bits[6:9] = 1
        if place == 34:
            bits[31:35] = 0, 1, 1, 1
        check = crc8(bits)[:4]
        return np.concatenate([bits, check ^ (place == 48), np.zeros(6, np.uint8)])

    monkeypatch.setattr(eht_signal, "eht_sig", eht_sig)
    frame = receive(sent(EHT.of_length(3, 300))[0])
    assert (frame.format, frame.problem) == (None, problem)
    assert frame.as_json()["format"] == "eht-mu"


@pytest.mark.parametrize("mcs, streams", [(13, 2), (15, 1)])
def test_open_chain_and_messages(mcs, streams):
    """Another detector between the halves of the receiver, whose formats travel as messages."""
    f = EHT.of_length(mcs, 700, streams, coding="ldpc", ltf=4, gi_us=3.2, sta_id=77)
    samples, psdu = sent(f)
    rng = np.random.default_rng(1)
    received = np.pad(0.1 * two_taps(samples, 3, rng), [(0, 0), (600, 600)])
    received = received + 1e-5 * (rng.standard_normal((*received.shape, 2)) @ [1, 1j])
    estimator = ChannelEstimator(3)
    vectors, = estimator.process(received.astype(np.complex64)) + estimator.finish()
    detector = detectors.FPFSD(streams, 3, vectors.frame.format.constellation)
    llr = detector.detect(vectors.y, vectors.h, vectors.noise_var)
    assert LlrDecoder().decode(vectors, llr).psdu == psdu
    read = wifi_pmt.vectors_from_pmt(wifi_pmt.vectors_to_pmt(vectors))
    assert read.frame.format == vectors.frame.format


def test_a_frame_that_is_cut_off():
    samples, _ = sent(EHT.of_length(3, 3000))
    frame, = frames_in(np.pad(samples[:, :2000], [(0, 0), (500, 0)]))
    assert frame.problem.startswith("truncated")


@pytest.mark.parametrize("arguments, error, message", [
    ({"mcs": 14}, Unsupported, "MCS 14"),
    ({"mcs": 12, "coding": "bcc"}, Unsupported, "BCC with EHT MCS 12"),
    ({"mcs": 15, "num_streams": 2}, Unsupported, "MCS 15 with 2 streams"),
    ({"mcs": 1, "bandwidth_mhz": 40}, Unsupported, "BCC with EHT MCS 1 on 484 tones"),
    ({"mcs": 1, "bandwidth_mhz": 320}, ValueError, "bandwidth_mhz: got 320"),
    ({"mcs": 1, "num_streams": 5}, Unsupported, "5 spatial streams"),
    ({"mcs": 1, "dcm": True}, ValueError, "dcm: got True with MCS 1"),
    ({"mcs": 1, "stbc": 1}, ValueError, "stbc: got 1"),
    ({"mcs": 1, "ltf": 1}, ValueError, "ltf: got 1"),
    ({"mcs": 1, "sig_mcs": 4}, ValueError, "sig_mcs: got 4, allowed are 0 to 3"),
    ({"mcs": 1, "ru": (106, 1)}, ValueError, "ru: got 106")])
def test_formats_that_are_refused(arguments, error, message):
    with pytest.raises(error) as caught:
        EHT(num_symbols=4, **arguments)
    assert message in str(caught.value)
