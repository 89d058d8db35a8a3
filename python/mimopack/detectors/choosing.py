# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the detector that a name, a class or an object means."""

from collections.abc import Iterable
from threading import RLock
from typing import Any, NamedTuple

import numpy as np

from .. import constellation as constellations
from ..checks import shown
from ..specs import parse
from . import own, plugins
from .base import Detector, label

_LOADING = RLock()
# Parameters of all detectors that may follow a name, besides the detector's own.
_COMMON = ("device", "isa")


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
    raise ValueError(f"detector: got {shown(name)}, allowed are {', '.join((*also, *names()))}")


def registered(detector, also=()):
    """Register a class that is not registered yet, so that everything finds it by its name.

    Args:
        detector: a class as ``register`` takes it, or anything else.
        also: further names that the caller knows.

    Returns:
        The name of a class; anything else as it is.

    Raises:
        ValueError: the class is no detector, another class has the same name, or a text begins with
            the name of no detector.
    """
    from . import REGISTRY
    from .outside import register

    if isinstance(detector, str):
        find(_parsed(detector).name, also)
    if not isinstance(detector, type):
        return detector
    kind = adapted(detector)
    if dict(REGISTRY).get(kind.name) is not kind:
        register(detector)
    return kind.name


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
        label: name with its parameters, as "nway:num_passes=2".
        kind: subclass of ``Detector``.
        keywords: its keyword arguments besides size, constellation, backend and threads.
    """

    label: str
    kind: Any
    keywords: dict


def recipe(detector, also=()):
    """Return the :class:`Recipe` of a detector that is given by name, class or object.

    A detector of this package is made again from its arguments. A user's object is copied with
    ``copy.deepcopy``.

    Args:
        detector: one of:

            - one of ``names()``. Its parameters may follow, as in "kbest:k=8,llr_clip=4"; the label
              is then the text. ``device`` and ``isa`` may be among them;
            - a class, as ``register`` takes it;
            - an object.
        also: names of the caller's own parameters that may follow a name. They become keywords too.

    Raises:
        ValueError: this is no detector, or the detector does not have one of the parameters.
    """
    if isinstance(detector, str):
        return _from_text(detector, also)
    if isinstance(detector, type):
        kind = adapted(detector)
        return Recipe(kind.name, kind, {})
    if isinstance(detector, Detector):
        return Recipe(detector.label, type(detector), {
            **detector.given, **({"extrinsic": True} if detector.extrinsic else {}),
            "device": detector.device, "llr_type": detector.llr_dtype.name,
            "llr_scale": detector.llr_scale})
    kind, parameters = own.adapt_object(detector)
    return Recipe(label(kind.name, parameters), kind, {})


def _parsed(text):
    try:
        return parse(text)
    except ValueError as error:
        raise ValueError(f"detector: got {shown(text)}: {error}") from None


def _from_text(text, also):
    name, positional, keywords = _parsed(text)
    kind = find(name)
    if positional:
        raise ValueError(f"detector: got {text!r}, where {positional[0]!r} is not key=value")
    allowed = [*(p.name for p in kind.PARAMETERS), *also, *_COMMON]
    for key in keywords:
        if key not in allowed:
            raise ValueError(f"detector: got {text!r}: {name} has no parameter {key!r}, allowed "
                             f"are {', '.join(allowed)}")
    return Recipe(text, kind, keywords)


def labels(detectors):
    """Return {label: detector} of detectors as :func:`recipe` takes them.

    The label of a text is the text, see :class:`Recipe`.

    Raises:
        ValueError: this is no list of detectors, or two have the same label.
    """
    if isinstance(detectors, str) or not isinstance(detectors, Iterable):
        raise ValueError(f"detectors: got {detectors!r}, must be a list")
    found = {}
    for given in detectors:
        name = given if isinstance(given, str) else recipe(given).label
        if name in found and not (isinstance(given, str) and found[name] == given):
            raise ValueError(f"detectors: got two detectors named {name!r}: give them different "
                             "names or parameters")
        found[name] = given
    return found


def for_link(detector, num_tx, num_rx, constellation, also=()):
    """Return a :func:`recipe` for a link.

    Args:
        detector, also: see :func:`recipe`.
        num_tx, num_rx, constellation: of the link. An object must be made for it.

    Raises:
        ValueError: this is no detector, or it was made for something else.
    """
    found = recipe(detector, also)
    if not isinstance(detector, str | type):
        check_fit(detector, num_tx, num_rx, constellations.get(constellation))
    return found


def as_detector(detector):
    """Return a ``Detector`` as it is, or make one that works with a copy of a user's object.

    The object must have the attributes num_tx, num_rx and constellation. If it takes a-priori LLRs,
    the result has extrinsic LLRs.

    Raises:
        ValueError: this is neither, or the object does not say what it was made for.
    """
    if isinstance(detector, Detector):
        return detector
    if isinstance(detector, type | str):
        given = repr(detector) if isinstance(detector, str) else f"the class {detector.__name__}"
        raise ValueError(f"detector: got {given}, must be an object")
    _, kind, _ = recipe(detector)
    check_tells(detector, "num_tx", "num_rx", "constellation")
    return kind(detector.num_tx, detector.num_rx, detector.constellation,
                **({"extrinsic": True} if kind.SUPPORTS_PRIOR else {}))


def check_tells(detector, *names):
    """Check that a user's object has attributes.

    Raises:
        ValueError: an attribute is missing.
    """
    missing = [name for name in names if not hasattr(detector, name)]
    if missing:
        raise ValueError(f"detector: {detector.name} has no attribute {' and no '.join(missing)}. "
                         "Add it, or use detectors.create for a detector with this name")


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
    got = constellations.of_layers(getattr(detector, "constellation", constellation), num_tx)
    if any(not np.array_equal(own.points, wanted.points) for own, wanted in zip(
            *(constellations.each_layer(points, num_tx) for points in (got, constellation)),
            strict=True)):
        raise ValueError(f"detector: {name} has the constellation {got.name}, but the link has "
                         f"{constellation.name}")
