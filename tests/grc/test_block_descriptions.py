# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The blocks in GNU Radio Companion: the detectors' generated YAML, menus, refusals."""

import re
from importlib import import_module

import generate_grc
import pytest
import yaml
from flowgraphs import block, run, save
from gnuradio import mimopack
from gnuradio.mimopack import channel, coding, constellation, detectors, recording, wifi
from gnuradio.mimopack.detectors import parameters as declared
from source_tree import ROOT

pytestmark = pytest.mark.quick

BLOCKS = sorted((ROOT / "grc").glob("*.block.yml"))
GENERATED = {f"mimopack_{name}_detector" for name in detectors.REGISTRY}

_POINTS = [f'"{name}"' for name in constellation.BUILT_IN]
_WIFI_POINTS = [f'"{name}"' for name in wifi.channel_estimator.CONSTELLATIONS]
# Names of clocks and times of UHD: the device knows those that it has.
# Not "mimo": all devices get the same source, and only the second one may take it from the first.
_SOURCES = ["None", *(f'"{name}"' for name in ("internal", "external", "gpsdo"))]
# Values that the code accepts, for each menu of a hand-written block. A function checks one value
# if there is no list.
ACCEPTED = {
    "aggregated": ("False", "True"),
    "backend": declared.BACKENDS,
    "bad_crc": ("False", "True"),
    "bad_fcs": ("False", "True"),
    "bandwidth_mhz": [str(width) for width in wifi.carriers.BANDWIDTHS],
    "clip": ("True", "False"),
    "clock_source": _SOURCES,
    "code": coding.get,
    "coding": lambda name: wifi.HT(0, 1, coding=name),
    "correction": ("True", "False"),
    "datatype": recording.DATATYPES,
    "detector": detectors.REGISTRY,
    ("mimopack_wifi_receiver", "detector"): ("auto", *detectors.REGISTRY),
    ("mimopack_nr_pusch_receiver", "detector"): ("auto", *detectors.REGISTRY),
    "fcs": ("append", "included"),
    "dcm": ("False", "True"),
    "gi_us": lambda gi: wifi.HE(0, 1, gi_us=float(gi), ltf=4 if gi == "3.2" else 2),
    "ltf": lambda ltf: wifi.HE(0, 1, ltf=int(ltf)),
    "midamble": lambda every: wifi.HE(0, 1, midamble=int(every)),
    "uplink": ("False", "True"),
    "format": import_module("gnuradio.mimopack.blocks.wifi_transmitter").FORMATS,
    "greenfield": ("False", "True"),
    "layout": recording.LAYOUTS,
    "llr_output": ("False", "True"),
    "llr_type": declared.LLR_TYPES,
    "num_carriers": ("64", "128", "256"),
    "num_streams": [str(n) for n in range(1, 5)],
    "num_tx": [str(n) for n in range(1, wifi.transmitter.MAX_ANTENNAS + 1)],
    "overload": recording.OVERLOADS,
    "overwrite": ("True", "False"),
    "profile": channel.PROFILES,
    "received_type": ("bits", *declared.LLR_TYPES),
    "repeat": ("True", "False"),
    "sample_rate": ("20e6", "40e6", "80e6"),
    ("mimopack_wifi_transmitter", "sample_rate"): ("20e6", "40e6", "80e6", "160e6"),
    "short_gi": ("False", "True"),
    "smoothing": ("True", "False"),
    "stbc": lambda extra: wifi.HT(8, 1, stbc=int(extra)),
    "time_source": _SOURCES,
    "time_tags": ("True", "False"),
    "timestamp": ("True", "False"),
    "whitening": wifi.whitening.WHITENINGS,
    "early_stop": ("True", "False"),
    "history_output": ("False", "True"),
    ("mimopack_codeword_modulator", "constellation"): _POINTS,
    ("mimopack_iterative_receiver", "backend"): declared.BACKENDS,
    ("mimopack_iterative_receiver", "constellation"): _POINTS,
    ("mimopack_ofdm_grid", "constellation"): _POINTS,
    ("mimopack_symbol_mapper", "constellation"): _POINTS,
    ("mimopack_wifi_channel_estimator", "constellation"): _WIFI_POINTS,
    ("mimopack_wifi_llr_decoder", "constellation"): _WIFI_POINTS,
    ("mimopack_fec_decoder", "backend"): declared.BACKENDS,
    ("mimopack_fec_decoder_pdu", "backend"): declared.BACKENDS,
}
MENUS = [(path, parameter) for path in BLOCKS
         for parameter in yaml.safe_load(path.read_text(encoding="utf-8"))["parameters"]
         if "options" in parameter and path.name.removesuffix(".block.yml") not in GENERATED]


