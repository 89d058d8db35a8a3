#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the GRC blocks of the detectors, and the menus of detectors and codes in other blocks.

The script writes grc/mimopack_<name>_detector.block.yml for every registered detector. In the
hand-written files of receivers, encoders and decoders, it updates the menus of detectors, backends
and codes, and the explanation of the names of codes.

    PYTHONPATH=build/python .venv/bin/python scripts/generate_grc.py [--check]

--check writes nothing, lists the outdated files, and exits with 1 if there are any.
"""

import argparse
import inspect
import re
import sys
from pathlib import Path

import yaml
from gnuradio.mimopack import coding, constellation, detectors
from gnuradio.mimopack.backends import BACKENDS
from gnuradio.mimopack.blocks import DETECTOR_BLOCKS
from gnuradio.mimopack.detectors.parameters import Parameter

GRC = Path(__file__).resolve().parent.parent / "grc"
REFERENCES = GRC.parent / "docs/references.md"
# Hand-written blocks, with the parameters whose menus are generated.
BY_HAND = {"mimopack_wifi_receiver.block.yml": ("detector", "backend"),
           "mimopack_wifi_decoder.block.yml": ("detector", "backend"),
           "mimopack_nr_pusch_receiver.block.yml": ("detector", "backend"),
           "mimopack_nr_llr_decoder.block.yml": ("backend",),
           "mimopack_iterative_receiver.block.yml": ("code", "detector", "backend"),
           "mimopack_codeword_modulator.block.yml": ("code",),
           "mimopack_fec_encoder.block.yml": ("code",),
           "mimopack_fec_encoder_pdu.block.yml": ("code",),
           "mimopack_fec_decoder.block.yml": ("code", "backend"),
           "mimopack_fec_decoder_pdu.block.yml": ("code", "backend")}
# Hand-written blocks that explain the names of codes.
EXPLAINING = tuple(name for name in BY_HAND if "fec" in name)
# Receivers that can choose a detector automatically.
CHOOSING = ("mimopack_wifi_receiver.block.yml", "mimopack_nr_pusch_receiver.block.yml")

HEADER = """\
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Written by scripts/generate_grc.py from the detector's class: change it there.

"""

# Parameters of the block, in addition to the detector's; the block's signature has the defaults.
NOISE_VAR = ("noise_var", "Noise Variance", "float",
             "Noise power per complex receive dimension, linear. A tag noise_var on y sets it too.")
NOISE_COV = ("noise_cov", "Noise Covariance", "raw",
             "Covariance matrix of the noise at the receive antennas, such as an interferer's and "
             "the receiver's together: an nr x nr array, or None. It takes the place of Noise "
             "Variance until a message or tag sets noise_var. A tag noise_cov on y sets it too. In "
             "tags and messages it is a uniform vector of nr*nr numbers, row by row.")
PERIOD = ("symbols_per_channel", "Vectors per Channel", "int",
          "Number of consecutive received vectors that share a channel matrix. Each item of y "
          "holds this number of vectors.")
PRIOR = ("prior_input", "A-priori Input", "bool",
         "Whether to add an input for a-priori LLRs. The output LLRs then include them "
         "(a-posteriori LLRs).")
HARD = ("hard_inputs", "Hard Inputs", "int",
        "Number of inputs for hard solutions, such as the decoder's of each iteration; 0 to 8. "
        "They need the a-priori input too, as Companion numbers hidden inputs; zeros may feed it.")

# Order in GRC's dialogue. The block shows parameters in USUAL and LAST only if they differ from the
# default.
FIRST = ("num_tx", "num_rx", "constellation")
USUAL = ("noise_cov", "symbols_per_channel")
LAST = ("llr_type", "llr_scale", "backend", "device", "threads")
DTYPES = {"int": "int", "float": "real", "bool": "bool", "enum": "enum", "constellation": "raw",
          "device": "raw", "raw": "raw"}


def block_parameters(detector, block):
    """Return all parameters of a detector's block, in the order of GRC's dialogue."""
    signature = inspect.signature(block)
    declared = {p.name: p for p in detector.all_parameters()}
    own = [name for name in declared if name not in (*FIRST, *LAST)]
    extra = ([NOISE_VAR, NOISE_COV, PERIOD] + [PRIOR] * detector.SUPPORTS_PRIOR
             + [HARD] * detector.TAKES_HARD)
    added = [Parameter(name, label, signature.parameters[name].default, kind, doc)
             for name, label, kind, doc in extra]
    return ([declared[name] for name in (*FIRST, *own)] + added
            + [declared[name] for name in LAST])


def title(label):
    """Return a label in GRC's style, with capitals unless a word has its own."""
    return " ".join(word.capitalize() if word.islower() and word != "per" else word
                    for word in label.split())


