#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write what the receiver makes of a recording, for tests to compare with.

The golden output comes from the array interface; the tests play the recording through a flowgraph.
Where rounding could turn a CRC, the frame is listed as borderline for that detector, and a test
has to accept either: the decision changed in at least one of several trials with y disturbed by
1e-4 of its rms and the LLRs by 1e-3 of the largest of their vector. Differences between
instruction sets and FFT libraries are smaller than that.
"""

import json
from pathlib import Path

import click
import numpy as np
from gnuradio.mimopack import detectors, ofdm, recording

DETECTORS = ("zf", "mmse", "nway", "mla")
TRIALS = 8


def _disturbed(estimate, detector, rng):
    """LLRs of a frame with small errors in y and in the LLRs."""
    rms = np.sqrt(np.mean(np.abs(estimate.y) ** 2))
    y = estimate.y + 1e-4 * rms * rng.standard_normal(estimate.y.shape).astype(np.float32)
    llr = detector.detect(y, estimate.h, estimate.noise_var)
    largest = np.abs(llr).max(axis=1, keepdims=True)
    return llr + 1e-3 * largest * rng.standard_normal(llr.shape).astype(np.float32)


def _results(name, parameters, num_rx, estimates):
    detector = detectors.create(name, num_tx=parameters.num_tx, num_rx=num_rx,
                                constellation=parameters.constellation)
    decoder = ofdm.PacketDecoder(parameters)
    rng = np.random.default_rng(0)
    crc_ok, borderline = [], []
    for index, estimate in enumerate(estimates):
        llr = detector.detect(estimate.y, estimate.h, estimate.noise_var)
        ok = decoder.decode(llr).crc_ok
        crc_ok.append(int(ok))
        if any(decoder.decode(_disturbed(estimate, detector, rng)).crc_ok != ok
               for _ in range(TRIALS)):
            borderline.append(index)
    return {"decoded": sum(crc_ok), "crc_ok": "".join(map(str, crc_ok)), "borderline": borderline}


@click.command()
@click.argument("path", type=click.Path(path_type=Path),
                default=Path(__file__).with_name("mimo_4x4_qam16"))
def main(path):
    """Write PATH.golden.json for the recording PATH."""
    reader = recording.Reader(path, verify=True)
    parameters = ofdm.Parameters(**recording.read_format(reader.global_info))
    sync = ofdm.FrameSync(parameters, reader.num_channels)
    estimator = ofdm.ChannelEstimator(parameters, reader.num_channels)
    frames = [frame for frame in [*sync.process(reader.read()), *sync.finish()]
              if not frame.truncated]
    estimates = [estimator.estimate(ofdm.to_subcarriers(frame.symbols)) for frame in frames]
    rows = [json.dumps({"start": frame.start, "cfo": round(frame.cfo),
                        "snr_db": round(estimate.snr_db, 2),
                        "condition_db": round(estimate.condition_db, 2)})
            for frame, estimate in zip(frames, estimates, strict=True)]
    results = {name: _results(name, parameters, reader.num_channels, estimates)
               for name in DETECTORS}
    # One line for each frame and each detector, so that a change can be read as a difference.
    listed = ",\n  ".join(rows)
    found = ",\n  ".join(f'"{name}": {json.dumps(result)}' for name, result in results.items())
    output = path.with_name(path.name + ".golden.json")
    output.write_text(f'{{\n "recording_sha512": "{reader.global_info["core:sha512"]}",\n'
                      f' "frames": [\n  {listed}\n ],\n'
                      f' "detectors": {{\n  {found}\n }}\n}}\n', encoding="utf-8")
    for name, result in results.items():
        click.echo(f"{name:5} {result['decoded']:4} of {len(frames)} decoded, "
                   f"borderline: {result['borderline']}")


if __name__ == "__main__":
    main()
