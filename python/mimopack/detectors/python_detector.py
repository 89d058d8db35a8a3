# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Detectors of users in plain Python: a class with a name and a method ``detect``.

``PythonDetector`` puts such a class behind the interface of all detectors: it checks arguments and
results, erases vectors, subtracts a-priori LLRs and converts to int8. docs/own-detector.md shows
how.
"""

import copy
import inspect
from contextlib import contextmanager

import numpy as np

from ..reference.batch import LARGEST_LLR, undetectable, whitened
from .base import Detector
from .parameters import COMMON, PRIOR, Parameter

_KINDS = {bool: "bool", int: "int", float: "float"}
_CLASS = ("must be a subclass of Detector, or a class with a name and a method "
          "detect(y, h, noise_var), made as {}(num_tx, num_rx, constellation)")
_OBJECT = ("must be a name, a detector, or an object with a name and a method "
           "detect(y, h, noise_var)")


class PythonDetector(Detector):
    """A detector that calls a user's object.

    It runs in Python on the CPU: backends "auto", "cpu" and "reference" do the same, and "cuda" is
    refused. ``threads`` has no effect.
    """

    IN_PYTHON = True
    _may_copy = False    # to a GPU
    MAX_TX = 64
    MAKE = None    # function that makes the user's object

    def _start(self):
        if self.backend == "cuda":
            raise ValueError(f"backend: got 'cuda', but {self.name} runs in Python, allowed are "
                             "auto, cpu, reference")
        given = {p.name: getattr(self, p.name) for p in self.PARAMETERS}
        with _naming(self.name):
            self._own = type(self).MAKE(self.num_tx, self.num_rx, self.constellation, **given)

    core = gpus = property(lambda self: None, doc="None: there are no kernels.")

    def _on_cpu(self, batch):
        """Run a batch with the user's object; return the number of erased vectors."""
        if not batch.n:
            return 0
        if batch.noise_cov is not None:
            y, h = (array.astype(np.complex64)
                    for array in whitened(batch.y, batch.h, batch.noise_cov))
            batch = batch._replace(y=y, h=h)
        erased, y, h, noise_var, prior = _detectable(batch)
        known = {} if prior is None else {"prior": prior}
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):    # erased below
            with _naming(f"{self.name}.detect"):
                result = self._own.detect(y, h, noise_var, **known)
            llr = self._checked_result(result, batch.out.shape)
            erased |= ~(np.abs(llr) <= LARGEST_LLR).all(axis=1)
        return self._write(batch, np.where(erased[:, None], 0, llr), erased)

    def _checked_result(self, result, shape):
        """Return the result of the user's ``detect`` as an array.

        Raises:
            ValueError: it is no array of real numbers, or has the wrong shape.
        """
        try:
            llr = np.asarray(result)
        except ValueError:    # lists of different lengths
            llr = np.asarray(None)
        if llr.dtype.kind not in "biuf":
            kind = llr.dtype if isinstance(result, np.ndarray) else type(result).__name__
            raise ValueError(f"{self.name}.detect: returned {kind}, must return real LLRs of shape "
                             f"{shape}")
        if llr.shape != shape:
            raise ValueError(f"{self.name}.detect: returned shape {llr.shape}, must return "
                             f"{shape}: (number of vectors, num_tx * bits per symbol)")
        return llr.astype(np.float64, copy=False)


@contextmanager
def _naming(what):
    """Turn an exception in a user's code into a ValueError that names the detector."""
    try:
        yield
    except Exception as error:
        raise ValueError(f"{what}: failed with {error!r}") from error


def _detectable(batch):
    """Return (erased, y, h, noise_var, prior) for a user's ``detect``.

    ``erased`` marks the vectors that no detector can detect. Harmless values replace theirs, since
    one singular matrix makes NumPy refuse a whole batch. The arrays are read-only and C-contiguous,
    as the detectors of this package want them.
    """
    noise_var = np.ascontiguousarray(np.broadcast_to(batch.noise_var, batch.n))
    erased, unfit = undetectable(batch.y, batch.h, noise_var, batch.prior)
    arrays = []
    for values, mask, harmless in (
            (batch.y, erased, 0), (batch.h, unfit, np.eye(*batch.h.shape[1:])),
            (noise_var, erased, 1), (batch.prior, erased, 0)):
        if values is not None:
            mask = mask.reshape(-1, *[1] * (values.ndim - 1))
            values = (np.where(mask, np.asarray(harmless, values.dtype), values) if erased.any()
                      else values.view())
            values.flags.writeable = False
        arrays.append(values)
    return erased, *arrays


def adapt(own):
    """Return the subclass of ``Detector`` that runs a user's class, or copies of a user's object.

    Args:
        own: a class as ``register`` takes it, or an object with a name and such a method
            ``detect``.

    Returns:
        (class, parameters). The parameters of an object are the arguments of its class with other
        values than the default. They are known if the object keeps them as attributes, and only
        serve to name it.

    Raises:
        ValueError: own is not as above.
    """
    is_class = isinstance(own, type)
    kind = own if is_class else type(own)

    def refuse(why):
        form = _CLASS.format(kind.__name__) if is_class else _OBJECT
        raise ValueError(f"detector: got {own!r}, {why}; {form}")

    name = getattr(own, "name", None)
    if not (isinstance(name, str) and name.isidentifier() and name != "auto"):
        refuse(f"whose name is {name!r}, not a word such as 'my_detector'")
    if not callable(getattr(own, "detect", None)):
        refuse("which has no method detect")
    try:
        inspect.signature(own.detect).bind(*[None] * is_class, None, None, None)
        signature = inspect.signature(kind)
        if is_class:
            signature.bind(1, 1, None)
    except (TypeError, ValueError) as error:    # ValueError for a class in C
        refuse(f"which cannot be made and called like this ({error})")
    arguments = [p for p in list(signature.parameters.values())[3:]
                 if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if not is_class:
        given = {p.name: getattr(own, p.name, p.default) for p in arguments}
        return (_subclass(kind, name, lambda *_: copy.deepcopy(own), ()),
                {p.name: given[p.name] for p in arguments if given[p.name] is not p.default
                 and repr(given[p.name]) != repr(p.default)})
    known = [*(p.name for p in (*COMMON, *PRIOR)), "isa"]
    for p in arguments:
        if p.name in known:
            refuse(f"whose argument {p.name!r} is one of all detectors")
    return _subclass(kind, name, kind, tuple(
        Parameter(p.name, p.name.replace("_", " ").capitalize(), p.default,
                  _KINDS.get(type(p.default), "raw"), f"An argument of {kind.__name__}.")
        for p in arguments)), {}


def _subclass(kind, name, make, parameters):
    text = inspect.getdoc(kind) if kind.__doc__ else f"{kind.__name__}, a detector in Python."
    return type(kind.__name__, (PythonDetector,), {
        "name": name, "MAKE": staticmethod(make), "PARAMETERS": parameters,
        "SUPPORTS_PRIOR": "prior" in inspect.signature(kind.detect).parameters,
        "summary": text.splitlines()[0], "__doc__": text, "__module__": kind.__module__,
        "__qualname__": kind.__qualname__})
