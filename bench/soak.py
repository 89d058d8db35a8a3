#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run blocks for a long time, in pieces that add up: nothing may be lost, and memory must not grow.

    bench/soak.py detectors [--seconds 60] [--names mmse,nway] [--output FILE.json]
    bench/soak.py receiver  [--seconds 60] ...
    bench/soak.py restarts  [--seconds 60] ...
    bench/soak.py live      [--seconds 60] [--speed 0.3] ...

Each run adds a piece to bench/results/soak-NAME.json: its counts, and the resident memory, the
memory allocated, and the number of open files after a tenth of its time, after half of it, and at
its end. The file has the totals too.

"detectors" plays vectors through each detector block in turn, one in a thousand of them with NaN.
All of these must be erased and no other, and each item must come out.

"receiver" plays random frames and noise (the scenes of wifi_loops.py, at 20 MS/s with two antennas
and long gaps) through wifi_receiver, each scene REPETITIONS times. All samples must be searched.
Each good MPDU must be one that was sent, and must arrive in each repetition, however GNU Radio has
cut the stream.

"restarts" starts and stops a flowgraph with a detector, and one with a receiver and recorder.

"live" runs "mimopack wifi" with the simulated radio of soapy/, which loses samples at random and
sometimes disappears. It connects again and again. The samples that are told to be missing must be
those that the radio has lost up to some gap: it may make more after the command has stopped.
--speed is the radio's speed as a share of real time; with a low one, several of these runs fit on
a core.

