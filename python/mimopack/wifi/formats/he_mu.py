# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""HE MU frames (802.11ax, clause 27): several users, by OFDMA and MU-MIMO.

The numbers of sections, equations and tables are those of IEEE 802.11ax-2021.
"""

from dataclasses import dataclass, replace
from functools import cached_property

from ...checks import flag, integer
from .. import he_signal_b, he_tables, training
from .base import FrameFormat, Unsupported
from .he import DCM_MCS, HE, packet_extension, with_extra_segment

# Fields of the format that users have of their own.
OF_USER = ("sta_id", "ru", "mcs", "num_streams", "coding", "dcm", "beamformed")


@dataclass(frozen=True)
class HEMU(FrameFormat):
    """An HE MU frame.

    Args:
        users: the parts of the frame, a tuple of :class:`HE` with the name "he-mu". They have the
            same symbols, HE-LTFs and fields of HE-SIG-A. :meth:`of_lengths` makes them.
        sig_b_mcs: MCS of HE-SIG-B, 0..5.
        sig_b_dcm: whether HE-SIG-B has dual carrier modulation: MCS 0, 1, 3 or 4.
        compressed: whether HE-SIG-B has no common field: one RU fills the channel.
        punctured: number of a 20 MHz subchannel of a channel of 80 or 160 MHz in which nothing is
            sent, from the lowest one, 0..3 or 0..7; None for a whole channel. The primary 20 MHz
            channel lies in another 40 MHz.

    Raises:
        Unsupported: the standard excludes the combination, or this package does not support it.
        ValueError: another argument is not as above, or the users contradict each other.
    """

    users: tuple
    sig_b_mcs: int = 0
    sig_b_dcm: bool = False
    compressed: bool = False
    punctured: int | None = None

    name = "he-mu"
    aggregated = True
    beam_change = True

    def __post_init__(self):
        integer("sig_b_mcs", self.sig_b_mcs, 0, 5)
        flag("compressed", self.compressed)
        if flag("sig_b_dcm", self.sig_b_dcm) and self.sig_b_mcs not in DCM_MCS:
            raise Unsupported(f"HE-SIG-B of MCS {self.sig_b_mcs} with DCM (excluded by the "
                              "standard)")
        if not self.users:
            raise ValueError("users: got none, must be one or more")
        if self.first.midamble and self.first.num_ltf > 4:
            raise Unsupported(f"midambles with {self.first.num_ltf} HE-LTFs (excluded by the "
                              "standard)")
        if len({self._shared(user) for user in self.users}) > 1:
            raise ValueError("users: got parts with different symbols or fields of HE-SIG-A")
        whole = he_tables.WHOLE[self.bandwidth_mhz]
        if self.compressed and any(user.ru.size != whole for user in self.users):
            raise ValueError(f"compressed: got True, but not all users are on {whole} tones")
        self._check_overlap()
        self._check_punctured()
        if self.first.num_sig_b != he_signal_b.num_symbols(self):
            raise ValueError(f"users: got {self.first.num_sig_b} HE-SIG-B symbols, the users need "
                             f"{he_signal_b.num_symbols(self)}")

    def _check_overlap(self):
        taken = {}
        for user in self.users:
            for k in user.plan.used.tolist():
                if taken.setdefault(k, user.ru) != user.ru:
                    raise ValueError(f"users: got RUs {tuple(taken[k])} and {tuple(user.ru)}, "
                                     "which overlap")

    def _check_punctured(self):
        if self.punctured is None:
            return
        if self.bandwidth_mhz < 80 or self.compressed:
            raise ValueError("punctured: got a number, only frames of 80 or 160 MHz that are not "
                             "compressed have it")
        integer("punctured", self.punctured, 0, self.bandwidth_mhz // 20 - 1)
        for user in self.users:
            if self.punctured in he_signal_b.subchannels_of(self.bandwidth_mhz, user.ru):
                raise ValueError(f"punctured: got {self.punctured}, RU {tuple(user.ru)} lies there")

    @staticmethod
    def _shared(user):
        return (user.name, user.bandwidth_mhz, user.num_symbols, user.gi_us, user.ltf, user.stbc,
                user.midamble, user.pre_fec_padding, user.extra_symbol, user.packet_extension_us,
                user.bss_color, user.uplink, user.txop, user.spatial_reuse, user.num_ltf,
                user.num_sig_b)

    @classmethod
    def of_lengths(cls, users, apep_lengths, sig_b_mcs=0, sig_b_dcm=False, compressed=None,
                   nominal_padding_us=0, punctured=None, **fields):
        """Return the format for an A-MPDU of each user (§27.3.12.4 to §27.3.12.6, §27.3.13).

        Args:
            users: list of dictionaries with keys of ``OF_USER``: "sta_id", "ru" and "mcs", and if
                they differ from the defaults "num_streams", "coding", "dcm" and "beamformed". Users
                of the same RU (MU-MIMO) follow each other, none with more streams than the one
                before.
            apep_lengths: for each user, the length of the A-MPDU before padding in bytes.
            sig_b_mcs, sig_b_dcm: see the class.
            compressed: see the class; None compresses if one RU fills the channel.
            nominal_padding_us: largest nominal packet padding of the receivers, 0, 8 or 16 us.
            punctured: see the class.
            fields: other fields of :class:`HE`, which all users share.

        Raises:
            Unsupported, ValueError: as for the classes.
        """
        parts = _with_streams([_part(user, fields) for user in users])
        initial = [part.initial_symbols(length)
                   for part, length in zip(parts, apep_lengths, strict=True)]
        symbols, padding = max(initial)
        parts = [replace(part, num_symbols=symbols, pre_fec_padding=padding, apep_length=length)
                 for part, length in zip(parts, apep_lengths, strict=True)]
        extra = any(part.coding == "ldpc" and part.needs_extra_symbol for part in parts)
        if extra:
            symbols, padding = with_extra_segment(symbols, padding, parts[0].symbols_per_code_block)
        extension = packet_extension(padding, nominal_padding_us)
        if compressed is None:
            compressed = parts[0].ru.size == he_tables.WHOLE[parts[0].bandwidth_mhz]
        parts = [replace(part, num_symbols=symbols, pre_fec_padding=padding, extra_symbol=extra,
                         packet_extension_us=extension) for part in parts]
        count = he_signal_b.symbols_of(parts, sig_b_mcs, sig_b_dcm, compressed)
        parts = [replace(part, num_sig_b=count) for part in parts]
        return cls(tuple(parts), sig_b_mcs, sig_b_dcm, compressed, punctured)

    @cached_property
    def first(self):
        """The first user's part, which holds what all users share."""
        return self.users[0]

    @property
    def bandwidth_mhz(self):
        return self.first.bandwidth_mhz

    @property
    def num_symbols(self):
        return self.first.num_symbols

    @cached_property
    def num_space_time_streams(self):
        """Largest number of space-time streams in an RU."""
        return max(user.ru_streams for user in self.users)

    @property
    def training_start(self):
        return self.first.training_start

    @property
    def data_start(self):
        return self.first.data_start

    @property
    def num_samples(self):
        return self.first.num_samples

    @cached_property
    def contradiction(self):
        return next((user.contradiction for user in self.users if user.contradiction), "")

    def describe(self):
        users = "; ".join(
            f"RU {user.ru.size}/{user.ru.index} MCS {user.mcs}, {user.num_streams} "
            f"stream{'s' * (user.num_streams > 1)}, {user.coding.upper()}" for user in self.users)
        return f"HE MU {self.bandwidth_mhz} MHz, {len(self.users)} users: {users}"


def _part(user, fields):
    unknown = set(user) - set(OF_USER)
    if unknown:
        raise ValueError(f"users: got key {unknown.pop()!r}, allowed are {', '.join(OF_USER)}")
    # The number of HE-LTFs is only known with all users.
    return HE(num_symbols=2, name="he-mu", ltf_count=8, **fields, **({"sta_id": 0} | user))


def _with_streams(parts):
    """Number the streams of users that share an RU, and set the number of HE-LTFs."""
    totals = {}
    for part in parts:
        totals[part.ru] = totals.get(part.ru, 0) + part.num_space_time_streams
    most = max(totals.values())
    if most > training.MAX_STREAMS:
        raise Unsupported(f"{most} space-time streams in an RU")
    numbered, used = [], {}
    for part in parts:
        first = used.get(part.ru, 0)
        used[part.ru] = first + part.num_space_time_streams
        numbered.append(replace(part, first_stream=first, ru_streams=totals[part.ru],
                                ltf_count=training.NUM_LTF[most]))
    return numbered
