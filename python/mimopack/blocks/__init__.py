# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The GNU Radio blocks: thin adapters over the array interface."""

__all__ = []
