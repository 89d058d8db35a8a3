# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the detector that a name, a class or an object means."""

from threading import RLock
from typing import Any, NamedTuple

import numpy as np

from .. import constellation as constellations
from . import own, plugins
from .base import Detector

_LOADING = RLock()


class Registry(dict):
    """The class of each detector by its name.

    It has the built-in detectors and those that ``register`` added. A detector of an installed
    package (see ``plugins``) joins them when its name is first looked up.

    Raises:
        ValueError: the detector of an installed package cannot be used.
    """

    def __missing__(self, name):
        from .outside import register

        with _LOADING:
            if name in list(self):    # another thread was faster
                return self[name]
            kind = plugins.load(name)
            if kind is None:
                raise KeyError(name)
            if name not in list(self):    # its module may have registered it
                try:
                    if getattr(kind, "name", None) != name:
                        raise ValueError(f"{kind!r} has another name")
                    register(kind)
                except ValueError as error:
                    entry = next(one for one in plugins.declared() if one.name == name)
                    raise ValueError(plugins.broken(entry, error)) from error
            return self[name]

    def __contains__(self, name):
        return self.get(name) is not None

    def get(self, name, default=None):
        """Return the class with a name, or the default."""
        try:
            return self[name]
        except KeyError:
            return default


def names():
    """Return the names of all detectors. Packages' code does not run for that."""
    from . import REGISTRY

    return tuple(dict.fromkeys([*REGISTRY, *(one.name for one in plugins.declared())]))


def find(name, also=()):
    """Return the class of a detector by its name.

    Args:
        name: one of ``names()``.
        also: further names that the caller knows.

    Returns:
        A subclass of ``Detector``; None for one of the further names.

    Raises:
        ValueError: there is no detector of this name, or the package that declares it fails.
    """
    from . import REGISTRY

    if isinstance(name, str):
        if name in also:
            return None
        if name in REGISTRY:
            return REGISTRY[name]
    raise ValueError(f"detector: got {name!r}, allowed are {', '.join((*also, *names()))}")


def name_of(detector, also=()):
    """Return the name of a detector that is given by its name or its class.

    Args:
        detector: one of ``names()``, or a class as ``register`` takes it. A class that is not
            registered yet is registered, so that everything finds it by its name.
        also: further names that the caller knows.

    Raises:
        ValueError: this is neither, or another class has the same name.
    """
    from . import REGISTRY
    from .outside import register

    if isinstance(detector, type):
        kind = adapted(detector)
        if dict(REGISTRY).get(kind.name) is not kind:
            register(detector)
        return kind.name
    if not isinstance(detector, str) and callable(getattr(detector, "detect", None)):
        raise ValueError(f"detector: got the object {detector!r}, must be a name or a class: "
                         "detectors are made for the size of each frame")
    find(detector, also)
    return detector


def adapted(kind):
    """Return a detector's class as a subclass of ``Detector``.

    Args:
        kind: such a subclass, or a user's class as ``register`` takes it.

    Raises:
        ValueError: the class is neither.
    """
    return kind if issubclass(kind, Detector) and kind.name else own.adapt(kind)


class Recipe(NamedTuple):
    """How to make detectors like a given one.

    Attributes:
        label: name with the parameters that differ from their defaults, as "nway:num_passes=2".
        kind: subclass of ``Detector``.
        keywords: its keyword arguments besides size, constellation, backend and threads.
    """

    label: str
    kind: Any
    keywords: dict


def recipe(detector):
    """Return the :class:`Recipe` of a detector object or class.

    A detector of this package is made again from its arguments. A user's object is copied with
    ``copy.deepcopy``.

    Raises:
        ValueError: this is no detector.
    """
    if isinstance(detector, type):
        kind = adapted(detector)
        return Recipe(kind.name, kind, {})
    if isinstance(detector, Detector):
        given = detector.given
        return Recipe(_label(detector.name, given), type(detector), {
            **given, **({"extrinsic": True} if detector.extrinsic else {}),
            "device": detector.device, "llr_type": detector.llr_dtype.name,
            "llr_scale": detector.llr_scale})
    kind, parameters = own.adapt_object(detector)
    return Recipe(_label(kind.name, parameters), kind, {})


def for_link(detector, num_tx, num_rx, constellation):
    """Return (class, keyword arguments) of a detector that is given by name, class or object.

    Args:
        detector: one of ``names()``, a class or an object as for :func:`recipe`.
        num_tx, num_rx, constellation: of the link. An object must be made for it.

    Raises:
        ValueError: this is no detector, or it was made for something else.
    """
    if isinstance(detector, str):
        return find(detector), {}
    _, kind, keywords = recipe(detector)
    if not isinstance(detector, type):
        check_fit(detector, num_tx, num_rx, constellations.get(constellation))
    return kind, dict(keywords)


def as_detector(detector):
    """Return a ``Detector`` as it is, or make one that works with a copy of a user's object.

    The object must have the attributes num_tx, num_rx and constellation. If it takes a-priori LLRs,
    the result has extrinsic LLRs.

    Raises:
        ValueError: this is neither, or the object does not say what it was made for.
    """
    if isinstance(detector, Detector):
        return detector
    if isinstance(detector, type):
        raise ValueError(f"detector: got the class {detector.__name__}, must be an object")
    label, kind, _ = recipe(detector)
    missing = [name for name in ("num_tx", "num_rx", "constellation")
               if not hasattr(detector, name)]
    if missing:
        raise ValueError(f"detector: {label} has no attribute {' and no '.join(missing)}. Add it, "
                         "or use detectors.create for a detector with this name")
    return kind(detector.num_tx, detector.num_rx, detector.constellation,
                **({"extrinsic": True} if kind.SUPPORTS_PRIOR else {}))


def check_fit(detector, num_tx, num_rx, constellation):
    """Check that a detector object, if it says what it was made for, was made for a link.

    Args:
        detector: any object.
        num_tx, num_rx, constellation: of the link.

    Raises:
        ValueError: the detector was made for something else.
    """
    name = getattr(detector, "name", None)
    for what, wanted in (("num_tx", num_tx), ("num_rx", num_rx)):
        got = getattr(detector, what, wanted)
        if got != wanted:
            raise ValueError(f"detector: {name} has {what} = {got}, but the link has {wanted}")
    got = constellations.get(getattr(detector, "constellation", constellation))
    if not np.array_equal(got.points, constellation.points):
        raise ValueError(f"detector: {name} has the constellation {got.name}, but the link has "
                         f"{constellation.name}")


def _label(name, parameters):
    return ":".join([name, ",".join(f"{key}={value}" for key, value in parameters.items())]
                    if parameters else [name])