def grc_parameter(parameter, detector):
    """Return the YAML entry of one parameter of a detector."""
    default = parameter.default
    entry = {"id": parameter.name, "label": title(parameter.label),
             # An optional number may be None, which needs a raw expression.
             "dtype": "raw" if parameter.optional else DTYPES[parameter.kind],
             "default": repr(default) if parameter.kind != "constellation" else f'"{default}"'}
    if parameter.kind == "enum":
        entry["default"] = default
        entry["options"] = list(parameter.choices)
    elif parameter.kind == "bool":
        entry["options"] = ["False", "True"]
        entry["option_labels"] = ["No", "Yes"]
    elif parameter.kind == "constellation":
        # Raw with options gives a menu that also accepts any typed expression.
        entry["options"] = [f'"{name}"' for name in constellation.BUILT_IN
                            if constellation.get(name).size <= detector.MOST_POINTS]
    if parameter.name == "llr_type":
        entry["option_attributes"] = {"dtype": ["byte" if "int8" in choice else "float"
                                                for choice in parameter.choices]}
    if parameter.advanced:
        entry["category"] = "Advanced"
    if parameter.name == "llr_scale":
        entry["hide"] = "${ 'none' if llr_type == 'int8' else 'all' }"
    elif parameter.name == "device":
        entry["hide"] = "${ {'cuda': 'none', 'auto': 'part'}.get(backend, 'all') }"
    elif parameter.name in (*USUAL, *LAST) or parameter.advanced:
        shown = f"'{default}'" if parameter.kind == "enum" else repr(default)
        entry["hide"] = (f"${{ 'part' if {parameter.name} {'is' if default is None else '=='} "
                         f"{shown} else 'none' }}")
    return entry


def asserts(detector):
    """Return checks for GRC to make before the flowgraph runs; the block checks everything."""
    checks = [f"1 <= num_tx <= {detector.MAX_TX}", f"num_tx <= num_rx <= {detector.MAX_RX}",
              "noise_var > 0", "symbols_per_channel >= 1", "threads >= 0",
              "isinstance(device, (list, tuple)) or device >= 0",
              "llr_scale > 0"]
    if detector.NEEDS_GRID:
        checks.append("mimopack.constellation.of_layers(constellation, num_tx).grid is not None")
    if detector.TAKES_HARD:
        checks += ["0 <= hard_inputs <= 8", "prior_input or not hard_inputs"]
    checks += [f"{p.name} is None or {p.allowed}" if p.optional else p.allowed
               for p in detector.PARAMETERS if p.allowed]
    return [f"${{ {check} }}" for check in checks]


def settings(detector):
    """Return the names of the settings that may change while the block runs."""
    return DETECTOR_BLOCKS[f"{detector.name}_detector"].CONTROLS


def documentation(detector, parameters):
    """Return the text of a detector's documentation in Companion."""
    # Remove the arguments: they follow below, with their labels in Companion.
    text = inspect.cleandoc(detector.__doc__).split("\n\nArgs:")[0]
    keys = settings(detector)
    lines = [text, "", "Model: y = H x + n, n ~ CN(0, noise_var I) or n ~ CN(0, noise_cov), "
             "E|x_i|^2 = 1, with nt transmit and nr receive antennas and M constellation points."]
    lines += ["", "Ports:",
              "  y: received vectors, one after another; Vectors per Channel vectors per item.",
              "  h: the channel matrix of these vectors, nr x nt, row by row."]
    if detector.SUPPORTS_PRIOR:
        lines.append("  prior: a-priori LLRs, in the order of llr.")
    if detector.TAKES_HARD:
        lines.append("  hard: a hard solution per vector, one bit per byte, in the order of llr.")
    lines += ["  llr: ln P(1)/P(0), vector by vector, antenna by antenna, most significant bit "
              "first; 0 for a vector that cannot be detected.",
              f"  control: a dictionary with the keys {', '.join(keys[:-1])} and {keys[-1]}, or a "
              "pair of one key and its value.",
              "  status: a dictionary with the totals vectors, erasures (vectors that cannot be "
              "detected) and failures, sent after erasures"
              + (", and truncated (see Most Nodes)." if "max_nodes" in keys else "."), "",
              "Parameters:"]
    lines += [f"  {title(p.label)}: {p.doc}" for p in parameters]
    return with_papers("\n".join(lines))


def with_papers(text):
    """Return a text with the short names of papers for their numbers, and with their titles."""
    table = REFERENCES.read_text(encoding="utf-8")
    titles = []
    for number, name, paper in re.findall(r"(?m)^\| (00\d) \| (.+?) \| (.+?) \|", table):
        named = re.sub(rf"\b{number}\b", name, text)
        if named != text:
            titles.append(f"  {name}: {paper}")
            text = named
    return "\n".join([text, "", "Papers:", *titles]) if titles else text


