# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the MIMO detectors of a receiver, for the size of each frame."""

import os
from dataclasses import replace
from itertools import product

from .. import detectors
from ..checks import integer, positive, thread_count
from ..detectors.lookup import check_tells, look_up
from .iterations import FEEDBACK_SCALE

# Parameters of the receiver that may follow a detector's name.
OF_RECEIVER = ("iterations", "feedback_scale")
# Parameters of a detector object that the receiver sets itself.
_SET_HERE = ("extrinsic", "llr_type", "llr_scale")
# Numbers of streams and constellations of the frames that a detector's parameters may suit.
_SIZES = 4, 3, 2
_CONSTELLATIONS = "wlan_qpsk", "wlan_qam16", "wlan_qam64", "wlan_qam256"


def shared_out(backend, threads):
    """Return (backend, threads of the receiver, threads of each detector).

    The arguments are those of :class:`receiver.Receiver`. 0 threads of a detector are all cores,
    for large batches.
    """
    threads = thread_count(threads) or len(os.sched_getaffinity(0))
    if backend == "cuda":
        threads = 1
    return "cpu" if backend == "auto" else backend, threads, int(threads > 1)


class FrameDetectors:
    """Makes detectors like a given one; a function for the argument ``detector`` of ``Receiver``.

    MMSE replaces any detector for a single unknown: it is then maximum ratio combining, which is
    exact.

    Args:
        detector: see :class:`receiver.Receiver`, except a function.
        iterations: number of iterations between detector and decoder, unless it follows the name.
        backend, threads: of the detectors.

    Attributes:
        label: name with parameters.
        iterations: as above.
        feedback_scale: see :class:`iterations.Iterations`.

    Raises:
        ValueError: this is no detector, no frame can have a detector with these parameters, or
            iterations is more than 1 and the detector takes no a-priori LLRs.
    """

    def __init__(self, detector, iterations=1, backend="auto", threads=0):
        factory = look_up(detector, OF_RECEIVER)
        self.label = factory.label
        self.iterations = integer("iterations", factory.extra.get("iterations", iterations), 1,
                                  1000)
        self.feedback_scale = positive("feedback_scale",
                                       factory.extra.get("feedback_scale", FEEDBACK_SCALE))
        keywords = {key: value for key, value in factory.keywords.items() if key not in _SET_HERE}
        self._common = {"backend": backend, "threads": threads}
        if isinstance(detector, detectors.Detector):    # only its parameters count
            factory = replace(factory, example=None)
        self._factory = replace(factory, keywords=keywords)
        if factory.example is not None:
            check_tells(detector, "constellation")
        elif keywords:
            self._check_parameters()
        if self.iterations > 1 and not factory.kind.takes_feedback(**factory.keywords):
            allowed = ", ".join(name for name, kind in detectors.REGISTRY.items()
                                if kind.takes_feedback())
            raise ValueError(f"detector: got {self.label!r}, which takes no a-priori LLRs; with "
                             f"iterations = {self.iterations} allowed are {allowed}")

    def __call__(self, unknowns, rows, constellation, **options):
        """Make a detector.

        Args:
            unknowns: number of columns of H.
            rows: number of rows of H.
            constellation: its name.
            options: further keyword arguments of the detector.

        Raises:
            ValueError: the detector does not support this size.
        """
        options = self._common | options
        if unknowns == 1:
            return detectors.MMSE(num_tx=1, num_rx=rows, constellation=constellation, **options)
        return self._factory.make(unknowns, rows, constellation, **options)

    def _check_parameters(self):
        """Raise the error about a parameter that is wrong for all frames."""
        refusal = None
        for size, constellation in product(_SIZES, _CONSTELLATIONS):
            try:
                self._factory.make(size, size, constellation, threads=1, backend="cpu")
            except ValueError as error:
                refusal = refusal or error
            else:
                return
        raise ValueError(f"detector: got {self.label!r}: {refusal}") from refusal


def is_function(detector):
    """Return whether the argument ``detector`` of ``Receiver`` is a function."""
    # A class without a name is a function like any other.
    what = "name" if isinstance(detector, type) else "detect"
    return callable(detector) and not getattr(detector, what, None)


def label_of(detector):
    """Return the name and parameters of a detector, or the name of a function."""
    if isinstance(detector, str):
        return detector
    if is_function(detector):
        return getattr(detector, "__name__", type(detector).__name__)
    return look_up(detector).label


def can_iterate(detector):
    """Return whether a detector can iterate with the decoder.

    Args:
        detector: see :class:`receiver.Receiver`, except a function.

    Raises:
        ValueError: this is no detector.
    """
    factory = look_up(detector, OF_RECEIVER)
    return factory.kind.takes_feedback(**factory.keywords)
