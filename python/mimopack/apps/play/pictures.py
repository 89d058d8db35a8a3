# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw the pictures of ``mimopack play``.

They show the share of frames that each detector decodes, and one frame's constellation and channel.
Streams and antennas are counted from 0.
"""

from ..style import STYLE, plt, save
from ..wifi.pictures import channel_figure, constellation_figure


def draw(rows, frame, folder):
    """Draw summaries of ``Tally`` and a ``wifi.ReceivedFrame``, if there is one, into a folder.

    Yield the path of each picture.
    """
    with plt.rc_context(STYLE):
        yield save(_decoded(rows), folder / "detectors.png", follow=False)
        if frame is not None:
            yield save(constellation_figure(frame), folder / "constellation.png", follow=False)
            yield save(channel_figure(frame), folder / "channel.png", follow=False)


def _decoded(rows):
    """Draw the share of frames that each detector decodes, over SNR if annotations give it."""
    figure, axis = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    axis.set(ylabel="frames decoded, %", ylim=(-3, 103))
    if any(row["decoded_by_snr"] for row in rows):
        for row in rows:
            levels = [level for level in row["decoded_by_snr"] or [] if level["sent"]]
            axis.plot([level["snr_db"] for level in levels],
                      [100 * level["decoded"] / level["sent"] for level in levels], "o-",
                      label=row["detector"] + " (incomplete)" * (not row["complete"]))
        axis.set(xlabel="SNR per receive antenna, dB")
        axis.legend()
    else:
        shares = [0.0 if row["packet_error_rate"] is None else 100 * (1 - row["packet_error_rate"])
                  for row in rows]
        axis.bar([row["detector"] for row in rows], shares)
        axis.set(xlabel="detector")
    axis.set_title(f"Frames decoded of the frames {rows[0]['packet_error_rate_of']}")
    return figure
