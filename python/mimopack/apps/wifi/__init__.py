# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``mimopack wifi``: decode the Wi-Fi frames of a recording or a radio."""

from .command import wifi_command

__all__ = ["wifi_command"]
