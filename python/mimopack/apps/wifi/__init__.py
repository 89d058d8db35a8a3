# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``mimopack wifi``: the Wi-Fi frames of a recording."""

from .command import wifi_command

__all__ = ["wifi_command"]
