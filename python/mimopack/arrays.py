# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arrays of any library as NumPy or CuPy arrays that share their memory, and back.

The backends process NumPy arrays on the host and CuPy arrays on GPUs. ``native`` makes such an
array of a PyTorch tensor, a JAX array, or any object that speaks DLPack or CUDA's array interface;
``like`` turns a result back into an array of the caller's library. Data stay on their device. This
module imports no library but NumPy, and CuPy for arrays on a GPU: if a caller has a tensor, the
tensor's library is imported already.
"""

import math
import sys
from collections import deque
from contextlib import nullcontext, suppress
from functools import lru_cache

import numpy

CPU, CUDA = 1, 2    # device types of DLPack
_PLACES = "must be on the host or a GPU of CUDA"
# Bytes of an array whose memory is worth being used again, and of one that is too large to be kept
LARGE, TOO_LARGE = 2**20, 2**28
_LIBRARIES = ("numpy", "cupy", "torch", "jax", "jaxlib", "numba")


def is_device_array(value):
    """Return whether a value is a CuPy array, without importing CuPy."""
    return _library(value) == "cupy"


def gpu_of(value):
    """Return the index of the GPU that holds an array; None for an array on the host."""
    return value.device.id if is_device_array(value) else None


def array_module(value):
    """Return the module that an array belongs to: CuPy, or NumPy for everything else."""
    if is_device_array(value):
        import cupy
        return cupy
    return numpy


def on_host(array):
    """Return a NumPy array, copied from a GPU if need be."""
    return array.get() if is_device_array(array) else array


def _library(value):
    """Return the name of the library of an array, also if its type extends the library's."""
    return _library_of(type(value))


@lru_cache
def _library_of(kind):
    names = [base.__module__.partition(".")[0] for base in kind.__mro__]
    return next((name for name in names if name in _LIBRARIES), names[0])


def native(name, value):
    """Return an array as a NumPy or CuPy array that shares its memory.

    Args:
        name: name of the argument, for errors.
        value: an array of any library. A list or a number becomes a NumPy array.

    Raises:
        ValueError: the value is no array, or is on a device that is neither the host nor a GPU of
            CUDA.
        ImportError: the array is on a GPU, and CuPy cannot be imported.
    """
    if isinstance(value, numpy.ndarray) or is_device_array(value):
        return value
    if _library(value) == "torch":
        return _of_torch(name, value)
    if hasattr(value, "__dlpack_device__"):
        kind = value.__dlpack_device__()[0]
        if kind == CUDA:
            return _cupy().from_dlpack(value)
        if kind != CPU:
            raise ValueError(f"{name}: got an array on a device of DLPack's type {int(kind)}, "
                             f"{_PLACES}")
        # NumPy's own from_dlpack() makes a read-only array, and refuses those of JAX.
        try:
            return numpy.asarray(value)
        except TypeError as error:
            raise ValueError(f"{name}: got an array that NumPy cannot share: {error}") from error
    if hasattr(value, "__cuda_array_interface__"):
        return _cupy().asarray(value)
    try:
        array = numpy.asarray(value)
    except ValueError:    # lists of different lengths
        array = numpy.asarray(None)
    if array.dtype.kind not in "biufc":
        kind = f"{type(value).__module__}.{type(value).__name__}".removeprefix("builtins.")
        raise ValueError(f"{name}: got {kind}, must be an array: NumPy, CuPy, PyTorch, JAX, or any "
                         "other that speaks DLPack")
    return array


def _of_torch(name, tensor):
    """Return a PyTorch tensor as a NumPy or CuPy array that shares its memory.

    DLPack would take ten times as long, because it synchronises streams that are the same here.
    """
    tensor = tensor.detach().resolve_conj().resolve_neg()    # which are lazy
    kind, size = tensor.device.type, tensor.element_size()
    try:
        if kind == "cpu":
            return tensor.numpy()
        dtype = numpy.dtype(str(tensor.dtype).removeprefix("torch."))
    except TypeError as error:
        raise ValueError(f"{name}: got an array that NumPy cannot share: {error}") from error
    if kind != "cuda":
        raise ValueError(f"{name}: got an array on a device of type {kind}, {_PLACES}")
    cupy = _cupy()
    memory = cupy.cuda.UnownedMemory(tensor.data_ptr(), size * tensor.numel(), tensor,
                                     tensor.device.index)
    strides = None if tensor.is_contiguous() else [size * stride for stride in tensor.stride()]
    return cupy.ndarray(tuple(tensor.shape), dtype, cupy.cuda.MemoryPointer(memory, 0), strides)


def like(result, model):
    """Return a NumPy or CuPy array as an array of the library of ``model``, on the same device."""
    library = _library(model)
    if library == "torch":
        torch = sys.modules["torch"]
        return torch.from_dlpack(result) if is_device_array(result) else torch.from_numpy(result)
    if library in ("jax", "jaxlib"):
        return sys.modules["jax"].dlpack.from_dlpack(result)
    if library == "numba":
        return sys.modules["numba"].cuda.as_cuda_array(result)
    if hasattr(model, "__array_namespace__") and not isinstance(model, numpy.ndarray):
        return model.__array_namespace__().from_dlpack(result)
    return result


