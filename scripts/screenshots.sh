#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Make the screenshots of README and docs on a virtual screen: GNU Radio Companion with flowgraphs,
# the windows of flowgraphs, the terminal with mimopack wifi --view, and each block as Companion
# draws it. The script needs xvfb from the distribution. Arguments: the screenshots to make, by the
# names in "all"; default all.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
all="companion detectors detectors_recording detectors_live nr ofdm loopback recording live terminal blocks"
for one in "$@"; do
    case " $all " in
        *" $one "*) ;;
        *)
            echo "usage: scripts/screenshots.sh [NAME ...], names are: $all" >&2
            exit 2
            ;;
    esac
done
wanted=${*:-$all}
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

# GTK draws Companion: take the picture from the root window of the screen.
cat > "$home/companion.py" <<'PYTHON'
import subprocess
import sys
import time

import gi

gi.require_version("Gdk", "3.0")
from gi.repository import Gdk

companion = subprocess.Popen([sys.executable, "/usr/bin/gnuradio-companion", sys.argv[1]],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
root, blocks = Gdk.get_default_root_window(), b"\xf1\xec\xff" * 20    # a line of their colour
try:
    picture, drawn = None, False
    while not drawn:
        drawn = picture is not None and blocks in picture.get_pixels()
        time.sleep(5)
        assert companion.poll() is None, "Companion has ended"
        picture = Gdk.pixbuf_get_from_window(root, 0, 0, 1640, 940)
    picture.savev(sys.argv[2], "png", [], [])
finally:
    companion.terminate()
    companion.wait()
PYTHON

# A Qt flowgraph can draw itself into a picture.
cat > "$home/qt.py" <<'PYTHON'
import os
import sys

from gnuradio import gr
from gnuradio.grc.core.platform import Platform
from PyQt5 import Qt

flowgraph, picture, folder, seconds, size, counter, *arguments = sys.argv[1:]
platform = Platform(name="screenshots", prefs=gr.prefs(), version=gr.version(), version_parts=(
    gr.major_version(), gr.api_version(), gr.minor_version()))
platform.build_library()
_, script = platform.load_and_generate_flow_graph(flowgraph, folder)
assert script, f"{flowgraph} does not compile"
sys.path.insert(0, folder)
application = Qt.QApplication(sys.argv[:1])
name = script.rsplit("/", 1)[-1].removesuffix(".py")
module = __import__(name)
graph = getattr(module, name)(**dict(one.split("=", 1) for one in arguments))
graph.start()
graph.resize(*map(int, size.split("x")))
graph.show()


def take():
    block, count = counter.split(".")
    assert getattr(getattr(graph, block), count)() > 20, "nothing counted yet"
    graph.grab().save(picture)
    application.quit()


Qt.QTimer.singleShot(1000 * int(seconds), take)
application.exec_()
graph.stop()
graph.wait()
os._exit(0)    # polling threads would access windows that no longer exist
PYTHON

# Save the terminal at the end of a command as SVG.
cat > "$home/terminal.py" <<'PYTHON'
import os
import sys

from gnuradio.mimopack.apps.cli import main
from gnuradio.mimopack.apps.wifi import view, watch
from rich.console import Console

picture, *arguments = sys.argv[1:]
options = {"width": 100, "height": 32, "force_terminal": True, "color_system": "truecolor",
           "file": open(os.devnull, "w")}


class Pictured(view.View):
    def close(self):
        console = Console(record=True, **options)
        console.print(self._picture(losses=True), height=self._height())
        console.save_svg(picture, title="mimopack wifi --view")
        super().close()


watch._is_terminal = lambda: True
view.Console = lambda **_: Console(**options)
view.View = Pictured
main(arguments, prog_name="mimopack")
PYTHON

screen() {
    xvfb-run -a -s "-screen 0 1800x940x24" "$python" "$@"
}
# Simulate traffic. It plays slower than real time, because displays also need processor time.
traffic() {
    export SOAPY_SDR_PLUGIN_PATH=$root/build/soapy/modules
    [ -e "$home/traffic.sigmf-data" ] ||
        "$python" examples/recordings/make_traffic.py "$home/traffic" --seconds 3
}
root=$PWD
case $python in /*) ;; *) python=$root/$python ;; esac
for one in $wanted; do
    case $one in
        companion)
            image=docs/images/detectors_companion.png
            screen "$home/companion.py" examples/detectors.grc $image
            ;;
        detectors)
            image=docs/images/detectors.png
            screen "$home/qt.py" examples/detectors.grc $image "$home" 20 1280x720 \
                nway_meter.codewords
            ;;
        detectors_recording)
            image=docs/images/detectors_recording.png
            screen "$home/qt.py" examples/detectors_recording.grc $image "$home" 20 1300x850 \
                nway_meter.frames "recording=$root/examples/recordings/wifi_4x4_ht.sigmf-meta"
            ;;
        detectors_live)
            image=docs/images/detectors_live.png
            traffic
            screen "$home/qt.py" examples/detectors_live.grc $image "$home" 20 1300x850 \
                nway_meter.frames "device=driver=mimopack,recording=$home/traffic,repeat=1,speed=0.1"
            ;;
        nr)
            image=docs/images/nr_loopback.png
            screen "$home/qt.py" examples/nr_loopback.grc $image "$home" 20 1300x700 \
                nway_decoder.blocks
            ;;
        ofdm)
            image=docs/images/own_ofdm_companion.png
            screen "$home/companion.py" examples/own_ofdm.grc $image
            ;;
        loopback)
            image=docs/images/wifi_loopback_companion.png
            screen "$home/companion.py" examples/wifi_loopback.grc $image
            ;;
        recording)
            image=docs/images/wifi_recording.png
            screen "$home/qt.py" examples/wifi_recording.grc $image "$home" 20 1750x900 \
                meter.frames "recording=$root/examples/recordings/wifi_4x4_ht.sigmf-meta"
            ;;
        live)
            image=docs/images/wifi_live_view.png
            traffic
            screen "$home/qt.py" examples/wifi_live_view.grc $image "$home" 40 1750x900 \
                meter.frames "device=driver=mimopack,recording=$home/traffic,repeat=1,speed=0.25"
            ;;
        terminal)
            image=docs/images/wifi_view.svg
            traffic
            (cd "$home" && "$python" "$home/terminal.py" "$root/$image" wifi --radio \
                driver=mimopack,recording=traffic,repeat=1,speed=0.5 --frequency 5.18e9 \
                --antennas 2 --threads 0 --duration 6 --view)
            ;;
        blocks)
            image=docs/images/blocks
            screen scripts/docs/block_pictures.py
            ;;
    esac
    echo "screenshots: $image"
done
