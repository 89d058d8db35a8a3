#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Makes the README's screenshots on a screen of its own: GNU Radio Companion with wifi_loopback.grc,
# and the windows of wifi_recording.grc. Needs xvfb, from the distribution.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
[ $# = 0 ] || { echo "usage: scripts/screenshots.sh" >&2; exit 2; }
if ! command -v xvfb-run > /dev/null; then
    echo "screenshots: xvfb-run is missing: apt-get install xvfb" >&2
    exit 1
fi
python=${PYTHON:-.venv/bin/python}
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export HOME=$home XDG_RUNTIME_DIR=$home GRC_BLOCKS_PATH=$PWD/grc GRC_PREFS_PATH=$home/grc.conf
cat > "$GRC_PREFS_PATH" <<'CONF'
[main]
main_window_width = 1640
main_window_height = 940
blocks_window_visible = False
console_window_visible = False
variable_editor_visable = False
CONF

# Companion is drawn by GTK: what the screen shows is read from its root window.
cat > "$home/companion.py" <<'PYTHON'
import subprocess
import sys
import time

import gi

gi.require_version("Gdk", "3.0")
from gi.repository import Gdk

companion = subprocess.Popen([sys.executable, "/usr/bin/gnuradio-companion", sys.argv[1]],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try:
    time.sleep(float(sys.argv[3]))
    assert companion.poll() is None, "Companion has ended"
    root = Gdk.get_default_root_window()
    Gdk.pixbuf_get_from_window(root, 0, 0, 1640, 940).savev(sys.argv[2], "png", [], [])
finally:
    companion.terminate()
    companion.wait()
PYTHON

# A flowgraph of Qt draws itself.
cat > "$home/qt.py" <<'PYTHON'
import os
import sys

from gnuradio import gr
from gnuradio.grc.core.platform import Platform
from PyQt5 import Qt

flowgraph, picture, folder, *arguments = sys.argv[1:]
platform = Platform(name="screenshots", prefs=gr.prefs(), version=gr.version(), version_parts=(
    gr.major_version(), gr.api_version(), gr.minor_version()))
platform.build_library()
_, script = platform.load_and_generate_flow_graph(flowgraph, folder)
assert script, f"{flowgraph} does not compile"
sys.path.insert(0, folder)
application = Qt.QApplication(sys.argv[:1])
name = script.rsplit("/", 1)[-1].removesuffix(".py")
graph = getattr(__import__(name), name)(*arguments)
graph.start()
graph.resize(1750, 900)
graph.show()


def take():
    assert graph.meter.frames() > 20, "no frames yet"
    graph.grab().save(picture)
    application.quit()


Qt.QTimer.singleShot(20000, take)
application.exec_()
graph.stop()
graph.wait()
os._exit(0)    # threads that poll would find windows that are gone
PYTHON

screen() {
    xvfb-run -a -s "-screen 0 1800x940x24" "$python" "$@"
}
screen "$home/companion.py" examples/wifi_loopback.grc docs/images/wifi_loopback_companion.png 20
echo "screenshots: docs/images/wifi_loopback_companion.png"
screen "$home/qt.py" examples/wifi_recording.grc docs/images/wifi_recording.png "$home" \
    "$PWD/examples/recordings/wifi_4x4_ht.sigmf-meta"
echo "screenshots: docs/images/wifi_recording.png"
