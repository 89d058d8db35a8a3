# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inner loops of the Wi-Fi receiver against double-precision NumPy, on each instruction set."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
import wifi_oracle as oracle
from gnuradio.mimopack import _core
from gnuradio.mimopack.wifi import (
    HE,
    HT,
    VHT,
    NonHT,
    Transmitter,
    carriers,
    demodulator,
    he_tables,
    signal_fields,
    smoothing,
    training,
)
from gnuradio.mimopack.wifi.interleaving import bit_order
from gnuradio.mimopack.wifi.points import known_points
from gnuradio.mimopack.wifi.synchroniser import acquisition

pytestmark = pytest.mark.quick

ISAS = _core.available_isas()
kernels = _core.wifi


@pytest.fixture(params=ISAS)
def isa(request):
    return request.param


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def complex_normal(rng, *shape):
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(np.complex64)


SCAN = {"rows": 2, "block": 16, "window": 6, "region": 10, "searches": 4, "fall": 12,
        "fallen": 0.3, "next": 13, "ahead": 60}


def _metric(samples):
    """Return the mean correlation of windows with the next ones, and its squared magnitude.

    Energies and correlations exclude the means of the blocks.
    """
    blocks = samples.reshape(len(samples), -1, 16).astype(complex)
    blocks = blocks - blocks.mean(axis=2, keepdims=True)
    energy = np.sum(np.abs(blocks)**2, axis=2)
    lag = np.sum(blocks[:, :-1] * blocks[:, 1:].conj(), axis=2)
    energy, lag = (np.stack([np.convolve(row, np.ones(6), "valid") for row in rows])
                   for rows in (energy, lag))
    mean = np.mean(lag / np.sqrt(energy[:, :-1] * energy[:, 1:]), axis=0)
    return mean, np.abs(mean)**2


@pytest.mark.parametrize("cuts", [[0, 4000], [0, 1, 15, 16, 700, 701, 3000, 4000],
                                  list(range(0, 4001, 50))])
def test_scan(isa, rng, cuts):
    """Windows above the threshold, and the best ones near them, however the stream is cut."""
    samples = 0.1 * complex_normal(rng, 2, 4000)
    for start in (512, 1000, 2003):    # ten periods, and an endless one
        samples[:, start:start + 160] += np.tile(complex_normal(rng, 2, 16), 10)
    samples[:, 2600:3200] += np.tile(complex_normal(rng, 2, 12), 50)
    lag, metric = _metric(samples)
    fallen = metric[12:] < np.float32(0.3) * metric[:-12]
    tested = 250 - 60
    hits = np.flatnonzero((metric[:tested] > np.float32(0.35)**2) & fallen[:tested])
    chain, at = [], 0
    for hit in hits:
        if hit >= at:
            best = hit + int(metric[hit:hit + 10].argmax())
            chain.append(best)
            at = best + 13
    assert len(chain) >= 3

    scan = kernels.Scan(isa=isa, **SCAN)
    array = np.zeros((2, 5000), np.complex64)
    first, found_hits, found_chain = 0, [], []
    for begin, end in itertools.pairwise(cuts):
        search = scan.begin(None, samples[:, begin:end], array, at=begin, origin=0,
                            threshold=0.35)
        search.run()
        found_lag, found, falls, some, best, passed = search.windows
        assert search.value()[:3] == ([], 0, first + passed)
        known = len(found)
        np.testing.assert_allclose(found, metric[first:first + known], atol=1e-4)
        np.testing.assert_allclose(found_lag, lag[first:first + known], atol=1e-4)
        np.testing.assert_array_equal(falls[:len(fallen) - first],
                                      fallen[first:first + max(0, known - 12)])
        found_hits += [first + one for one in some]
        found_chain += [first + one for one in best]
        first += passed
    np.testing.assert_array_equal(array[:, :4000], samples)
    assert set(found_chain) == set(chain)
    assert set(found_hits) <= set(hits.tolist())


