# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flowgraphs for the tests: written for GNU Radio Companion, compiled and run; messages kept."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pmt
import pytest
import yaml
from gnuradio import gr
from source_tree import PACKAGES, ROOT

_STATES = {"coordinate": [0, 0], "rotation": 0, "state": "enabled"}


def block(name, key, **parameters):
    """A block of a flowgraph; parameters are text, as typed into Companion."""
    return {"name": name, "id": key, "parameters": parameters, "states": _STATES}


def save(folder, blocks, connections):
    """Write a flowgraph without windows; returns the .grc file."""
    options = {"id": "generated", "title": "generated", "generate_options": "no_gui",
               "run_options": "run", "output_language": "python"}
    path = folder / "generated.grc"
    path.write_text(yaml.dump({
        "options": {"parameters": options, "states": _STATES}, "blocks": blocks,
        "connections": connections, "metadata": {"file_format": 1}}))
    return path


class Companion:
    """GNU Radio Companion's library with our blocks; what grcc does, without its start."""

    def __init__(self, home):
        from gnuradio.grc.core import Messages as messages
        from gnuradio.grc.core.platform import Platform

        self._said = []
        with pytest.MonkeyPatch.context() as patch:
            # A home of its own keeps GRC's caches and hierarchical blocks out of the user's.
            patch.setenv("HOME", str(home))
            patch.setenv("GRC_BLOCKS_PATH", str(ROOT / "grc"))
            self._platform = Platform(
                name="tests", prefs=gr.prefs(), version=gr.version(),
                version_parts=(gr.major_version(), gr.api_version(), gr.minor_version()))
            messages.register_messenger(self._said.append)
            self._platform.build_library()
        assert not any("mimopack" in line for line in self._said), self._said

    def compile(self, path, folder):
        """(script or None, messages) of a .grc file."""
        self._said.clear()
        _, script = self._platform.load_and_generate_flow_graph(str(path), str(folder))
        return script, "".join(self._said)

    def compiled(self, path, folder):
        """The script of a .grc file that must compile."""
        script, said = self.compile(path, folder)
        assert script, said
        return Path(script)

    def refusals(self, path, folder):
        """The errors, as Companion shows them, of a .grc file that must not compile."""
        script, said = self.compile(path, folder)
        assert script is None
        return said.split("errors from flowgraph:")[1]


def run(script, folder, *arguments):
    """Run a script of a flowgraph; it must exit with 0. Returns what it printed."""
    done = subprocess.run(
        [sys.executable, str(script), *arguments], cwd=folder, capture_output=True, text=True,
        timeout=120, env={**os.environ, "PYTHONPATH": str(PACKAGES), "HOME": str(folder)})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Messages(gr.basic_block):
    """Keeps (time.monotonic(), PMT) of what arrives at its port "in"."""

    def __init__(self):
        gr.basic_block.__init__(self, "messages", None, None)
        self.received = []
        self.message_port_register_in(pmt.intern("in"))
        self.set_msg_handler(pmt.intern("in"), self._keep)

    def _keep(self, message):
        self.received.append((time.monotonic(), message))

    def stamps(self):
        """When each arrived."""
        return [stamp for stamp, _ in self.received]

    def values(self):
        """Each as a Python object."""
        return [pmt.to_python(message) for _, message in self.received]


def until(condition):
    """Wait for a condition; no longer than 10 s."""
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)
