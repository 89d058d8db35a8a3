# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sizes, constellation and parameters of a detector, and their description for C++ and CUDA."""

import inspect

import numpy as np

from .. import constellation as constellations
from ..arrays import ReusedMemory
from ..backends import BackendChoice
from ..checks import choice, flag, instruction_set, integer, positive, shown, thread_count
from .parameters import COMMON, LLR_TYPES, PRIOR

_GRID = "BPSK, or square QAM with Gray labels per axis"


class DetectorSettings(BackendChoice):
    """The settings of a detector; ``Detector`` explains them."""

    # Subclasses declare the following. C++ and CUDA know a detector by its name and its family. The
    # family is the folder of lib/detectors with the kernels; None stands for the name.
    name = ""
    family = None
    FOLDER = None               # folder of kernel.h and cuda.h, if it is not the family's
    summary = ""
    PARAMETERS = ()             # in addition to the common ones
    REFERENCE = None            # a staticmethod; None stands for ``reference.<name>``
    SUPPORTS_PRIOR = False
    NEEDS_GRID = False          # works per axis: needs square QAM or BPSK
    NEEDS_RANK = True           # a vector whose H has no full column rank is an erasure
    HARD = False                # hard decisions: all LLRs are +-1, unless it has ``soft=True``
    TAKES_HARD = False          # ``detect`` takes hard solutions to start from
    OWN_SCALES = False          # the kernel knows each layer's scale, if constellations differ
    CANONICAL_ORDER = True      # the kernel works per axis if the constellation allows it
    LARGEST_SEARCH = 2**24
    MAX_TX = 16
    MAX_RX = 256
    MOST_POINTS = 1024
    _is_complete = False        # whether the constructor has ended
    IN_PYTHON = False           # a user's class in Python, without kernels
    GPU_THREADS = 64            # per block
    # Above this number of layers a block has half as many threads: shared memory has no room for
    # two teams of them.
    MOST_TX_OF_TWO_TEAMS = 64

    def __init__(self, num_tx=4, num_rx=4, constellation="qam16", *, backend="auto", threads=0,
                 device=0, llr_type="float32", llr_scale=8.0, extrinsic=False, isa="auto", **own):
        """Make a detector; ``detectors.parameters.COMMON`` explains the common parameters.

        ``isa`` ("auto", "avx512", "avx2", "neon", "baseline") restricts the cpu backend to one
        instruction set, for tests and comparisons. A detector that was registered with its own
        ``module`` takes only "auto".
        """
        for name in own:
            if name not in (p.name for p in self.PARAMETERS):
                known = [p.name for p in self.all_parameters()]
                raise TypeError(f"{name}: {type(self).__name__} has no such parameter, it has "
                                f"{', '.join(known)}")
        self.num_tx = integer("num_tx", num_tx, 1, self.MAX_TX)
        self.num_rx = integer("num_rx", num_rx, 1, self.MAX_RX)
        if self.num_rx < self.num_tx:
            raise ValueError(f"num_rx: got {num_rx}, must be at least num_tx = {num_tx}")
        self.constellation = constellations.of_layers(constellation, self.num_tx)
        self.layers = constellations.each_layer(self.constellation, self.num_tx)
        if self.FOLDER and isinstance(self.constellation, constellations.Layers):
            raise ValueError(f"constellation: got {self.constellation.name}, but {self.name} needs "
                             "the same for all layers; the detectors of gr-mimopack take a list")
        if self.NEEDS_GRID and (self.constellation.grid if not self.FOLDER
                                else self.constellation.square_qam) is None:
            raise ValueError(
                f"constellation: got {self.constellation.name}, but {self.name} works per axis and "
                f"needs {_GRID} (bpsk, qpsk, qam16, wlan_qpsk, ...); "
                f"{_names_for_any_constellation()} take any constellation")
        size, square = self.constellation.size, self.constellation.square_qam
        if size > self.MOST_POINTS or size > 1024 and square is None:
            raise ValueError(f"constellation: got {self.constellation.name}, but {self.name} takes "
                             f"at most {self.MOST_POINTS if square else 1024} points")
        self._set_backend(backend)
        self.llr_dtype = np.dtype(choice("llr_type", llr_type, LLR_TYPES))
        self.llr_scale = positive("llr_scale", llr_scale)
        self.threads = threads
        self.extrinsic = flag("extrinsic", extrinsic)
        if self.extrinsic and not self.SUPPORTS_PRIOR:
            raise ValueError(f"extrinsic: {self.name} takes no a-priori LLRs to subtract")
        if self.extrinsic and not self.takes_feedback(**own):
            raise ValueError(f"extrinsic: {self.name} has hard output, which has no a-priori part "
                             "to subtract; use soft=True")
        self._asked_isa = instruction_set(isa)
        self.device = _device("device", device)
        self._set_own(own)
        self.given = own | ({} if isa == "auto" else {"isa": isa})
        self._memory = ReusedMemory()    # for LLRs
        self._is_complete = True
        self._start()

    def __repr__(self):
        own = "".join(f", {p.name}={getattr(self, p.name)!r}" for p in self.PARAMETERS)
        return (f"{type(self).__name__}(num_tx={self.num_tx}, num_rx={self.num_rx}, "
                f"constellation={self.constellation.name!r}{own}, "
                f"backend={self.backend!r}, isa={self.isa!r})")

    def changed(self, name, value):
        """Return {name: value} of the detector's own parameters after a change of one of them.

        The detector itself does not change.

        Raises:
            ValueError: the value is not allowed.
        """
        draft = object.__new__(type(self))
        vars(draft).update(vars(self), _is_complete=False)
        draft._set_own({**self.given, name: value})
        return {p.name: getattr(draft, p.name) for p in self.PARAMETERS}

    def _set_own(self, given):
        for parameter in self.PARAMETERS:
            value = given.get(parameter.name, parameter.default)
            setattr(self, parameter.name, parameter.checked(value, self))
        self._complete()

    @property
    def label(self):
        """The name, followed by the parameters in ``given``: "nway:num_passes=2"."""
        return label(self.name, self.given)

    @property
    def threads(self):
        """Number of CPU threads for the next ``detect``; 0 takes all cores."""
        return self._threads

    @threads.setter
    def threads(self, threads):
        self._threads = thread_count(threads)

    @property
    def devices(self):
        """``device`` as a tuple."""
        return self.device if isinstance(self.device, tuple) else (self.device,)

    @property
    def bits_per_vector(self):
        """Number of LLRs per vector: nt*m, or the sum of the layers' bits."""
        return sum(points.bits_per_symbol for points in self.layers)

    @property
    def candidates(self):
        """Number of candidates evaluated per vector; 1 for the linear detectors."""
        return 1

    @property
    def largest_search(self):
        """Largest number of candidates that an enumeration may have."""
        return self.LARGEST_SEARCH if self.backend != "reference" else 2**18

    def _complete(self):
        """Set the attributes that depend on several parameters.

        Raises:
            ValueError: the parameters do not fit together, or the search is too large to finish.
        """

    def _options(self):
        """Return the parameters as the C++ options of the detector's family."""
        values = {p: getattr(self, p.name) for p in self.PARAMETERS if p.in_core}
        return {p.name: p.core_value(value) for p, value in values.items() if value is not None}

    def gpu_threads(self):
        """Return the number of threads per block on a GPU."""
        return self.GPU_THREADS // (2 if self.num_tx > self.MOST_TX_OF_TWO_TEAMS else 1)

    def plan(self):
        """Describe the detector for the C++ and CUDA backends.

        Returns:
            A dict with the keys name, family, folder (the folder with kernel.h and cuda.h), num_tx,
            num_rx, points, width, scale, bit_source, bit_sign and layers (for the last five see
            lib/common/config.h), extrinsic and options (the options of the family). More keys are
            for GPUs only: gpu_threads (threads per block), and streams (of PSD: CUDA streams for
            host arrays, or None).
        """
        layers, points = [], self.constellation
        if isinstance(points, constellations.Layers) or (self.NEEDS_GRID and points.size == 2):
            side = points.grid.side
            layers = [_in_grid(own.grid, side, self.OWN_SCALES) for own in self.layers]
            points = constellations.gray_qam(side)
        qam, bits = points.square_qam, points.bits_per_symbol
        canonical = qam is not None and self.CANONICAL_ORDER
        if canonical:
            width = bits // 2
            source = [axis * width + g for axis, g, _ in qam.bits]
            sign = [-1.0 if invert else 1.0 for _, _, invert in qam.bits]
        else:
            source, sign = list(range(bits)), [1.0] * bits
        return {"name": self.name, "family": self.family or self.name,
                "folder": str(self.FOLDER or f"detectors/{self.family or self.name}"),
                "num_tx": self.num_tx, "num_rx": self.num_rx,
                "points": list(points.points.astype(np.complex64)),
                "width": bits // 2 if canonical else 0, "scale": qam.scale if qam else 1.0,
                "bit_source": source, "bit_sign": sign, "layers": layers,
                "extrinsic": self.extrinsic, "options": self._options(),
                "gpu_threads": self.gpu_threads()}

    def __init_subclass__(cls, **keywords):
        """Add the declared parameters to the detector's signature and docstring."""
        super().__init_subclass__(**keywords)
        for parameter in cls.PARAMETERS:
            if parameter.live:
                setattr(cls, parameter.name, _live(parameter))
        if "__init__" not in vars(cls):
            cls.__signature__ = _signature(cls)
        # Python 3.13 has removed the indentation already.
        text = inspect.cleandoc(cls.__doc__ or "")
        if cls.name and text and "\nArgs:" not in text:
            lines = "\n".join(
                f"    {p.name}: {p.doc}" + ("" if "Default:" in p.doc else
                                            f" Default {p.default!r}.")
                for p in cls.all_parameters())
            takes = "" if cls.IN_PYTHON else (
                f"\n\nConstellations: {'any' if not cls.NEEDS_GRID else _GRID}. A-priori LLRs: "
                f"{'yes' if cls.SUPPORTS_PRIOR else 'no'}.")
            cls.__doc__ = (f"{text}{takes}\n\nArgs:\n{lines}\n\n"
                           "The docstring of ``gnuradio.mimopack.detectors`` explains nt, nr, M, m "
                           "and the\nnumbers 000 to 004, which stand for papers.\n")

    @classmethod
    def all_parameters(cls):
        """Return the parameters of the detector: those of all detectors first, its own last."""
        return (*COMMON, *(PRIOR if cls.takes_feedback(soft=True) else ()), *cls.PARAMETERS)

    @classmethod
    def takes_feedback(cls, *, soft=False, **own):
        """Return whether the detector, with its own parameters, can iterate with a decoder."""
        return cls.SUPPORTS_PRIOR and (soft or not cls.HARD)


