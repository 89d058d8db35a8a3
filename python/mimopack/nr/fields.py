# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check the fields of configurations, as :mod:`checks` does; errors name the clause, too."""

import math

import numpy as np

from .. import checks

# Where 3GPP defines a field
_CLAUSES = {
    "n_cell_id": "TS 38.211 §7.4.2.1",
    "subcarrier_spacing_khz": "TS 38.211 table 4.2-1",
    "n_size_grid": "TS 38.211 §4.4.2",
    "n_start_grid": "TS 38.211 §4.4.2",
    "cyclic_prefix": "TS 38.211 table 4.2-1",
    "carrier_frequency_hz": "TS 38.211 §5.4",
    "n_size_bwp": "TS 38.211 §4.4.5",
    "n_start_bwp": "TS 38.211 §4.4.5",
    "prb_start": "TS 38.214 §5.1.2.2, §6.1.2.2",
    "num_prb": "TS 38.214 §5.1.2.2, §6.1.2.2",
    "prb_set": "TS 38.214 §5.1.2.2.1, §6.1.2.2.1",
    "mapping_type": "TS 38.211 §6.4.1.1.3, §7.4.1.1.2",
    "symbol_allocation": "TS 38.214 §5.1.2.1, §6.1.2.1",
    "num_layers": "TS 38.211 §6.3.1.3, §7.3.1.3",
    "n_rnti": "TS 38.211 §6.3.1.1, §7.3.1.1",
    "n_id": "TS 38.211 §6.3.1.1, §7.3.1.1",
    "dmrs_ports": "TS 38.211 §6.4.1.1.3, §7.4.1.1.2",
    "rv": "TS 38.212 §5.4.2.1",
    "second_rv": "TS 38.212 §5.4.2.1",
    "lbrm": "TS 38.212 §5.4.2.1",
    "max_layers": "TS 38.212 §5.4.2.1",
    "xoh": "TS 38.214 §5.1.3.2, §6.1.4.2",
    "transmission_scheme": "TS 38.214 §6.1.1",
    "num_antenna_ports": "TS 38.211 §6.3.1.5",
    "tpmi": "TS 38.211 §6.3.1.5",
    "transform_precoding": "TS 38.211 §6.3.1.4",
    "tp_pi2bpsk": "TS 38.214 §6.1.4.1",
    "vrb_to_prb_bundle": "TS 38.211 §7.3.1.6",
    "dmrs.config_type": "TS 38.211 §6.4.1.1.3, §7.4.1.1.2",
    "dmrs.type_a_position": "TS 38.211 §6.4.1.1.3, §7.4.1.1.2",
    "dmrs.additional_position": "TS 38.211 §6.4.1.1.3, §7.4.1.1.2",
    "dmrs.length": "TS 38.211 §6.4.1.1.3, §7.4.1.1.2",
    "dmrs.num_cdm_groups_without_data": "TS 38.214 §5.1.6.2, §6.2.2",
    "dmrs.n_id": "TS 38.211 §6.4.1.1.1, §7.4.1.1.1",
    "dmrs.n_scid": "TS 38.211 §6.4.1.1.1, §7.4.1.1.1",
    "dmrs.group_hopping": "TS 38.211 §6.4.1.1.1.2",
    "dmrs.sequence_hopping": "TS 38.211 §6.4.1.1.1.2",
    "dmrs.uplink_transform_precoding": "TS 38.211 §6.4.1.1.1.2",
    "ptrs.time_density": "TS 38.214 §5.1.6.3, §6.2.3.1",
    "ptrs.frequency_density": "TS 38.214 §5.1.6.3, §6.2.3.1",
    "ptrs.resource_element_offset": "TS 38.211 §6.4.1.2.2.1, §7.4.1.2.2",
    "ptrs.epre_ratio_db": "TS 38.214 §4.1, §6.2.3.1",
    "ptrs.samples_per_group": "TS 38.211 §6.4.1.2.2.2",
    "ptrs.num_groups": "TS 38.211 §6.4.1.2.2.2",
    "mcs.table": "TS 38.214 §5.1.3.1, §6.1.4.1",
    "mcs.index": "TS 38.214 §5.1.3.1, §6.1.4.1",
    "mcs.modulation_order": "TS 38.214 §5.1.3.1, §6.1.4.1",
    "mcs.target_coderate_x1024": "TS 38.214 §5.1.3.1, §6.1.4.1"}


def _checked(check, name, *arguments):
    try:
        return check(name, *arguments)
    except ValueError as error:
        raise ValueError(f"{error} ({_CLAUSES[name]})") from None


def integer(name, value, low, high):
    """Check for an integer in low..high."""
    return _checked(checks.integer, name, value, low, high)


def number(name, value):
    """Check for a real, finite number; return a float."""
    value = _checked(checks.number, name, value)
    if not math.isfinite(value):
        raise ValueError(f"{name}: got {value}, must be finite ({_CLAUSES[name]})")
    return value


def choice(name, value, allowed):
    """Check for one of the allowed values."""
    return _checked(checks.choice, name, value, allowed)


def flag(name, value):
    """Check for True or False."""
    return _checked(checks.flag, name, value)


def several(name, values, count=None):
    """Check for a sequence of so many values, None for any number; return a tuple."""
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if not isinstance(values, (list, tuple, range)) or count not in (None, len(values)):
        number = "" if count is None else f"{count} "
        raise ValueError(f"{name}: got {checks.shown(values)}, must be a list of {number}integers "
                         f"({_CLAUSES[name]})")
    return tuple(values)
