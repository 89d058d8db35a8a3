# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configurations of the 5G NR shared channels, with 3GPP's names and in JSON.

A configuration describes the transmission of one user (UE). It does not contain the slot number:
functions whose result depends on the slot take it as an argument.
"""

import difflib
import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

from ..checks import shown
from .fields import choice, flag, integer, several
from .parts import MODULATIONS, SUBCARRIERS_PER_PRB, Carrier, Dmrs, Mcs, Ptrs

REDUNDANCY_VERSIONS = (0, 1, 2, 3)


@dataclass(frozen=True, kw_only=True)
class _SharedChannelConfig:
    """Fields that the configurations of PUSCH and PDSCH share: see :class:`PuschConfig`."""

    carrier: Carrier = Carrier()
    n_size_bwp: int | None = None
    n_start_bwp: int | None = None
    prb_start: int = 0
    num_prb: int | None = None
    prb_set: tuple | None = None
    mapping_type: str = "A"
    symbol_allocation: tuple = (0, 14)
    num_layers: int = 1
    n_rnti: int = 1
    n_id: int | None = None
    dmrs: Dmrs = Dmrs()
    dmrs_ports: tuple | None = None
    ptrs: Ptrs | None = None
    mcs: Mcs = Mcs(index=9)
    rv: int = 0
    xoh: int = 0
    max_layers: int = 4

    def _check_common(self, most_layers):
        """Check the fields of this class and replace None by the value that it stands for."""
        for name, part in _PARTS.items():
            if not isinstance(getattr(self, name), part) and (
                    name in ("carrier", "dmrs", "mcs") or getattr(self, name) is not None):
                raise ValueError(f"{name}: got {shown(getattr(self, name))}, must be a "
                                 f"{part.__name__}")
        grid = self.carrier
        for name, standard in (("n_size_bwp", grid.n_size_grid), ("n_start_bwp", grid.n_start_grid),
                               ("n_id", grid.n_cell_id)):
            if getattr(self, name) is None:
                object.__setattr__(self, name, standard)
        integer("n_start_bwp", self.n_start_bwp, grid.n_start_grid,
                grid.n_start_grid + grid.n_size_grid - 1)
        integer("n_size_bwp", self.n_size_bwp, 1,
                grid.n_start_grid + grid.n_size_grid - self.n_start_bwp)
        if self.prb_set is not None:
            self._check_prb_set()
        integer("prb_start", self.prb_start, 0, self.n_size_bwp - 1)
        if self.num_prb is None:
            object.__setattr__(self, "num_prb", self.n_size_bwp - self.prb_start)
        integer("num_prb", self.num_prb, 1, self.n_size_bwp - self.prb_start)
        choice("mapping_type", self.mapping_type, ("A", "B"))
        first, count = (integer("symbol_allocation", value, 0, 14)
                        for value in several("symbol_allocation", self.symbol_allocation, 2))
        object.__setattr__(self, "symbol_allocation", (first, count))
        if not 0 < count <= grid.symbols_per_slot - first:
            raise ValueError(f"symbol_allocation: got ({first}, {count}), must end within the "
                             f"slot's {grid.symbols_per_slot} symbols (TS 38.214 §5.1.2.1, "
                             "§6.1.2.1)")
        integer("num_layers", self.num_layers, 1, most_layers)
        integer("n_rnti", self.n_rnti, 0, 65535)
        integer("n_id", self.n_id, 0, 1023)
        choice("rv", self.rv, REDUNDANCY_VERSIONS)
        choice("xoh", self.xoh, (0, 6, 12, 18))
        integer("max_layers", self.max_layers, 1, 4)
        ports = range(self.num_layers) if self.dmrs_ports is None else several(
            "dmrs_ports", self.dmrs_ports)
        object.__setattr__(self, "dmrs_ports", tuple(ports))
        if len(ports) != self.num_layers:
            raise ValueError(f"dmrs_ports: got {shown(self.dmrs_ports)}, must be one port for each "
                             f"of num_layers = {self.num_layers} layers (TS 38.211 §6.4.1.1.3, "
                             "§7.4.1.1.2)")
        for port in self.dmrs_ports:
            if port not in self.dmrs.ports:
                raise ValueError(f"dmrs_ports: got {shown(port)}, allowed with this DMRS are "
                                 f"{', '.join(map(str, self.dmrs.ports))} (TS 38.211 tables "
                                 "6.4.1.1.3-1 and 6.4.1.1.3-2, §6.4.1.1.3)")
        if len(set(self.dmrs_ports)) < self.num_layers:
            raise ValueError(f"dmrs_ports: got {self.dmrs_ports}, must be different ports, one "
                             "for each layer (TS 38.211 §6.4.1.1.3, §7.4.1.1.2)")
        if self.ptrs is not None:
            if self.ptrs.port not in (None, *self.dmrs_ports):
                raise ValueError(f"ptrs.port: got {shown(self.ptrs.port)}, allowed are the DMRS "
                                 "ports of this transmission (TS 38.211 §6.4.1.2.2.1)")
            if self.dmrs.length == 2 and max(self.dmrs_ports) >= 2 * (self.dmrs.config_type + 1):
                raise ValueError("ptrs: got signals with DMRS ports of double symbols only, must "
                                 "be None (TS 38.214 §5.1.6.3, §6.2.3)")

    def _check_prb_set(self):
        """Check prb_set; set prb_start and num_prb by it."""
        blocks = tuple(integer("prb_set", block, 0, self.n_size_bwp - 1) for block in several(
            "prb_set", self.prb_set))
        if not blocks or list(blocks) != sorted(set(blocks)):
            raise ValueError(f"prb_set: got {blocks}, must be one PRB or more in ascending order "
                             "(TS 38.214 §5.1.2.2.1, §6.1.2.2.1)")
        if self.prb_start not in (0, blocks[0]) or self.num_prb not in (None, len(blocks)):
            raise ValueError(f"prb_set: got {len(blocks)} PRBs from {blocks[0]} on with prb_start "
                             f"= {self.prb_start} and num_prb = {self.num_prb}, which must be left "
                             "out (TS 38.214 §5.1.2.2, §6.1.2.2)")
        for name, value in (("prb_set", blocks), ("prb_start", blocks[0]),
                            ("num_prb", len(blocks))):
            object.__setattr__(self, name, value)

    @property
    def prbs(self):
        """The allocated PRBs of the bandwidth part in the order of mapping: int (num_prb,)."""
        if self.prb_set is not None:
            return np.array(self.prb_set)
        return np.arange(self.prb_start, self.prb_start + self.num_prb)

    @property
    def num_subcarriers(self):
        """Number of allocated subcarriers."""
        return SUBCARRIERS_PER_PRB * self.num_prb

    @property
    def dmrs_n_id(self):
        """N_ID^n_SCID of the DMRS sequence."""
        return self.carrier.n_cell_id if self.dmrs.n_id is None else self.dmrs.n_id[
            self.dmrs.n_scid]

    @property
    def modulation_order(self):
        """Q_m of the first codeword, number of bits per symbol."""
        return self.codeword_parameters[0][1]

    @property
    def constellations(self):
        """Name of each layer's constellation, as ``constellation.get`` takes it: a tuple."""
        return tuple(MODULATIONS[order] for layers, order, *_ in self.codeword_parameters
                     for _ in range(layers))

    @classmethod
    def from_json(cls, data, user=0):
        """Make the configuration of a user from a dictionary; see :func:`load_users`."""
        return _from_json(cls, data, _users(data)[user])

    def to_json(self):
        """Return the dictionary from which :meth:`from_json` makes this configuration."""
        everything = asdict(self)
        parts = {key: everything.pop(key) for key in _PARTS if key in everything}
        bwp, user = ({key: everything.pop(key) for key in keys} for keys in (_BWP, _USER))
        return {**parts, "bwp": bwp, _CHANNELS[type(self)]: everything, "users": [user]}


