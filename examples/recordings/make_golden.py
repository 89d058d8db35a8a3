#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the golden output of the receiver for a recording, for tests to compare with.

The golden output comes from the array interface; the tests play the recording through a flowgraph.
A frame is borderline for a detector if rounding could decide its result. To find these frames, the
script repeats the reception several times with added noise of 1e-3 of the samples' rms, which
exceeds the differences between instruction sets and FFT libraries. If a frame's result changes, it
is borderline, and tests must accept either result.
"""

import json
from pathlib import Path

import click
import numpy as np
from gnuradio.mimopack import recording, wifi

DETECTORS = ("zf", "mmse", "nway", "mla")
TRIALS = 5


def receive(name, reader, samples):
    """Receive a recording's samples and return all frames."""
    receiver = wifi.Receiver(reader.num_channels, reader.sample_rate, reader.frequency, name)
    return receiver.process(samples) + receiver.finish()


def result(name, reader):
    """Return (frames, dictionary of a detector's results)."""
    samples, rng = reader.read(), np.random.default_rng(0)
    spread = 1e-3 * np.sqrt(np.mean(np.abs(samples) ** 2) / 2)
    frames = receive(name, reader, samples)
    decoded = [frame.fcs_ok for frame in frames]
    borderline = set()
    for _ in range(TRIALS):
        noise = spread * rng.standard_normal((*samples.shape, 2)).view(complex)[..., 0]
        again = receive(name, reader, samples + noise.astype(np.complex64))
        if len(again) != len(frames):
            raise click.ClickException(f"{name}: finds {len(again)} and {len(frames)} frames")
        borderline |= {index for index, frame in enumerate(again)
                       if frame.fcs_ok != decoded[index]}
    return frames, {"decoded": sum(decoded), "fcs_ok": "".join(str(int(ok)) for ok in decoded),
                    "borderline": sorted(borderline)}


@click.command()
@click.argument("path", type=click.Path(path_type=Path),
                default=Path(__file__).with_name("wifi_4x4_ht"))
def main(path):
    """Write PATH.golden.json for the recording PATH."""
    reader = recording.Reader(path, verify=True)
    results = {}
    for name in DETECTORS:
        frames, results[name] = result(name, reader)
        click.echo(f"{name:5} {results[name]['decoded']:4} of {len(frames)} decoded, "
                   f"borderline: {results[name]['borderline']}")
    rows = [json.dumps({"start": frame.start, "snr_db": round(frame.snr_db, 2)})
            for frame in frames]
    # One line for each frame and each detector keeps diffs readable.
    listed = ",\n  ".join(rows)
    found = ",\n  ".join(f'"{name}": {json.dumps(one)}' for name, one in results.items())
    output = path.with_name(path.name + ".golden.json")
    output.write_text(f'{{\n "recording_sha512": "{reader.global_info["core:sha512"]}",\n'
                      f' "frames": [\n  {listed}\n ],\n'
                      f' "detectors": {{\n  {found}\n }}\n}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
