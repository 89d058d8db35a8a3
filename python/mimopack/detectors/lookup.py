# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Look detectors up by name, class or object, and add detectors from outside gr-mimopack.

docs/own-detector.md shows a detector in Python. docs/architecture.md explains how to write one with
kernels, and examples/detector contains one.
"""

import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from .. import _core
from .. import constellation as constellations
from ..checks import shown
from ..cuda.source import INCLUDE
from ..specs import parse
from .base import Detector
from .python_detector import adapt
from .settings import label

# Group of the entry points by which installed packages declare detectors.
GROUP = "gnuradio.mimopack.detectors"
# Parameters of all detectors that may follow a name, besides the detector's own.
_COMMON = ("device", "isa")


def entry_points():
    """Return the entry points by which installed packages declare detectors."""
    return metadata.entry_points(group=GROUP)


def describe(entry):
    """Return a text with the package and the target of an entry point."""
    return f"{entry.value} of {entry.dist.name} {entry.dist.version}"


def names():
    """Return the names of all detectors. Packages' code does not run for that."""
    from . import REGISTRY

    return tuple(dict.fromkeys([*REGISTRY, *(entry.name for entry in entry_points())]))


def find(name, also=()):
    """Return the class of a detector by its name.

    A detector that an installed package declares joins ``REGISTRY`` when it is first asked for.

    Args:
        name: one of ``names()``.
        also: further names for the error message.

    Raises:
        ValueError: there is no detector of this name, or the package that declares it fails.
    """
    from . import REGISTRY

    if isinstance(name, str) and name in REGISTRY:
        return REGISTRY[name]
    entries = [entry for entry in entry_points() if entry.name == name]
    if not entries:
        raise ValueError(f"detector: got {shown(name)}, allowed are {', '.join((*also, *names()))}")
    if len(entries) > 1:
        raise ValueError(f"detector: got {name!r}, which several packages declare: "
                         f"{'; '.join(map(describe, entries))}")
    try:
        kind = entries[0].load()
        if getattr(kind, "name", None) != name:
            raise ValueError(f"{kind!r} has another name")
        register(kind)
    except (Exception, SystemExit) as error:
        raise ValueError(f"detector: got {name!r}, but its plug-in fails, "
                         f"{describe(entries[0])}: {error!r}") from error
    return REGISTRY[name]


def register(detector, module=None):
    """Add a detector to ``REGISTRY``: everything that takes a detector's name then takes this one.

    A class in Python that is defined again, as in a notebook, replaces the earlier one.

    Args:
        detector: a class with a unique name, one of:

            - a class in Python, made as ``detector(num_tx, num_rx, constellation)``, where
              ``constellation.get`` accepts the last argument. Further arguments need defaults, and
              become parameters. Its method ``detect(y, h, noise_var)`` gets a batch in NumPy
              arrays: y (n, nr) and h (n/T, nr, nt) complex64, noise_var (n,) float32. It returns
              (n, nt*m) LLRs, as ``Detector.detect`` does. If the method has an argument ``prior``,
              it gets (n, nt*m) a-priori LLRs or None, and must include them in the result. It need
              not care for NaN, Inf and matrices of deficient rank: these never reach it, and
              vectors for which it returns NaN or Inf are erased.
            - a subclass of ``Detector``. Its ``FOLDER`` contains kernel.h and, for GPUs, cuda.h.
        module: path of the shared library that :func:`compile_module` made from the detector's
            cpu.cc; None for a detector without backend "cpu".

    Returns:
        detector, so that ``register`` is also a decorator.

    Raises:
        ValueError: detector is none of these, the name is taken, or module is not a library made by
            :func:`compile_module`.
    """
    from . import REGISTRY

    if not isinstance(detector, type):
        raise ValueError(f"detector: got {detector!r}, must be a class")
    kind = look_up(detector).kind
    before = REGISTRY.get(kind.name, kind)
    again = before.IN_PYTHON and kind.IN_PYTHON and (
        (before.__module__, before.__qualname__) == (kind.__module__, kind.__qualname__))
    if before is not kind and not again:
        raise ValueError(f"detector: got the name {kind.name!r}, which is taken")
    if module is not None:
        _core.load_module(str(Path(module).resolve()))
    REGISTRY[kind.name] = kind
    return detector


def compile_module(folder, library, compiler="g++"):
    """Compile the cpu.cc of a detector's folder for this machine.

    Args:
        folder: the folder, which contains kernel.h and cpu.cc.
        library: path of the shared library to write.
        compiler: a C++17 compiler with OpenMP.

    Raises:
        subprocess.CalledProcessError: cpu.cc does not compile; the compiler prints why.
        FileNotFoundError: the compiler is not installed.
    """
    folder = Path(folder).resolve()
    subprocess.run(
        [compiler, "-std=c++17", "-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math",
         "-fopenmp", "-fPIC", "-shared", "-fvisibility=hidden", "-DMIMOPACK_ISA=outside",
         f"-I{INCLUDE}", f"-I{folder}", folder / "cpu.cc", "-o", library], check=True)


