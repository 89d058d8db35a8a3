# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``mimopack play``: compare detectors on the Wi-Fi frames of a recording."""

from .command import play, play_command

__all__ = ["play", "play_command"]