def _live(parameter):
    """Return the property of a parameter that may change."""
    name = parameter.name

    def set_value(self, value):
        own = vars(self)
        if not self._is_complete:
            own[name] = value
        elif value != self.given.get(name, own[name]):
            own.update(self.changed(name, value))
            self.given = {**self.given, name: value}
            self._core, self._is_outdated = None, True

    return property(lambda self: vars(self)[name], set_value, doc=parameter.doc)


def _in_grid(own, side, own_scale):
    """Describe a layer as one of the largest QAM; see grid_layer in lib/common/config.h.

    Args:
        own: the layer's ``Grid``.
        side: levels per axis of the largest QAM.
        own_scale: whether the detector knows the layer's scale, so that columns are only turned.
    """
    width, scale = side.bit_length() - 1, np.sqrt(1.5 / (side**2 - 1))
    factor = 1.0 if own_scale else own.scale / scale
    shift = [0.0 if own_scale else scale * (side - levels) for levels in own.sides]
    return {"turn": complex(own.turn * factor), "shift": complex(*shift), "scale": own.scale,
            "sides": list(own.sides),
            "bit_source": [(axis + 1) * width - (own.sides[axis].bit_length() - 1) + place
                           for axis, place, _ in own.bits],
            "bit_sign": [-1.0 if invert else 1.0 for _, _, invert in own.bits]}


