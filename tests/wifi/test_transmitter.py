# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Spatial mapping of the Wi-Fi transmitter."""

import numpy as np
import pytest
from gnuradio.mimopack import wifi
from gnuradio.mimopack.wifi import carriers
from wifi_air import data_mpdu
from wifi_blocks import orthonormal, receive_arrays

MPDU = data_mpdu(150, 7)
# Samples at 20 MS/s of L-STF, L-LTF, L-SIG, and HT-SIG or VHT-SIG-A.
LEGACY = 160 + 160 + 80 + 160
FORMATS = {
    "ht": (3, lambda n: wifi.HT(9, n, smoothing=False)),
    "greenfield": (3, lambda n: wifi.HT(9, n, greenfield=True)),
    "stbc": (4, lambda n: wifi.HT(1, n, stbc=1)),
    "one stream": (4, lambda n: wifi.HT(4, n)),
    "vht": (4, lambda n: wifi.VHT.of_length(3, n, 2, beamformed=True)),
    "vht40": (2, lambda n: wifi.VHT.of_length(3, n, 2, 40))}
each_format = pytest.mark.parametrize("name", FORMATS)


def frames(name, mapping):
    """Return (format, samples without mapping, samples with mapping, first mapped sample).

    ``mapping`` makes the matrices for a number of antennas, streams and subcarriers.
    """
    num_tx, frame_format_of = FORMATS[name]
    f, _ = wifi.pack(frame_format_of, [MPDU])
    matrix = mapping(num_tx, f.num_space_time_streams,
                     carriers.high_throughput(f.bandwidth_mhz).used.size)
    plain, mapped = (
        wifi.Transmitter(num_tx, 1e6 * f.bandwidth_mhz, mapping=one, windowing=0).mpdu(
            frame_format_of, [MPDU])[1] for one in (None, matrix))
    return f, matrix, plain, mapped, 0 if f.greenfield else LEGACY * f.bandwidth_mhz // 20


@each_format
def test_a_matrix_mixes_the_streams(name):
    f, matrix, plain, mapped, first = frames(
        name, lambda num_tx, streams, _: orthonormal(num_tx, streams))
    assert np.array_equal(mapped[:, :first], plain[:, :first])
    streams = f.num_space_time_streams
    np.testing.assert_allclose(mapped[:, first:], matrix @ plain[:streams, first:], atol=1e-5)
    assert np.mean(np.abs(mapped)**2) == pytest.approx(np.mean(np.abs(plain)**2), rel=1e-4)
    assert np.abs(mapped - plain)[:, first:].max() > 0.3


@each_format
def test_each_subcarrier_has_a_matrix_of_its_own(name):
    """Check the spectrum of each data symbol."""
    f, matrices, plain, mapped, first = frames(
        name, lambda num_tx, streams, size: orthonormal(num_tx, streams, size))
    assert np.array_equal(mapped[:, :first], plain[:, :first])
    symbol, size = (n * f.bandwidth_mhz // 20 for n in (80, 64))
    before, after = (
        np.fft.fft(samples[:, -f.num_symbols * symbol:].reshape(len(samples), -1, symbol)
                   [..., symbol - size:]) / size for samples in (plain, mapped))
    used = carriers.high_throughput(f.bandwidth_mhz).used
    wanted = np.einsum("kts,snk->tnk", matrices,
                       before[:f.num_space_time_streams][..., used % size])
    np.testing.assert_allclose(after[..., used % size], wanted, atol=1e-6)
    assert np.abs(wanted).max() > 0.05


@each_format
def test_mapped_frames_are_received(name):
    f, _, _, mapped, _ = frames(name, lambda num_tx, streams, _: orthonormal(num_tx, streams))
    frame, = receive_arrays(mapped, sample_rate=f.bandwidth_mhz * 1e6)
    assert [mpdu.data for mpdu in frame.mpdus] == [MPDU]


@pytest.mark.parametrize(("mapping", "said"), [
    (np.ones((3, 2)), r"got shape \(3, 2\), must be \(2, N_STS\) or \(subcarriers, 2, N_STS\)"),
    (np.ones((2, 3)), r"got shape \(2, 3\), must be .* N_STS 1 to 2"),
    (np.ones((2, 0)), r"got shape \(2, 0\)"), (np.ones(2), r"got shape \(2,\)"),
    (np.ones((1, 1, 2, 2)), r"got shape \(1, 1, 2, 2\)"),
    (np.ones((64, 2, 2)), r"got shape \(64, 2, 2\), must be .* subcarriers 56 or 114 or 242"),
    (np.ones((243, 2, 2)), r"got shape \(243, 2, 2\)"),
    ([[1, np.nan], [0, 1]], "got values that are not finite"),
    ([[1, 2], [3]], "got an unsupported type"), ("dft", "got an unsupported type"),
    (3, r"got shape \(\)")])
def test_mappings_that_are_none(mapping, said):
    with pytest.raises(ValueError, match=f"^mapping: {said}"):
        wifi.Transmitter(2, 40e6, mapping=mapping)


@pytest.mark.parametrize(("arguments", "f", "said"), [
    ({"mapping": np.ones((2, 1))}, wifi.HT(8, 9), r"mapping: got shape \(2, 1\), the frame needs "
     r"\(2, 2\) or \(56, 2, 2\)"),
    ({"mapping": np.ones((56, 2, 1)), "sample_rate": 40e6}, wifi.HT(0, 9, bandwidth_mhz=40),
     r"mapping: got shape \(56, 2, 1\), the frame needs \(2, 1\) or \(114, 2, 1\)"),
    ({}, wifi.HT(16, 9), "num_tx: got 2, the frame has 3 space-time streams"),
    ({}, wifi.HT(0, 9, bandwidth_mhz=40), "sample_rate: got 20 MS/s, the frame is 40 MHz wide"),
    ({"sample_rate": 40e6, "centre": -40}, wifi.NonHT(6, 9),
     "centre: got -40, a frame of 20 MHz there does not fit "),
    ({}, wifi.VHT(0, 1, coding="ldpc"), "frame_format: got VHT MCS 0, 1 stream, 20 MHz, LDPC with "
     "1 symbols: VHT-SIG-A and L-SIG disagree"),
    ({}, wifi.VHT(0, 3, stbc=1), "frame_format: got .* with 3 symbols: an odd number of symbols")])
def test_formats_that_a_transmitter_refuses(arguments, f, said):
    transmitter = wifi.Transmitter(2, **arguments)
    for call in (transmitter.check, lambda f: transmitter.frame(f, bytes(f.length))):
        with pytest.raises(ValueError, match=f"^{said}"):
            call(f)
