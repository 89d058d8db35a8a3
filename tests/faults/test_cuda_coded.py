# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each step of a decoder or an iterative receiver on a GPU fails once in turn: nothing is lost.

support/stand_in.py imitates the GPU, so each result is exactly the CPU's.
"""

import every_block
import numpy as np
import pytest
import stand_in
from faults import each_fault, watch
from gnuradio import mimopack
from gnuradio.mimopack import crossover, iterative

CODE, COUNT = "wifi:648:1/2", 30
LINK = {"num_tx": 2, "num_rx": 2, "constellation": "qpsk", "code": CODE}
# {block: function (backend) that makes it, items of its inputs}
BLOCKS = {
    "fec_decoder": (lambda backend: mimopack.fec_decoder(CODE, backend=backend, threads=1),
                    [4 * every_block._reals(COUNT, 648)]),
    "iterative_receiver": (
        lambda backend: mimopack.iterative_receiver(**LINK, backend=backend, iterations=2),
        [every_block._samples(COUNT, 162 * 2), every_block._samples(COUNT, 162 * 4)])}
DECODING = {"make the decoder": lambda sharing: (stand_in.Program, "__init__"),
            "decode": lambda sharing: (stand_in.Program, "decode_from_host")}
RECEIVING = {
    "make the detector": lambda sharing: (stand_in.Gpus, "__init__"),
    "detect": lambda sharing: (stand_in.Gpus, "detect"),
    "select the GPU": lambda sharing: (sharing.cupy().cuda.Device, "__enter__"),
    "prepare the upload": lambda sharing: (sharing, "Upload"),
    "fetch": lambda sharing: (sharing.cupy(), "asnumpy")}


def error(*_):
    return RuntimeError("injected: cudaErrorLaunchFailure")


def played(block, inputs):
    return every_block.play(block, [], tuple(inputs), {}).items


@pytest.mark.parametrize("name, step", [
    *(("fec_decoder", step) for step in DECODING),
    *(("iterative_receiver", step) for step in (*DECODING, *RECEIVING))])
@pytest.mark.parametrize("lasts", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("backend", ["cuda", "auto"])
def test_a_step_fails(name, step, lasts, backend, monkeypatch, capfd):
    monkeypatch.setattr(crossover, "measure", lambda *_: [(1, 2.0, 1.0)])
    monkeypatch.setattr(crossover, "LEAST_ITEMS", 1)
    make, inputs = BLOCKS[name]
    expected = played(make("cpu"), inputs)
    told = []

    def run(fault):
        with pytest.MonkeyPatch.context() as patch:
            batches = stand_in.install(patch)
            stand_in.receive_on_cpu(patch, iterative.sharing)
            owner, function = (DECODING | RECEIVING)[step](iterative.sharing)
            watch(patch, fault, owner, function, error)
            try:
                block = make(backend)
            except RuntimeError as refusal:
                told.append(str(refusal))
                return
            for turn in range(2):    # the second start asks for the GPU again
                assert all(map(np.array_equal, played(block, inputs), expected))
                assert block.codewords() == COUNT * (turn + 1)
                assert block.erasures() == block.failures() == 0
            assert fault.happened or (batches and block.last_backend() == "cuda")
            if fault.happened and lasts:
                assert block.last_backend() == "cpu"
            said = "".join(capfd.readouterr())
            told.append("injected" in said)
            assert fault.happened or not told[-1]
            assert said.count("going on with the CPU") <= 2

    each_fault(run, lasts)
    assert any(told)
