# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Describe the machine of a measurement, for the JSON files of benchmarks."""

import platform
import shlex
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from .. import __version__, _core
from ..cuda.device import check_device, cupy, load_nvrtc
from ..identity import commit


def processor():
    """Return the operating system's name for the CPU."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _gnuradio():
    try:
        from gnuradio import gr
    except ImportError:
        return None
    return gr.version()


def describe_gpu():
    """Return a dict with name, memory, driver and versions of the first GPU, and the GPU count."""
    check_device(0)
    load_nvrtc()
    module = cupy()
    runtime = module.cuda.runtime
    properties = runtime.getDeviceProperties(0)

    def version(number):
        return f"{number // 1000}.{number % 1000 // 10}"

    return {"name": properties["name"].decode(), "memory_bytes": properties["totalGlobalMem"],
            "multiprocessors": properties["multiProcessorCount"],
            "compute_capability": f"{properties['major']}.{properties['minor']}",
            "count": runtime.getDeviceCount(), "driver": _driver(),
            "driver_cuda": version(runtime.driverGetVersion()),
            "nvrtc": "{}.{}".format(*module.cuda.nvrtc.getVersion()), "cupy": module.__version__}


def _driver():
    try:
        return subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
                              capture_output=True, text=True,
                              check=True).stdout.splitlines()[0].strip()
    except (OSError, subprocess.CalledProcessError, IndexError):
        return None


def describe():
    """Return a dict with processor, instruction set, threads, versions, commit, command and date.

    In the command, absolute paths are shortened to the file's name: folders tell of the machine's
    user, and mean nothing elsewhere.
    """
    program = "mimopack" if sys.argv[0] == "-c" else sys.argv[0]
    words = [Path(word).name if Path(word).is_absolute() else word
             for word in (Path(program).name, *sys.argv[1:])]
    return {"processor": processor(), "isa": _core.isa(), "threads": _core.max_threads(),
            "system": platform.platform(), "mimopack": __version__, "commit": commit(),
            "python": platform.python_version(), "numpy": np.__version__,
            "gnuradio": _gnuradio(), "command": shlex.join(words),
            "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())}
