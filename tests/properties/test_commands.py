# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands with values of options that Hypothesis chooses: a result or an error, no traceback."""

import click
import numpy as np
import pytest
from click.testing import CliRunner
from gnuradio.mimopack import recording, schemas
from gnuradio.mimopack.apps import doctor
from gnuradio.mimopack.apps.cli import main
from gnuradio.mimopack.apps.play import command as play
from hypothesis import given
from hypothesis import strategies as st
from strategies import fewer

NUMBERS = ["-1", "0", "1", "2", "3", "1.5", "1e-3", "-0.0", "nan", "inf", "-inf", "1e-30", "1e400",
           "99999999999999999999", "0x1", "1_0", "٣", "²", "1,2", "1:3:1", "3:1:1", ",", ":",
           "1:2:0", "20M"]
NAMES = ["", " ", "-", "--", "x", "zf", "mmse:", "nway:num_passes=9", "nway:num_passes=1",
         "mmsepic:iterations=2", "zf:colour=1", "zf:num_tx=9", "kbest:k=4:k=4", "=", "qpsk",
         "bpsk", "qam17", "wifi:648:1/2", "wifi:648:9/8", "conv:100:1/2", "turbo:40", "turbo:41",
         "none", "rayleigh", "auto", "cpu", "cuda", "reference", "random", "baseline", "ci16_le",
         "\x1b[31m", "\udcff", "é", "a" * 300]
# Names of files in the working folder, which is one for tests.
FILES = ["x.json", "x.npz", "x.h5", "x.png", "x.pcap", "folder", "folder/x", "no/such/x",
         "file/x", "a" * 300, "", "new", "air.sigmf-meta", "air.sigmf-data", "air", "raw.cs16",
         "broken.sigmf-meta", "results.json", "figure.toml", "broken.toml", "."]
VALUES = st.sampled_from(NUMBERS) | st.sampled_from(NAMES) | st.sampled_from(FILES)

# The argument that a command takes, and options that keep it short; an option that is given again
# wins or is refused.
SHORT = {
    "bench": (None, ["--detector", "zf", "--backend", "cpu", "--vectors", "8", "--seconds",
                     "0.001", "--rounds", "1"]),
    "doctor": (None, []),
    "play": ("air.sigmf-meta", ["-d", "zf", "--no-pictures", "-o", "folder"]),
    "schema": ("sim", []),
    "sim": (None, ["-d", "zf", "--num-tx", "1", "--num-rx", "1", "--constellation", "qpsk",
                   "--snr", "5", "--errors", "1", "--max-frames", "16", "--quiet"]),
    "sim campaign": ("figure.toml", ["--threads", "1", "--quiet"]),
    "sim status": ("figure.toml", []),
    "wifi": ("air.sigmf-meta", ["--no-pictures"]),
}
FIGURE = """
[[simulation]]
name = "one"
detectors = ["zf"]
num_tx = 1
num_rx = 1
constellation = "qpsk"
snr = 5
errors = 1
max_frames = 16
"""
# Radios and ports are tested elsewhere; suites, peers and the reference take long.
LEFT_OUT = {"radio", "metrics", "view", "suites", "suite_name", "peers", "sionna_python", "names",
            "backends", "errors", "help", "pictures"}


@pytest.fixture(scope="module")
def air(tmp_path_factory):
    """A folder with recordings of nothing, and with files that are no recordings."""
    folder = tmp_path_factory.mktemp("commands")
    with recording.Writer(folder / "air", 1, 20e6, "ci16_le") as writer:
        writer.write(np.zeros((1, 400), np.complex64))
    (folder / "raw.cs16").write_bytes(bytes(1600))
    (folder / "file").write_text("x")
    (folder / "results.json").write_text('{"what": 1}')
    (folder / "broken.sigmf-meta").write_text('{"global": {"core:datatype": 3}}')
    (folder / "figure.toml").write_text(FIGURE)
    (folder / "broken.toml").write_text(FIGURE.replace("snr = 5", "snr = [[]]"))
    (folder / "folder").mkdir()
    return folder


def no_answer(*_, **__):
    """Stand in for the doctor's probes, which take seconds."""
    raise doctor.ProbeError("no answer")


def command_of(name):
    """Return the command with a name such as "sim status"."""
    first, *others = name.split()
    command = main.get_command(None, first)
    return command.make_context(first, others, resilient_parsing=True).command