@dataclass(frozen=True)
class DetectorFactory:
    """Makes detectors like a given one.

    Attributes:
        label: name with its parameters, as "nway:num_passes=2".
        kind: subclass of ``Detector``.
        keywords: its keyword arguments besides size, constellation, backend and threads.
        extra: the caller's own parameters that followed the name.
        example: the object that the user gave, whose sizes and constellation :meth:`make`
            compares; None for a name or a class.
    """

    label: str
    kind: Any
    keywords: dict
    extra: dict = field(default_factory=dict)
    example: Any = None

    def make(self, num_tx, num_rx, constellation, **options):
        """Make a detector; the options override ``keywords``.

        Raises:
            ValueError: the detector was given as an object for something else, or refuses an
                argument.
        """
        self._check_fit(num_tx, num_rx, constellation)
        return self.kind(num_tx=num_tx, num_rx=num_rx, constellation=constellation,
                         **self.keywords | options)

    def _check_fit(self, num_tx, num_rx, constellation):
        """Check that an object, if it says what it was made for, was made for a link."""
        name = self.kind.name
        for what, wanted in (("num_tx", num_tx), ("num_rx", num_rx)):
            got = getattr(self.example, what, wanted)
            if got != wanted:
                raise ValueError(f"detector: {name} has {what} = {got}, but the link has {wanted}")
        got, wanted = (constellations.of_layers(points, num_tx) for points in (
            getattr(self.example, "constellation", constellation), constellation))
        if [points.points.tolist() for points in constellations.each_layer(got, num_tx)] != [
                points.points.tolist() for points in constellations.each_layer(wanted, num_tx)]:
            raise ValueError(f"detector: {name} has the constellation {got.name}, but the link has "
                             f"{wanted.name}")


def look_up(detector, also=()):
    """Return the :class:`DetectorFactory` that a name, a class or an object means.

    A detector of this package is made again from its arguments. A user's object is copied with
    ``copy.deepcopy``.

    Args:
        detector: one of:

            - one of ``names()``. Its parameters may follow, as in "kbest:k=8,llr_clip=4"; the label
              is then the text. ``device`` and ``isa`` may be among them;
            - a class, as ``register`` takes it, which need not be registered;
            - an object.
        also: names of the caller's own parameters that may follow a name; they become ``extra``.

    Raises:
        ValueError: this is no detector, or the detector does not have one of the parameters.
    """
    if isinstance(detector, str):
        return _from_text(detector, also)
    if isinstance(detector, type) and issubclass(detector, Detector) and detector.name:
        return DetectorFactory(detector.name, detector, {})
    if isinstance(detector, Detector):
        return DetectorFactory(detector.label, type(detector), {
            **detector.given, **({"extrinsic": True} if detector.extrinsic else {}),
            "device": detector.device, "llr_type": detector.llr_dtype.name,
            "llr_scale": detector.llr_scale}, example=detector)
    kind, parameters = adapt(detector)
    return DetectorFactory(label(kind.name, parameters), kind, {},
                           example=None if isinstance(detector, type) else detector)


def _from_text(text, also):
    try:
        name, positional, keywords = parse(text)
    except ValueError as error:
        raise ValueError(f"detector: got {shown(text)}: {error}") from None
    kind = find(name)
    if positional:
        raise ValueError(f"detector: got {text!r}, where {positional[0]!r} is not key=value")
    allowed = [*(p.name for p in kind.PARAMETERS), *also, *_COMMON]
    for key in keywords:
        if key not in allowed:
            raise ValueError(f"detector: got {text!r}: {name} has no parameter {key!r}, allowed "
                             f"are {', '.join(allowed)}")
    for parameter in kind.PARAMETERS:
        if "none" in parameter.choices and keywords.get(parameter.name, "") is None:
            keywords[parameter.name] = "none"    # the word, not the value
    extra = {key: keywords.pop(key) for key in also if key in keywords}
    return DetectorFactory(text, kind, keywords, extra)


def labels(detectors):
    """Return {label: detector} of detectors as :func:`look_up` takes them.

    The label of a text is the text.

    Raises:
        ValueError: this is no list of detectors, or two have the same label.
    """
    if isinstance(detectors, str) or not isinstance(detectors, Iterable):
        raise ValueError(f"detectors: got {detectors!r}, must be a list")
    named = {}
    for detector in detectors:
        name = detector if isinstance(detector, str) else look_up(detector).label
        if name in named and not (isinstance(detector, str) and named[name] == detector):
            raise ValueError(f"detectors: got two detectors named {name!r}: give them different "
                             "names or parameters")
        named[name] = detector
    return named


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
    kind = look_up(detector).kind
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
