# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""MIMO detectors with the interface of Sionna's (``sionna.phy.mimo``), in PyTorch.

    from mimopack import sionna as fast

    detector = fast.KBestDetector("bit", num_streams=4, k=64, constellation_type="qam",
                                  num_bits_per_symbol=4)
    llr = detector(y, h, s)    # (..., M), (..., M, S), (..., M, M) -> (..., S, bits)

Each class takes the arguments of Sionna's class of the same name. ``Detector`` makes any detector
of this package. All of them are callables for ``sionna.phy.ofdm.OFDMDetector`` and
``OFDMDetectorWithPrior``, on the CPU and on GPUs, also under ``torch.compile``. There are no
gradients. They compute in single precision. LLRs are ln P(b=1)/P(b=0), as Sionna's are.
"""

from itertools import count
from weakref import WeakValueDictionary

import torch
from sionna.phy import Block
from sionna.phy.mapping import Constellation as SionnaConstellation

from .checks import choice, flag
from .constellation import Constellation
from .detectors.lookup import look_up

_keys = count()
# The operator takes tensors and numbers: {key: Detector}.
_made = WeakValueDictionary()


@torch.library.custom_op("mimopack::detect", mutates_args=())
def _detect(y: torch.Tensor, h: torch.Tensor, s: torch.Tensor, prior: torch.Tensor | None,
            key: int, bits: int) -> torch.Tensor:
    """Return the LLRs (..., S, bits) of the detector with this key."""
    detector = _made[key]._for_antennas(*h.shape[-2:])
    return detector.detect(y, h, prior=prior, noise_cov=s, split_layers=True)


@_detect.register_fake
def _(y, h, s, prior, key, bits):
    batch = torch.broadcast_shapes(y.shape[:-1], h.shape[:-2], s.shape[:-2])
    return y.new_empty((*batch, h.shape[-1], bits), dtype=torch.float32)


class Detector(Block):
    """Any detector of this package as a block of Sionna.

    Args:
        detector: name of a detector, with parameters if wanted ("nway", "kbest:k=64"); or a class
            or object, as ``mimopack sim`` takes them.
        output: "bit"; or "symbol", with hard_out=True.
        constellation_type, num_bits_per_symbol: "qam" or "pam", and the bits of a symbol.
        constellation: ``sionna.phy.mapping.Constellation``, in place of both.
        hard_out: whether to return decisions: bits, or labels of symbols.
        precision, device: as for all blocks of Sionna. Results have the type of the precision; the
            computation is in single precision.
        threads: number of CPU threads; 0 takes all cores.
        extrinsic: whether to subtract the prior from the LLRs.

    Call:
        y: (..., M) complex received vectors.
        h: (..., M, S) complex channel matrices.
        s: (..., M, M) complex covariance matrices of the noise.
        prior: (..., S, bits) a-priori LLRs, for detectors that take them; or None.

    Returns:
        (..., S, bits) LLRs ln P(b=1)/P(b=0), without the prior's share if there is a prior and
        ``extrinsic`` is among the detector's parameters, or hard bits; or (..., S) int32 labels.

    Raises:
        ValueError: an argument has a forbidden value.
    """

    def __init__(self, detector, output="bit", constellation_type=None, num_bits_per_symbol=None,
                 constellation=None, hard_out=False, precision=None, device=None, threads=0,
                 extrinsic=False):
        super().__init__(precision=precision, device=device)
        self._output = choice("output", output, ("bit", "symbol"))
        self._hard_out = flag("hard_out", hard_out)
        if output == "symbol" and not hard_out:
            raise ValueError("output: got 'symbol' for soft output, allowed is 'bit', or 'symbol' "
                             "with hard_out=True")
        points = SionnaConstellation.check_or_create(
            constellation_type=constellation_type, num_bits_per_symbol=num_bits_per_symbol,
            constellation=constellation, precision=precision, device=device)
        self._constellation = Constellation(points().detach().cpu().numpy())
        self._bits = self._constellation.bits_per_symbol
        self._factory = look_up(detector)
        extrinsic = flag("extrinsic", extrinsic)
        self._options = {"threads": threads, **({"extrinsic": True} if extrinsic else {})}
        self._detectors = {}
        self._key = next(_keys)
        _made[self._key] = self

    def __setstate__(self, state):    # of copies
        super().__setstate__(state)
        self._key = next(_keys)
        _made[self._key] = self

    def _for_antennas(self, num_rx, num_tx):
        """Return the detector for these numbers of antennas, made on first use."""
        if (num_rx, num_tx) not in self._detectors:
            self._detectors[num_rx, num_tx] = self._factory.make(
                num_tx, num_rx, self._constellation, **self._options)
        return self._detectors[num_rx, num_tx]

    def call(self, y, h, s, prior=None):
        """Return LLRs or decisions; see the class."""
        y, h, s = (tensor.detach() for tensor in (y, h, s))    # there are no gradients
        prior = None if prior is None else prior.detach()
        llr = _detect(y, h, s, prior, self._key, self._bits)
        if not self._hard_out:
            return llr.to(self.dtype)
        bits = llr > 0
        if self._output == "bit":
            return bits.to(self.dtype)
        weights = 2 ** torch.arange(self._bits - 1, -1, -1, device=llr.device, dtype=torch.int32)
        return (bits * weights).sum(-1, dtype=torch.int32)


class LinearDetector(Detector):
    """``sionna.phy.mimo.LinearDetector`` with ``MMSE`` ("lmmse") or ``ZF`` ("zf")."""

    def __init__(self, equalizer, output, demapping_method, *arguments, **named):
        choice("demapping_method", demapping_method, ("maxlog",))
        name = {"lmmse": "mmse", "zf": "zf"}[choice("equalizer", equalizer, ("lmmse", "zf"))]
        super().__init__(name, output, *arguments, **named)


class MaximumLikelihoodDetector(Detector):
    """``sionna.phy.mimo.MaximumLikelihoodDetector`` with ``MLA`` ("maxlog") or ``OMAP`` ("app")."""

    def __init__(self, output, demapping_method, num_streams, *arguments, **named):
        name = {"maxlog": "mla", "app": "omap"}[
            choice("demapping_method", demapping_method, ("maxlog", "app"))]
        super().__init__(name, output, *arguments, **named)


class KBestDetector(Detector):
    """``sionna.phy.mimo.KBestDetector`` with ``KBest``.

    Sionna's detector gives an LLR of +-20 to a bit for which all its candidates agree. Ours bounds
    the LLR by the parameter ``llr_clip``, see ``detectors.KBest``.
    """

    def __init__(self, output, num_streams, k, *arguments, **named):
        super().__init__(f"kbest:k={k}", output, *arguments, **named)


class EPDetector(Detector):
    """``sionna.phy.mimo.EPDetector`` with ``EP``, for QAM.

    l is the number of iterations, beta the smoothing. As Sionna's, it starts from the sample
    variance of the PAM points of an axis.
    """

    def __init__(self, output, num_bits_per_symbol, hard_out=False, l=10, beta=0.9,    # noqa: E741
                 **named):
        levels = 2 ** (num_bits_per_symbol // 2)
        super().__init__(
            f"ep:num_iterations={l},smoothing={beta},"
            f"initial_variance={0.5 * levels / (levels - 1)}",
            output, "qam", num_bits_per_symbol, hard_out=hard_out, **named)


class MMSEPICDetector(Detector):
    """``sionna.phy.mimo.MMSEPICDetector`` with ``MMSEPIC``; returns extrinsic LLRs."""

    def __init__(self, output, demapping_method="maxlog", num_iter=1, *arguments, **named):
        choice("demapping_method", demapping_method, ("maxlog",))
        super().__init__(f"mmsepic:num_iterations={num_iter}", output, *arguments, extrinsic=True,
                         **named)
