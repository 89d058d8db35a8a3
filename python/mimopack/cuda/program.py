# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The backend "cuda" of a detector: compile its programs, and launch them on its GPUs."""

from collections import namedtuple
from functools import lru_cache
from math import isqrt
from struct import Struct
from typing import NamedTuple

import numpy as np

from ..arrays import is_device_array
from . import source
from .device import Count, address, check_device, cupy, current, kernel
from .pinning import Pins
from .transfer import HostArray, HostBatch, HostPipeline

# Most bytes of global memory for the threads' arrays. They also take at most an eighth of the free
# memory, because several launches may run at a time.
SCRATCH_BYTES = 2**31
# Number of threads per multiprocessor that keep it busy. With more vectors than threads, a thread
# takes several vectors.
THREADS_WANTED = 512
# A search by teams, which has no arrays in memory, gets this many times as many threads, most of
# which wait for their turn: searches differ in length.
SEARCH_TURNS = 8
# Largest number of candidates in a part of a batch of host arrays.
PART_CANDIDATES = 2**30
# Arguments of detect() in lib/cuda/detect.h; each occupies 8 bytes.
_ARGUMENTS = Struct("=2Q I4x I4x 3Q f4x 3Q f4x 5Q")

# The kernel and its handle; the floats in a thread's arena, and whether it is in global memory; the
# number of blocks that a multiprocessor runs at a time; the number of threads that take a vector if
# vectors are few, and of those that always take one together; whether the kernel whitens; None or
# the second launch.
_Compiled = namedtuple("_Compiled",
                       "kernel function arena is_global blocks most_threads team whitens second")
# The second launch, for searches that the first one leaves (lib/cuda/long_search.h): the kernel and
# its handle; the number of blocks; the bytes of long_searches, and of the places of all warps.
_Second = namedtuple("_Second", "kernel function blocks header_bytes place_bytes")
# Bytes of an entry of long_searches; most warps of a second launch
_ENTRY_BYTES, _MOST_WARPS = 8, 8192
# Largest number of threads that a multiprocessor runs at a time.
_RESIDENT_THREADS = 2048


class Variant(NamedTuple):
    """The properties of a batch that select its program.

    Attributes:
        has_prior, matrix_each, as_int8, num_hard, covariance: see ``source.program``.
    """

    has_prior: bool
    matrix_each: bool
    as_int8: bool
    num_hard: int
    covariance: int = 0

    @classmethod
    def of(cls, batch):
        """Return the variant for a ``DetectBatch``."""
        return cls(batch.prior is not None, batch.per_channel == 1, batch.out.dtype == np.int8,
                   batch.num_hard,
                   0 if batch.noise_cov is None else 1 if len(batch.noise_cov) == 1 else 2)


