# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The LLR meter in flowgraphs: its counts equal those of the array interface."""

import numpy as np
import pytest
from flowgraphs import Messages, block, run, save
from gnuradio import blocks, gr, mimopack
from gnuradio.mimopack.llr_health import LlrHealth
from simulated import calibrated


def _metered(llr, bits, **options):
    top, meter, heard = gr.top_block(), mimopack.llr_meter(**options), Messages()
    sources = (blocks.vector_source_f(llr.tolist(), vlen=options.get("num_bits", 1))
               if llr.dtype != np.int8 else
               blocks.vector_source_b(llr.view(np.uint8).tolist(),
                                      vlen=options.get("num_bits", 1)),
               blocks.vector_source_b(bits.tolist(), vlen=options.get("num_bits", 1)))
    for port, source in enumerate(sources):
        top.connect(source, (meter, port))
    top.msg_connect(meter, "health", heard, "in")
    top.run()
    return meter, heard.values()


@pytest.mark.quick
@pytest.mark.parametrize("num_bits", [1, 100])
def test_the_block_counts_what_arrays_count(num_bits):
    llr, bits = calibrated(70_000)
    llr = llr.astype(np.float32)
    meter, reports = _metered(llr, bits, num_bits=num_bits, period=30_000)
    whole = LlrHealth()
    whole.add(llr, bits)
    assert meter.figures().text() == whole.figures().text() == meter.text()
    assert [report["bits"] for report in reports] == [30_000, 30_000]    # none for the rest
    for index, report in enumerate(reports):
        part = LlrHealth()
        part.add(*(x[index * 30_000:(index + 1) * 30_000] for x in (llr, bits)))
        figures = part.figures()
        assert report["verdict"] == "calibrated" and report["scale"] == pytest.approx(figures.scale)
        assert report["limit"] == figures.limit and report["wrong"] == figures.wrong
        assert list(report["range_bits"]) == [item.bits for item in figures.ranges]
        assert list(report["range_expected"]) == pytest.approx(
            [item.expected for item in figures.ranges])


def test_int8_saturates_at_its_largest():
    llr, bits = calibrated(50_000)
    steps = np.clip(np.round(llr * 16), -127, 127).astype(np.int8)
    meter, reports = _metered(steps, bits, llr_type="int8", llr_scale=16.0, period=50_000)
    figures = meter.figures()
    assert figures.limit == 127 / 16 and reports[0]["saturated"] == figures.saturated
    assert figures.saturated == np.mean(np.abs(llr * 16) >= 126.5)
    assert figures.verdict == "calibrated"
    assert _metered(steps, bits, llr_type="int8", llr_scale=4.0)[0].figures().verdict == "too large"


@pytest.mark.parametrize(("arguments", "said"), [
    ({"num_bits": 0}, "num_bits: got 0"), ({"llr_type": "int16"}, "llr_type: got 'int16'"),
    ({"limit": -1.0}, "limit: got -1.0"), ({"limit": np.inf}, "limit: got inf"),
    ({"period": 0}, "period: got 0"), ({"llr_type": "int8", "llr_scale": 0}, "llr_scale: got 0")])
def test_wrong_arguments_are_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        mimopack.llr_meter(**arguments)


def test_a_detectors_llrs_in_a_compiled_flowgraph(companion, tmp_path):
    """The meter compares a detector's LLRs with bits that were decoded and encoded again."""
    code = "wifi:648:1/2"
    blocks_ = [
        block("imported", "import", imports="import numpy as np"),
        block("source", "analog_random_source_x", type="byte", min="0", max="2",
              num_samps="64800", repeat="False"),
        block("words", "blocks_stream_to_vector", type="byte", num_items="324", vlen="1"),
        block("encoder", "mimopack_fec_encoder", code=f"'{code}'"),
        block("bits", "blocks_vector_to_stream", type="byte", num_items="648", vlen="1"),
        block("signs", "digital_chunks_to_symbols_xx", in_type="byte", out_type="float",
              symbol_table="[-1, 1]", dimension="1", num_ports="1"),
        block("noise", "analog_noise_source_x", type="float", amp="0.75",
              noise_type="analog.GR_GAUSSIAN", seed="1"),
        block("noisy", "blocks_add_xx", type="float", num_inputs="2"),
        block("llr", "blocks_multiply_const_xx", type="float", const="2 / 0.75**2"),
        block("llrs", "blocks_stream_to_vector", type="float", num_items="648", vlen="1"),
        block("decoder", "mimopack_fec_decoder", code=f"'{code}'"),
        block("again", "mimopack_fec_encoder", code=f"'{code}'"),
        block("meter", "mimopack_llr_meter", num_bits="648", period="64800")]
    connections = [
        ["source", "0", "words", "0"], ["words", "0", "encoder", "0"],
        ["encoder", "0", "bits", "0"], ["bits", "0", "signs", "0"], ["signs", "0", "noisy", "0"],
        ["noise", "0", "noisy", "1"],
        ["noisy", "0", "llr", "0"], ["llr", "0", "llrs", "0"], ["llrs", "0", "decoder", "0"],
        ["decoder", "0", "again", "0"], ["llrs", "0", "meter", "0"], ["again", "0", "meter", "1"]]
    script = companion.compiled(save(tmp_path, blocks_, connections), tmp_path)
    script.write_text(script.read_text().replace(
        "\n    tb.wait()", "\n    tb.wait()\n    print('health', tb.meter.text())"))
    printed = run(script, tmp_path)
    assert "health 129600 LLRs: calibrated" in printed