@dataclass(frozen=True, kw_only=True)
class PuschConfig(_SharedChannelConfig):
    """A physical uplink shared channel (PUSCH) of one user: TS 38.211 §6.3.1.

        config = PuschConfig(carrier=Carrier(n_size_grid=51), num_layers=2, mcs=Mcs(index=15))

    Args:
        carrier: :class:`Carrier`.
        n_size_bwp, n_start_bwp: N_BWP^size and N_BWP^start of the bandwidth part; the start is
            counted from CRB 0. None for the carrier's grid.
        prb_start: first allocated PRB of the bandwidth part.
        num_prb: number of allocated PRBs; None for all PRBs from prb_start on.
        prb_set: list of the allocated PRBs if they are not neighbours (resource allocation type 0);
            prb_start and num_prb then follow from it.
        mapping_type: "A" or "B": TS 38.211 §6.4.1.1.3, §7.4.1.1.2.
        symbol_allocation: (S, L), the first allocated symbol of the slot and the number of symbols.
        num_layers: number of layers, 1 to 4.
        n_rnti: n_RNTI, 0 to 65535.
        n_id: n_ID of the data scrambler, 0 to 1023; None for n_cell_id.
        dmrs: :class:`Dmrs`.
        dmrs_ports: the DMRS port of each layer, from 0 (which is 1000 for PDSCH); None for
            0, 1, ...
        ptrs: :class:`Ptrs`, or None.
        mcs: :class:`Mcs`.
        rv: redundancy version, 0 to 3.
        xoh: N_oh^PRB, overhead in resource elements per PRB, 0, 6, 12 or 18: TS 38.214 §5.1.3.2.
        max_layers: maxMIMO-Layers, 1 to 4, with which limited buffer rate matching counts: TS
            38.212 §5.4.2.1.
        lbrm: whether limited buffer rate matching is configured (TS 38.212 §5.4.2.1).
        num_antenna_ports: 1, 2 or 4 with codebook; num_layers without. None for the smallest
            number.
        transmission_scheme: "codebook" or "non-codebook".
        tpmi: index of the precoding matrix, tables 6.3.1.5-1 to 6.3.1.5-7; with codebook only.
        transform_precoding: whether one layer is sent as DFT-s-OFDM, with DMRS of low peak power.
        tp_pi2bpsk: tp-pi2BPSK: whether pi/2-BPSK takes the place of QPSK in the first rows of MCS
            tables 1 and 3 with transform precoding (TS 38.214 §6.1.4.1).

    Raises:
        ValueError: a field is wrong; the error names the field, and the clause that forbids it.
    """

    lbrm: bool = False
    num_antenna_ports: int | None = None
    transmission_scheme: str = "non-codebook"
    tpmi: int | None = None
    transform_precoding: bool = False
    tp_pi2bpsk: bool = False

    second_mcs = None

    def __post_init__(self):
        self._check_common(most_layers=4)
        flag("lbrm", self.lbrm)
        flag("transform_precoding", self.transform_precoding)
        flag("tp_pi2bpsk", self.tp_pi2bpsk)
        self._check_precoding()
        self._check_symbols()
        if self.transform_precoding:
            self._check_transform_precoding()
        elif self.dmrs.group_hopping or self.dmrs.sequence_hopping:
            raise ValueError("dmrs.group_hopping, dmrs.sequence_hopping: got True, must be False "
                             "without transform precoding (TS 38.211 §6.4.1.1.1.1)")
        order, _ = self.mcs.resolved(self.transform_precoding, self.tp_pi2bpsk)
        if order == 1 and self.dmrs.uplink_transform_precoding and self.num_prb < 5:
            raise ValueError(f"num_prb: got {self.num_prb}, must be at least 5 with pi/2-BPSK and "
                             "dmrs.uplink_transform_precoding: the tables of TS 38.211 §5.2.3.2 "
                             "are not implemented")

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
        if np.any(np.diff(self.prbs) > 1):
            raise ValueError(f"prb_set: got {self.prb_set}, must be neighbours with transform "
                             "precoding (TS 38.214 §6.1.2.2)")
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
        if self.ptrs is None:
            return
        if self.ptrs.time_density == 4:
            raise ValueError("ptrs.time_density: got 4, allowed with transform precoding are 1 and "
                             "2 (TS 38.211 §6.4.1.2.2.2)")
        samples = self.ptrs.samples(self.num_subcarriers)
        if len(set(samples)) < len(samples):
            raise ValueError(f"ptrs.num_groups: got {self.ptrs.num_groups}, must be less with "
                             f"{self.num_prb} PRBs (TS 38.211 table 6.4.1.2.2.2-1)")

    @property
    def codeword_parameters(self):
        """A tuple (number of layers, Q_m, R * 1024, redundancy version) for each codeword."""
        modulation = self.mcs.resolved(self.transform_precoding, self.tp_pi2bpsk)
        return ((self.num_layers, *modulation, self.rv),)

    @property
    def constellation(self):
        """Name of the constellation of all layers."""
        return self.constellations[0]


