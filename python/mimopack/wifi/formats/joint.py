# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Users that share all subcarriers of a resource unit (MU-MIMO), for a receiver of all of them."""

from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise

from .base import Unsupported
from .he import HE


class Joint:
    """Part of a format: the layers of a detector are the streams of several users.

    Attributes:
        users: the formats of the users, in the order of their streams.
    """

    def _check_users(self):
        if any(user.stbc or user.dcm for user in self.users):
            raise Unsupported("STBC or DCM of users that share a resource unit (excluded by the "
                              "standard)")
        for before, after in pairwise(self.users):
            if after.first_stream != before.first_stream + before.num_streams:
                raise Unsupported("users whose streams do not follow each other")

    @property
    def _modulation(self):
        names = [name for user in self.users for name in user.stream_constellations]
        return names[0] if len(set(names)) == 1 else ",".join(names), self.users[0].code_rate

    @cached_property
    def slices(self):
        """For each user the slice of its streams among those of all, a tuple."""
        begin = self.users[0].first_stream
        return tuple(slice(user.first_stream - begin,
                           user.first_stream - begin + user.num_streams) for user in self.users)

    @cached_property
    def contradiction(self):
        return next((user.contradiction for user in self.users if user.contradiction), "")

    @cached_property
    def kind(self):
        return tuple(user.kind for user in self.users)

    @cached_property
    def key(self):
        return tuple(user.key for user in self.users)

    @cached_property
    def sizes(self):
        # Each user's bits are decoded by themselves.
        return self.num_symbols, 0, 0, 0, False, 0, (), 7

    def describe(self):
        return " with ".join(user.describe() for user in self.users)


@dataclass(frozen=True)
class JointHE(Joint, HE):
    """Users of an HE MU or HE TB frame that share a resource unit; :meth:`of` makes it."""

    users: tuple = ()

    @classmethod
    def of(cls, users):
        """Return the format of users, :class:`HE` objects that differ only in their own fields.

        Raises:
            Unsupported: the standard excludes the combination.
        """
        users = tuple(sorted(users, key=lambda user: user.first_stream))
        own = {field.name: getattr(users[0], field.name) for field in fields(HE)}
        streams = sum(user.num_streams for user in users)
        return cls(**own | {"num_streams": streams, "users": users})

    def _check_combination(self):
        self._check_users()