def leading_shape(name, array, *ends):
    """Return the batch shape (...) of an array of shape (..., *ends).

    Args:
        name: name of the argument, for errors.
        array: NumPy or CuPy array.
    """
    if array.ndim < len(ends) or array.shape[array.ndim - len(ends):] != ends:
        raise ValueError(f"{name}: got shape {array.shape}, must be "
                         f"(..., {', '.join(map(str, ends))})")
    return array.shape[:array.ndim - len(ends)]


def packed(name, array, kinds, dtype):
    """Return an array C-contiguous and of a type, copied if necessary.

    Args:
        name: name of the argument, for errors.
        array: NumPy or CuPy array.
        kinds: the kinds of types that may be converted, as ``numpy.dtype.kind``.
    """
    if array.dtype.kind not in kinds:
        wanted = "complex" if "c" in kinds else "real" if "i" in kinds else "floating-point"
        raise ValueError(f"{name}: got type {array.dtype}, must be {wanted}")
    if array.dtype == dtype and array.flags.c_contiguous:
        return array
    copy = array_module(array).empty(array.shape, dtype)
    copy[...] = array
    return copy


def shaped(rows, shape, model, axis=0):
    """Return a result with the batch shape and in the library of an argument.

    Args:
        rows: NumPy or CuPy array with an entry for each item of a batch along an axis; or None.
        shape: batch shape, which takes the place of this axis.
        model: the argument.
    """
    if rows is None:
        return None
    return like(rows.reshape((*rows.shape[:axis], *shape, *rows.shape[axis + 1:])), model)


def stream_of(value):
    """Return a context in which CuPy works as the caller's library does.

    For a PyTorch tensor on a GPU, CuPy's current stream is then PyTorch's, and its memory comes
    from PyTorch, so that PyTorch can record the work in a CUDA graph. JAX synchronises streams
    through DLPack.
    """
    if _library(value) != "torch" or value.device.type != "cuda":
        return nullcontext()
    return _InPyTorch(value.device)


class _InPyTorch:
    """A context in which CuPy uses the GPU, the current stream and the memory of PyTorch.

    Args:
        device: ``torch.device``.
    """

    def __init__(self, device):
        torch, cuda = sys.modules["torch"], _cupy().cuda

        def memory(size):
            block = torch.empty(size, dtype=torch.uint8, device=device)
            owned = cuda.UnownedMemory(block.data_ptr(), size, block, device.index)
            return cuda.MemoryPointer(owned, 0)

        stream = torch.cuda.current_stream(device).cuda_stream
        self._contexts = (cuda.Device(device.index), cuda.ExternalStream(stream, device.index),
                          cuda.using_allocator(memory))

    def __enter__(self):
        for context in self._contexts:
            context.__enter__()

    def __exit__(self, *error):
        for context in reversed(self._contexts):
            context.__exit__(*error)


def _cupy():
    from .cuda.device import cupy

    return cupy()


class Constant:
    """A constant array, copied to each GPU on first use.

    Args:
        values: NumPy array, which must not change.
    """

    def __init__(self, values):
        self.values = values
        self._copies = {}

    def beside(self, value):
        """Return the constant as an array on the device that holds ``value``: host or GPU."""
        if not is_device_array(value):
            return self.values
        gpu = value.device.id
        if gpu not in self._copies:
            self._copies[gpu] = array_module(value).asarray(self.values)
        return self._copies[gpu]


class ReusedMemory:
    """Host memory for the large results of repeated calls.

    Fresh memory comes from the system page by page, which can take as long as computing the
    results. So the memory of a result is used again, once there is no array in it any more.
    """

    def __init__(self):
        self._idle = deque(maxlen=1)

    def empty(self, shape, dtype):
        """Return a new array, as ``numpy.empty`` does."""
        dtype = numpy.dtype(dtype)
        size = math.prod(shape) * dtype.itemsize
        if not LARGE <= size < TOO_LARGE:
            return numpy.empty(shape, dtype)
        block = None
        with suppress(IndexError):    # there is none
            block = self._idle.pop()
        if block is None or block.size < size:
            block = numpy.empty(size, numpy.uint8)
        return numpy.asarray(_Loan(block[:size].view(dtype).reshape(shape), block, self._idle))


class _Loan:
    """The owner of an array's memory: all views of the array keep it alive.

    Args:
        array: the array.
        block: array with its memory.
        idle: deque that gets the block back when no array is left.
    """

    def __init__(self, array, block, idle):
        self.__array_interface__ = array.__array_interface__
        self._block, self._idle = block, idle

    def __del__(self):
        self._idle.append(self._block)
