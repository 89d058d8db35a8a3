# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Encoder and decoder blocks in flowgraphs, streams and PDUs: as the arrays, nothing lost, counts,
controls; in GNU Radio Companion."""

from functools import cache

import fake_cuda
import numpy as np
import pmt
import pytest
import stand_in
from detector_blocks import Sink, Source, run_through
from flowgraphs import Messages, block, run, save
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack import coding

CODE = "wifi:648:1/2"


@cache
def received(name, n, sigma=0.75, seed=1):
    """(bits, codewords, LLRs) over AWGN with BPSK; simulated."""
    rng = np.random.default_rng(seed)
    code = coding.get(name)
    bits = rng.integers(0, 2, (n, code.num_info), np.uint8)
    words = code.encode(bits)
    y = 2.0 * words - 1 + rng.normal(0, sigma, words.shape)
    return bits, words, (2 * y / sigma**2).astype(np.float32)


@pytest.mark.quick
class TestEncoder:
    @pytest.mark.parametrize("name", [CODE, "nr_matched:300:640:4", "turbo:512", "conv:300:3/4"])
    def test_same_as_arrays(self, name):
        bits, words, _ = received(name, 500)
        # Other bits of a byte do not count.
        sink, = run_through(mimopack.fec_encoder(name), bits | 0xA0, tags=[(123, "frame", 7)],
                            step=37)
        np.testing.assert_array_equal(sink.items(), words)
        assert sink.tags == [(123, "frame", 7)]


class TestDecoder:
    @pytest.mark.quick
    @pytest.mark.parametrize("name, options", [
        (CODE, {}), (CODE, {"algorithm": "offset", "early_stop": False}),
        ("nr_matched:300:640:4", {"factor": 0.7}), ("turbo:512", {"precision": "int16"}),
        ("conv:300:1/2", {"margin": 4.0}), ("conv:300:2/3", {"algorithm": "viterbi"})])
    def test_same_as_arrays(self, name, options):
        _, _, llr = received(name, 500)
        decoder = coding.get(name).decoder(iterations=9, **options)
        posterior = decoder.decode(llr)
        expected = decoder.bits, posterior
        tested = mimopack.fec_decoder(name, iterations=9, llr_output=True, options=options)
        tags = [(3, "frame", {"a": 1}), (499, "end", 2)]
        sinks = run_through(tested, llr, tags=tags, step=53)
        for sink, values in zip(sinks, expected, strict=True):
            np.testing.assert_array_equal(sink.items(), values)
            assert sink.tags == tags
        found, taken = decoder.found, decoder.iterations_taken
        assert tested.codewords() == 500 and tested.undecoded() == 500 - found.sum()
        assert tested.mean_iterations() == pytest.approx(taken.mean())

    @pytest.mark.gpu
    @pytest.mark.parametrize("name, options", [
        (CODE, {}), ("turbo:512", {}), ("conv:300:1/2", {"margin": 4.0}),
        ("conv:300:2/3", {"algorithm": "viterbi"})])
    @pytest.mark.parametrize("llr_output", [True, False])
    def test_on_a_gpu(self, name, options, llr_output):
        """The stream that went in comes out decoded, as by the CPU but for ties of rounding."""
        bits, _, llr = received(name, 3000, sigma=0.5)
        llr = llr.copy()
        llr[9, 3] = np.nan
        blocks_of = {backend: mimopack.fec_decoder(
            name, iterations=9, backend=backend, llr_output=llr_output, options=options)
            for backend in ("cpu", "cuda")}
        played = {backend: run_through(tested, llr, tags=[(3, "frame", {"a": 1})], step=53)
                  for backend, tested in blocks_of.items()}
        on_cpu, on_gpu = played["cpu"], played["cuda"]
        assert np.mean(on_gpu[0].items() != on_cpu[0].items()) < 1e-4
        assert np.mean(on_gpu[0].items() != bits) < 1e-3
        assert on_gpu[0].tags == on_cpu[0].tags
        if llr_output:
            np.testing.assert_allclose(on_gpu[1].items(), on_cpu[1].items(), rtol=1e-3, atol=0.05)
        for tested in blocks_of.values():
            assert (tested.codewords(), tested.erasures(), tested.failures()) == (3000, 1, 0)
        assert blocks_of["cuda"].last_backend() == "cuda"    # it has not failed

    def test_int8(self):
        _, _, llr = received(CODE, 200)
        steps = np.clip(np.rint(4 * llr), -127, 127).astype(np.int8)
        decoder = coding.get(CODE).decoder()
        posterior = decoder.decode(steps / np.float32(4))
        tested = mimopack.fec_decoder(CODE, llr_type="int8", llr_scale=4.0, llr_output=True)
        for sink, values in zip(run_through(tested, steps), (decoder.bits, posterior),
                                strict=True):
            np.testing.assert_array_equal(sink.items(), values)

    def test_no_codeword_is_lost_and_batches_are_large(self):
        n = 5003
        bits, _, llr = received(CODE, 100)
        calls = []
        tested = mimopack.fec_decoder(CODE, iterations=1)
        decode = tested._decode
        tested._decode = lambda llr: (calls.append(len(llr)), decode(llr))[1]
        tb = gr.top_block()
        source = blocks.vector_source_f(np.resize(llr, (n, 648)).ravel().tolist(), False, 648)
        sink = Sink(np.uint8, 324)
        tb.connect(source, tested, sink)
        tb.run()
        assert len(sink.items()) == n == sum(calls) == tested.codewords()
        assert n / len(calls) >= 64

    def test_counts_and_status(self, capfd):
        bits, _, llr = (array.copy() for array in received(CODE, 400, 0.5))
        llr[::50] = 0
        llr[1::100, 7] = np.nan
        llr[5] *= np.random.default_rng(1).choice([-1, 1], 648)    # no codeword is near
        tested = mimopack.fec_decoder(CODE)
        tb, messages = gr.top_block(), Messages()
        source, sink = Source(llr, step=100), Sink(np.uint8, 324)
        tb.connect(source, tested, sink)
        tb.msg_connect(tested, "status", messages, "in")
        tb.run()
        lost = np.all(llr == 0, axis=1) | np.any(np.isnan(llr), axis=1)
        assert np.all(sink.items()[lost] == 0)
        lost[5] = True
        np.testing.assert_array_equal(sink.items()[~lost], bits[~lost])
        assert (tested.undecoded(), tested.erasures(), tested.failures()) == (1, 12, 0)
        # At the end GNU Radio may not deliver any more: the first holds what came before it.
        status = messages.values()[0]
        assert status.keys() == {"codewords", "undecoded", "erasures", "failures",
                                 "mean_iterations", "refused_settings"}
        assert 0 < status["codewords"] <= 400 and 0 < status["mean_iterations"] < 20
        assert np.all(np.diff(messages.stamps())[:-1] > 0.9)
        assert "12 of 400 codewords erased" in "".join(capfd.readouterr())

    @pytest.mark.parametrize("backend", ["cuda", "auto"])
    @pytest.mark.parametrize("name, llr_output", [
        (CODE, False), (CODE, True), ("turbo:512", False), ("conv:300:1/2", True)])
    def test_a_gpu_that_fails_is_replaced_by_the_cpu(self, monkeypatch, capfd, name, llr_output,
                                                     backend):
        """It fails with its second batch; a measurement has said that it is faster."""
        _, _, llr = received(name, 300)
        expected = coding.get(name).decoder(iterations=4)
        posterior = expected.decode(llr)
        fake_cuda.let_gpu_win(monkeypatch)
        batches = stand_in.install(monkeypatch, fails_at=2)
        tested = mimopack.fec_decoder(name, backend=backend, threads=1, llr_output=llr_output)
        tested.set_iterations(4)
        assert tested.last_backend() is None
        sinks = run_through(tested, llr, step=50)
        np.testing.assert_array_equal(sinks[0].items(), expected.bits)
        if llr_output:
            np.testing.assert_array_equal(sinks[1].items(), posterior)
        assert len(batches) == 2 and tested.last_backend() == "cpu"
        assert tested.erasures() == tested.failures() == 0
        assert (tested.iterations(), tested.threads(), tested.codewords()) == (4, 1, 300)
        said = "".join(capfd.readouterr())
        assert said.count("going on with the CPU") == 1 and "off the bus" in said


@pytest.mark.quick
class TestPdus:
    def sent(self, tested, pdus, ports=("out",)):
        """What comes out of the ports; the flowgraph ends when all were taken."""
        sinks = [Messages() for _ in ports]
        tb = gr.top_block()
        for port, sink in zip(ports, sinks, strict=True):
            tb.msg_connect(tested, port, sink, "in")
        tb.start()
        for pdu in pdus:
            tested._post(pmt.intern("in"), pdu)
        tested._post(pmt.intern("system"), pmt.cons(pmt.intern("done"), pmt.from_long(1)))
        tb.wait()
        return [[message for _, message in sink.received] for sink in sinks]

    def test_there_and_back(self):
        bits, words, llr = received(CODE, 6, 0.6)
        info = pmt.to_pmt({"number": 3})
        pdus = [pmt.cons(info, pmt.init_u8vector(part.size, part.ravel().tolist()))
                for part in (bits[:1], bits[1:])]
        coded, = self.sent(mimopack.fec_encoder_pdu(CODE), pdus)
        for message, part in zip(coded, (words[:1], words[1:]), strict=True):
            assert pmt.to_python(pmt.car(message)) == {"number": 3}
            assert pmt.u8vector_elements(pmt.cdr(message)) == part.ravel().tolist()
        pdus = [pmt.cons(info, pmt.init_f32vector(part.size, part.ravel().tolist()))
                for part in (llr[:1], llr[1:])]
        tested = mimopack.fec_decoder_pdu(CODE, llr_output=True)
        decoded, posterior = self.sent(tested, pdus, ("out", "llr"))
        expected = coding.get(CODE).decoder().decode(llr)
        for i, part in enumerate((slice(0, 1), slice(1, 6))):
            facts = pmt.to_python(pmt.car(decoded[i]))
            assert 0 < facts.pop("iterations") < 20
            assert facts == {"number": 3, "decoded": True, "codewords": (1, 5)[i], "erasures": 0}
            assert pmt.u8vector_elements(pmt.cdr(decoded[i])) == bits[part].ravel().tolist()
            np.testing.assert_allclose(pmt.f32vector_elements(pmt.cdr(posterior[i])),
                                       expected[part].ravel(), rtol=1e-6)
        assert tested.codewords() == 6 and tested.refused() == 0

    @pytest.mark.parametrize("make, usual", [
        (mimopack.fec_encoder_pdu, pmt.init_u8vector(324, [1] * 324)),
        (mimopack.fec_decoder_pdu, pmt.init_f32vector(648, [1.0] * 648))])
    def test_what_is_no_pdu_of_it_is_left_out(self, make, usual, capfd):
        tested = make(CODE)
        short, other = pmt.init_u8vector(9, [0] * 9), pmt.init_c32vector(648, [1j] * 648)
        pdus = [pmt.cons(pmt.PMT_NIL, short), pmt.cons(pmt.PMT_NIL, other), pmt.intern("text"),
                pmt.cons(pmt.intern("key"), usual), pmt.cons(pmt.PMT_NIL, usual)]
        out, = self.sent(tested, pdus)
        assert len(out) == 1 and tested.refused() == 4
        assert "PDU skipped" in "".join(capfd.readouterr())


@pytest.mark.parametrize("parameters, message", [
    ({"code": "wifi"}, "code: got 'wifi', must be wifi:N:RATE"),
    ({"iterations": 0}, "iterations: got 0, allowed are 1 to"),
    ({"llr_scale": 0}, "llr_scale: got 0.0, must be positive"),
    ({"llr_type": "int16"}, "llr_type: got 'int16', allowed are float32, int8"),
    ({"llr_output": 1}, "llr_output: got 1, must be True or False"),
    ({"backend": "fpga"}, "backend: got 'fpga', allowed are auto, cpu, cuda, reference"),
    ({"threads": -1}, "threads: got -1, allowed are 0 to"),
    ({"options": {"factor": -1}}, "factor: got -1.0, must be positive")])
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        mimopack.fec_decoder(**parameters)


class TestCompanion:
    @pytest.mark.parametrize("code, decoder", [
        (CODE, {"llr_type": "int8", "iterations": "5", "options": "{'factor': 0.75}"}),
        ("nr_matched:300:640:4", {"llr_output": "True"})])
    def test_streams(self, companion, tmp_path, code, decoder):
        size = coding.get(code)
        bits = np.random.default_rng(1).integers(0, 2, (50, size.num_info), np.uint8)
        bits.tofile(tmp_path / "bits")
        width = str(size.num_bits)
        # bits to LLRs of -10 and 10
        convert = [block("soft", "blocks_char_to_float", vlen=width, scale="0.05"),
                   block("offset", "blocks_add_const_vxx", type="float", vlen=width,
                         const=f"[-10.0] * {width}")]
        if decoder.get("llr_type") == "int8":
            convert.append(block("steps", "blocks_float_to_char", vlen=width, scale="1"))
        flow = [block("bits", "blocks_file_source", type="byte", vlen=str(size.num_info),
                      file=str(tmp_path / "bits"), repeat="False"),
                block("encoder", "mimopack_fec_encoder", code=code), *convert,
                block("decoder", "mimopack_fec_decoder", code=code, **decoder),
                block("sink", "blocks_file_sink", type="byte", vlen=str(size.num_info),
                      file=str(tmp_path / "decided"))]
        names = [part["name"] for part in flow]
        connections = [[a, "0", b, "0"] for a, b in zip(names[:-1], names[1:], strict=True)]
        if "llr_output" in decoder:
            flow.append(block("posterior", "blocks_null_sink", type="float", vlen=width))
            connections.append(["decoder", "1", "posterior", "0"])
        script = companion.compiled(save(tmp_path, flow, connections), tmp_path)
        run(script, tmp_path)
        assert (tmp_path / "decided").read_bytes() == bits.tobytes()

    def test_refusals(self, companion, tmp_path):
        flow = [block("tested", "mimopack_fec_decoder_pdu", code="wifi:648:7/8")]
        said = companion.refusals(save(tmp_path, flow, []), tmp_path)
        assert "mimopack.coding.get(code)" in said
