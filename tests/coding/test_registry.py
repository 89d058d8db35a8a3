# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Families of codes: the built-in ones, and one that this file registers from outside."""

import sys

import numpy as np
import own_detectors
import pytest
from click.testing import CliRunner
from detector_blocks import Sink, Source
from gnuradio import gr, mimopack
from gnuradio.mimopack import coding
from gnuradio.mimopack.apps.sim import sim_command
from source_tree import ROOT


class RepetitionEncoder:
    """Repeats each bit; all bits are sent once before the first is repeated."""

    def __init__(self, info_bits, times):
        if not times:
            raise ValueError("times: got 0, must be positive")
        self.num_info, self.num_bits = info_bits, info_bits * times
        self.information = np.arange(info_bits)
        self._times = times

    def encode(self, bits):
        return np.tile(bits, self._times)


class RepetitionDecoder(coding.Decoder):
    """Adds the LLRs of each bit; a codeword is found if all its sums exceed ``sure``."""

    def __init__(self, info_bits, times, iterations=1, sure=0.0, backend="auto", threads=0,
                 device=0):
        self.num_bits, self._times = info_bits * times, times
        self.iterations, self.threads, self.sure = iterations, threads, sure

    def decode(self, llr):
        sums = llr.reshape(len(llr), self._times, -1).sum(axis=1)
        self.found = np.abs(sums).min(axis=1) > self.sure
        self.iterations_taken = np.ones(len(llr), np.int32)
        return np.tile(sums, self._times)


class MajorityDecoder(coding.HardDecoder):
    """Decides for the value that most LLRs of a bit have."""

    def __init__(self, info_bits, times, iterations=1, backend="auto", threads=0, device=0):
        self.num_bits, self._times = info_bits * times, times
        self.iterations, self.threads = iterations, threads

    def decide(self, llr):
        ones = (llr > 0).reshape(len(llr), self._times, -1).sum(axis=1)
        self.bits = (2 * ones > self._times).view(np.uint8)
        self.found, self.iterations_taken = (np.ones(len(llr), kind) for kind in (bool, np.int32))
        return self.bits

    def decode(self, llr):
        return np.tile(np.float32(2) * self.decide(llr) - np.float32(1), self._times)


def make_repetition(info_bits, times=3):
    def make_decoder(algorithm="sum", **options):
        kind = {"sum": RepetitionDecoder, "majority": MajorityDecoder}[algorithm]
        return kind(info_bits, times, **options)

    return coding.Code(RepetitionEncoder(info_bits, times), make_decoder)


@pytest.fixture
def repetition():
    """The family, registered during a test."""
    family = coding.Family("repetition:INFO_BITS[:TIMES]", "each bit TIMES times (3)",
                           make_repetition, examples=("repetition:100",))
    coding.register(family)
    yield family
    del coding.FAMILIES["repetition"]


def received(name, n=200, sigma=0.9, seed=1):
    """Return simulated (bits, LLRs) of codewords over AWGN with BPSK."""
    rng, code = np.random.default_rng(seed), coding.get(name)
    bits = rng.integers(0, 2, (n, code.num_info), np.uint8)
    y = 2.0 * code.encode(bits) - 1 + rng.normal(0, sigma, (n, code.num_bits))
    return bits, (2 * y / sigma**2).astype(np.float32)


def play(tested, items, width, dtype=np.uint8):
    tb = gr.top_block()
    source, sink = Source(items), Sink(dtype, width)
    tb.connect(source, tested, sink)
    tb.run()
    return sink.items()


