# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of a configuration: carrier, reference signals, modulation and code rate."""

from dataclasses import dataclass

from .fields import choice, flag, integer, number, several
from .mcs import mcs_entry

SUBCARRIERS_PER_PRB = 12
MODULATIONS = {1: "bpsk", 2: "qpsk", 4: "qam16", 6: "qam64", 8: "qam256"}
LARGEST_GRID = 275    # PRBs: TS 38.211 §4.4.2


@dataclass(frozen=True, kw_only=True)
class Carrier:
    """A carrier: its subcarrier spacing and resource grid, TS 38.211 §4.2 to §4.4.

    Args:
        n_cell_id: N_ID^cell, 0 to 1007.
        subcarrier_spacing_khz: 15, 30, 60 or 120.
        n_size_grid: N_grid^size, number of PRBs in the grid, 1 to 275.
        n_start_grid: N_grid^start, the first common resource block (CRB) of the grid, 0 to 2199.
        cyclic_prefix: "normal", or "extended" with 60 kHz.
        carrier_frequency_hz: f_0, for the phase of each OFDM symbol after up-conversion
            (§5.4). None leaves the phases as they are in the grid.
    """

    n_cell_id: int = 0
    subcarrier_spacing_khz: int = 30
    n_size_grid: int = 51
    n_start_grid: int = 0
    cyclic_prefix: str = "normal"
    carrier_frequency_hz: float | None = None

    def __post_init__(self):
        integer("n_cell_id", self.n_cell_id, 0, 1007)
        choice("subcarrier_spacing_khz", self.subcarrier_spacing_khz, (15, 30, 60, 120))
        integer("n_size_grid", self.n_size_grid, 1, LARGEST_GRID)
        integer("n_start_grid", self.n_start_grid, 0, 2199)
        choice("cyclic_prefix", self.cyclic_prefix, ("normal", "extended"))
        if self.cyclic_prefix == "extended" and self.subcarrier_spacing_khz != 60:
            raise ValueError("cyclic_prefix: got extended with subcarrier_spacing_khz = "
                             f"{self.subcarrier_spacing_khz}, must be normal unless it is 60 "
                             "(TS 38.211 table 4.2-1)")
        if self.carrier_frequency_hz is not None:
            number("carrier_frequency_hz", self.carrier_frequency_hz)

    @property
    def mu(self):
        """The subcarrier spacing configuration: 0 for 15 kHz, 1 for 30 kHz, ..."""
        return (self.subcarrier_spacing_khz // 15).bit_length() - 1

    @property
    def symbols_per_slot(self):
        """N_symb^slot, number of OFDM symbols in a slot: 14, or 12 with extended prefix."""
        return 14 if self.cyclic_prefix == "normal" else 12

    @property
    def slots_per_frame(self):
        """Number of slots in a frame of 10 ms."""
        return 10 << self.mu

    @property
    def num_subcarriers(self):
        """Number of subcarriers in the grid."""
        return SUBCARRIERS_PER_PRB * self.n_size_grid

    def c_init(self, slot, symbol, identity, n_scid=0):
        """Return c_init of the reference signals in a symbol: TS 38.211 §6.4.1.1.1.1."""
        count = self.symbols_per_slot * slot + symbol + 1
        return (2**17 * count * (2 * identity + 1) + 2 * identity + n_scid) % 2**31


@dataclass(frozen=True, kw_only=True)
class Dmrs:
    """Demodulation reference signals: TS 38.211 §6.4.1.1 (PUSCH) and §7.4.1.1 (PDSCH).

    Args:
        config_type: 1 (every other subcarrier) or 2 (two of six subcarriers).
        type_a_position: symbol of the first DMRS with mapping type A, 2 or 3.
        additional_position: the largest number of further DMRS positions, 0 to 3. The allocated
            symbols may allow fewer.
        length: number of symbols at each position, 1 or 2.
        num_cdm_groups_without_data: number of CDM groups that carry no data in DMRS symbols, 1 to
            2 with type 1, 1 to 3 with type 2.
        n_id: the pair of scrambling identities (scramblingID0, scramblingID1), 0 to 65535; None
            for n_cell_id. With transform precoding, the first is n_ID^RS; with the sequences of
            uplink_transform_precoding, they are pi2BPSK-ScramblingID0 and 1.
        n_scid: the identity that is used, 0 or 1.
        group_hopping, sequence_hopping: whether the sequence's group, or its base sequence in the
            group, changes from symbol to symbol. With transform precoding only, and not both
            (§6.4.1.1.1.2).
        uplink_transform_precoding: dmrs-UplinkTransformPrecoding: whether the DMRS of pi/2-BPSK are
            low-PAPR sequences of type 2 (§5.2.3), with 5 PRBs or more.
    """

    config_type: int = 1
    type_a_position: int = 2
    additional_position: int = 0
    length: int = 1
    num_cdm_groups_without_data: int = 2
    n_id: tuple | None = None
    n_scid: int = 0
    group_hopping: bool = False
    sequence_hopping: bool = False
    uplink_transform_precoding: bool = False

    def __post_init__(self):
        choice("dmrs.config_type", self.config_type, (1, 2))
        choice("dmrs.type_a_position", self.type_a_position, (2, 3))
        integer("dmrs.additional_position", self.additional_position, 0, 3)
        choice("dmrs.length", self.length, (1, 2))
        if self.length == 2 and self.additional_position > 1:
            raise ValueError(f"dmrs.additional_position: got {self.additional_position}, allowed "
                             "with dmrs.length = 2 are 0 and 1 (TS 38.211 table 6.4.1.1.3-4)")
        integer("dmrs.num_cdm_groups_without_data", self.num_cdm_groups_without_data, 1,
                self.config_type + 1)
        if self.n_id is not None:
            object.__setattr__(self, "n_id", tuple(
                integer("dmrs.n_id", identity, 0, 65535)
                for identity in several("dmrs.n_id", self.n_id, 2)))
        choice("dmrs.n_scid", self.n_scid, (0, 1))
        flag("dmrs.group_hopping", self.group_hopping)
        flag("dmrs.sequence_hopping", self.sequence_hopping)
        flag("dmrs.uplink_transform_precoding", self.uplink_transform_precoding)
        if self.group_hopping and self.sequence_hopping:
            raise ValueError("dmrs.sequence_hopping: got True, must be False with group hopping "
                             "(TS 38.211 §6.4.1.1.1.2)")

    @property
    def ports(self):
        """The ports in CDM groups that carry no data, in ascending order."""
        groups = self.config_type + 1
        return tuple(port for port in range(2 * groups * self.length)
                     if port // 2 % groups < self.num_cdm_groups_without_data)

    @property
    def beta(self):
        """Amplitude of the DMRS relative to data: TS 38.214 tables 4.1-1 and 6.2.2-1."""
        return self.num_cdm_groups_without_data ** 0.5


@dataclass(frozen=True, kw_only=True)
class Ptrs:
    """Phase-tracking reference signals: TS 38.211 §6.4.1.2, §7.4.1.2.

    Args:
        time_density: L_PT-RS, 1, 2 or 4: a signal in each, in every second or in every fourth
            symbol; 1 or 2 with transform precoding.
        frequency_density: K_PT-RS, 2 or 4: a subcarrier in every second or every fourth PRB.
        resource_element_offset: "00", "01", "10" or "11", table 6.4.1.2.2.1-1.
        port: the DMRS port that the signal belongs to; None for the first port.
        epre_ratio_db: power relative to the data on one layer, in dB: TS 38.214 §4.1 and §6.2.3.1.
        samples_per_group, num_groups: N_samp^group, 2 or 4, and N_group^PT-RS, 2 or 4, or 8 groups
            of 4, with transform precoding. The signals are then samples of the symbols before
            precoding, and the three arguments before these do not count.
    """

    time_density: int = 1
    frequency_density: int = 2
    resource_element_offset: str = "00"
    port: int | None = None
    epre_ratio_db: float = 0.0
    samples_per_group: int = 2
    num_groups: int = 2

    def __post_init__(self):
        choice("ptrs.time_density", self.time_density, (1, 2, 4))
        choice("ptrs.frequency_density", self.frequency_density, (2, 4))
        choice("ptrs.resource_element_offset", self.resource_element_offset,
               ("00", "01", "10", "11"))
        number("ptrs.epre_ratio_db", self.epre_ratio_db)
        choice("ptrs.samples_per_group", self.samples_per_group, (2, 4))
        choice("ptrs.num_groups", self.num_groups, (2, 4, 8)[:self.samples_per_group // 2 + 1])

    def samples(self, num_subcarriers):
        """Return the places of PT-RS among the values that transform precoding spreads.

        See TS 38.211 table 6.4.1.2.2.2-1.

        Args:
            num_subcarriers: M_sc, number of allocated subcarriers.

        Returns:
            list of integers, group by group.
        """
        size, groups = num_subcarriers, self.num_groups
        if self.samples_per_group == 2:
            firsts = [s * size // (2 * groups) - 1 for s in range(1, 2 * groups, 2)]
        else:
            inner = [s * size // groups + size // (2 * groups) - 2 for s in range(1, groups - 1)]
            firsts = [0, *inner, size - 4]
        return [first + k for first in firsts for k in range(self.samples_per_group)]


@dataclass(frozen=True, kw_only=True)
class Mcs:
    """Modulation and code rate: an index into a table, or both numbers.

    Args:
        table: 1 (qam64), 2 (qam256) or 3 (qam64LowSE): TS 38.214 §5.1.3.1 and §6.1.4.1.
        index: I_MCS; None if the two numbers are given.
        modulation_order: Q_m, 2, 4, 6 or 8 bits per symbol; 1 is pi/2-BPSK, with transform
            precoding.
        target_coderate_x1024: R x 1024.
    """

    table: int = 1
    index: int | None = None
    modulation_order: int | None = None
    target_coderate_x1024: float | None = None

    def __post_init__(self):
        choice("mcs.table", self.table, (1, 2, 3))
        if self.index is None:
            choice("mcs.modulation_order", self.modulation_order, tuple(MODULATIONS))
            rate = number("mcs.target_coderate_x1024", self.target_coderate_x1024)
            if not 0 < rate < 1024:
                raise ValueError(f"mcs.target_coderate_x1024: got {rate}, must be more than 0 and "
                                 "less than 1024 (TS 38.214 §5.1.3.1)")

    def resolved(self, transform_precoding=False, pi2bpsk=False):
        """Return (Q_m, R * 1024). The arguments are those of ``mcs_entry``.

        Raises:
            ValueError: the table does not have the index, or contradicts the two numbers.
        """
        given = self.modulation_order, self.target_coderate_x1024
        if self.index is None:
            if self.modulation_order == 1 and not transform_precoding:
                raise ValueError("mcs.modulation_order: got 1, must be more without transform "
                                 "precoding (TS 38.211 §6.3.1.2)")
            return given
        entry = mcs_entry(self.table, self.index, transform_precoding, pi2bpsk)
        if given != (None, None) and given != entry:
            raise ValueError(f"mcs.index: got {self.index} with modulation_order = {given[0]} and "
                             f"target_coderate_x1024 = {given[1]}, table {self.table} has "
                             f"{entry[0]} and {entry[1]} (TS 38.214 §5.1.3.1, §6.1.4.1)")
        return entry
