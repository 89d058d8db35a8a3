#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run own_ofdm.grc without a GUI: an OFDM system with pilots of its own, and two detectors.

Sends simulated slots of two layers through a fading channel with delays to two antennas. The block
ofdm_channel_estimator makes the vectors and channels for MMSE and N-way. Prints the bit error rate
of each. The end of the last slot stays in the channel, so the last slot is lost.
"""

import argparse

import numpy as np
from gnuradio import blocks, fft, gr, mimopack
from gnuradio.mimopack import channel, constellation

FFT, PREFIX, SYMBOLS, LAYERS, ANTENNAS = 64, 16, 14, 2, 2
CARRIERS = np.arange(-26, 27) % FFT    # in the order of frequency, without a gap
CHANNEL = {"profile": "tdl_a", "delay_spread": 50e-9, "doppler": 30.0}
rng = np.random.default_rng(1)

# Pilots in symbols 2 and 11: layer 0 on even carriers, layer 1 on odd ones; nothing at 0 Hz.
PILOTS = np.zeros((LAYERS, SYMBOLS, len(CARRIERS)), complex)
PILOTS[0, 2::9, 0::2] = rng.choice([-1, 1], size=(2, 27))
PILOTS[1, 2::9, 1::2] = rng.choice([-1, 1], size=(2, 26))
PILOTS[..., CARRIERS == 0] = 0
DATA = np.ones(PILOTS.shape[1:], bool)
DATA[2::9], DATA[:, CARRIERS == 0] = False, False


def simulate(slots):
    """Return the bits (vectors, 8) and samples (layers, samples) of slots."""
    bits = rng.integers(2, size=(slots, DATA.sum(), LAYERS * 4), dtype=np.uint8)
    grids = np.tile(PILOTS[:, None], (1, slots, 1, 1))
    grids[..., DATA] = np.moveaxis(constellation.get("qam16").modulate(bits), 2, 0)
    spectra = np.zeros((LAYERS, slots * SYMBOLS, FFT), complex)
    spectra[..., CARRIERS] = grids.reshape(LAYERS, slots * SYMBOLS, -1)
    waves = np.fft.ifft(spectra, norm="ortho")
    waves = np.concatenate([waves[..., -PREFIX:], waves], axis=-1).reshape(LAYERS, -1)
    # The channel delays the samples by its latency; they repeat in Companion.
    latency = channel.MIMOChannel(LAYERS, ANTENNAS, **CHANNEL).latency
    return bits.reshape(-1, LAYERS * 4), np.roll(waves, -latency, axis=1)


class own_ofdm_headless(gr.top_block):
    """Flowgraph with a channel, FFTs, the channel estimator, detectors and meters.

    Args:
        slots: number of slots to send.
        snr_db: mean SNR per receive antenna in dB.
        names: names of detectors.
    """

    def __init__(self, slots=200, snr_db=25.0, names=("mmse", "nway")):
        gr.top_block.__init__(self, "OFDM with pilots of its own")
        bits, waves = simulate(slots)
        self.channel = mimopack.mimo_channel(
            LAYERS, ANTENNAS, **CHANNEL, snr_db=snr_db, signal_power=52 / 64, seed=1)
        self.estimator = mimopack.ofdm_channel_estimator(
            PILOTS, ANTENNAS, FFT, CARRIERS, DATA, PREFIX / FFT)
        self.bits = blocks.vector_source_b(bits.ravel().tolist(), False, LAYERS * 4)
        for layer, wave in enumerate(waves):
            self.connect(blocks.vector_source_c(wave.tolist()), (self.channel, layer))
        for antenna in range(ANTENNAS):
            self.connect((self.channel, antenna),
                         blocks.keep_m_in_n(gr.sizeof_gr_complex, FFT, PREFIX + FFT, PREFIX),
                         blocks.stream_to_vector(gr.sizeof_gr_complex, FFT),
                         fft.fft_vcc(FFT, True, [FFT**-0.5] * FFT), (self.estimator, antenna))
        self.detectors, self.meters = {}, {}
        for name in names:
            # A tag of the estimator gives the detectors the noise power.
            detector = getattr(mimopack, f"{name}_detector")(LAYERS, ANTENNAS, "qam16")
            meter = mimopack.ber_meter(LAYERS * 4, 1, 1, "float32")
            for port in range(2):
                self.connect((self.estimator, port), (detector, port))
            self.connect(self.bits, meter, blocks.null_sink(gr.sizeof_float))
            self.connect(detector, (meter, 1))
            self.detectors[name], self.meters[name] = detector, meter


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slots", type=int, default=200, help="default 200")
    parser.add_argument("--snr", type=float, default=25.0, help="dB, default 25")
    options = parser.parse_args()
    if options.slots < 2:
        parser.error(f"--slots: got {options.slots}, must be 2 or more")
    try:
        graph = own_ofdm_headless(options.slots, options.snr)
    except ValueError as error:
        parser.error(str(error))
    graph.run()
    print(f"{options.slots} slots, SNR {options.snr:g} dB")
    for name, meter in graph.meters.items():
        print(f"{name}: bit error rate {meter.ber()[0]:.2e}")


if __name__ == "__main__":
    main()