def label(name, parameters):
    """Return a name and its parameters as one text, in the form that ``look_up`` takes."""
    return ":".join([name, ",".join(f"{key}={value}" for key, value in parameters.items())]
                    if parameters else [name])


def _names_for_any_constellation():
    from . import REGISTRY

    *names, last = (name for name, kind in REGISTRY.items() if not kind.NEEDS_GRID)
    return f"{', '.join(names)} and {last}"


def _signature(detector):
    isa = inspect.Parameter("isa", inspect.Parameter.KEYWORD_ONLY, default="auto")
    return inspect.Signature([*(inspect.Parameter(
        p.name, inspect.Parameter.POSITIONAL_OR_KEYWORD if i < 3
        else inspect.Parameter.KEYWORD_ONLY, default=p.default)
        for i, p in enumerate(detector.all_parameters())), isa])


def _device(name, value):
    """Return the index of a GPU, or a tuple of different indices."""
    if isinstance(value, str):
        raise ValueError(f"{name}: got {shown(value)}, must be a number or a list of different "
                         "numbers")
    if not isinstance(value, (list, tuple, range)):
        return integer(name, value, 0, 1023)
    numbers = tuple(integer(name, number, 0, 1023) for number in value)
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"{name}: got {shown(value)}, must be a number or a list of different "
                         "numbers")
    return numbers
