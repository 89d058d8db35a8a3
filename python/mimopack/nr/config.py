# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configurations of the 5G NR shared channels, with 3GPP's names and in JSON.

A configuration describes the transmission of one user (UE). It does not contain the slot number:
functions whose result depends on the slot take it as an argument.
"""

from dataclasses import asdict, dataclass, fields

from ..checks import choice, flag, integer, number
from .mcs import mcs_entry

SUBCARRIERS_PER_PRB = 12
MODULATIONS = {2: "qpsk", 4: "qam16", 6: "qam64", 8: "qam256"}
LARGEST_GRID = 275    # PRBs: TS 38.211 §4.4.2
REDUNDANCY_VERSIONS = (0, 1, 2, 3)


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
            for n_cell_id. With transform precoding, the first is n_ID^RS.
        n_scid: the identity that is used, 0 or 1.
        group_hopping, sequence_hopping: whether the sequence's group, or its base sequence in the
            group, changes from symbol to symbol. With transform precoding only, and not both
            (§6.4.1.1.1.2).
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
            if len(self.n_id) != 2:
                raise ValueError(f"dmrs.n_id: got {len(self.n_id)} numbers, must be two, "
                                 "scramblingID0 and scramblingID1 (TS 38.211 §6.4.1.1.1.1)")
            object.__setattr__(self, "n_id", tuple(
                integer("dmrs.n_id", identity, 0, 65535) for identity in self.n_id))
        choice("dmrs.n_scid", self.n_scid, (0, 1))
        if (flag("dmrs.group_hopping", self.group_hopping)
                and flag("dmrs.sequence_hopping", self.sequence_hopping)):
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
    """Phase-tracking reference signals without transform precoding: TS 38.211 §6.4.1.2, §7.4.1.2.

    Args:
        time_density: L_PT-RS, 1, 2 or 4: a signal in each, in every second or in every fourth
            symbol.
        frequency_density: K_PT-RS, 2 or 4: a subcarrier in every second or every fourth PRB.
        resource_element_offset: "00", "01", "10" or "11", table 6.4.1.2.2.1-1.
        port: the DMRS port that the signal belongs to; None for the first port.
        epre_ratio_db: power relative to the data on one layer, in dB: TS 38.214 §4.1 and §6.2.3.1.
    """

    time_density: int = 1
    frequency_density: int = 2
    resource_element_offset: str = "00"
    port: int | None = None
    epre_ratio_db: float = 0.0

    def __post_init__(self):
        choice("ptrs.time_density", self.time_density, (1, 2, 4))
        choice("ptrs.frequency_density", self.frequency_density, (2, 4))
        choice("ptrs.resource_element_offset", self.resource_element_offset,
               ("00", "01", "10", "11"))
        number("ptrs.epre_ratio_db", self.epre_ratio_db)


@dataclass(frozen=True, kw_only=True)
class Mcs:
    """Modulation and code rate: an index into a table, or both numbers.

    Args:
        table: 1 (qam64), 2 (qam256) or 3 (qam64LowSE): TS 38.214 §5.1.3.1 and §6.1.4.1.
        index: I_MCS; None if the two numbers are given.
        modulation_order: Q_m, 2, 4, 6 or 8 bits per symbol.
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

    def resolved(self, transform_precoding=False):
        """Return (Q_m, R * 1024).

        Raises:
            ValueError: the table does not have the index, or contradicts the two numbers.
        """
        given = self.modulation_order, self.target_coderate_x1024
        if self.index is None:
            return given
        entry = mcs_entry(self.table, self.index, transform_precoding)
        if given != (None, None) and given != entry:
            raise ValueError(f"mcs.index: got {self.index} with modulation_order = {given[0]} and "
                             f"target_coderate_x1024 = {given[1]}, table {self.table} has "
                             f"{entry[0]} and {entry[1]}")
        return entry


