#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run many short flowgraphs that must end by themselves.

    bench/ends.py [--runs N] [--seconds S] [--seed SEED] [--block NAME]

Each flowgraph plays some samples into wifi_receiver or sigmf_ring_sink, with listeners at random
message ports. Half of the blocks come from an earlier flowgraph, whose listeners may be gone. Some
flowgraphs are stopped before their end. The script prints how many have ended, and exits with 1,
after the stacks of all threads, if one has not ended after 60 seconds.
"""

import argparse
import faulthandler
import gc
import os
import random
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pmt
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack import wifi

LIMIT = 60
RATE = 20e6
PORTS = {"wifi_receiver": ("out", "frames", "csi", "symbols", "status"),
         "sigmf_ring_sink": ("written",)}


def samples_of_frames():
    """Return complex64 samples (one antenna) of four frames between noise."""
    rng = np.random.default_rng(1)
    mpdu = b"\x88" + bytes(60)
    form, psdu = wifi.pack(lambda n: wifi.HT(3, n), [mpdu + wifi.mac.fcs(mpdu)])
    frame = wifi.Transmitter(1).frame(form, psdu)[0]
    parts = [np.concatenate([np.zeros(800), frame]) for _ in range(4)]
    air = np.concatenate([*parts, np.zeros(800)]).astype(np.complex64)
    return air + 1e-3 * rng.standard_normal((air.size, 2), np.float32).view(np.complex64)[:, 0]


class Listener(gr.basic_block):
    """Count messages."""

    def __init__(self):
        gr.basic_block.__init__(self, "listener", None, None)
        self.count = 0
        self.message_port_register_in(pmt.intern("in"))
        self.set_msg_handler(pmt.intern("in"), self._take)

    def _take(self, _message):
        self.count += 1


def ends(top, stops_after):
    """Run a flowgraph; return whether it ends, by itself or after a call of stop()."""
    top.start()
    if stops_after is not None:
        time.sleep(stops_after)
        top.stop()
    waiter = threading.Thread(target=top.wait, daemon=True)
    waiter.start()
    waiter.join(LIMIT)
    return not waiter.is_alive()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="time limit")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--block", choices=PORTS, action="append")
    arguments = parser.parse_args()
    gr.logging().set_default_level(gr.log_levels.off)
    rng, air = random.Random(arguments.seed), samples_of_frames()
    end = time.monotonic() + arguments.seconds
    kept, counts = {}, dict.fromkeys(arguments.block or PORTS, 0)
    messages = stopped = reused = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for run in range(arguments.runs):
            if time.monotonic() > end:
                break
            name = rng.choice(list(counts))
            block = kept.get(name)
            if block is None or rng.randrange(2):
                block = (mimopack.wifi_receiver(1, RATE, threads=rng.choice((1, 2)))
                         if name == "wifi_receiver" else
                         mimopack.sigmf_ring_sink(str(Path(folder, f"r{run}")), 1, 1e-3,
                                                  sample_rate=RATE))
            else:
                reused += 1
            kept[name] = block
            count = rng.choice((0, 1, 5000, air.size, 4 * air.size))
            source = blocks.vector_source_c(np.resize(air, count).tolist() if count else [0j])
            top = gr.top_block()
            top.connect(source, block)
            ports = rng.sample(PORTS[name], rng.randint(0, len(PORTS[name])))
            listeners = [Listener() for _ in ports]
            for port, listener in zip(ports, listeners, strict=True):
                top.msg_connect(block, port, listener, "in")
            if rng.randrange(3):
                gc.collect()
            stops_after = rng.choice((None, None, None, 0.0, 1e-3, 0.01))
            if not ends(top, stops_after):
                print(f"run {run} did not end: {name}, {count} samples, ports {ports}, "
                      f"stopped after {stops_after}", flush=True)
                faulthandler.dump_traceback()
                os._exit(1)
            if name == "sigmf_ring_sink":
                block.trigger()
            counts[name] += 1
            stopped += stops_after is not None
            messages += sum(listener.count for listener in listeners)
    print(", ".join(f"{number} flowgraphs with {name}" for name, number in counts.items()),
          f"all ended: {stopped} were stopped, {reused} had a block of an earlier one; "
          f"{messages} messages")


if __name__ == "__main__":
    sys.exit(main())