def test_pieces_are_scanned_in_order_by_any_thread(rng):
    samples = complex_normal(rng, 2, 4000)
    samples[:, 1000:1160] += np.tile(10 * complex_normal(rng, 2, 16), 10)
    scan = kernels.Scan(**SCAN)
    array = np.zeros((2, 4000), np.complex64)
    pieces = [scan.begin(None, samples[:, at:at + 500], array, at=at, origin=0, threshold=0.35)
              for at in range(0, 4000, 500)]
    with ThreadPoolExecutor(8) as pool:
        for task in reversed(pieces):
            pool.submit(task.run)
    first, found = 0, []
    for task in pieces:
        _, _, _, _, chain, passed = task.windows
        found += [first + one for one in chain]
        first += passed
        assert task.value()[2] == first
    assert len(found) == 1 and 62 <= found[0] <= 65
    np.testing.assert_array_equal(array, samples)


@pytest.mark.parametrize("fft", [64, 128, 256])
def test_spectra(isa, rng, fft):
    samples, direct = complex_normal(rng, 2, 3, 1000), complex_normal(rng, 2, 3)
    cfo = np.array([0.01, -0.2])
    starts = rng.integers(0, 1001 - fft, (2, 11))
    bins = rng.integers(0, fft, 9)
    white = complex_normal(rng, 2, 3, 3)
    turned = (samples - direct[..., None]) * np.exp(
        -2j * np.pi * cfo[:, None] * np.arange(1000))[:, None]
    expected = np.empty((2, 3, 11, 9), complex)
    for f, w in np.ndindex(2, 11):
        window = turned[f, :, starts[f, w]:starts[f, w] + fft]
        expected[f, :, w] = white[f] @ np.fft.fft(window)[:, bins]
    found = kernels.spectra(list(samples), cfo=cfo, starts=starts, fft=fft, bins=bins,
                            direct=direct, white=white, isa=isa)
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())
    alone = kernels.spectra([samples[1]], cfo=cfo[1:], starts=starts[1:], fft=fft, bins=bins,
                            direct=direct[1:], white=white[1:], isa=isa)
    np.testing.assert_array_equal(alone[0], found[1])


def test_windows_beyond_the_samples_are_moved_inside(isa, rng):
    samples = [complex_normal(rng, 1, 100)]
    out, inside = (kernels.spectra(
        samples, cfo=[0.0], starts=[starts], fft=64, bins=np.arange(64),
        direct=np.zeros((1, 1), np.complex64), isa=isa) for starts in ([-1, 37], [0, 36]))
    np.testing.assert_array_equal(out, inside)