# Cases of the detector blocks that differ in their ports and parameters.
CASES = [*((name, {}) for name in detectors.REGISTRY),
         ("omap", {"prior_input": "True", "llr_type": "int8", "llr_scale": "4.0"}),
         ("zf", {"device": "[0, 1]"}), ("zf", {"noise_cov": "covariance"}),
         ("mmse", {"constellation": "digital.constellation_8psk().base()", "bits": "3"}),
         ("mla", {"constellation": "points", "bits": "2"}),
         ("nway", {"constellation": "['qam64', 'qpsk']", "prior_input": "True"}),
         ("bitflip", {"hard_inputs": "2", "prior_input": "True"}),
         ("psd", {"preset": "table5", "constellation": '"qam64"', "bits": "6", "num_tx": "4",
                  "num_rx": "4", "team_size": "32", "streams": "4"})]


def detectors_flowgraph(cases, folder, count=100, period=3):
    """Write a flowgraph: zero vectors through detector blocks into files.

    Returns blocks, connections and the files' sizes.
    """
    blocks = [block("sigma2", "variable", value="0.05"), block("passes", "variable", value="2"),
              block("points", "variable", value="[1, 1j, -1, -1j]"),
              block("covariance", "variable", value="numpy.eye(3)"),
              block("numpy_imported", "import", imports="import numpy"),
              block("imported", "import", imports="from gnuradio import digital")]
    connections, sizes = [], []

    def connect_source(detector, port, dtype, vlen):
        name = f"{detector}_{port}"
        blocks.extend([
            block(f"{name}_source", "blocks_null_source", type=dtype, vlen=str(vlen)),
            block(f"{name}_head", "blocks_head", type=dtype, vlen=str(vlen),
                  num_items=str(count))])
        connections.extend([[f"{name}_source", "0", f"{name}_head", "0"],
                            [f"{name}_head", "0", detector, str(port)]])

    for index, (kind, given) in enumerate(cases):
        name, parameters = f"detector_{index}", {"num_tx": "2", "num_rx": "3", **given}
        num_tx, num_rx = (int(parameters[key]) for key in ("num_tx", "num_rx"))
        bits = num_tx * period * int(parameters.pop("bits", 4))
        output = "byte" if parameters.get("llr_type") == "int8" else "float"
        blocks += [block(name, f"mimopack_{kind}_detector", symbols_per_channel=str(period),
                         **{"noise_var": "sigma2", **parameters}),
                   block(f"{name}_sink", "blocks_file_sink", type=output, vlen=str(bits),
                         file=str(folder / name))]
        connections.append([name, "0", f"{name}_sink", "0"])
        hard = int(parameters.get("hard_inputs", 0))
        inputs = [("complex", num_rx * period), ("complex", num_rx * num_tx)]
        inputs += [("float", bits)] * (parameters.get("prior_input") == "True")
        for port, (dtype, vlen) in enumerate([*inputs, *[("byte", bits)] * hard]):
            connect_source(name, port, dtype, vlen)
        sizes.append(count * bits * (1 if output == "byte" else 4))
    return blocks, connections, sizes


def test_detector_blocks_are_up_to_date():
    assert generate_grc.out_of_date(write=False) == [], "run scripts/generate_grc.py"


