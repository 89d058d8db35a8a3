#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the recording of the demo: 4x4 16-QAM MIMO-OFDM frames at three SNRs, simulated.

The noise floor is the same throughout; a frame's amplitude sets its SNR. Each frame meets a new
realisation of the channel: TDL-A of 3GPP TR 38.901 with correlated antennas. Carrier and clock
hang on one oscillator, so the sampling offset follows from the carrier offset. Equal options give
equal bytes on machines of one type.
"""

from pathlib import Path

import click
import numpy as np
from gnuradio.mimopack import channel, ofdm, recording

CARRIER = 5.2e9
# Largest standard deviation of a receive antenna's signal, as a share of full scale: peaks of
# OFDM under fading stay below 1.
LEVEL = 0.12
SHORTEST_GAP, LONGEST_GAP = 200, 700


def simulate(frames, snrs, seed, parameters, num_rx, delay_spread, correlation, cfo):
    """Frames and idle noise.

    Args:
        frames: how many, shared evenly between the SNRs, in random order.
        snrs: mean SNRs per receive antenna, dB.

    Returns:
        samples (num_rx, n) complex64 and for each frame (start, count, payload, snr_db).
    """
    rng = np.random.default_rng(seed)
    transmitter = ofdm.Transmitter(parameters)
    link = channel.MIMOChannel(
        parameters.num_tx, num_rx, "tdl_a", delay_spread, parameters.sample_rate,
        rho_tx=correlation, rho_rx=correlation, cfo=cfo, sampling_offset=1e6 * cfo / CARRIER,
        seed=rng.integers(2**32))
    order = rng.permutation(np.resize(snrs, frames))
    gaps = rng.integers(SHORTEST_GAP, LONGEST_GAP, frames + 1)
    # A burst from silence to silence is longer than the frame by the channel's tail.
    length = int(gaps.sum()) + frames * (parameters.frame_samples + link.tail)
    noise_var = LEVEL**2 * 10 ** (-max(snrs) / 10)
    samples = channel.awgn((length, num_rx), noise_var, rng).T
    truth, at = [], 0
    for snr, gap in zip(order, gaps, strict=False):
        at += int(gap)
        payload = rng.bytes(parameters.payload_length)
        link.renew()
        burst = link.apply(transmitter.frame(payload)) * np.sqrt(noise_var * 10 ** (snr / 10))
        samples[:, at:at + burst.shape[1]] += burst
        truth.append((at + link.latency, parameters.frame_samples, payload, float(snr)))
        at += burst.shape[1]
    return samples, truth


@click.command()
@click.option("--output", type=click.Path(path_type=Path), show_default=True,
              default=Path(__file__).with_name("mimo_4x4_qam16"), help="Name without extension.")
@click.option("--frames", default=120, show_default=True, help="How many frames.")
@click.option("--snr", "snrs", multiple=True, default=(19.0, 22.0, 25.0), show_default=True,
              help="SNR per receive antenna in dB; give it several times.")
@click.option("--seed", default=2026, show_default=True)
@click.option("--delay-spread", default=50e-9, show_default=True, help="rms, in seconds.")
@click.option("--correlation", default=0.5, show_default=True,
              help="Between neighbouring antennas, at both ends.")
@click.option("--cfo", default=40e3, show_default=True, help="Carrier offset in Hz.")
@click.option("--code-rate", type=click.Choice(ofdm.parameters.CODE_RATES), default="1/2",
              show_default=True)
@click.option("--num-rx", default=4, show_default=True, help="Receive antennas.")
@click.option("--layout", type=click.Choice(recording.LAYOUTS), default="interleaved",
              show_default=True)
@click.option("--overwrite", is_flag=True, help="Replace a recording of this name.")
def main(output, frames, snrs, seed, delay_spread, correlation, cfo, code_rate, num_rx, layout,
         overwrite):
    """Simulate a capture and write it as SigMF with the truth in its annotations."""
    parameters = ofdm.Parameters(num_tx=4, constellation="wlan_qam16", code_rate=code_rate,
                                 payload_length=500)
    samples, truth = simulate(frames, snrs, seed, parameters, num_rx, delay_spread, correlation,
                              cfo)
    listed = ", ".join(f"{snr:g}" for snr in snrs)
    description = (
        f"SIMULATED, not received over the air. {frames} MIMO-OFDM frames from "
        f"{parameters.num_tx} antennas to {num_rx} at {listed} dB SNR per receive antenna, each "
        f"over a new realisation of TDL-A (3GPP TR 38.901, rms delay spread "
        f"{delay_spread * 1e9:g} ns, antenna correlation {correlation:g} at both ends), carrier "
        f"offset {cfo:g} Hz, sampling offset {1e6 * cfo / CARRIER:.3f} ppm, seed {seed}.")
    fields = recording.format_fields(
        num_tx=parameters.num_tx, constellation=parameters.constellation,
        code_rate=parameters.code_rate, payload_length=parameters.payload_length,
        scrambler_seed=parameters.scrambler_seed)
    fields |= {"core:author": "The gr-mimopack authors",
               "core:license": "https://www.gnu.org/licenses/gpl-3.0.html",
               "mimopack:simulated": True}
    output.parent.mkdir(parents=True, exist_ok=True)
    data = output.with_name(output.name + ".sigmf-data")
    if layout == "interleaved" and not (data.exists() and data.stat().st_size):
        overwrite = True  # metadata that has lost its samples is nothing to keep
    try:
        writer = recording.Writer(output, num_rx, parameters.sample_rate, datatype="ci16_le",
                                  layout=layout, frequency=CARRIER, description=description,
                                  fields=fields, overwrite=overwrite)
    except FileExistsError as error:
        raise click.ClickException(f"{error} (--overwrite, or another --output)") from error
    with writer:
        writer.write(samples)
        for start, count, payload, snr_db in truth:
            recording.annotate_frame(writer, start, count, payload, snr_db)
    size = sum(path.stat().st_size for path in output.parent.glob(output.name + "*.sigmf-*"))
    click.echo(f"{writer.path}: {frames} frames, {samples.shape[1]} samples on {num_rx} antennas, "
               f"{size / 1e6:.2f} MB, {writer.clipped} values clipped")


if __name__ == "__main__":
    main()