def test_direct_current(isa, rng):
    """DC is removed if the mean exceeds a signal's, which depends on the carrier offset."""
    length, rows = 800, 2
    cfo = np.array([0.1, 0.1, 0.3, 0.3]) / 64
    level = np.array([0.5, 1, 2, 4])    # squared mean relative to that of noise
    samples = complex_normal(rng, len(cfo), rows, length)
    samples -= samples.mean(axis=2, keepdims=True)
    samples += np.sqrt(level[:, None, None] / length * np.array([[[0.8], [1.2]]]))
    apart = np.zeros((len(cfo), rows, length + 50), np.complex64)    # rows need not touch
    apart[:, :, 20:-30] = samples
    found = kernels.direct_current([one[:, 20:-30] for one in apart], rows=rows, cfo=cfo, fft=64,
                                   isa=isa)
    mean, power = samples.mean(axis=2), np.mean(np.abs(samples)**2, axis=2)
    there = np.abs(mean)**2 * length > np.array([0.5, 0.5, 8, 8])[:, None] * power
    assert 0 < there.sum() < there.size
    np.testing.assert_allclose(found, np.where(there, mean, 0), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("scale, rows", [(1, 1), (1, 3), (2, 2), (4, 1), (8, 1)])
def test_acquire(isa, rng, scale, rows):
    """Preambles in noise, in all 20 MHz parts, in half of them or in one, and noise alone."""
    fft, n, length = 64 * scale, 12, 334 * scale
    found = acquisition(scale)
    bins, sequence = found["bins"], found["sequence"]
    reference = np.zeros((len(bins), fft), complex)
    for row, places in zip(reference, bins, strict=True):
        row[places] = sequence
    samples = 0.1 * complex_normal(rng, n, rows, length)
    offset = rng.uniform(-0.01, 0.01, n) / scale
    lag = np.exp(-2j * np.pi * offset * 16 * scale).astype(np.complex64)
    begins, masks = np.zeros(n, int), np.zeros(n, int)
    for i in range(n - 2):    # the last two are noise
        width = max(1, len(bins) >> i % 3)
        shown = width * rng.integers(len(bins) // width) + np.arange(width)
        masks[i] = np.sum(1 << shown)
        paths = complex_normal(rng, rows, 4) * [1, 0.5, 0.25, 0.1]
        paths[:, 0] /= np.abs(paths[:, 0])
        half = np.fft.ifft(reference[shown].sum(axis=0) * fft / 7)
        field = np.concatenate([half[fft // 2:], half, half])
        begins[i] = (160 + rng.integers(-10, 14)) * scale
        for antenna, gains in zip(samples[i], paths, strict=True):
            for delay, gain in enumerate(gains):
                at = begins[i] + delay * scale
                antenna[at:at + field.size] += gain * field[:length - at]
    samples *= np.exp(2j * np.pi * offset[:, None, None] * np.arange(length))
    samples[0] += 3
    samples[1], samples[2, 0, 250 * scale] = 0, np.nan
    masks[1:3] = 0
    stream = np.ascontiguousarray(samples.transpose(1, 0, 2).reshape(rows, -1))
    reader = kernels.HeaderReader(
        fft=fft, windows=np.zeros(8, int), sequence=sequence, isa=isa, **SIGNALS,
        smoother=smoothing.smoother(*[tuple(carriers.legacy().used.tolist())] * 2, 20))
    follower = kernels.Follower(reader, None, turns=0, **found)
    part, start, window, cfo, direct = map(np.array, zip(
        *follower.acquire(stream, length * np.arange(n), lag), strict=True))
    np.testing.assert_array_equal(part, masks)
    there = masks > 0
    assert np.abs(start - (begins - 160 * scale))[there].max() <= scale
    assert np.all((window >= begins + 4 * scale) & (window <= begins + 32 * scale) | ~there)
    assert np.abs(cfo - offset)[there].max() < 1e-4 / scale
    np.testing.assert_allclose(direct[0], samples[0].mean(axis=1), atol=1e-4)
    assert not direct[3:].any()


@pytest.mark.parametrize("rows, columns", [(2, 2), (3, 3), (4, 4), (8, 3), (8, 4)])
def test_condition(isa, rng, rows, columns):
    """Condition numbers assume equal noise."""
    channel, noise = complex_normal(rng, 37, rows, columns), rng.uniform(0.1, 10, rows)
    sizes = np.linalg.svd(channel.astype(complex) / np.sqrt(noise)[:, None], compute_uv=False)
    expected = 20 * np.log10(sizes[..., 0] / sizes[..., -1]).mean()
    assert kernels.condition(channel, noise, isa=isa) == pytest.approx(expected, abs=1e-2)


def test_condition_of_columns_and_of_too_many(rng):
    for columns, expected in ((1, 0.0), (3, np.nan)):
        found = kernels.condition(complex_normal(rng, 5, 2, columns), np.ones(2))
        np.testing.assert_array_equal(found, expected)


def test_powers_in_decibels(rng):
    """SNR is the mean of the antennas' ratios; levels and noise are shares of the FFT's powers."""
    signal, noise = rng.uniform(1, 100, (2, 3, 4))
    found = kernels.powers(list(signal), list(noise), share=[1.0, 0.5, 0.25])
    for i, (snr, ratios, levels, floors) in enumerate(found):
        share = (1.0, 0.5, 0.25)[i]
        np.testing.assert_allclose(snr, 10 * np.log10(np.mean(signal[i] / noise[i])))
        np.testing.assert_allclose(ratios, 10 * np.log10(signal[i] / noise[i]))
        np.testing.assert_allclose(levels, 10 * np.log10((signal[i] + noise[i]) * share))
        np.testing.assert_allclose(floors, 10 * np.log10(noise[i] * share))
    assert kernels.powers([np.zeros(1)], [np.ones(1)], share=[0.0]) == [
        (-300.0, (-300.0,), (-300.0,), (-300.0,))]


@pytest.mark.parametrize("rows, columns, side", [(1, 1, 1), (2, 2, 2), (4, 4, 4), (4, 3, 8),
                                                 (12, 6, 16)])
def test_error_vectors(isa, rng, rows, columns, side):
    """Compare with unbiased MMSE estimates and the nearest of all points."""
    scale = 1.0 if side == 1 else np.sqrt(1.5 / (side**2 - 1))
    levels = scale * (2 * np.arange(side) - (side - 1))
    points = np.array([-1, 1]) if side == 1 else np.add.outer(levels, 1j * levels).ravel()
    y, h = complex_normal(rng, 2, 13, 15, rows), complex_normal(rng, 2, 13, rows, columns)
    noise = np.array([0.1, 0.7], np.float32)
    found = kernels.error_vectors(y, h, noise=noise, sides=np.full(columns, side), isa=isa)
    adjoint = h.astype(complex).conj().swapaxes(-1, -2)
    filters = np.linalg.inv(adjoint @ h + noise[:, None, None, None] * np.eye(columns)) @ adjoint
    filters /= np.einsum("fcsr,fcrs->fcs", filters, h)[..., None]
    estimates = y[:, :, ::2] @ filters.swapaxes(-1, -2)
    distance = np.min(np.abs(estimates[..., None] - points)**2, axis=-1)
    np.testing.assert_allclose(found, distance.mean(axis=(1, 2)), rtol=1e-3)


def _received(rng, frames, rows, turn, symbols, trained, in_ltf):
    """Return frames through channels with a few paths, with some wrong decisions."""
    streams = turn.shape[1]
    channel = np.stack([_response(rng, trained, rows * streams) for _ in range(frames)])
    channel = channel.reshape(frames, trained.size, rows, streams)
    sent = (rng.choice([-1, 1], (frames, streams, symbols, in_ltf.size))
            + 1j * rng.choice([-1, 1], (frames, streams, symbols, in_ltf.size))) / np.sqrt(2)
    whitened = (channel * turn[:, None])[:, in_ltf]
    received = np.einsum("nkri,nitk->nrtk", whitened, sent)
    phase = np.cumsum(0.05 * rng.standard_normal((frames, symbols)), axis=1) + 0.2
    received = received * np.exp(1j * phase)[:, None, :, None]
    received += 0.3 * complex_normal(rng, *received.shape)
    received[0, 0, :, 5] += 4
    wrong = rng.random(sent.shape) < 0.05
    return received, np.where(wrong, -sent, sent), channel


@pytest.mark.parametrize("frame_format, rows, symbols", [
    (NonHT(6, 100), 1, 2), (HT(9, 100), 2, 13), (HT(27, 100), 4, 21),
    (VHT.of_length(3, 100, 3, 20), 8, 6), (HT(0, 100), 2, 150), (HE(3, 9), 2, 9),
    (HE(0, 12, ltf=1, stbc=1), 1, 12), (HE(0, 20, name="he-er-su", ru=(106, 2)), 1, 20)], ids=str)
def test_refine(isa, rng, frame_format, rows, symbols):
    tested = demodulator.Demodulator(frame_format, 1)
    plan, trained = tested.plan, tested.carriers
    in_ltf, k, turn, places = (plan[name] for name in ("trained_place", "k", "turn", "places"))
    received, points, true = _received(rng, 3, rows, turn, symbols, trained, in_ltf)
    received, points = (np.ascontiguousarray(x, np.complex64) for x in (received, points))
    pilots, noise = plan["pilot_places"], rng.uniform(0.5, 2, (3, rows))
    points[..., pilots] = np.sign(points[..., pilots].real)
    first = (true + 0.2 * complex_normal(rng, *true.shape)).astype(np.complex64)
    channel = (true + 0.1 * complex_normal(rng, *true.shape)).astype(np.complex64)
    deviation = np.sqrt(noise)[:, None, :, None]
    found = tested._core.refine(received, first, (channel * deviation).astype(np.complex64), noise,
                                points, isa=isa)
    weight = frame_format.num_ltf * (2 if isinstance(frame_format, NonHT) else 1)
    starts = plan["data_start"] + plan["symbol"] * np.arange(symbols)
    estimated = places if plan["shared"] is not None else np.arange(k.size)
    epsilon, phase, turned, level, least, estimate = oracle.refine(
        received, points, channel, first, in_ltf, turn, k, trained,
        starts + plan["fft"] / 2 - plan["training_middle"], pilots, estimated, plan["fft"], weight)
    root, share = np.sqrt(least)[:, None, :, None], 1 / (weight + symbols)
    here = slice(None) if plan["refined_here"] is None else plan["refined_here"]
    smoothed, error, done, _ = tested._refined.smooth(np.ascontiguousarray(
        (estimate / root)[:, here].reshape(3, -1, root.shape[2] * turn.shape[1]), np.complex64),
        share)
    assert done.all()
    channel = smoothed.reshape(estimate.shape) * root
    y, h = oracle.whiten(turned, points, channel, level, in_ltf, turn, places)
    expected = {"sampling_offset": epsilon, "phase": phase, "received": turned, "y": y,
                "h": h[:, places], "channel": channel * deviation,
                "noise_var": 1 + error * share * turn.shape[1],
                "phase_step": (phase[:, -1] - phase[:, 0]) / (symbols - 1)}
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        tolerance = 1e-8 if name == "sampling_offset" else 3e-3
        assert found[name] == pytest.approx(value, abs=tolerance, rel=tolerance), name


@pytest.mark.parametrize("frame_format", [
    NonHT(6, 100), NonHT(54, 100, 40), HT(12, 300), HT(27, 300, 40), HT(8, 200, stbc=1),
    HT(15, 200, short_gi=True), VHT.of_length(8, 500, 3, 80), VHT.of_length(0, 300, 1, stbc=1)],
    ids=str)
def test_points(rng, frame_format):
    f = frame_format
    bits = f.plan.num_data * f.num_streams * f.bits_per_carrier
    coded = rng.integers(0, 2, (2, f.num_symbols, bits), np.uint8)
    order = rng.permutation(bits)
    expected = oracle.points(f, coded[..., order])
    assert known_points(f, coded, order) == pytest.approx(expected.transpose(0, 3, 1, 2))


SIGNALS = {"data": carriers.legacy().data_index, "pilots": carriers.legacy().pilot_index,
           "pilot_signs": training.legacy_pilots(0, 6).astype(np.float32),
           "order": bit_order(48, 1, 1), "he_order": bit_order(52, 1, 1),
           "distance": 112.0 + 80 * np.arange(6)}
READER = {"fft": 64, "sequence": np.zeros(52, np.float32), "windows": np.zeros(8, int),
          "smoother": smoothing.smoother(*[tuple(carriers.legacy().used.tolist())] * 2, 20)}
KINDS = kernels.signal_kinds


def _signal_symbols(fields, turned):
    """Return three symbols (3, 52) with bits of signal fields, each rotated by 90 degrees or 0."""
    coded = np.concatenate([signal_fields.encode_signal(bits) for bits in fields])
    out = np.zeros((3, 52), np.complex64)
    for t, axis in enumerate(turned):
        out[t, SIGNALS["data"]] = (2.0 * coded[t] - 1) * (1j if axis else 1)
        out[t, SIGNALS["pilots"]] = SIGNALS["pilot_signs"][t]
    return out


def _read(combined, strength, isa):
    found = kernels.HeaderReader(**READER, **SIGNALS, isa=isa).read_symbols(
        combined.astype(np.complex64), np.full(len(combined), strength))
    kinds, fields = zip(*found, strict=True)
    return np.array(kinds), np.stack([np.frombuffer(one, np.uint8) for one in fields])


L_SIG, HT_SIG = signal_fields.LSig(6, 300).bits(), signal_fields.ht_sig(HT(9, 77))
SIGNAL_A = signal_fields.vht_sig_a(VHT.of_length(3, 100, 1))
OTHER = signal_fields.LSig(54, 55).bits()


@pytest.mark.parametrize("fields, turned, kind", [
    ((L_SIG, HT_SIG), (0, 1, 1), ["l_sig", "second_turned", "third_turned"]),
    ((L_SIG, SIGNAL_A), (0, 0, 1), ["l_sig", "third_turned"]),
    ((L_SIG, OTHER, OTHER), (0, 0, 0), ["l_sig"]), ((OTHER, HT_SIG), (0, 1, 1), ["l_sig"]),
    ((L_SIG, L_SIG, OTHER), (0, 0, 0), ["l_sig", "repeated"]),
    ((HT_SIG, OTHER), (1, 1, 0), ["greenfield"]),
    ((SIGNAL_A ^ 1, OTHER), (1, 1, 0), []), ((L_SIG, OTHER, OTHER), (1, 0, 0), []),
    ((L_SIG ^ (np.arange(24) == 7), OTHER, OTHER), (0, 0, 0), [])])
def test_read_signals(isa, rng, fields, turned, kind):
    n, snr = 30, 10.0
    sent = _signal_symbols(fields, turned)
    # Residual carrier offset after the training field.
    turn = np.exp(1j * rng.normal(0, 0.02, (n, 1, 1)) * SIGNALS["distance"][:3, None] / 64)
    noise = np.sqrt(snr / 2) * complex_normal(rng, n, *sent.shape)
    kinds, found = _read(snr * sent * turn + noise, 52 * snr, isa)
    assert (kinds == sum(KINDS[name] for name in kind)).all()
    expected = np.zeros(72, np.uint8)
    if "l_sig" in kind:
        expected[:24] = fields[0]
    if "third_turned" in kind:
        expected[24:] = fields[1]
    if "greenfield" in kind:
        expected[24:] = fields[0]
    if kind:
        assert (found == expected).all()


def test_noise_is_no_signal_field(isa, rng):
    kinds, _ = _read(complex_normal(rng, 1000, 3, 52), 520.0, isa)
    assert np.mean(kinds & KINDS["l_sig"] > 0) < 0.02


def _delay_transform(k, fft, density):
    """Return the delays in samples at 20 MS/s, and the transform to them (k, delays)."""
    grid = np.arange(k[0], k[-1] + 1, np.diff(k).min())
    fill = np.stack([np.interp(grid, k, one) for one in np.eye(k.size)])
    window = 0.5 + 0.5 * np.cos(2 * np.pi * (grid - (k[0] + k[-1]) / 2) / (np.ptp(k) + 2))
    delays = np.arange(fft + 1) * 32 / fft - 16
    transform = (fill * window) @ np.exp(2j * np.pi / (64 * density) * np.outer(grid, delays))
    return delays, transform / np.sqrt(np.sum((fill @ window)**2))


def _smoothed(channel, noise, carriers, wanted, bandwidth, density):
    """Smooth one channel (k, rows) step by step: return channels, error, paths."""
    k, fft = np.array(carriers), 64 * bandwidth // 20
    delays, transform = _delay_transform(k, fft, density)
    step = delays[1] - delays[0]
    one, two = np.nonzero(k[:, None] + density == k)
    turn = np.angle(np.sum(channel[one].conj() * channel[two]))
    mean = np.rint(-turn * 64 / (2 * np.pi) / step) * step
    per_delay = 2j * np.pi / 64 / density
    turned = channel * np.exp(per_delay * mean * k)[:, None]
    power = np.mean(np.abs(turned.T @ transform)**2, axis=0)
    rows = channel.shape[1]
    quantile = (1 - 1 / (9 * rows) + 3.1 / (3 * np.sqrt(rows)))**3
    least = max(noise * quantile, 1.5e-3 * power.max())
    paths = np.zeros(64)
    np.add.at(paths, np.clip(np.rint(delays + mean).astype(int) + 32, 0, 63),
              np.where(power > least, power, 0))
    snr_db = 10 * np.log10(max(np.mean(np.abs(channel)**2) / noise - 1, 0.1))
    margin = 0.5 + (0.3 if density > 1 else 0.1) * max(0, snr_db - 15)
    lobe = 64 * density / (np.ptp(k) + 2)
    first, last = oracle.extent(power, least, margin, delays, lobe, 48)
    width = int(np.ceil((last - first) / (0.5 * 64 / fft)))
    level = int(np.clip(np.rint(snr_db / 4), -2, 14))
    analysis, synthesis, error = smoothing._filter(
        partial(smoothing._eigenvectors, k, np.array(wanted), fft * density), width, level)
    middle = (first + last) / 2
    inner = analysis @ (turned * np.exp(per_delay * middle * k)[:, None])
    back = np.exp(-per_delay * (mean + middle) * np.array(wanted))
    return (synthesis @ inner) * back[:, None], error, paths


def _response(rng, k, rows, density=1):
    """Return channels (k, rows) with a few paths."""
    delays = rng.uniform(-2, 6, (4, 1))
    gains = complex_normal(rng, 4, rows) * np.array([1, 0.7, 0.4, 0.2])[:, None]
    return np.exp(-2j * np.pi / 64 / density * delays * np.array(k)).T @ gains


VHT_CARRIERS = {bandwidth: (carriers.high_throughput(bandwidth).data,
                            carriers.high_throughput(bandwidth).used, 1)
                for bandwidth in (20, 40, 80)}
HE_USED = he_tables.plan(20, he_tables.RU(242, 1)).used
HE_UPPER = he_tables.plan(20, he_tables.RU(106, 2)).used


@pytest.mark.parametrize("bandwidth, used, rows", [
    (20, VHT_CARRIERS[20], 1), (20, VHT_CARRIERS[20], 8), (40, VHT_CARRIERS[40], 4),
    (80, VHT_CARRIERS[80], 2), (20, (HE_USED, HE_USED, 4), 1),
    (20, (HE_USED[HE_USED % 2 == 0], HE_USED, 4), 2),
    (20, (HE_USED[HE_USED % 4 == 0], HE_USED, 4), 4),
    (20, (HE_UPPER[1::2], HE_UPPER, 4), 2)])
def test_smoother(isa, rng, bandwidth, used, rows):
    k, wanted, density = used
    k, wanted = tuple(map(int, k)), tuple(map(int, wanted))
    noise = 0.02
    channel = np.stack([_response(rng, k, rows, density) for _ in range(3)])
    channel = channel + np.sqrt(noise / 2) * complex_normal(rng, *channel.shape)
    channel = np.ascontiguousarray(channel, np.complex64)
    found, error, done, paths = smoothing.smoother(k, wanted, bandwidth, density).smooth(
        channel, noise, isa=isa)
    assert done.all()
    for i in range(3):
        expected = _smoothed(channel[i].astype(complex), noise, k, wanted, bandwidth, density)
        np.testing.assert_allclose(found[i], expected[0], atol=3e-3)
        assert error[i] == pytest.approx(expected[1])
        np.testing.assert_allclose(paths[i], expected[2], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("frame_format, rows", [
    (NonHT(54, 200), 1), (NonHT(12, 200, 40), 2), (HT(7, 100), 1), (HT(11, 300, 40), 3),
    (HT(27, 900, short_gi=True), 4), (HT(9, 400, greenfield=True), 2),
    (HT(1, 100, stbc=1), 1), (VHT.of_length(5, 600, 2, 80), 2),
    (VHT.of_length(3, 400, 3, 20), 4), (VHT(0, 0, 2), 2), (HE.of_length(5, 500, ltf=1), 1),
    (HE.of_length(5, 500, gi_us=1.6, coding="ldpc"), 2), (HE.of_length(1, 300, dcm=True), 1),
    (HE.of_length(2, 300, stbc=1), 2), (HE.of_length(0, 90, name="he-er-su", ru=(106, 2)), 1)],
    ids=str)
@pytest.mark.parametrize("ppm", [0, 40])
def test_demodulate(isa, rng, frame_format, rows, ppm):
    f, scale = frame_format, frame_format.bandwidth_mhz // 20
    transmitter = Transmitter(f.num_space_time_streams, 20e6 * scale)
    sent = transmitter.frame(f, rng.bytes(f.length))
    sent = np.pad(sent, ((0, 0), (40 * scale, 100 * scale)))
    taps = complex_normal(rng, 3, rows, len(sent)) * np.array([1, 0.5, 0.2])[:, None, None]
    samples = sum(np.roll(tap @ sent, 2 * at * scale, axis=1) for at, tap in enumerate(taps))
    if ppm:    # resample as with a wrong clock
        at = np.arange(samples.shape[1]) * (1 + ppm * 25e-6)
        whole = np.clip(at.astype(int), 0, samples.shape[1] - 2)
        samples = samples[:, whole] + (samples[:, whole + 1] - samples[:, whole]) * (at - whole)
    cfo = 1e-4
    samples = samples * np.exp(2j * np.pi * cfo * np.arange(samples.shape[1])) + 0.01 + 0.02j
    samples = (samples + 0.02 * complex_normal(rng, *samples.shape)).astype(np.complex64)
    samples = np.ascontiguousarray(samples)
    first = (40 + 192) * scale
    direct, = _core.wifi.direct_current([samples], rows=rows, cfo=np.array([cfo]), fft=64 * scale)
    tested = demodulator.Demodulator(f, scale)
    core = _core.wifi.Demodulator(tested.plan, tested._smoother, tested._refined)
    task = core.begin([samples], rows=rows, first=[first], cfo=[cfo], sizes=[f.sizes], isa=isa)
    task.run()
    found = task.arrays(0)

    def smooth(estimate, noise):
        channel, error, done, paths = tested._smoother.smooth(
            np.ascontiguousarray(estimate[None], np.complex64), noise)
        assert done.all() and tested.plan["smoothing"]
        return channel[0], error[0], paths[0]

    plan = tested.plan
    if not f.num_symbols:    # the oracle wants a symbol
        plan = plan | {"data_start": plan["signal_b"] + 80}
    expected = oracle.demodulate(samples.astype(complex), first, cfo, direct.astype(complex), plan,
                                 smooth, max(1, f.num_symbols))
    names = ["noise", "least_squares", "channel", "noise_var", "delay"]
    if isinstance(f, VHT):
        names.append("sig_b")
    if f.num_symbols:
        names += ["sampling_offset", "phase", "received", "y", "h"]
    for name in names:
        size = np.abs(expected[name]).max()
        np.testing.assert_allclose(found[name][0], expected[name], atol=3e-3 * size + 1e-9,
                                   err_msg=name)
