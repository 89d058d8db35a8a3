# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The waveform: formats, training fields, pilots, power, order of the bits."""

import re

import numpy as np
import pytest
from gnuradio.mimopack import constellation, ofdm
from gnuradio.mimopack.ofdm import waveform


@pytest.mark.parametrize(("argument", "value"), [
    ("num_tx", 0), ("num_tx", 5), ("constellation", "qam16"), ("constellation", "wlan_qam256"),
    ("code_rate", "4/5"), ("code_rate", "2/3"), ("code_rate", "5/6"),
    ("payload_length", 0), ("payload_length", 65532),
    ("scrambler_seed", 0), ("scrambler_seed", 128)])
def test_parameters_refuse(argument, value):
    with pytest.raises(ValueError, match=f"^{argument}: got {value!r}"):
        ofdm.Parameters(**{argument: value})


@pytest.mark.parametrize(("argument", "value"), [
    ("num_tx", 2.0), ("num_tx", "2"), ("num_tx", None), ("payload_length", 2.5),
    ("payload_length", "500"), ("scrambler_seed", 1.5), ("constellation", 4), ("code_rate", 0.5),
    ("code_rate", ["1/2"])])
def test_parameters_refuse_other_types(argument, value):
    with pytest.raises(ValueError, match=re.escape(f"{argument}: got {value!r}")):
        ofdm.Parameters(**{argument: value})


def test_parameters_take_numpy_integers():
    p = ofdm.Parameters(num_tx=np.int64(2), payload_length=np.uint16(300))
    assert type(p.num_tx) is type(p.payload_length) is int
    assert p == ofdm.Parameters(num_tx=2, payload_length=300)


# Table 19-10 in samples of 50 ns: -400 ns is an advance of 8.
@pytest.mark.parametrize(("num_tx", "shifts_ns"), [
    (1, [0]), (2, [0, -400]), (3, [0, -400, -200]), (4, [0, -400, -200, -600])])
def test_cyclic_shifts_of_the_standard(num_tx, shifts_ns):
    p = ofdm.Parameters(num_tx=num_tx, payload_length=30)
    frame = ofdm.Transmitter(p).frame(bytes(30)) * np.sqrt(num_tx)
    stf = waveform.preamble(1, 1)[0, :160]
    ltf = waveform.to_samples(waveform.LTF_CARRIERS)
    for layer, shift in enumerate(shifts_ns):
        advance = -shift // 50
        sign = waveform.LTF_MAPPING[layer, 0]
        assert np.allclose(frame[layer, :160], sign * np.roll(stf, -advance), atol=1e-5)
        assert np.allclose(frame[layer, 192:256], sign * np.roll(ltf, -advance), atol=1e-5)
        # In the data the pilots of the layer are turned by the same delay.
        symbol = waveform.to_subcarriers(frame[layer, p.preamble_samples + 16:][:64])
        pilots = symbol[32 + waveform.PILOT_CARRIERS] * np.sqrt(56) / 64
        delay = np.exp(-2j * np.pi * waveform.PILOT_CARRIERS * shift * 1e-9 * 20e6 / 64)
        assert np.allclose(pilots, waveform.pilots(num_tx, 1)[0, :, layer] * delay, atol=1e-4)


