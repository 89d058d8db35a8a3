# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write, compile and run GNU Radio Companion flowgraphs, and collect messages."""

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
    """Describe a block of a flowgraph; parameters are text, as typed into Companion."""
    return {"name": name, "id": key, "parameters": parameters, "states": _STATES}


def save(folder, blocks, connections):
    """Write a flowgraph without a GUI; return the .grc file."""
    options = {"id": "generated", "title": "generated", "generate_options": "no_gui",
               "run_options": "run", "output_language": "python"}
    path = folder / "generated.grc"
    path.write_text(yaml.dump({
        "options": {"parameters": options, "states": _STATES}, "blocks": blocks,
        "connections": connections, "metadata": {"file_format": 1}}))
    return path


class Companion:
    """GNU Radio Companion's library with our blocks: does the work of grcc without its start-up."""

    def __init__(self, home):
        from gnuradio.grc.core import Messages as messages
        from gnuradio.grc.core.platform import Platform

        self._said = []
        with pytest.MonkeyPatch.context() as patch:
            # A separate home keeps GRC's caches and hierarchical blocks out of the user's.
            patch.setenv("HOME", str(home))
            patch.setenv("GRC_BLOCKS_PATH", str(ROOT / "grc"))
            self._platform = Platform(
                name="tests", prefs=gr.prefs(), version=gr.version(),
                version_parts=(gr.major_version(), gr.api_version(), gr.minor_version()))
            messages.register_messenger(self._said.append)
            self._platform.build_library()
        assert not any("mimopack" in line for line in self._said), self._said

    def compile(self, path, folder):
        """Compile a .grc file; return (script or None, messages)."""
        self._said.clear()
        _, script = self._platform.load_and_generate_flow_graph(str(path), str(folder))
        return script, "".join(self._said)

    def compiled(self, path, folder):
        """Compile a .grc file, which must succeed; return the script."""
        script, said = self.compile(path, folder)
        assert script, said
        return Path(script)

    def overlaps(self, path):
        """Return the pairs of blocks that overlap on the canvas.

        The size of a block on the canvas needs a display. This is a little less than it: a title,
        and a line for each parameter that the block shows.
        """
        graph = self._platform.make_flow_graph(str(path))
        graph.rewrite()
        boxes = []
        for block in graph.blocks:
            lines = [parameter for parameter in block.params.values()
                     if parameter.hide not in ("all", "part")]
            left, top = block.states["coordinate"]
            boxes.append((left, left + 6.5 * len(block.label), top, top + 20 + 15 * len(lines),
                          block.name))
        return [(a[-1], b[-1]) for index, a in enumerate(boxes) for b in boxes[:index]
                if a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]]

    def refusals(self, path, folder):
        """Compile a .grc file, which must fail; return the errors as Companion shows them."""
        script, said = self.compile(path, folder)
        assert script is None
        return said.split("errors from flowgraph:")[1]


def run(script, folder, *arguments):
    """Run the script of a flowgraph, which must exit with 0; return its output."""
    done = subprocess.run(
        [sys.executable, str(script), *arguments], cwd=folder, capture_output=True, text=True,
        timeout=120, env={**os.environ, "PYTHONPATH": str(PACKAGES), "HOME": str(folder)})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Messages(gr.basic_block):
    """Keep (time.monotonic(), PMT) of each message at port "in"."""

    def __init__(self):
        gr.basic_block.__init__(self, "messages", None, None)
        self.received = []
        self.message_port_register_in(pmt.intern("in"))
        self.set_msg_handler(pmt.intern("in"), self._keep)

    def _keep(self, message):
        self.received.append((time.monotonic(), message))

    def stamps(self):
        """Return the arrival time of each message."""
        return [stamp for stamp, _ in self.received]

    def values(self):
        """Return each message as a Python object."""
        return [pmt.to_python(message) for _, message in self.received]


def until(condition):
    """Wait for a condition, at most 10 s."""
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)