The exit status is 1 if anything was lost, if memory or open files grew, or if something that each
run must have (vectors, samples, MPDUs) is missing.
"""

import argparse
import gc
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack.blocks import DETECTOR_BLOCKS
from gnuradio.mimopack.recording import Reader
from memory import state
from pieces import RESULTS, continued

FAULTS = ("lost", "wrong", "failures")
REPETITIONS, LONGEST_GAP = 20, 300_000


def repeated(items, count):
    """Return (source, head): a stream of ``count`` items that repeats rows of a complex array."""
    width = items.shape[1]
    source = blocks.vector_source_c(items.ravel().tolist(), True, width)
    return source, blocks.head(gr.sizeof_gr_complex * width, count)


def through_a_detector(name, rng, seconds):
    """Play vectors through a detector block for about some seconds; return its counts."""
    block = DETECTOR_BLOCKS[f"{name}_detector"](num_tx=2, num_rx=2, constellation="qpsk",
                                                backend="cpu", threads=1)
    h = rng.standard_normal((5000, 8)).astype(np.float32).view(np.complex64)
    y = rng.standard_normal((5000, 4)).astype(np.float32).view(np.complex64)
    y[::1000, 0] = np.nan
    top, sink = gr.top_block(), blocks.null_sink(gr.sizeof_float * 4)
    ends = [repeated(y, 2**62), repeated(h, 2**62)]
    for port, (source, head) in enumerate(ends):
        top.connect(source, head, (block, port))
    top.connect(block, sink)
    top.start()
    time.sleep(seconds)
    top.stop()
    top.wait()
    n = block.vectors()
    erased = n // 5000 * 5 + -(-(n % 5000) // 1000)
    return {f"vectors_{name}": n, "vectors": n, "erasures": block.erasures(),
            "lost": abs(block.nitems_written(0) - n), "wrong": abs(block.erasures() - erased),
            "failures": block.failures()}


def detectors(arguments, pieces):
    names = (arguments.names.split(",") if arguments.names
             else [name.removesuffix("_detector") for name in DETECTOR_BLOCKS])
    each = arguments.seconds / len(names)
    # Twice, so that the state after the first tenth has all programs loaded.
    for share in (0.1, 0.9):
        for name in names:
            yield through_a_detector(name, np.random.default_rng(), share * each)


def receiver(arguments, pieces):
    import wifi_loops

    number = pieces.totals.get("scenes", 0)
    while True:
        samples, _, sent = wifi_loops.scene(number, 20e6, 2, LONGEST_GAP)
        # The search steps through the stream in blocks of 16 samples, see wifi.Synchroniser. A
        # frame that overlaps the one before may be found with some positions of the blocks only.
        samples = samples[:, :samples.shape[1] // 16 * 16]
        top, block = gr.top_block(), mimopack.wifi_receiver(2, backend="cpu", bad_fcs=True)
        good, total = Counter(), REPETITIONS * samples.shape[1]
        block.listen(lambda frame, _, good=good: good.update(
            mpdu.data for mpdu in frame.mpdus if mpdu.fcs_ok), lambda told: None)
        for port, row in enumerate(samples):
            top.connect(*repeated(row[:, None], total), (block, port))
        top.run()
        searched, known = block.counts()["samples"], {mpdu for mpdus in sent for mpdu in mpdus}
        number += 1
        yield {"scenes": 1, "samples": searched, "frames": REPETITIONS * len(sent),
               "mpdus_ok": good.total(), "lost": total - searched,
               "wrong": sum(n if data not in known else abs(n - REPETITIONS)
                            for data, n in good.items()),
               "failures": block.failures()}


def restarts(arguments, pieces):
    rng = np.random.default_rng(1)
    y, h = (rng.standard_normal((1000, n)).astype(np.float32).view(np.complex64) for n in (4, 8))
    detecting, detector = gr.top_block(), mimopack.nway_detector(2, 2, "qpsk", backend="cpu")
    for port, items in enumerate((y, h)):
        detecting.connect(repeated(items, 2**62)[0], (detector, port))
    detecting.connect(detector, blocks.null_sink(gr.sizeof_float * 4))
    receiving, block = gr.top_block(), mimopack.wifi_receiver(1, backend="cpu", threads=2)
    before = 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        sink = mimopack.sigmf_ring_sink(Path(folder) / "r", 1, 0.01)
        source = blocks.vector_source_c((0.1 * y[:, 0]).tolist(), True)
        receiving.connect(source, block)
        receiving.connect(source, sink)
        while True:
            for top in (detecting, receiving):
                top.start()
                time.sleep(rng.exponential(0.003))
                top.stop()
                top.wait()
            failed = detector.failures() + block.failures() + sink.counts()["failures"]
            vectors, samples = detector.vectors(), block.counts()["samples"]
            new = vectors - before[0], samples - before[1], failed - before[2]
            before = vectors, samples, failed
            # The number of items of a run, before the next start() sets it to 0.
            yield {"restarts": 2, "vectors": new[0], "samples": new[1], "failures": new[2],
                   "lost": new[0] != detector.nitems_written(0)}


def ends_well(command, arguments, output):
    """Run a command in this process; return whether it ends without a traceback.

    Args:
        output: io.StringIO for what the command prints. The library click never forgets such a
            file, so it should be the same for all calls.
    """
    output.seek(0)
    output.truncate()
    with redirect_stdout(output), redirect_stderr(output):
        try:
            command(arguments)
        except SystemExit:
            pass
        except Exception:
            traceback.print_exc()
    return "Traceback" not in output.getvalue()


def live(arguments, pieces):
    from gnuradio.mimopack.apps.cli import main as mimopack_command

    root, rng, output = Path(__file__).parents[1], np.random.default_rng(), io.StringIO()
    os.environ.setdefault("SOAPY_SDR_PLUGIN_PATH", str(root / "build/soapy/modules"))
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "air"
        subprocess.run([sys.executable, root / "examples/recordings/make_traffic.py", made,
                        "--seconds", "0.2"], check=True, capture_output=True)
        while True:
            size = int(rng.integers(100, 5000))
            radio = (f"driver=mimopack,recording={made},repeat=1,irregular=1,"
                     f"speed={arguments.speed},seed={rng.integers(1, 10**6)},"
                     f"overflow_samples={size},drop_samples={size},"
                     f"overflow_every={rng.uniform(0.02, 0.2):.3f}s,"
                     f"drop_every={rng.uniform(0.02, 0.2):.3f}s,gaps={folder}/gaps")
            if rng.random() < 0.3:
                radio += f",disappear_at={rng.uniform(0.1, 0.6):.3f}s"
            well = ends_well(mimopack_command, [
                "wifi", "--radio", radio, "--frequency", "5.18e9", "--antennas",
                str(Reader(made).num_channels), "--duration", "0.7", "--output", folder,
                "--no-pictures"], output)
            told = json.loads((Path(folder) / "summary.json").read_text(encoding="utf-8"))
            gaps = (Path(folder) / "gaps").read_text(encoding="utf-8").splitlines()
            radio_lost = np.cumsum([0, *(int(line.split()[1]) for line in gaps)])
            for name in ("summary.json", "gaps"):
                (Path(folder) / name).unlink()
            yield {"connections": 1, "disappeared": "disappear" in radio, "gaps": told["gaps"],
                   "samples_missing": told["lost"], "dropped": told["dropped"],
                   "mpdus_ok": told.get("mpdus_ok", 0),
                   "wrong": told["lost"] not in radio_lost, "failures": not well}


WHAT = {
    "detectors": (detectors, "vectors through each detector block, simulated"),
    "receiver": (receiver, "mixed Wi-Fi frames and noise through wifi_receiver, simulated"),
    "restarts": (restarts, "starts and stops of flowgraphs"),
    "live": (live, "mimopack wifi with a simulated radio that fails at random"),
}
# Counts that are above 0 in every run that has tested anything.
NEEDED = {"detectors": ("vectors", "erasures"), "receiver": ("samples", "mpdus_ok"),
          "restarts": ("vectors", "samples"), "live": ("gaps", "mpdus_ok")}
MOST_GROWTH_MIB, MOST_DESCRIPTORS = 10, 3    # from a tenth of the time on


def grown(states):
    """Return whether the memory allocated or the open files have grown too much."""
    before, after = states.get("tenth", states["end"]), states["end"]
    return (after["allocated_mib"] - before["allocated_mib"] > MOST_GROWTH_MIB
            or after["descriptors"] - before["descriptors"] > MOST_DESCRIPTORS)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=list(WHAT))
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--names", help="detectors, separated by commas; default: all")
    parser.add_argument("--speed", type=float, default=0.3)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    function, text = WHAT[arguments.what]
    path = arguments.output or RESULTS / f"soak-{arguments.what}.json"
    with continued(path, text) as pieces:
        counts, states, written = Counter(), {}, 0.0
        for one in function(arguments, pieces):
            counts.update(one)
            gc.collect()    # flowgraphs are cycles of few objects, which Python finds late
            for name, share in (("tenth", 0.1), ("half", 0.5)):
                if name not in states and pieces.seconds > share * arguments.seconds:
                    states[name] = state()
            if pieces.seconds - written > 60:
                written = pieces.seconds
                pieces.write(counts, states={**states, "end": state()})
            if pieces.seconds > arguments.seconds:
                break
        states["end"] = state()
        pieces.write(counts, states=states)
        print(f"this run: {dict(counts)}\n{states}\nall runs: {pieces.totals}")
        if grown(states):
            print(f"memory allocated grew by more than {MOST_GROWTH_MIB} MiB, or more than "
                  f"{MOST_DESCRIPTORS} files stay open")
        missing = [name for name in NEEDED[arguments.what] if not counts[name]]
        if missing:
            print(f"this run has tested nothing: no {', '.join(missing)}")
    sys.exit(bool(any(counts[name] for name in FAULTS) or grown(states) or missing))


if __name__ == "__main__":
    main()