@dataclass(frozen=True, kw_only=True)
class PdschConfig(_SharedChannelConfig):
    """A physical downlink shared channel (PDSCH) of one user: TS 38.211 §7.3.1.

    The antenna ports are the DMRS ports; what precedes the antennas is not part of the standard.
    Rate matching has a limited buffer always (TS 38.212 §5.4.2.1).

    Args:
        second_mcs, second_rv: modulation and redundancy version of the second codeword, which there
            is with more than 4 layers (table 7.3.1.3-1); None for the first codeword's.
        vrb_to_prb_bundle: number of PRBs in a bundle of the interleaved mapping of virtual resource
            blocks, 2 or 4 (§7.3.1.6); None for the mapping without interleaving.

    The other arguments are those of :class:`PuschConfig`, without the uplink's: lbrm,
    num_antenna_ports, transmission_scheme, tpmi, transform_precoding and tp_pi2bpsk. num_layers is
    1 to 8; prb_start and num_prb are virtual resource blocks.

    Raises:
        ValueError: a field is wrong; the error names the field, and the clause that forbids it.
    """

    second_mcs: Mcs | None = None
    second_rv: int | None = None
    vrb_to_prb_bundle: int | None = None

    lbrm = True
    transform_precoding = False

    def __post_init__(self):
        self._check_common(most_layers=8)
        choice("vrb_to_prb_bundle", self.vrb_to_prb_bundle, (None, 2, 4))
        for name, first in (("second_mcs", self.mcs), ("second_rv", self.rv)):
            if self.num_layers > 4 and getattr(self, name) is None:
                object.__setattr__(self, name, first)
            if self.num_layers <= 4 and getattr(self, name) is not None:
                raise ValueError(f"{name}: got {getattr(self, name)}, must be None with up to 4 "
                                 "layers, which have one codeword (TS 38.211 §7.3.1.3)")
        choice("second_rv", self.second_rv, (None, *REDUNDANCY_VERSIONS))
        first, count = self.symbol_allocation
        if self.mapping_type == "A":
            if first > self.dmrs.type_a_position or first > 3 or count < 3:
                raise ValueError(f"symbol_allocation: got ({first}, {count}), must begin in "
                                 "symbols 0 to 3, not after the first DMRS, and have at least 3 "
                                 "symbols with mapping type A (TS 38.214 table 5.1.2.1-1)")
            _check_type_a(self.dmrs, first + count)
        elif not (5 if self.dmrs.length == 2 else 2) <= count <= 13:
            raise ValueError(f"symbol_allocation: got {count} symbols, must be 2 to 13 with "
                             "mapping type B, and at least 5 with dmrs.length = 2 (TS 38.211 "
                             "tables 7.4.1.1.2-3 and 7.4.1.1.2-4)")
        if self.dmrs.group_hopping or self.dmrs.sequence_hopping:
            raise ValueError("dmrs.group_hopping, dmrs.sequence_hopping: got True, must be False "
                             "for PDSCH (TS 38.211 §7.4.1.1.1)")
        for mcs in (self.mcs, self.second_mcs):
            if mcs is not None:
                mcs.resolved()

    @property
    def prbs(self):
        """The allocated PRBs in the order of virtual resource blocks: TS 38.211 §7.3.1.6."""
        blocks = super().prbs
        return blocks if self.vrb_to_prb_bundle is None else self._interleaved()[blocks]

    def _interleaved(self):
        """Return the PRB of each virtual resource block of the bandwidth part."""
        size, start, count = self.vrb_to_prb_bundle, self.n_start_bwp, self.n_size_bwp
        numbers = np.arange(start, start + count) // size    # bundles begin at CRB multiples of L
        bundles = np.split(np.arange(count), np.flatnonzero(np.diff(numbers)) + 1)
        columns = len(bundles) // 2    # C, with R = 2
        order = [j % 2 * columns + j // 2 for j in range(len(bundles) - 1)]    # f(j) = r C + c
        return np.concatenate([bundles[place] for place in (*order, len(bundles) - 1)])

    @property
    def codeword_parameters(self):
        """A tuple (number of layers, Q_m, R * 1024, redundancy version) for each codeword."""
        first = self.num_layers if self.num_layers <= 4 else self.num_layers // 2
        both = ((first, self.mcs, self.rv), (self.num_layers - first, self.second_mcs,
                                            self.second_rv))
        return tuple((layers, *mcs.resolved(), rv) for layers, mcs, rv in both if layers)


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
_PARTS = {"carrier": Carrier, "dmrs": Dmrs, "ptrs": Ptrs, "mcs": Mcs, "second_mcs": Mcs}
_CHANNELS = {PuschConfig: "pusch", PdschConfig: "pdsch"}
_OBJECTS = (*_PARTS, "bwp", *_CHANNELS.values())
# Keys that describe a recording, follow from other keys, or can only have one value
_INFORMATIVE = {
    "carrier": ("mu",), "dmrs": ("beta_dmrs", "dmrs_symbols"),
    "pusch": ("frequency_hopping", "num_users", "precoding_matrix", "reference_point_k")}
# Further keys of a recording's description that are like those of a configuration
_FURTHER = ("slot_numbers", "time_domain", "pucch", "pdcch", "prach", "srs", "ssb")
_ALIKE = 0.8    # similarity of two keys, from 0 to 1, one of which is probably misspelt


def load_users(data):
    """Make the configurations of all users from a dictionary, as JSON has it.

    Keys are ``carrier``, ``bwp``, ``dmrs``, ``mcs``, ``ptrs``, ``pusch`` or ``pdsch`` (each a
    dictionary with fields of the classes of these names) and ``users``: a list with the ``n_rnti``,
    ``n_id`` and ``dmrs_ports`` of each user. An entry may also have ``pusch``, ``dmrs``, ``mcs``
    and so on, whose keys replace the common ones for this user.

    So that a file can also hold what is known about a recording, other keys beside these are
    ignored, unless they look like a misspelling or contradict the configuration: an n_rnti beside
    ``users`` belongs into an entry of ``users``. Within the dictionaries of these keys, an unknown
    key is an error. Everywhere, ``note``, ``comment`` and keys that end with "_note" or begin with
    "_" are ignored.

    Args:
        data: the dictionary.

    Returns:
        list of :class:`PuschConfig`, or of :class:`PdschConfig` if there is a ``pdsch``.

    Raises:
        ValueError: a key is unknown, or a field is wrong; see :class:`PuschConfig`.
    """
    users = _users(data)
    downlink = data.get("pdsch") is not None
    if downlink and data.get("pusch") is not None:
        raise ValueError("pusch, pdsch: got both, must be one of them")
    check_spelling("", data, (*_OBJECTS, "users", *_FURTHER))
    config_class = PdschConfig if downlink else PuschConfig
    return [_from_json(config_class, data, user) for user in users]


def read_users(config, kind=None):
    """Return the configurations of all users, in any of the forms that blocks take.

    Args:
        config: a configuration, a list of them, a dictionary for :func:`load_users`, or the name of
            a JSON file with such a dictionary.
        kind: :class:`PuschConfig` or :class:`PdschConfig`, which they must be; None for either.

    Returns:
        list of :class:`PuschConfig` or of :class:`PdschConfig`.

    Raises:
        ValueError: a field is wrong, or the file cannot be read.
    """
    if isinstance(config, (str, os.PathLike)):
        try:
            return read_users(json.loads(Path(config).read_text(encoding="utf-8")), kind)
        except (OSError, ValueError) as error:
            raise ValueError(f"config: {config}: {error}") from error
    if isinstance(config, dict):
        config = load_users(config)
    users = list(config) if isinstance(config, (list, tuple)) else [config]
    if not users or not all(isinstance(user, _SharedChannelConfig) for user in users):
        raise ValueError(f"config: got {shown(config)}, must be a configuration, a list of them, a "
                         "dictionary, or the name of a JSON file")
    for index, user in enumerate(users):
        if not isinstance(user, kind or type(users[0])):
            raise ValueError(f"config: got a {type(user).__name__} for user {index}, must be a "
                             f"{(kind or type(users[0])).__name__}")
    return users


def _users(data):
    """Return the entries of the users in a dictionary."""
    users = _dictionary("configuration", data).get("users", [{}])
    if not isinstance(users, list) or not users:
        raise ValueError(f"users: got {shown(users)}, must be a list with an object for each user")
    return [_dictionary("users", user) for user in users]


def _dictionary(name, value):
    if not isinstance(value, dict):
        raise ValueError(f"{name}: got {shown(value)}, must be a dictionary (a JSON object)")
    return value


def _from_json(config_class, data, user):
    """Make a configuration from a dictionary and the entry of one user."""
    channel = _CHANNELS[config_class]
    check_spelling("users.", user, (*_USER, *_OBJECTS))
    for other in {*_CHANNELS.values()} - {channel}:
        if user.get(other) is not None:
            raise ValueError(f"users.{other}: must be users.{channel}, unless there is {other} "
                             "beside users too")
    allowed = {key: _names(part) for key, part in _PARTS.items()} | {
        "bwp": _BWP, channel: _names(config_class) - {*_PARTS, *_BWP, *_USER}}
    merged = {key: _merged(key, names, data, user) for key, names in allowed.items()}
    settings = {**merged[channel], **merged["bwp"],
                **{key: user[key] for key in _USER if key in user}}
    hopping = settings.get("frequency_hopping", "neither")
    if hopping != "neither":
        raise ValueError(f"frequency_hopping: got {shown(hopping)}, must be 'neither': hopping "
                         "(TS 38.214 §6.3) is not implemented")
    for key, part in _PARTS.items():
        if merged[key]:
            settings[key] = _known(part, merged[key])
    config = _known(config_class, settings)
    _check_places("", data, config, {**allowed, "an entry of users": _USER})
    _check_places("users.", user, config, allowed)
    return config


def _check_places(prefix, given, config, allowed):
    """Raise ValueError for a field outside its object, unless it repeats the configuration's.

    Fields of dmrs, mcs and ptrs have common names, such as "index": only those with the object's
    name before them count, such as "mcs_index".
    """
    for part, names in allowed.items():
        owner = getattr(config, part) if part in _PARTS else config
        if owner is None:
            continue
        places = {f"{part}_{name}": name for name in names}
        if part not in ("dmrs", "mcs", "second_mcs", "ptrs"):
            places |= {name: name for name in names}
        for key, name in places.items():
            value = given.get(key)
            if isinstance(value, list):
                value = tuple(value)
            if value is not None and value != getattr(owner, name):
                raise ValueError(f"{prefix}{key}: got {shown(given[key])}, belongs to {part}"
                                 + f", as {name}" * (key != name))


def _merged(key, names, data, user):
    """Return the settings of a part: the common ones, and a user's own in their place."""
    settings = {**_dictionary(key, data.get(key) or {}), **_dictionary(key, user.get(key) or {})}
    for name in settings:
        if name not in (*names, *_INFORMATIVE.get(key, ())) and not _is_note(name):
            raise ValueError(f"{key}.{name}: is no key of {key}, allowed are "
                             f"{', '.join(sorted(names))}")
    return settings


def _is_note(key):
    """Return whether a key is for people."""
    return key in ("note", "comment") or key.endswith("_note") or key.startswith("_")


def check_spelling(prefix, given, allowed):
    """Raise ValueError for a key that is probably a misspelling of an allowed one.

    It is none if the allowed one is there too, or begins it, as in "carrier_hz".
    """
    for key in given:
        alike = difflib.get_close_matches(key, allowed, 1, _ALIKE)
        if (alike and key not in allowed and alike[0] not in given and not _is_note(key)
                and not key.startswith(f"{alike[0]}_")):
            raise ValueError(f"{prefix}{key}: got an unknown key, similar to {alike[0]}; allowed "
                             f"are {', '.join(allowed)}, and keys that are not similar to them, "
                             "which are ignored")


def _names(config_class):
    return {field.name for field in fields(config_class)}


def _known(config_class, settings):
    """Make a dataclass of those settings that are its fields."""
    names = _names(config_class)
    return config_class(**{name: tuple(value) if isinstance(value, list) else value
                           for name, value in settings.items() if name in names})