@dataclass(frozen=True, kw_only=True)
class SharedChannelConfig:
    """What the configurations of PUSCH and PDSCH have in common.

    Args:
        carrier: :class:`Carrier`.
        n_size_bwp, n_start_bwp: N_BWP^size and N_BWP^start of the bandwidth part; the start is
            counted from CRB 0. None for the carrier's grid.
        prb_start: first allocated PRB of the bandwidth part.
        num_prb: number of allocated PRBs; None for all PRBs from prb_start on.
        mapping_type: "A" or "B": TS 38.211 §6.4.1.1.3, §7.4.1.1.2.
        symbol_allocation: (S, L), the first allocated symbol of the slot and the number of symbols.
        num_layers: number of layers.
        n_rnti: n_RNTI, 0 to 65535.
        n_id: n_ID of the data scrambler, 0 to 1023; None for n_cell_id.
        dmrs: :class:`Dmrs`.
        dmrs_ports: the DMRS port of each layer, from 0 (which is 1000 for PDSCH); None for
            0, 1, ...
        ptrs: :class:`Ptrs`, or None.
        xoh: N_oh^PRB, overhead in resource elements per PRB, 0, 6, 12 or 18: TS 38.214 §5.1.3.2.
        max_layers: maxMIMO-Layers, which limited buffer rate matching counts with: TS 38.212
            §5.4.2.1.
    """

    carrier: Carrier = Carrier()
    n_size_bwp: int | None = None
    n_start_bwp: int | None = None
    prb_start: int = 0
    num_prb: int | None = None
    mapping_type: str = "A"
    symbol_allocation: tuple = (0, 14)
    num_layers: int = 1
    n_rnti: int = 1
    n_id: int | None = None
    dmrs: Dmrs = Dmrs()
    dmrs_ports: tuple | None = None
    ptrs: Ptrs | None = None
    xoh: int = 0
    max_layers: int = 4

    def _check_common(self, most_layers):
        """Check the fields of this class and replace None by the value that it stands for."""
        grid = self.carrier
        for name, standard in (("n_size_bwp", grid.n_size_grid), ("n_start_bwp", grid.n_start_grid),
                               ("n_id", grid.n_cell_id)):
            if getattr(self, name) is None:
                object.__setattr__(self, name, standard)
        integer("n_start_bwp", self.n_start_bwp, grid.n_start_grid,
                grid.n_start_grid + grid.n_size_grid - 1)
        integer("n_size_bwp", self.n_size_bwp, 1,
                grid.n_start_grid + grid.n_size_grid - self.n_start_bwp)
        integer("prb_start", self.prb_start, 0, self.n_size_bwp - 1)
        if self.num_prb is None:
            object.__setattr__(self, "num_prb", self.n_size_bwp - self.prb_start)
        integer("num_prb", self.num_prb, 1, self.n_size_bwp - self.prb_start)
        choice("mapping_type", self.mapping_type, ("A", "B"))
        first, count = (integer("symbol_allocation", value, 0, 14)
                        for value in self.symbol_allocation)
        object.__setattr__(self, "symbol_allocation", (first, count))
        if not 0 < count <= grid.symbols_per_slot - first:
            raise ValueError(f"symbol_allocation: got ({first}, {count}), must end within the "
                             f"slot's {grid.symbols_per_slot} symbols (TS 38.214 §5.1.2.1, "
                             "§6.1.2.1)")
        integer("num_layers", self.num_layers, 1, most_layers)
        integer("n_rnti", self.n_rnti, 0, 65535)
        integer("n_id", self.n_id, 0, 1023)
        choice("xoh", self.xoh, (0, 6, 12, 18))
        integer("max_layers", self.max_layers, 1, 8)
        ports = range(self.num_layers) if self.dmrs_ports is None else self.dmrs_ports
        object.__setattr__(self, "dmrs_ports", tuple(ports))
        if len(self.dmrs_ports) != self.num_layers or len(set(self.dmrs_ports)) != self.num_layers:
            raise ValueError(f"dmrs_ports: got {self.dmrs_ports}, must be {self.num_layers} "
                             "different ports, one for each layer")
        for port in self.dmrs_ports:
            if port not in self.dmrs.ports:
                raise ValueError(f"dmrs_ports: got {port}, allowed with this DMRS are "
                                 f"{', '.join(map(str, self.dmrs.ports))} (TS 38.211 tables "
                                 "6.4.1.1.3-1 and 6.4.1.1.3-2, §6.4.1.1.3)")
        if self.ptrs is not None:
            if self.ptrs.port not in (None, *self.dmrs_ports):
                raise ValueError(f"ptrs.port: got {self.ptrs.port}, allowed are the DMRS ports of "
                                 "this transmission (TS 38.211 §6.4.1.2.2.1)")
            if self.dmrs.length == 2 and max(self.dmrs_ports) >= 2 * (self.dmrs.config_type + 1):
                raise ValueError("ptrs: got signals with DMRS ports of double symbols only, must "
                                 "be None (TS 38.214 §5.1.6.3, §6.2.3)")

    @property
    def first_crb(self):
        """The common resource block of the first allocated PRB."""
        return self.n_start_bwp + self.prb_start

    @property
    def first_subcarrier(self):
        """The grid's subcarrier on which the allocation begins."""
        return SUBCARRIERS_PER_PRB * (self.first_crb - self.carrier.n_start_grid)

    @property
    def num_subcarriers(self):
        """Number of allocated subcarriers."""
        return SUBCARRIERS_PER_PRB * self.num_prb

    @property
    def dmrs_n_id(self):
        """N_ID^n_SCID of the DMRS sequence."""
        return self.carrier.n_cell_id if self.dmrs.n_id is None else self.dmrs.n_id[
            self.dmrs.n_scid]