def test_derived_sizes():
    # MCS 27 of the standard (4 streams, 16-QAM 1/2): 832 coded, 416 data bits per symbol.
    p = ofdm.Parameters(num_tx=4, constellation="wlan_qam16", code_rate="1/2", payload_length=500)
    assert (p.coded_bits_per_ofdm_symbol, p.data_bits_per_ofdm_symbol) == (832, 416)
    assert p.num_symbols == -(-(16 + 8 * 504 + 6) // 416) == 10
    assert (p.num_ltf, p.preamble_samples, p.frame_samples) == (4, 560, 1360)
    assert (p.num_items, p.num_fft_items) == (520, 15)
    # MCS 7 (1 stream, 64-QAM 5/6) and MCS 13 (2 streams, 64-QAM 2/3): 260 and 416 data bits.
    assert ofdm.Parameters(1, "wlan_qam64", "5/6").data_bits_per_ofdm_symbol == 260
    assert ofdm.Parameters(2, "wlan_qam64", "2/3").data_bits_per_ofdm_symbol == 416
    assert ofdm.Parameters(2).preamble_samples == 400
    assert ofdm.Parameters(3).num_ltf == 4
    assert p.with_payload(501).payload_length == 501


@pytest.mark.parametrize("num_tx", [1, 2, 3, 4])
def test_training_fields(num_tx):
    p = ofdm.Parameters(num_tx=num_tx)
    frame = ofdm.Transmitter(p).frame(bytes(500))
    assert frame.dtype == np.complex64 and frame.shape == (num_tx, p.frame_samples)
    assert np.allclose(frame[:, 16:160], frame[:, :144], atol=1e-6)
    assert np.allclose(frame[:, 192:256], frame[:, 256:320], atol=1e-6)
    assert np.allclose(frame[:, 160:192], frame[:, 224:256], atol=1e-6)
    starts = [192, *(320 + 16 + 80 * n for n in range(p.num_ltf - 1))]
    fields = np.stack([waveform.to_subcarriers(frame[:, s:s + 64]) for s in starts], axis=-1)
    # On every carrier the fields of the layers are orthogonal, of equal power.
    used = fields[:, 32 + waveform.USED_CARRIERS].transpose(1, 0, 2)
    gram = used @ used.conj().transpose(0, 2, 1)
    assert np.allclose(gram, gram[0, 0, 0].real * np.eye(num_tx), atol=1e-3 * abs(gram[0, 0, 0]))
    unused = np.setdiff1d(np.arange(64), 32 + waveform.USED_CARRIERS)
    assert np.abs(fields[:, unused]).max() < 1e-4


def test_training_sequences_of_the_standard():
    ltf = waveform.LTF_CARRIERS
    # (17-8): the legacy long training field, between the two carriers that HT adds at each side.
    legacy = [1, 1, -1, -1, 1, 1, -1, 1, -1, 1, 1, 1, 1, 1, 1, -1, -1, 1, 1, -1, 1, -1, 1, 1, 1, 1,
              0, 1, -1, -1, 1, 1, -1, 1, -1, 1, -1, -1, -1, -1, -1, 1, 1, -1, -1, 1, -1, 1, -1, 1,
              1, 1, 1]
    assert np.array_equal(ltf[32 - 26:32 + 27], legacy)
    assert np.array_equal(ltf[[4, 5, 59, 60]], [1, 1, -1, -1])
    assert not ltf[:4].any() and not ltf[61:].any()
    # The first sample of the standard's short training field is 0.046 + 0.046j (table I-4), of
    # its long one, after the guard, 0.156 (table I-6): the legacy field, IFFT without our scale.
    stf = waveform.preamble(1, 1)[0, 0] * np.sqrt(52) / 64
    assert stf == pytest.approx(0.046 + 0.046j, abs=5e-4)
    field = np.where(np.abs(np.arange(-32, 32)) <= 26, ltf, 0)
    assert np.fft.ifft(np.fft.ifftshift(field))[0] == pytest.approx(0.156, abs=5e-4)


def test_pilots_of_the_standard():
    # Polarity begins 1 1 1 1 -1 -1 -1 1 (17-25); an HT-greenfield frame's data begin at p_2.
    polarity = [1, 1, -1, -1, -1, 1]
    one = waveform.pilots(1, 6)[:, :, 0]
    pattern = [1, 1, 1, -1]
    for n in range(6):
        assert np.array_equal(one[n], polarity[n] * np.roll(pattern, -n))
    four = waveform.pilots(4, 1)[0]
    assert np.array_equal(four.T @ four, 4 * np.eye(4))


@pytest.mark.parametrize("num_tx", [1, 2, 3, 4])
def test_power_is_one(num_tx):
    p = ofdm.Parameters(num_tx=num_tx, payload_length=2000)
    frame = ofdm.Transmitter(p).frame(np.random.default_rng(0).bytes(2000))
    power = np.sum(np.abs(frame) ** 2, axis=0)
    assert np.mean(power[p.preamble_samples:]) == pytest.approx(1, abs=0.03)
    assert np.mean(power[:160]) == pytest.approx(1, abs=0.05)
    # No antenna, and no direction, is favoured by the training of several layers.
    per_antenna = np.mean(np.abs(frame[:, :160]) ** 2, axis=1)
    assert np.allclose(per_antenna, 1 / num_tx, rtol=1e-3)


@pytest.mark.parametrize("num_tx", [1, 3])
def test_data_symbols_carry_the_coded_bits(num_tx):
    p = ofdm.Parameters(num_tx=num_tx, constellation="wlan_qam64", payload_length=77)
    transmitter = ofdm.Transmitter(p)
    payload = np.random.default_rng(1).bytes(77)
    frame = transmitter.frame(payload)[:, p.preamble_samples:]
    symbols = waveform.to_subcarriers(frame.reshape(num_tx, -1, 80)[:, :, 16:])
    symbols = symbols * waveform.cyclic_shift(num_tx).conj().T[:, None, :]
    x = symbols[:, :, 32 + waveform.DATA_CARRIERS].transpose(1, 2, 0).reshape(-1, num_tx)
    x = x * np.sqrt(num_tx * 56) / 64
    bits = transmitter.coded_bits(payload)
    assert bits.shape == (p.num_items, num_tx * 6) and bits.dtype == np.uint8
    expected = constellation.get("wlan_qam64").modulate(bits)
    assert np.allclose(x, expected, atol=1e-5)


def test_payload_of_another_length_is_refused():
    with pytest.raises(ValueError, match="payload: got 9 bytes, must be 10"):
        ofdm.Transmitter(ofdm.Parameters(payload_length=10)).frame(bytes(9))


def test_grouping_items():
    items = np.arange(6 * 52 * 3).reshape(6 * 52, 3)
    grouped = ofdm.group_items(items, 2)
    assert grouped.shape == (3 * 52, 6)
    # Item (group 1, carrier 5): symbols 2 and 3 of carrier 5.
    assert np.array_equal(grouped[52 + 5], [*items[2 * 52 + 5], *items[3 * 52 + 5]])
    assert np.array_equal(ofdm.ungroup_items(grouped, 2), items)
    with pytest.raises(ValueError, match="symbols_per_channel: got 4, .* allowed are 1, 2, 3, 6"):
        ofdm.group_items(items, 4)
