# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""VHT frames (802.11ac, clause 21) for several users, by MU-MIMO.

The numbers of sections, equations and tables are those of IEEE 802.11-2020.
"""

from dataclasses import dataclass, fields, replace
from functools import cached_property

from ...checks import integer
from ...coding.ldpc import WifiRateMatching
from .. import training
from .base import SERVICE, Unsupported
from .joint import Joint
from .vht import VHT

# Fields that users have of their own, and the number of users in a frame.
OF_USER = ("mcs", "num_streams", "coding", "user_position")
MOST_USERS = 4


@dataclass(frozen=True)
class VHTUser(VHT):
    """One user's part of a VHT frame for several users.

    Args:
        first_stream: number of streams of the users before.
        all_streams: number of streams of all users, 1..8.
        user_position: position of the user in the group, 0..3.

    The other arguments are those of :class:`VHT`, but ``group_id`` is 1..62 and ``stbc`` 0.
    ``extra_symbol`` says whether LDPC coding of any user lengthened the frame.

    Raises:
        Unsupported, ValueError: as for :class:`VHT`.
    """

    first_stream: int = 0
    all_streams: int = 1
    user_position: int = 0

    name = "vht-mu"

    def __post_init__(self):
        super().__post_init__()
        integer("group_id", self.group_id, 1, 62)
        integer("user_position", self.user_position, 0, MOST_USERS - 1)
        if integer("all_streams", self.all_streams, 1, 32) > training.MAX_STREAMS:
            raise Unsupported(f"{self.all_streams} space-time streams")
        integer("first_stream", self.first_stream, 0, self.all_streams - self.num_streams)
        if self.stbc:
            raise Unsupported("STBC in a VHT frame for several users (excluded by the standard)")

    @cached_property
    def num_ltf(self):
        return training.NUM_LTF[self.all_streams]

    @cached_property
    def _initial_symbols(self):
        # N_SYM_max_init, the number of symbols before the extra one of LDPC coding.
        return self.num_symbols - self.extra_symbol

    @cached_property
    def contradiction(self):
        if self._initial_symbols < 1:
            return "VHT-SIG-A and L-SIG disagree: no frame has this number of symbols"
        if SERVICE + 8 * (self.apep_length or 0) + self.tail > self.num_scrambled:
            return "VHT-SIG-B and L-SIG disagree about the length"
        return ""

    def _matching(self, extended):
        return WifiRateMatching(self.num_scrambled, self.code_rate, self.coded_bits_per_symbol,
                                self._initial_symbols * self.coded_bits_per_symbol, extended)

    @property
    def ldpc_matching(self):
        # The extra symbol of one user lengthens the codewords of all (§21.3.10.5.5).
        return self._matching(self.extra_symbol)

    @cached_property
    def needs_extra_symbol(self):
        """Return whether LDPC coding of these symbols needs an extra symbol."""
        return self.coding == "ldpc" and self._matching(None).extended

    def initial_symbols(self, apep_length):
        """Return the number of symbols of an A-MPDU of some bytes before an extra symbol."""
        return -(-(SERVICE + 8 * apep_length + self.tail) // self.data_bits_per_symbol)

    @cached_property
    def kind(self):
        return *super().kind, self.first_stream, self.all_streams

    def describe(self):
        return super().describe().replace("VHT", "VHT MU", 1)


@dataclass(frozen=True)
class VHTMU(Joint, VHT):
    """A VHT frame for several users; :meth:`of` and :meth:`of_lengths` make it.

    Args:
        users: tuple of :class:`VHTUser` in the order of their streams.

    The other arguments are those of the first user, except the number of streams: that of all.

    Raises:
        Unsupported, ValueError: the users contradict each other.
    """

    users: tuple = ()

    name = "vht-mu"

    def __post_init__(self):
        self._check_users()
        if len({self._shared(user) for user in self.users}) > 1:
            raise ValueError("users: got parts with different symbols or fields of VHT-SIG-A")
        places = [user.user_position for user in self.users]
        if places != sorted(set(places)):
            raise ValueError(f"users: got user_position {places}, must ascend from user to user")

    @staticmethod
    def _shared(user):
        return (user.bandwidth_mhz, user.num_symbols, user.short_gi, user.extra_symbol,
                user.group_id, user.beamformed, user.all_streams)

    @classmethod
    def of(cls, users):
        """Return the format of users, :class:`VHTUser` objects in the order of their streams."""
        own = {field.name: getattr(users[0], field.name) for field in fields(VHT)}
        return cls(**own | {"num_streams": users[0].all_streams, "users": tuple(users)})

    @classmethod
    def of_lengths(cls, users, apep_lengths, **fields):
        """Return the format for an A-MPDU of each user (§21.3.10.3, §21.3.10.5.5).

        Args:
            users: list of up to four dictionaries with keys of ``OF_USER``: "mcs", and if they
                differ from the defaults "num_streams", "coding" and "user_position". The default
                position is the place in the list.
            apep_lengths: for each user, the length of the A-MPDU before padding in bytes.
            fields: other fields of :class:`VHT`, which all users share; ``group_id`` is 1 unless
                given, and ``beamformed`` is True.

        Raises:
            Unsupported, ValueError: as for the classes.
        """
        if not 1 <= len(users) <= MOST_USERS:
            raise ValueError(f"users: got {len(users)}, must be 1 to {MOST_USERS}")
        unknown = {key for user in users for key in user} - set(OF_USER)
        if unknown:
            raise ValueError(f"users: got key {unknown.pop()!r}, allowed are {', '.join(OF_USER)}")
        fields = {"group_id": 1, "beamformed": True} | fields
        counts = [integer("num_streams", user.get("num_streams", 1), 1, 4) for user in users]
        parts = [VHTUser(num_symbols=1, first_stream=sum(counts[:i]), all_streams=sum(counts),
                         **fields, **({"user_position": i} | user), apep_length=length)
                 for i, (user, length) in enumerate(zip(users, apep_lengths, strict=True))]
        symbols = max(part.initial_symbols(part.apep_length) for part in parts)
        parts = [replace(part, num_symbols=symbols) for part in parts]
        extra = any(part.needs_extra_symbol for part in parts)
        return cls.of([replace(part, num_symbols=symbols + extra, extra_symbol=extra)
                       for part in parts])


@dataclass(frozen=True)
class VHTSignalB(VHTMU):
    """The VHT-SIG-B of a :class:`VHTMU`, demodulated like a data symbol of BPSK."""

    @cached_property
    def data_start(self):
        return self.signal_b_start

    @cached_property
    def kind(self):
        return "vht-sig-b", *super().kind

    def pilots(self, count):
        one = training.vht_pilots(self.bandwidth_mhz, 3, 0, count)
        return one[..., None].repeat(self.num_streams, axis=2)