@dataclass(frozen=True, kw_only=True)
class PuschConfig(SharedChannelConfig):
    """A physical uplink shared channel (PUSCH) of one user: TS 38.211 §6.3.1.

        config = PuschConfig(carrier=Carrier(n_size_grid=51), num_layers=2, mcs=Mcs(index=15))

    Args:
        mcs: :class:`Mcs`.
        rv: redundancy version, 0 to 3.
        lbrm: whether limited buffer rate matching is configured (TS 38.212 §5.4.2.1).
        num_antenna_ports: 1, 2 or 4 with codebook; num_layers without. None for the smallest
            number.
        transmission_scheme: "codebook" or "non-codebook".
        tpmi: index of the precoding matrix, tables 6.3.1.5-1 to 6.3.1.5-7; with codebook only.
        transform_precoding: whether one layer is sent as DFT-s-OFDM, with DMRS of low peak power.

    The other arguments are those of :class:`SharedChannelConfig`; num_layers is 1 to 4.

    Raises:
        ValueError: a field is wrong; the error names the field, and the clause that forbids it.
    """

    mcs: Mcs = Mcs(index=9)
    rv: int = 0
    lbrm: bool = False
    num_antenna_ports: int | None = None
    transmission_scheme: str = "non-codebook"
    tpmi: int | None = None
    transform_precoding: bool = False

    def __post_init__(self):
        self._check_common(most_layers=4)
        choice("rv", self.rv, REDUNDANCY_VERSIONS)
        flag("lbrm", self.lbrm)
        flag("transform_precoding", self.transform_precoding)
        self._check_precoding()
        self._check_symbols()
        if self.transform_precoding:
            self._check_transform_precoding()
        elif self.dmrs.group_hopping or self.dmrs.sequence_hopping:
            raise ValueError("dmrs.group_hopping, dmrs.sequence_hopping: got True, must be False "
                             "without transform precoding (TS 38.211 §6.4.1.1.1.1)")
        self.mcs.resolved(self.transform_precoding)

    def _check_precoding(self):
        choice("transmission_scheme", self.transmission_scheme, ("codebook", "non-codebook"))
        codebook = self.transmission_scheme == "codebook"
        allowed = ([ports for ports in (1, 2, 4) if ports >= self.num_layers] if codebook
                   else [self.num_layers])
        if self.num_antenna_ports is None:
            object.__setattr__(self, "num_antenna_ports", allowed[0])
        choice("num_antenna_ports", self.num_antenna_ports, allowed)
        if not codebook or self.num_antenna_ports == 1:
            if self.tpmi not in (None, 0):
                raise ValueError(f"tpmi: got {self.tpmi}, must be None without codebook or with "
                                 "one antenna port (TS 38.211 §6.3.1.5)")
            return
        most = {(1, 2): 5, (1, 4): 27, (2, 2): 2, (2, 4): 21, (3, 4): 6, (4, 4): 4}[
            self.num_layers, self.num_antenna_ports]
        integer("tpmi", self.tpmi, 0, most)

    def _check_symbols(self):
        first, count = self.symbol_allocation
        if self.mapping_type == "A":
            if first != 0 or count < 4:
                raise ValueError(f"symbol_allocation: got ({first}, {count}), must begin with "
                                 "symbol 0 and have at least 4 symbols with mapping type A "
                                 "(TS 38.214 table 6.1.2.1-1)")
            _check_type_a(self.dmrs, count)
        elif self.dmrs.length == 2 and count < 5:
            raise ValueError(f"symbol_allocation: got {count} symbols, must be at least 5 with "
                             "dmrs.length = 2 and mapping type B (TS 38.211 table 6.4.1.1.3-4)")

    def _check_transform_precoding(self):
        if self.num_layers != 1:
            raise ValueError(f"num_layers: got {self.num_layers}, must be 1 with transform "
                             "precoding (TS 38.214 §6.1.1)")
        rest = self.num_prb
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest > 1:
            raise ValueError(f"num_prb: got {self.num_prb}, must have no prime factors but 2, 3 "
                             "and 5 with transform precoding (TS 38.211 §6.3.1.4)")
        dmrs = self.dmrs.config_type, self.dmrs.num_cdm_groups_without_data
        if dmrs != (1, 2):
            raise ValueError("dmrs.config_type, dmrs.num_cdm_groups_without_data: got "
                             f"{dmrs[0]} and {dmrs[1]}, must be 1 and 2 with transform precoding "
                             "(TS 38.211 §6.4.1.1.3, TS 38.214 §6.2.2)")
        if self.ptrs is not None:
            raise ValueError("ptrs: got signals, must be None with transform precoding, whose "
                             "signals (TS 38.211 §6.4.1.2.2.2) are not implemented")

    @property
    def modulation_order(self):
        """Q_m, number of bits per symbol."""
        return self.mcs.resolved(self.transform_precoding)[0]

    @property
    def target_coderate(self):
        """R, the code rate of the modulation and coding scheme."""
        return self.mcs.resolved(self.transform_precoding)[1] / 1024

    @property
    def constellation(self):
        """Name of the constellation, as ``constellation.get`` takes it."""
        return MODULATIONS[self.modulation_order]

    @classmethod
    def from_json(cls, data, user=0):
        """Make the configuration of a user from a dictionary; see :func:`load_users`."""
        return load_users(data)[user]

    def to_json(self):
        """Return the dictionary from which :meth:`from_json` makes this configuration."""
        return _to_json(self, "pusch")


