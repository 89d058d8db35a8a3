# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each call of a command to its flowgraph fails once in turn: the command ends with the error."""

import sys
import threading

import pytest
import soapy_driver  # noqa: F401 - tells SoapySDR where the driver is
from click.testing import CliRunner
from faults import each_fault, watch
from gnuradio import gr
from gnuradio.mimopack import recording
from gnuradio.mimopack.apps.cli import main
from wifi_sky import RATE, on_air


def play(sky, _folder):
    return CliRunner().invoke(main, ["play", str(sky.path), "-d", "mmse"])


def receive(sky, folder):
    return on_air(sky, "--record", folder / "made", "--duration", (sky.samples - 100) / RATE)


CALLS = [*((gr.top_block, name) for name in ("connect", "msg_connect", "start", "wait")),
         (threading.Thread, "start")]


@pytest.mark.parametrize("command", [play, receive])
@pytest.mark.parametrize(("owner", "call"), CALLS)
def test_a_call_to_the_flowgraph_fails(command, owner, call, sky, tmp_path):
    def error(*_):
        return RuntimeError("injected: std::bad_alloc")

    def by_command(*_):
        callers = [sys._getframe(2)]
        if owner is threading.Thread:    # GNU Radio's wait() starts one, two calls further inside
            callers.append(callers[0].f_back.f_back)
        return any(one.f_globals["__name__"].startswith("gnuradio.mimopack.apps")
                   for one in callers)

    def run(fault):
        folder = tmp_path / str(fault.at)
        folder.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            watch(patch, fault, owner, call, error, by_command)
            result = command(sky, folder)
        assert (result.exit_code == 2) == ("injected" in result.output) == fault.happened
        assert result.exit_code == 0 or isinstance(result.exception, SystemExit)
        for path in folder.glob("*.sigmf-meta"):    # whole, if the flowgraph had begun
            try:
                recording.Reader(path, verify=True)
            except ValueError as refusal:
                assert "holds no samples" in str(refusal)

    if (command, call) == (receive, "msg_connect"):    # it gets frames without messages
        with pytest.raises(AssertionError, match="the operation was never called"):
            each_fault(run)
    else:
        each_fault(run)
