# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Number of samples after a frame that the receiver needs before it reports the frame."""

import pytest
from gnuradio.mimopack.wifi import HT, VHT, NonHT, Receiver
from wifi_air import air, data_mpdu

PIECE = 20
SHORT = data_mpdu(0)
LONG = data_mpdu(1000)


@pytest.mark.parametrize("rate", [20e6, 80e6], ids=["20 MHz", "80 MHz"])
@pytest.mark.parametrize("format_of, mpdu", [
    (lambda n: NonHT(54, n), SHORT), (lambda n: NonHT(6, n), LONG), (lambda n: HT(9, n), LONG),
    (lambda n: VHT.of_length(4, n, 2), LONG)], ids=["short", "non-HT", "HT", "VHT"])
def test_a_frame_is_reported_soon_after_its_last_sample(format_of, mpdu, rate):
    """2 us serve the timing. No frame comes before 110 us, the search for the best preamble."""
    samples, sent = air([(format_of, [mpdu])], 2, gap=20_000, sample_rate=rate)
    receiver = Receiver(2, rate)
    for end in range(PIECE, samples.shape[1], PIECE):
        frames = receiver.process(samples[:, end - PIECE:end])
        if frames:
            break
    frame, = frames
    assert frame.complete
    length = frame.num_samples / rate
    late = (end - frame.start) / rate - length
    assert late <= max(2e-6, 110e-6 - length) + PIECE / rate