def block_yaml(detector):
    """Return the text of a detector's .block.yml."""
    name = f"{detector.name}_detector"
    parameters = block_parameters(detector, DETECTOR_BLOCKS[name])
    bits = "symbols_per_channel * mimopack.constellation.bits_per_vector(constellation, num_tx)"
    inputs = [
        {"label": "y", "domain": "stream", "dtype": "complex",
         "vlen": "${ symbols_per_channel * num_rx }"},
        {"label": "h", "domain": "stream", "dtype": "complex", "vlen": "${ num_rx * num_tx }"}]
    if detector.SUPPORTS_PRIOR:
        inputs.append({"label": "prior", "domain": "stream", "dtype": "float",
                       "vlen": f"${{ {bits} }}", "hide": "${ not prior_input }"})
    if detector.TAKES_HARD:
        inputs.append({"label": "hard", "domain": "stream", "dtype": "byte",
                       "vlen": f"${{ {bits} }}", "hide": "${ not hard_inputs }",
                       "multiplicity": "${ max(1, hard_inputs) }"})
    inputs.append({"id": "control", "domain": "message", "optional": True})
    arguments = [f"{p.name}='${{{p.name}}}'" if p.kind == "enum" else f"{p.name}=${{{p.name}}}"
                 for p in parameters]
    head = {
        "id": f"mimopack_{name}",
        "label": f"{detector.__name__} Detector",
        "category": "[MIMO]/Detectors",
        "flags": ["python"]}
    sections = {
        "parameters": [grc_parameter(p, detector) for p in parameters],
        "inputs": inputs,
        "outputs": [{"label": "llr", "domain": "stream", "dtype": "${ llr_type.dtype }",
                     "vlen": f"${{ {bits} }}"},
                    {"id": "status", "domain": "message", "optional": True}],
        "asserts": asserts(detector),
        "templates": {
            "imports": "from gnuradio import mimopack",
            "make": f"mimopack.{name}(\n    " + ",\n    ".join(arguments) + ")",
            "callbacks": [f"control.set_{name}(${{{name}}})" for name in settings(detector)]},
        "documentation": documentation(detector, parameters),
        "file_format": 1,
    }
    return HEADER + "\n".join(
        yaml.dump(part, Dumper=_Dumper, sort_keys=False, width=99, allow_unicode=True)
        for part in (head, *({key: value} for key, value in sections.items())))


def completed_yaml(name):
    """Return the text of a hand-written .block.yml with present detectors, backends and codes."""
    text = (GRC / name).read_text(encoding="utf-8")
    chosen = {"auto": "Auto"} if name in CHOOSING else {}
    names = chosen | {one: kind.__name__ for one, kind in detectors.REGISTRY.items()}
    codes = [f"'{code}'" for family in coding.FAMILIES.values() for code in family.examples]
    menus = {"code": {"options": codes},
             "detector": {"options": names, "option_labels": names.values()},
             "backend": {"options": BACKENDS}}
    for parameter in BY_HAND[name]:
        for key, values in menus[parameter].items():
            text, count = re.subn(
                rf"(-   id: {parameter}\n(?:    .*\n)*?    {key}: )\[.*\]",
                lambda match, values=values: f"{match[1]}[{', '.join(values)}]", text)
            if count != 1:
                raise ValueError(f"{name}: {key} of {parameter} found {count} times")
    if name in EXPLAINING:
        text, count = re.subn(r"(?m)^    Code: .*$", lambda _: f"    Code: {code_names()}", text)
        if count != 1:
            raise ValueError(f"{name}: a line that begins with Code: found {count} times")
    return text


def code_names():
    """Return the explanation of the names of codes."""
    known = [f"{family.form} ({family.summary})" for family in coding.FAMILIES.values()]
    return (f"{', '.join(known[:-1])}, or {known[-1]}. You can type names that are not in the "
            "menu, and append options of the decoder, as in conv:1000:1/2:algorithm=viterbi.")


class _Dumper(yaml.SafeDumper):
    """Write text of several lines as a YAML block."""

    def text(self, value):
        return self.represent_scalar("tag:yaml.org,2002:str", value,
                                     style="|" if "\n" in value else None)


_Dumper.add_representer(str, _Dumper.text)


def out_of_date(write):
    """Return the names of outdated files, and rewrite them if ``write`` is set."""
    wanted = {f"mimopack_{d.name}_detector.block.yml": block_yaml(d)
              for d in detectors.REGISTRY.values()}
    changed = [path.name for path in GRC.glob("mimopack_*_detector.block.yml")
               if path.name not in wanted]
    if write:
        for name in changed:
            (GRC / name).unlink()
    wanted |= {name: completed_yaml(name) for name in BY_HAND}
    for name, text in wanted.items():
        path = GRC / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            changed.append(name)
            if write:
                path.write_text(text, encoding="utf-8")
    return sorted(changed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, exit with 1")
    check = parser.parse_args().check
    changed = out_of_date(write=not check)
    for name in changed:
        print(f"{name}: {'out of date' if check else 'written'}")
    return int(check and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