def test_documentation_names_papers():
    texts = {path.name: yaml.safe_load(path.read_text(encoding="utf-8"))["documentation"]
             for path in BLOCKS}
    assert [name for name, text in texts.items() if re.search(r"\b00[0-4]\b (eq|§|table|fig)", text)
            or re.search(r"[( ]00[0-4][),;:.]", text)] == []
    nway = texts["mimopack_nway_detector.block.yml"]
    assert "(Wu et al. 2012 eq. 6)" in nway and "Wu et al. 2012: M. Wu, B. Yin, J. R." in nway


@pytest.mark.parametrize("path", BLOCKS, ids=lambda path: path.name)
def test_block_description(path):
    description = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert f"{description['id']}.block.yml" == path.name
    name = description["id"].removeprefix("mimopack_")
    assert name in mimopack.blocks.__all__
    assert description["category"].startswith("[MIMO]/")
    assert len(description["documentation"]) > 100
    # Every parameter reaches the block, and every setter named here exists.
    passed = re.findall(r"\{(\w+)", description["templates"]["make"])
    assert sorted(passed) == sorted(p["id"] for p in description["parameters"])
    for callback in description["templates"].get("callbacks", []):
        gentle, setter = re.match(r"(control\.)?(\w+)\(", callback).groups()
        block = getattr(mimopack, name)
        # A value that the setter itself refuses would end the process.
        assert bool(gentle) == hasattr(block, "control") and callable(getattr(block, setter))


def test_every_block_is_in_companion():
    assert {path.name.removeprefix("mimopack_").removesuffix(".block.yml") for path in BLOCKS} \
        == set(mimopack.blocks.__all__)


@pytest.mark.parametrize(
    ("path", "parameter"), MENUS,
    ids=[f"{path.name.split('.')[0]}-{parameter['id']}" for path, parameter in MENUS])
def test_menus_offer_what_the_code_accepts(path, parameter):
    name = parameter["id"]
    accepted = ACCEPTED.get((path.name.removesuffix(".block.yml"), name)) or ACCEPTED[name]
    options = parameter["options"]
    assert all(map(accepted, options)) if callable(accepted) else options == list(accepted)
    assert parameter["default"] in options
    assert len(parameter.get("option_labels", options)) == len(options)


def test_detectors_in_a_compiled_flowgraph(companion, tmp_path):
    cases = [*CASES, ("nway", {"num_passes": "passes"})]
    blocks, connections, sizes = detectors_flowgraph(cases, tmp_path)
    script = companion.compiled(save(tmp_path, blocks, connections), tmp_path)
    text = script.read_text()
    assert "self.detector_0.control.set_noise_var(self.sigma2)" in text
    assert f"self.detector_{len(CASES)}.control.set_num_passes(self.passes)" in text
    run(script, tmp_path)
    assert [(tmp_path / f"detector_{index}").stat().st_size
            for index in range(len(cases))] == sizes


def test_companion_refuses(companion, tmp_path):
    cases, said = zip(*[
        (("mmse", {"noise_var": "0.0"}), "noise_var"),
        (("mmse", {"num_rx": "1"}), "num_tx <= num_rx"),
        (("mmse", {"constellation": '"qam32"'}), "qam32"),
        (("nway", {"constellation": "[1, 1j, -1, -1j]"}), "grid"),
        (("mla", {"threads": "-1"}), "threads"), (("zf", {"device": "-1"}), "device >= 0"),
        (("kbest", {"k": "257"}), "1 <= k <= 256"),
        (("sfsd", {"levels": "0"}), "1 <= levels <= num_tx"),
        (("ep", {"smoothing": "1.0"}), "0 <= smoothing < 1"),
        (("bitflip", {"hard_inputs": "1"}), "prior_input or not hard_inputs")], strict=True)
    blocks, connections, _ = detectors_flowgraph(cases, tmp_path)
    refusals = companion.refusals(save(tmp_path, blocks, connections), tmp_path)
    assert [text for text in said if text not in refusals] == []
