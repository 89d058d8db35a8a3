# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sionna's coded links with our detectors lose as many blocks as with Sionna's own."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from gnuradio.mimopack import sionna as fast
from sionna.phy import config, mimo
from sionna.phy.channel import OFDMChannel, RayleighBlockFading
from sionna.phy.fec.ldpc import LDPC5GDecoder, LDPC5GEncoder
from sionna.phy.mapping import BinarySource, Mapper
from sionna.phy.mimo import StreamManagement
from sionna.phy.ofdm import LSChannelEstimator, OFDMDetector, ResourceGrid, ResourceGridMapper

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
import sionna_link

QAM16 = {"constellation_type": "qam", "num_bits_per_symbol": 4}


@pytest.fixture(autouse=True)
def one_thread():
    """PyTorch's threads wait for each other actively, which disturbs other tests."""
    torch.set_num_threads(1)
    config.seed = 1


@pytest.mark.parametrize("antennas", [4, 16])
@pytest.mark.parametrize("method", ["lmmse", "ep", "kbest16"])
def test_pusch(antennas, method):
    link = sionna_link.Link(antennas, resource_blocks=1)
    receivers = [link.receiver(detector) for detector in sionna_link.detectors(method, "cpu")]
    sent = link.source(16, sionna_link.NOISE[antennas])
    theirs, ours = (sionna_link.errors(receiver, *sent) for receiver in receivers)
    assert 0 < theirs < 40, theirs    # of 64 blocks
    assert ours == theirs if method == "lmmse" else ours <= theirs + 3, (theirs, ours)


def test_pusch_with_n_way():
    """N-way, which Sionna does not have, loses fewer blocks than LMMSE."""
    link = sionna_link.Link(4, resource_blocks=1)
    sent = link.source(16, sionna_link.NOISE[4])
    lmmse = sionna_link.detectors("lmmse", "cpu")[0]
    lost = [sionna_link.errors(link.receiver(detector), *sent)
            for detector in (lmmse, fast.Detector("nway", **QAM16))]
    assert lost[1] < lost[0] / 2, lost


@pytest.mark.parametrize("theirs, ours", [
    (mimo.KBestDetector("bit", 4, 16, **QAM16), fast.KBestDetector("bit", 4, 16, **QAM16)),
    (mimo.EPDetector("bit", 4), fast.EPDetector("bit", 4)),
    (mimo.LinearDetector("lmmse", "bit", "maxlog", **QAM16), fast.Detector("nway", **QAM16))])
def test_coded_ofdm(theirs, ours):
    """LDPC code, resource grid, channel estimation: four streams to four antennas."""
    grid = ResourceGrid(num_ofdm_symbols=14, fft_size=12, subcarrier_spacing=30e3, num_tx=4,
                        pilot_pattern="kronecker", pilot_ofdm_symbol_indices=[2, 11])
    streams, n = StreamManagement(np.ones((1, 4)), 1), int(grid.num_data_symbols) * 4
    encoder = LDPC5GEncoder(n // 2, n)
    bits, noise_var = BinarySource()([16, 4, 1, n // 2]), torch.tensor(0.05)
    x = ResourceGridMapper(grid)(Mapper("qam", 4)(encoder(bits)))
    y = OFDMChannel(RayleighBlockFading(1, 4, 4, 1), grid)(x, noise_var)
    h, err_var = LSChannelEstimator(grid, interpolation_type="nn")(y, noise_var)
    decoder = LDPC5GDecoder(encoder, hard_out=True)
    lost = [int((decoder(OFDMDetector(detector, "bit", grid, streams)(y, h, err_var, noise_var))
                 != bits).any(-1).sum()) for detector in (theirs, ours)]
    assert 0 < lost[0] < 40, lost    # of 64 blocks
    assert lost[1] <= lost[0] + 3, lost
