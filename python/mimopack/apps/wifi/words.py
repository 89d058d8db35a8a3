# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Describe frames in words, such as a frame's line on the terminal."""

import click

from ...text import plural
from ...wifi import mac

# Names of MAC frames by type and subtype: IEEE 802.11-2020, Table 9-1.
_MAC_FRAMES = {
    (0, 0): "Association Request", (0, 1): "Association Response", (0, 2): "Reassociation Request",
    (0, 3): "Reassociation Response", (0, 4): "Probe Request", (0, 5): "Probe Response",
    (0, 6): "Timing Advertisement", (0, 8): "Beacon", (0, 9): "ATIM", (0, 10): "Disassociation",
    (0, 11): "Authentication", (0, 12): "Deauthentication", (0, 13): "Action",
    (0, 14): "Action No Ack",
    (1, 4): "Beamforming Report Poll", (1, 5): "VHT NDP Announcement",
    (1, 6): "Control Frame Extension", (1, 7): "Control Wrapper", (1, 8): "Block Ack Request",
    (1, 9): "Block Ack", (1, 10): "PS-Poll", (1, 11): "RTS", (1, 12): "CTS", (1, 13): "Ack",
    (1, 14): "CF-End", (1, 15): "CF-End",
    (2, 0): "Data", (2, 4): "Null", (2, 8): "QoS Data", (2, 12): "QoS Null"}
_TYPES = ("Management", "Control", "Data", "Extension")
_WRONG_FCS, _NO_MPDU = "wrong frame check sequence", "no MPDU found in the A-MPDU"
_MISSING = "MPDUs missing in the A-MPDU: part of it was not received"


def duration(samples, sample_rate):
    """Return how long samples take, in ms or s."""
    seconds = samples / sample_rate
    return f"{seconds:.3f} s" if seconds >= 10 else f"{1e3 * seconds:.3f} ms"


def format_words(frame):
    """Return a frame's format in words."""
    f = frame.format
    if f is None:
        return "format unknown"
    if len(frame.users) > 1:
        return f"{f.name.upper().replace('-', ' ')} {f.bandwidth_mhz} MHz, {len(frame.users)} users"
    text = f.describe()
    if getattr(f, "bss_color", 0):
        text += f", BSS colour {f.bss_color}"
    if f.num_streams > 1 and "stream" not in text:
        text += f", {f.num_streams} streams"
    if frame.sample_rate_scale < 1:    # 802.11p: the same signal at a lower rate
        if f.name == "non-ht":
            text = f"non-HT {f.mcs * frame.sample_rate_scale:g} Mbit/s"
        text += f", {f.bandwidth_mhz * frame.sample_rate_scale:g} MHz channel"
    return text


def format_class(frame):
    """Return the row of the summary that a frame belongs to: format, MCS, streams, bandwidth."""
    f = frame.format
    if f is None:
        return "format unknown"
    width = f"{f.bandwidth_mhz * frame.sample_rate_scale:g} MHz"
    if f.name == "non-ht":
        return f"non-HT {f.mcs * frame.sample_rate_scale:g} Mbit/s, {width}"
    return f"{f.name.upper()} MCS {f.mcs}, {plural(f.num_streams, 'stream')}, {width}"


def is_sounding(frame):
    """Return whether a frame announces no payload (a null data packet)."""
    return not frame.problem and frame.format is not None and not frame.format.num_symbols


def loss(frame):
    """Return why payload of a frame was lost; "" if no payload was lost."""
    if frame.problem:
        return frame.problem
    if frame.complete or is_sounding(frame):
        return ""
    if frame.fcs_ok:
        return _MISSING
    return _WRONG_FCS if frame.mpdus else _NO_MPDU


def mpdu_words(mpdu):
    """Return an MPDU's type, addresses and sequence number."""
    header = mac.parse_header(mpdu.data)
    name = _MAC_FRAMES.get((header.type, header.subtype),
                           f"{_TYPES[header.type]} {header.subtype}")
    receiver, sender = [*header.addresses, "", ""][:2]
    text = f"{name} {sender + ' ' if sender else ''}> {receiver}" if receiver else name
    return text if header.sequence_number is None else f"{text} #{header.sequence_number}"


def _outcome(frame, style):
    """Return the result of decoding the payload; ``style(text, fg=colour)`` colours it."""
    if frame.problem:
        return style(frame.problem, fg="yellow")
    if is_sounding(frame):
        return style("sounding, without data", fg="cyan")
    if not frame.mpdus:
        return style(_NO_MPDU, fg="red")
    good = [mpdu for mpdu in frame.mpdus if mpdu.fcs_ok]
    share = f"{len(good)}/{len(frame.mpdus)} " if len(frame.mpdus) > 1 else ""
    if not good:
        return style(f"FCS {share}wrong", fg="red")
    more = f", {len(good) - 1} more" if len(good) > 1 else ""
    missing = ", others missing" if frame.fcs_ok and not frame.complete else ""
    return (style(f"FCS {share}ok{missing}", fg="green" if frame.complete else "yellow")
            + f"  {mpdu_words(good[0])}{more}")


def frame_line(frame, colours=True, condition=False):
    """Return a frame's line on a terminal that shows colours or not, and its condition number.

    A frame of several users has a further line for each user.
    """
    several = len(frame.users) > 1
    length = "" if frame.format is None or several else f"{frame.format.length} bytes"
    condition = f"condition {frame.condition_db:5.1f} dB  " if condition else ""
    outcome = _outcome(frame, click.style if colours else _plain)
    line = (f"{1e3 * frame.time:10.3f} ms  sample {frame.start:<9d} {format_words(frame):<33} "
            f"{length:>11}  SNR {frame.snr_db:5.1f} dB  {condition}"
            f"offset {frame.cfo_hz / 1e3:+7.2f} kHz  {outcome}")
    return "\n".join([line, *(_user_line(user, colours) for user in frame.users if several)])


def _user_line(user, colours):
    outcome = _outcome(user, click.style if colours else _plain)
    f = user.format
    if f.name == "vht-mu":
        name = f"user {f.user_position} of group {f.group_id}"
    else:
        name = f"station {f.sta_id}"
    return (f"{'':15}{name:<17} {format_words(user)} "
            f"{f.length:>6} bytes  {outcome}")


def _plain(text, fg):
    return text
