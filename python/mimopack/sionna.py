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

import numpy as np

try:
    import torch
    from sionna.phy import Block
    from sionna.phy.mapping import Constellation as SionnaConstellation
except ImportError as error:
    raise ImportError(f"{__name__} needs Sionna 2, which could not be imported ({error}); pip "
                      "install sionna-no-rt installs it without its ray tracer") from error

from . import constellation as constellations
from .arrays import native, stream_of
from .checks import choice, flag, integer
from .detectors.lookup import look_up

_keys = count()
# The operator takes tensors and numbers: {key: Detector}.
_made = WeakValueDictionary()


@torch.library.custom_op("mimopack::detect", mutates_args=())
def _detect(y: torch.Tensor, h: torch.Tensor, s: torch.Tensor, prior: torch.Tensor | None,
            key: int, bits: int) -> torch.Tensor:
    """Return the LLRs (..., S, bits) of the detector with this key."""
    llr = _empty_llrs(y, h, s, prior, key, bits)
    detector = _made[key]._for_antennas(*h.shape[-2:])
    with stream_of(y):
        if _have_one_shape(y, h, s) and (prior is None or prior.shape == llr.shape):
            n = llr.shape[:-2].numel()
            y, h, s = (_rows(*named) for named in (("y", y, n, 1), ("h", h, n, 2), ("s", s, n, 2)))
            if prior is not None:
                prior = native("prior", prior.to(torch.float32).reshape(n, -1).contiguous())
            detector.detect(y, h, prior=prior, noise_cov=s, out=native("out", llr.view(n, -1)))
        else:
            detector.detect(y, h, prior=prior, noise_cov=s, out=llr, split_layers=True)
    detector._erased = 0    # A CUDA graph owns the memory of the count.
    return llr


@_detect.register_fake
def _empty_llrs(y, h, s, prior, key, bits):
    batch = _batch_shape(y, h, s)
    return y.new_empty((*batch, h.shape[-1], bits), dtype=torch.float32)


def _have_one_shape(y, h, s):
    return y.shape[:-1] == h.shape[:-2] == s.shape[:-2]


def _batch_shape(y, h, s):
    """Return the batch shape of the result.

    Raises:
        ValueError: shapes do not fit together.
    """
    if h.ndim < 2:
        raise ValueError(f"h: got shape {tuple(h.shape)}, must be (..., M, S)")
    num_rx = h.shape[-2]
    for name, tensor, end in (("y", y, (num_rx,)), ("s", s, (num_rx, num_rx))):
        if tensor.shape[-len(end):] != end:
            raise ValueError(f"{name}: got shape {tuple(tensor.shape)} with h of shape "
                             f"{tuple(h.shape)}, must be (..., {', '.join(map(str, end))})")
    if _have_one_shape(y, h, s):
        return y.shape[:-1]
    try:
        return torch.broadcast_shapes(y.shape[:-1], h.shape[:-2], s.shape[:-2])
    except RuntimeError:
        raise ValueError(f"y, h, s: got shapes {tuple(y.shape)}, {tuple(h.shape)}, "
                         f"{tuple(s.shape)}, whose leading dimensions must fit together") from None


def _rows(name, tensor, n, axes):
    """Return n vectors or matrices in one array. PyTorch packs strided tensors, in parallel."""
    rows = tensor.to(torch.complex64).reshape(n, *tensor.shape[-axes:])
    return native(name, rows.contiguous())


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
        num_streams: S, if it is known: parameters that depend on it are then checked at once.
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
                 constellation=None, hard_out=False, precision=None, device=None, num_streams=None,
                 threads=0, extrinsic=False):
        super().__init__(precision=precision, device=device)
        self._output = choice("output", output, ("bit", "symbol"))
        self._hard_out = flag("hard_out", hard_out)
        if output == "symbol" and not hard_out:
            raise ValueError("output: got 'symbol' for soft output, allowed is 'bit', or 'symbol' "
                             "with hard_out=True")
        if constellation is None:
            integer("num_bits_per_symbol", num_bits_per_symbol, 1, 10)
        self._constellation = _ours(SionnaConstellation.check_or_create(
            constellation_type=constellation_type, num_bits_per_symbol=num_bits_per_symbol,
            constellation=constellation, precision=precision, device=device))
        self._bits = self._constellation.bits_per_symbol
        self._factory = look_up(detector)
        self._num_streams = getattr(self._factory.example, "num_tx", None)
        if num_streams is not None:
            self._num_streams = integer("num_streams", num_streams, 1, 64)
        self._options = {"threads": threads, "llr_type": "float32",
                         "device": torch.device(self.device).index or 0}
        if flag("extrinsic", extrinsic):
            self._options["extrinsic"] = True
        self._detectors = {}
        self._check_parameters()
        self._key = next(_keys)
        _made[self._key] = self

    def __setstate__(self, state):    # of copies
        super().__setstate__(state)
        self._key = next(_keys)
        _made[self._key] = self

    def _check_parameters(self):
        """Make a detector. If S is not known, the parameters must suit some S."""
        num_rx = getattr(self._factory.example, "num_rx", None)
        errors = []
        for num_tx in [self._num_streams] if self._num_streams else (4, 2, 1, 8, 16):
            try:
                return self._for_antennas(num_rx or num_tx, num_tx)
            except ValueError as error:
                errors.append(error)
        raise errors[0]

    def _for_antennas(self, num_rx, num_tx):
        """Return the detector for these numbers of antennas, made on first use.

        Raises:
            ValueError: a parameter has a forbidden value, or another number of streams is meant.
        """
        if num_tx != (self._num_streams or num_tx):
            raise ValueError(f"h: got {num_tx} streams, must be num_streams = {self._num_streams}")
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


def _ours(constellation):
    """Return our constellation with the points of Sionna's: a built-in one, if points agree."""
    points = constellation().detach().cpu().numpy()
    for name in constellations.BUILT_IN:
        built_in = constellations.get(name)
        if built_in.size == len(points) and np.allclose(points, built_in.points, atol=1e-6):
            return built_in
    return constellations.Constellation(points)


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
        super().__init__(name, output, *arguments, num_streams=num_streams, **named)


class KBestDetector(Detector):
    """``sionna.phy.mimo.KBestDetector`` with ``KBest``.

    Sionna's detector gives an LLR of +-20 to a bit for which all its candidates agree. Ours bounds
    the LLR by the parameter ``llr_clip``, see ``detectors.KBest``.
    """

    def __init__(self, output, num_streams, k, *arguments, **named):
        super().__init__(f"kbest:k={k}", output, *arguments, num_streams=num_streams, **named)


class EPDetector(Detector):
    """``sionna.phy.mimo.EPDetector`` with ``EP``, for QAM.

    l is the number of iterations, beta the smoothing. As Sionna's, it starts from the sample
    variance of the PAM points of an axis.
    """

    def __init__(self, output, num_bits_per_symbol, hard_out=False, l=10, beta=0.9,    # noqa: E741
                 **named):
        levels = 2 ** (integer("num_bits_per_symbol", num_bits_per_symbol, 2, 10) // 2)
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
