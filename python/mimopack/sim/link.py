# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated link: coded frames over a MIMO channel."""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from .. import constellation as constellations
from ..channel import awgn
from ..checks import choice, integer, snr
from ..coding import RandomInterleaver
from ..iterative import CodewordLayout
from .channels import make_channel
from .codes import Uncoded, make_code

BLOCK = 16    # number of frames with a common seed
SNR_KINDS = ("snr", "ebn0")


@dataclass(frozen=True)
class Frames:
    """A batch of n simulated frames.

    Attributes:
        bits: (n, num_info) uint8, the information bits.
        words: (n, num_bits) uint8, the bits sent.
        y: (n * vectors, num_rx) complex64, the received vectors of all frames in order; vectors is
            the number of vectors per frame.
        h: (n * vectors / T, num_rx, num_tx) complex64; T consecutive vectors share a matrix.
        noise_var: mean power of noise and interference per complex receive dimension.
        noise_cov: (n * vectors / T, num_rx, num_rx) complex64, covariance of noise and
            interference for each matrix; None without an interferer.
    """

    bits: Any
    words: Any
    y: Any
    h: Any
    noise_var: float
    noise_cov: Any = None


@dataclass(frozen=True)
class Link:
    """Transmitter and channel of a simulation.

    A frame is one interleaved codeword, which fills as many vectors as it needs. Model: y = H x + n
    with E|x_i|^2 = 1, E|h_ij|^2 = 1 and n ~ CN(0, noise_var I). The receiver knows H and noise_var.
    An interferer adds g s to n, with s ~ CN(0, noise_var P) and a g ~ CN(0, I) for each H. The
    receiver then knows the covariance noise_var (I + P g g^H), see ``Receiver``.

    Args:
        num_tx, num_rx: number of transmit and receive antennas.
        constellation: a name in ``constellation.BUILT_IN``, or one for each transmit antenna,
            separated by commas.
        code, channel: see ``make_code`` and ``make_channel``.
        interleaver: "random" for one random permutation of the codeword, the same in all frames; or
            "none".
        snr_kind: definition of the SNR values, which are in dB. "snr" is the SNR per receive
            antenna, num_tx / noise_var. "ebn0" is Eb/N0: the energy of an information bit at all
            receive antennas together, over noise_var. It equals SNR + 10 log10(num_rx / (num_tx m
            R)), with m bits per symbol and the code rate R (B. M. Hochwald, S. ten Brink, IEEE
            Trans. Commun. 51 (3), 2003, eq. 41).
        seed: seed of the random numbers. Frames come in blocks of 16. The random numbers of a block
            depend only on seed, SNR (rounded to 0.001 dB) and the number of the block.
        interferer: P, the mean power of the interferer over noise_var at each receive antenna, in
            dB; None for no interferer. The SNR does not count it.

    Attributes:
        coding: the :class:`coding.Code`, or :class:`codes.Uncoded`.

    Raises:
        ValueError: an argument does not match its description.
    """

    num_tx: int = 4
    num_rx: int = 4
    constellation: str = "qam16"
    code: str = "none"
    channel: str = "rayleigh"
    interleaver: str = "random"
    snr_kind: str = "snr"
    seed: int = 1
    interferer: float | None = None

    def __post_init__(self):
        # Results are written as JSON, which takes Python's integers only.
        object.__setattr__(self, "num_tx", integer("num_tx", self.num_tx, 1, 64))
        object.__setattr__(self, "num_rx", integer("num_rx", self.num_rx, self.num_tx, 256))
        object.__setattr__(self, "seed", integer("seed", self.seed, 0, 2**63 - 1))
        power = 0.0
        if self.interferer is not None:
            object.__setattr__(self, "interferer", snr("interferer", self.interferer))
            power = 10 ** (self.interferer / 10)
        object.__setattr__(self, "_interference", power)
        choice("interleaver", self.interleaver, ("random", "none"))
        choice("snr_kind", self.snr_kind, SNR_KINDS)
        object.__setattr__(self, "coding", make_code(self.code, self.bits_per_vector))
        object.__setattr__(self, "_draw_channel", make_channel(self.channel))

    def __reduce__(self):
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    @cached_property
    def points(self):
        """The :class:`constellation.Constellation`, or ``Layers`` if antennas differ."""
        return constellations.of_layers(self.constellation, self.num_tx)

    @property
    def bits_per_vector(self):
        """Number of bits sent per vector."""
        return constellations.bits_per_vector(self.points, self.num_tx)

    @property
    def is_coded(self):
        """True if the link has a code."""
        return not isinstance(self.coding, Uncoded)

    @cached_property
    def permutation(self):
        """The :class:`coding.RandomInterleaver`; None without one or without a code."""
        return (RandomInterleaver(self.coding.num_bits, self.seed)
                if self.interleaver == "random" and self.is_coded else None)

    @cached_property
    def layout(self):
        """The :class:`iterative.CodewordLayout`."""
        return CodewordLayout(self.coding.num_bits, self.bits_per_vector, self.permutation)

    @property
    def ebn0_over_snr(self):
        """Eb/N0 minus SNR per receive antenna, in dB."""
        return 10 * np.log10(self.num_rx / (self.bits_per_vector * self.coding.rate))

    def snr_db(self, value):
        """Convert an SNR of this link's ``snr_kind`` to the SNR per receive antenna, both in dB.

        Raises:
            ValueError: value is not a number from -100 to 200.
        """
        return snr("snr", value) - (self.ebn0_over_snr if self.snr_kind == "ebn0" else 0.0)

    def noise_var(self, value):
        """Return the noise power per complex receive dimension at an SNR, as for ``snr_db``.

        It does not count the interferer.
        """
        return self.num_tx * 10 ** (-self.snr_db(value) / 10)

    def frames(self, value, block, count=1):
        """Simulate blocks of frames, from the information bits to the received vectors.

        Args:
            value: SNR in dB, of the link's ``snr_kind``.
            block: number of the first block, from 0.
            count: number of blocks.

        Returns:
            :class:`Frames` with n = 16 count.
        """
        noise_var, code = self.noise_var(value), self.coding
        place = round(1000 * value) + 100_000    # not negative, as a seed has to be
        vectors = self.layout.vectors
        drawn = []
        for index in range(block, block + count):
            rng = np.random.default_rng((self.seed, place, index))
            bits = rng.integers(0, 2, (BLOCK, code.num_info), np.uint8)
            h = self._draw_channel(BLOCK, vectors, self.num_rx, self.num_tx, rng)
            noise = self._draw_noise(BLOCK * vectors, len(h), noise_var, rng)
            drawn.append((bits, h, *noise))
        bits, h, noise, noise_cov = (np.concatenate(parts) for parts in zip(*drawn, strict=True))
        words = code.encode(bits)
        x = self.points.modulate(self.layout.spread(words))
        received = np.einsum("kij,ktj->kti", h, x.reshape(len(h), -1, self.num_tx))
        return Frames(bits, words, received.reshape(-1, self.num_rx) + noise, h,
                      noise_var * (1 + self._interference),
                      None if self.interferer is None else noise_cov)

    def _draw_noise(self, vectors, matrices, noise_var, rng):
        """Draw noise and interference, and return them with their covariances, if any."""
        noise = awgn((vectors, self.num_rx), noise_var, rng)
        if self.interferer is None:
            return noise, np.empty((0, self.num_rx, self.num_rx), np.complex64)
        channels = awgn((matrices, self.num_rx), self._interference, rng)
        sent = awgn((matrices, vectors // matrices, 1), noise_var, rng)
        noise += (sent * channels[:, None]).reshape(noise.shape)
        covariance = np.einsum("ki,kj->kij", channels, channels.conj())
        covariance += np.eye(self.num_rx, dtype=np.complex64)
        return noise, np.float32(noise_var) * covariance