class Program:
    """A detector's kernels on one GPU, specialised for its sizes and parameters.

    Each kernel is compiled on first use.

    Args:
        plan: ``Detector.plan()``.
        device: index of the GPU.
    """

    def __init__(self, plan, device):
        check_device(device)
        self.device = device
        self._plan = plan
        self._threads = plan["gpu_threads"]
        self._processors = cupy().cuda.runtime.deviceGetAttribute(
            cupy().cuda.runtime.cudaDevAttrMultiProcessorCount, device)
        self._compiled = {}
        self._values = np.zeros(_ARGUMENTS.size // 8, np.uint64)
        self._arguments = (address(self._values)
                           + 8 * np.arange(len(self._values))).astype(np.uint64)

    def _compile(self, variant):
        if variant not in self._compiled:
            module = cupy()
            arena_size = kernel(source.program(self._plan, None, *variant), "arena_size",
                                self.device)
            sizes = module.empty(5, np.uint64)
            arena_size((1,), (1,), (sizes,))
            arena, most_threads, team, header_bytes, place_bytes = map(int, sizes.get())
            whitens = team == 1 and source.is_small(self._plan)
            if variant.covariance and not whitens:
                self._compiled[variant] = self._compile(variant._replace(covariance=0))
                return self._compiled[variant]
            text = source.program(self._plan, arena, *variant)
            detect = kernel(text, "detect", self.device)
            function = detect.kernel.ptr
            blocks = self._blocks(function)
            second = None
            if header_bytes:
                search = kernel(text, "detect_second", self.device)
                warps = self._threads // 32
                most = min(self._processors * self._blocks(search.kernel.ptr), _MOST_WARPS // warps)
                second = _Second(search, search.kernel.ptr, most, header_bytes,
                                 most * warps * place_bytes)
            is_global = arena > (0 if team > 1 else source.LARGEST_LOCAL_ARENA)
            self._compiled[variant] = _Compiled(
                detect, function, arena, is_global, blocks, most_threads, team, whitens, second)
        return self._compiled[variant]

    def _blocks(self, function):
        """Return the number of a kernel's blocks that a multiprocessor runs at a time."""
        return max(1, cupy().cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
            function, self._threads, 0))

    def launch(self, variant, n, per_channel, y, h, noise_var, common_noise_var, noise_cov, prior,
               out, int8_scale, hard, erased, truncated, stream):
        """Launch the kernels on a stream of this GPU, which must be the current one.

        Args:
            variant: :class:`Variant`, which selects the program.
            n: number of vectors; each group of per_channel vectors shares a matrix.
            y, h, noise_var, noise_cov, prior, out, hard, erased, truncated: addresses on the GPU, 0
                for an absent array. Addresses of complex numbers and of LLRs are multiples of 16.
                The kernels add the number of erased vectors to erased, and of truncated searches to
                truncated, both uint64.
            common_noise_var: noise_var of all vectors, if the array is absent.
            int8_scale: number of int8 steps for an LLR of 1.
            stream: CuPy stream.
        """
        compiled = self._compile(variant)
        if variant.covariance and not compiled.whitens:
            with stream:
                whitened = self._whitened(n, per_channel, y, h, noise_cov,
                                          variant.covariance == 1)    # alive until queued
            y, h = whitened[0].ptr, whitened[1].ptr
        searches = compiled.team > 1 and not compiled.arena
        wanted = SEARCH_TURNS * THREADS_WANTED if searches else THREADS_WANTED
        chunk = _chunk(n, per_channel, self._processors * wanted // compiled.team)
        blocks = -(-(n // chunk) * compiled.most_threads // self._threads)
        if not searches:
            blocks = min(blocks, self._processors * compiled.blocks)
        scratch = None
        if compiled.is_global:
            block_bytes = 4 * compiled.arena * self._threads
            with stream:
                blocks = min(blocks, max(1, self._room() // block_bytes))
                scratch = cupy().cuda.alloc(blocks * block_bytes)
        later, second = None, compiled.second
        launches = [(compiled.function, blocks)]
        if second:
            with stream:
                later = cupy().cuda.alloc(second.header_bytes + _ENTRY_BYTES * n + 16
                                          + second.place_bytes)
            later.memset_async(0, second.header_bytes, stream)
            launches.append((second.function, second.blocks))
        _ARGUMENTS.pack_into(
            self._values, 0, n, n // chunk, chunk, per_channel // chunk, y, h, noise_var,
            common_noise_var, noise_cov, prior, out, int8_scale, hard,
            scratch.ptr if scratch else 0, erased, truncated, later.ptr if later else 0)
        for function, count in launches:
            cupy().cuda.driver.launchKernel(function, count, 1, 1, self._threads, 1, 1,
                                            0, stream.ptr, address(self._arguments), 0)

    def _whitened(self, n, per_channel, y, h, noise_cov, is_common):
        """Return copies of y and h in memory that are whitened on the current stream."""
        num_tx, num_rx, matrices = self._plan["num_tx"], self._plan["num_rx"], n // per_channel
        count = 1 if is_common else matrices
        columns = matrices // count * (num_tx + per_channel)
        most = 256 if num_rx <= 128 else 512
        threads = min(most, -(-(num_rx + columns) // 32) * 32)
        blocks = min(count * -(-columns // (threads - num_rx)),
                     self._processors * _RESIDENT_THREADS // threads)
        y_white, h_white, factors = (cupy().cuda.alloc(8 * size) for size in (
            n * num_rx, matrices * num_rx * num_tx, blocks * num_rx**2))
        whiten = kernel(source.whitening(num_tx, num_rx, most), "whiten", self.device)
        whiten((blocks,), (threads,), (
            *map(np.uint64, (noise_cov, count, matrices // count, per_channel, h, y)), h_white,
            y_white, factors))
        return y_white, h_white

    def _room(self):
        """Return the bytes of global memory that the threads' arrays may take."""
        free = (cupy().cuda.runtime.memGetInfo()[0]
                + cupy().get_default_memory_pool().free_bytes())
        return min(SCRATCH_BYTES, free // 8)

    def resources(self):
        """Return the resources that each compiled kernel takes, for measurements."""
        return [{"registers": it.kernel.num_regs, "local_bytes": it.kernel.local_size_bytes,
                 "shared_bytes": it.kernel.shared_size_bytes, "blocks_per_processor": it.blocks}
                for it in self._compiled.values()]

    def detect(self, batch):
        """Run a ``DetectBatch`` of this GPU's arrays, on the current stream without waiting.

        A noise_var that applies to all vectors is on the host.

        Returns:
            A ``Count`` of the erased vectors, and one of truncated searches (0 without max_nodes).
        """
        y, h, noise_var, prior, out, int8_scale, _, hard, _, noise_cov = batch
        module = cupy()
        with current(self.device):
            if hard is not None:
                hard = module.ascontiguousarray(module.moveaxis(hard, 0, 1))
            stream = module.cuda.get_current_stream()
            erased = Count(stream)
            truncated = Count(stream) if "max_nodes" in self._plan["options"] else 0
            n = len(y)
            if n:
                common = not is_device_array(noise_var)
                # copies of misaligned arrays live until the kernel is queued
                aligned = [None if array is None else _aligned(array)
                           for array in (y, h, prior, noise_cov)]
                target = out if out.data.ptr % 16 == 0 else module.empty_like(out)
                y_at, h_at, prior_at, covariance_at, noise_at, out_at, hard_at = (
                    0 if array is None else array.data.ptr
                    for array in (*aligned, None if common else noise_var, target, hard))
                self.launch(
                    Variant.of(batch), n, batch.per_channel, y_at, h_at, noise_at,
                    float(noise_var[0]) if common else 0, covariance_at, prior_at, out_at,
                    int8_scale, hard_at, erased.ptr,
                    truncated.ptr if truncated else 0, stream)
                if target is not out:
                    out[...] = target
        return erased, truncated


@lru_cache
def _chunk(n, per_channel, threads):
    """Return how many vectors of a matrix a thread takes: all, or fewer if threads are idle."""
    most = max(1, n // threads)
    divisors = (size for i in range(1, isqrt(per_channel) + 1) if per_channel % i == 0
                for size in (i, per_channel // i))
    return max(size for size in divisors if size <= most)


def _aligned(array):
    """Return the array, copied if misaligned, because kernels move 16 bytes at a time."""
    return array if array.data.ptr % 16 == 0 else array.copy()


class CudaBackend:
    """A detector's programs on its GPUs.

    Arrays on a GPU are processed there; a batch of host arrays is shared among all GPUs.

    Args:
        plan: ``Detector.plan()``.
        devices: indices of the GPUs.
        candidates: number of candidates evaluated per vector.

    Attributes:
        programs: {index of a GPU: its :class:`Program`}
    """

    def __init__(self, plan, devices, candidates=1):
        self._devices = devices
        self._pins = Pins()
        self._make(plan, candidates)

    def _make(self, plan, candidates):
        self.programs = {device: Program(plan, device) for device in self._devices}
        self._pipeline = HostPipeline(self._devices, max(1, PART_CANDIDATES // candidates),
                                      plan.get("streams"))

    def renew(self, plan, candidates):
        """Replace the programs by those of another plan; pinned arrays stay pinned."""
        self._pipeline.release()
        self._make(plan, candidates)

    def detect(self, batch):
        """Run a ``DetectBatch``.

        Returns:
            The number of erased vectors, and of those with truncated searches. For GPU arrays they
            are objects whose int() waits for the GPU.
        """
        if is_device_array(batch.y):
            return self.programs[batch.y.device.id].detect(batch)
        if not batch.n:
            return 0, 0
        erased, truncated = self._pipeline.run(self._host_batch(batch))
        return int(erased), int(truncated)

    def _host_batch(self, batch):
        y, h, noise_var, prior, out, int8_scale, threads, hard, _, noise_cov = batch
        common = noise_var.size == 1
        variant, common_noise_var = Variant.of(batch), float(noise_var[0]) if common else 0.0
        inputs = [HostArray("y", y), HostArray("h", h, per_matrix=True)]
        if not common:
            inputs.append(HostArray("noise_var", noise_var))
        if prior is not None:
            inputs.append(HostArray("prior", prior))
        if hard is not None:
            inputs.append(HostArray("hard", np.ascontiguousarray(np.moveaxis(hard, 0, 1))))
        common_covariance = {}
        if variant.covariance == 1:
            for gpu in self._devices:
                with current(gpu):
                    common_covariance[gpu] = cupy().asarray(noise_cov)
                    cupy().cuda.get_current_stream().synchronize()    # other streams read it
        elif variant.covariance:
            inputs.append(HostArray("noise_cov", noise_cov, per_matrix=True))
        programs, per_channel = list(self.programs.values()), batch.per_channel

        def launch(gpu, items, at, stream):
            n = items.stop - items.start
            programs[gpu].launch(
                variant, n, min(n, per_channel), at["y"], at["h"], at.get("noise_var", 0),
                common_noise_var,
                common_covariance[gpu].data.ptr if common_covariance else at.get("noise_cov", 0),
                at.get("prior", 0), at["out"], int8_scale, at.get("hard", 0), at["counts"],
                at["counts"] + 8,
                stream)

        return HostBatch(batch.n, inputs, [HostArray("out", out)], launch, threads, per_channel)

    def pin(self, *arrays):
        """Pin host arrays, see ``Detector.pin``."""
        with current(self._devices[0]):
            return self._pins.add(*arrays)

    def release(self):
        """Free the memory that is kept between calls for host arrays, and unpin all arrays."""
        self._pipeline.release()
        with current(self._devices[0]):
            self._pins.release()

    def empty(self, shape, dtype, device):
        """Return an uninitialised CuPy array on one of the GPUs."""
        with current(device):
            return cupy().empty(shape, dtype)