class TestFamilyFromOutside:
    def test_by_name(self, repetition):
        code = coding.get("repetition:50:5")
        assert (code.num_info, code.num_bits, code.rate) == (50, 250, 0.2)
        assert coding.get("repetition:50").num_bits == 150
        assert coding.get("repetition:50:5") is code
        assert repetition.form in coding.forms()
        bits, llr = received("repetition:50:5", sigma=0.3)
        for algorithm in ("sum", "majority"):
            decoder = code.decoder(algorithm=algorithm)
            np.testing.assert_array_equal(decoder.decide(llr), bits)
            np.testing.assert_array_equal(decoder.decode(llr) > 0, code.encode(bits))
            np.testing.assert_array_equal(decoder.bits, bits)
        # A decoder inside a Code need not know other arrays.
        decoder = code.decoder()
        decoder.decode(llr.astype(float).reshape(10, 20, 250))
        np.testing.assert_array_equal(decoder.bits, bits.reshape(10, 20, 50))

    @pytest.mark.parametrize("name, message", [
        ("repetition", "must be repetition:INFO_BITS"), ("repetition:1:2:3", "must be repetition:"),
        ("repetition:x", "must be repetition:"), ("repetition:5:0", "; times: got 0, must be")])
    def test_names_of_no_code(self, repetition, name, message):
        with pytest.raises(ValueError) as caught:
            coding.get(name)
        assert str(caught.value).startswith(f"code: got {name!r}") and message in str(caught.value)

    def test_a_name_is_registered_once(self, repetition):
        with pytest.raises(ValueError, match="family: got 'repetition', which is registered"):
            coding.register(repetition)
        with pytest.raises(ValueError, match="family: got 'conv', which is registered already"):
            coding.register(coding.Family("conv:X", "", make_repetition))

    @pytest.mark.parametrize("module, message", [
        ("raise RuntimeError('no licence')", r"its plug-in fails, repeats:FAMILY: RuntimeError"),
        ("FAMILY = 1", "its plug-in fails, repeats:FAMILY: AttributeError")])
    def test_a_broken_package(self, module, message, tmp_path, monkeypatch):
        """A package that works is in docs/coding.md."""
        own_detectors.install(tmp_path, ["repeats = repeats:FAMILY"], {"repeats": module},
                              group=coding.codes.GROUP)
        monkeypatch.syspath_prepend(tmp_path)
        with pytest.raises(ValueError, match=message):
            coding.get("repeats:5")
        sys.modules.pop("repeats", None)

    @pytest.mark.parametrize("options", [{}, {"sure": 1.0}, {"algorithm": "majority"}])
    def test_fec_blocks(self, repetition, options):
        name = "repetition:60:3"
        bits, llr = received(name)
        np.testing.assert_array_equal(play(mimopack.fec_encoder(name), bits, 180),
                                      coding.get(name).encode(bits))
        decoder = coding.get(name).decoder(**options)
        expected = decoder.decide(llr)
        tested = mimopack.fec_decoder(name, options=options)
        np.testing.assert_array_equal(play(tested, llr, 60), expected)
        assert np.mean(expected != bits) < 0.1 and tested.failures() == tested.erasures() == 0
        assert tested.undecoded() == 200 - decoder.found.sum()

    def test_command(self, repetition):
        done = CliRunner().invoke(sim_command, [
            "-d", "mmse", "--snr", "30", "--code", "repetition:96", "--max-frames", "16", "-q"])
        assert done.exit_code == 0 and "repetition:96" in done.output
        done = CliRunner().invoke(sim_command, ["-d", "mmse", "--snr", "30", "--code", "x"])
        assert done.exit_code == 2 and "repetition:INFO_BITS[:TIMES]" in done.output


@pytest.mark.quick
class TestFamilies:
    @pytest.mark.parametrize("name", [
        example for family in coding.FAMILIES.values() for example in family.examples])
    def test_examples(self, name):
        """Encoded bits are decoded again; the options are those of the decoder, without sizes."""
        code, (bits, llr) = coding.get(name), received(name, 4, 0.1)
        decoder = code.decoder()
        np.testing.assert_array_equal(decoder.decide(llr), bits)
        assert {"iterations", "threads", "backend"} <= set(code.option_names)
        assert not {"num_info", "rate", "size", "code"} & set(code.option_names)

    def test_the_documents_name_every_family(self):
        text = (ROOT / "docs/coding.md").read_text(encoding="utf-8")
        for family in coding.FAMILIES.values():
            form = family.form if family.in_files else f"`{family.form}`"
            assert f"| {form} | {family.summary} |\n" in text

    @pytest.mark.parametrize("name, options", [
        ("wimax:576:1/2:factor=0.7", {"factor": 0.7}),
        ("nr_matched:300:640:4,algorithm=normalized", {"algorithm": "normalized"}),
        ("turbo:40:precision=int16,iterations=3", {"precision": "int16", "iterations": 3})])
    def test_options_in_a_name(self, name, options):
        code = coding.get(name)
        assert code.options == options
        decoder = code.decoder()
        assert {key: getattr(decoder, key) for key in options} == options

    @pytest.mark.parametrize("name, message", [
        ("wimax:576:1/2:speed=3", "'wimax:576:1/2:speed=3'; speed: no option of the decoder, "
                                  "allowed are algorithm, backend, "),
        ("conv:100:1/2:factor=1", "factor: no option of the decoder, allowed are algorithm, "),
        ("turbo:40:iterations=3:iterations=4", "iterations is given twice"),
        (5, "code: got 5, allowed are wimax:N:RATE")])
    def test_refusals(self, name, message):
        with pytest.raises(ValueError) as caught:
            coding.get(name)
        assert message in str(caught.value)