def options_of(name):
    return [one for one in command_of(name).params
            if isinstance(one, click.Option) and one.name not in LEFT_OUT]


def test_each_command_is_here():
    names = main.list_commands(None)
    others = [f"{name} {other}" for name in names
              for other in getattr(main.get_command(None, name), "OTHERS", ())]
    assert sorted(SHORT) == sorted([*names, *others])
    for name, (argument, _) in SHORT.items():
        takes = any(isinstance(one, click.Argument) for one in command_of(name).params)
        assert takes == (argument is not None)


@st.composite
def arguments(draw, name):
    """Draw arguments of a command: up to three options with any values, and its own argument."""
    argument, short = SHORT[name]
    given, options = [*name.split()], options_of(name)
    if argument is not None:
        others = VALUES | st.sampled_from(list(schemas.NAMES))
        given.append(argument if draw(st.integers(0, 3)) else draw(others))
    given += short
    for _ in range(draw(st.integers(0, 3))):
        if options and draw(st.integers(0, 9)):
            option = draw(st.sampled_from(options))
            given.append(draw(st.sampled_from([*option.opts, *option.secondary_opts])))
            if not option.is_flag:
                given.append(draw(VALUES))
        else:
            given.append(draw(VALUES))
    return given


@pytest.mark.parametrize("name", list(SHORT))
@given(data=st.data())
def test_a_command_ends_with_a_status(name, air, monkeypatch, data):
    given = data.draw(arguments(name))
    with monkeypatch.context() as patch:
        patch.chdir(air)
        patch.setattr(play, "_TIMED_SECONDS", 0.0)
        patch.setattr(doctor, "probe", no_answer)
        result = CliRunner().invoke(main, given)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in (0, 1, 2)
    if result.exit_code == 2:
        errors = [line for line in result.output.splitlines() if line.startswith("Error: ")]
        assert len(errors) == 1, result.output


@pytest.mark.parametrize("name", list(SHORT))
def test_the_short_arguments_are_valid(name, air, monkeypatch):
    """Otherwise the test above would see nothing but usage errors."""
    argument, short = SHORT[name]
    monkeypatch.chdir(air)
    monkeypatch.setattr(doctor, "probe", no_answer)
    result = CliRunner().invoke(main, [*name.split(), *[argument] * (argument is not None), *short])
    assert result.exit_code in ((0,) if name not in ("wifi", "play", "doctor") else (0, 1))


# Command lines that once ended in a traceback.
ONCE_FAILED = [
    "bench --constellation qam17", "bench --snr nan", "bench --snr 1e3", "bench --snr inf",
    "bench --symbols-per-channel 0", "bench --symbols-per-channel -1",
    "bench --symbols-per-channel 10", "bench --seconds nan", "bench --seconds inf",
    "bench --vectors 99999999999999999999", "bench --rounds 99999999999999999999",
    "sim --seconds nan", "wifi --full-scale-dbm nan"]


@pytest.mark.parametrize("line", ONCE_FAILED)
def test_what_once_failed_is_a_usage_error(line, air, monkeypatch):
    name, *given = line.split()
    argument, short = SHORT[name]
    monkeypatch.chdir(air)
    result = CliRunner().invoke(main, [name, *[argument] * (argument is not None), *short, *given])
    assert result.exit_code == 2 and "Traceback" not in result.output
    assert result.output.splitlines()[-1].startswith("Error: "), result.output


@pytest.mark.parametrize("option", ["--json", "--pcap", "--csi"])
def test_what_once_was_too_long_a_name_is_refused(option, air, monkeypatch):
    monkeypatch.chdir(air)
    name = "a" * 300 + ".npz"
    result = CliRunner().invoke(main, ["wifi", "air.sigmf-meta", option, name])
    assert result.exit_code == 2 and "Traceback" not in result.output
    assert f"Error: {option}: cannot write {name}: File name too long" in result.output


def test_a_name_of_a_file_that_is_not_utf8_is_printed(tmp_path, monkeypatch):
    """It once ended in a traceback."""
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["sim", *SHORT["sim"][1], "-o", "\udcff"])
    assert result.exit_code == 0 and "\\udcff" in result.output


@given(given=st.lists(VALUES | st.sampled_from(["--help", "-h", "--version", "schema"]),
                      min_size=1, max_size=3))
@fewer(1)
def test_no_command_of_that_name(given):
    result = CliRunner().invoke(main, given)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in (0, 1, 2)