def _check_type_a(dmrs, symbols):
    """Check what TS 38.211 §6.4.1.1.3 and §7.4.1.1.2 say of mapping type A."""
    if dmrs.type_a_position == 3 and dmrs.additional_position == 3:
        raise ValueError("dmrs.additional_position: got 3, must be less with dmrs.type_a_position "
                         "= 3 (TS 38.211 §6.4.1.1.3)")
    if dmrs.type_a_position + dmrs.length > symbols:
        raise ValueError(f"symbol_allocation: got {symbols} symbols, must contain the first DMRS "
                         "(TS 38.211 §6.4.1.1.3)")


# Where the JSON form has the fields that are not in a part of their own.
_BWP = ("n_size_bwp", "n_start_bwp")
_USER = ("n_rnti", "n_id", "dmrs_ports")
_PARTS = {"carrier": Carrier, "dmrs": Dmrs, "ptrs": Ptrs, "mcs": Mcs}


def load_users(data):
    """Make the configurations of all users of a PUSCH from a dictionary, as JSON has it.

    Keys are ``carrier``, ``bwp``, ``pusch``, ``dmrs``, ``mcs``, ``ptrs`` (each a dictionary with
    fields of the classes of these names) and ``users``: a list with the ``n_rnti``, ``n_id`` and
    ``dmrs_ports`` of each user. An entry may also have ``pusch``, ``dmrs``, ``mcs`` and ``ptrs``,
    whose keys replace the common ones for this user. All other keys are ignored, so that a file
    can also hold what is known about a recording.

    Args:
        data: the dictionary.

    Returns:
        list of :class:`PuschConfig`.

    Raises:
        ValueError: a field is wrong; see :class:`PuschConfig`.
    """
    return [_from_json(PuschConfig, "pusch", data, user) for user in data.get("users", [{}])]


def _from_json(config_class, channel, data, user):
    """Make a configuration from a dictionary and the entry of one user."""
    merged = {key: {**(data.get(key) or {}), **(user.get(key) or {})}
              for key in (*_PARTS, "bwp", channel)}
    settings = {**merged[channel], **merged["bwp"],
                **{key: user[key] for key in _USER if key in user}}
    hopping = settings.get("frequency_hopping", "neither")
    choice("frequency_hopping", hopping, ("neither",))
    for key, part in _PARTS.items():
        if merged[key]:
            settings[key] = _known(part, merged[key])
    return _known(config_class, settings)


def _known(config_class, settings):
    """Make a dataclass of those settings that are its fields."""
    names = {field.name for field in fields(config_class)}
    return config_class(**{name: tuple(value) if isinstance(value, list) else value
                           for name, value in settings.items() if name in names})


def _to_json(config, channel):
    everything = asdict(config)
    parts = {key: everything.pop(key) for key in _PARTS}
    bwp, user = ({key: everything.pop(key) for key in keys} for keys in (_BWP, _USER))
    return {**parts, "bwp": bwp, channel: everything, "users": [user]}
