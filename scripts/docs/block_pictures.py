#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw each block as GNU Radio Companion does, into docs/images/blocks/.

Companion draws the blocks itself, and needs a screen for it: run scripts/screenshots.sh blocks.
"""

import cairo
import gi
from pages import PICTURE_OF, PICTURES, appearance, block_files
from PIL import Image
from PIL.PngImagePlugin import PngInfo

gi.require_version("Gtk", "3.0")
gi.require_version("PangoCairo", "1.0")
from gi.repository import Gio, Gtk  # noqa: E402
from gnuradio import gr  # noqa: E402
from gnuradio.grc.core import Constants  # noqa: E402
from gnuradio.grc.gui.canvas import flowgraph  # noqa: E402
from gnuradio.grc.gui.Platform import Platform  # noqa: E402

SCALE = 2    # pixels per unit of Companion, for screens with small pixels
MARGIN = 8
APPLICATION = Gtk.Application()    # GLib keeps no reference to the default application


def companion():
    """Return Companion's platform, with all blocks that it finds, and no window."""
    Gio.Application.set_default(APPLICATION)
    flowgraph._ContextMenu = lambda window: None
    flowgraph.Actions.TOGGLE_AUTO_HIDE_PORT_LABELS.set_active(False)
    flowgraph.Actions.TOGGLE_SHOW_BLOCK_IDS.set_active(False)
    platform = Platform(
        version=gr.version(), prefs=gr.prefs(), install_prefix=gr.prefix(),
        version_parts=(gr.major_version(), gr.api_version(), gr.minor_version()))
    platform.build_library()
    return platform


def made(platform, name):
    """Return a block with its default parameters, alone in a flowgraph."""
    graph = platform.make_flow_graph(Constants.DEFAULT_FLOW_GRAPH)
    graph.get_block("samp_rate").params["value"].set_value("20e6")
    block = graph.new_block(f"mimopack_{name}")
    block.params["id"].set_value(name)
    graph.rewrite()
    graph.validate()
    wrong = [message for parameter in block.params.values()
             for message in parameter.get_error_messages()]
    if wrong:
        raise ValueError(f"{name}: Companion refuses the default parameters: {wrong}")
    block.is_valid = lambda: True    # ports without connections would make the title red
    return block


def draw(block):
    """Return the picture of a block."""
    block.create_labels()
    block.create_shapes()
    left, top, right, bottom = block.get_extents()
    width, height = (round(SCALE * (size + 2 * MARGIN)) for size in (right - left, bottom - top))
    surface = cairo.ImageSurface(cairo.FORMAT_RGB24, width, height)
    context = cairo.Context(surface)
    context.set_source_rgb(1, 1, 1)
    context.paint()
    context.scale(SCALE, SCALE)
    context.translate(MARGIN - left, MARGIN - top)
    block.draw(context)
    return Image.frombytes("RGB", (width, height), bytes(surface.get_data()), "raw", "BGRX",
                           surface.get_stride())


def main():
    platform, blocks = companion(), block_files()
    PICTURES.mkdir(exist_ok=True)
    for path in PICTURES.glob("*.png"):
        if path.stem not in blocks:
            path.unlink()
    for name, description in blocks.items():
        facts = PngInfo()
        facts.add_text(PICTURE_OF, appearance(description))
        draw(made(platform, name)).quantize(64).save(
            PICTURES / f"{name}.png", optimize=True, pnginfo=facts)


if __name__ == "__main__":
    main()
