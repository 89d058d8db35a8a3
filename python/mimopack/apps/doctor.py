# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``mimopack doctor``: check everything the module needs, and suggest repairs.

Each check runs in a separate process: a NumPy that GNU Radio was not compiled for, or an
instruction that the processor lacks, can crash the interpreter.
"""

import json
import os
import shlex
import subprocess
import sys
import sysconfig
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path

import click

_COLOURS = {"ok": "green", "warning": "yellow", "error": "red"}


@dataclass(frozen=True)
class Finding:
    """A line of the report: ``status`` is "ok", "warning" or "error"; ``mend`` is the repair."""

    name: str
    status: str
    text: str
    mend: str = ""


class Failed(Exception):
    """A check cannot go on; its argument is the last :class:`Finding`."""


# Name of this package: gnuradio.mimopack, or mimopack if it came with pip, without blocks.
PACKAGE = __package__.removesuffix(".apps")
WITH_BLOCKS = PACKAGE == "gnuradio.mimopack"
# Folder on Python's path that contains this copy of the package.
PACKAGES = Path(__file__).absolute().parents[PACKAGE.count(".") + 2]
_REBUILD = ("build and install again: scripts/setup.sh, or cmake --build build && cmake --install "
            "build")
_SEGMENTS, _MOST_SEGMENTS = Path("/proc/sysvipc/shm"), Path("/proc/sys/kernel/shmmni")
_REMOVE = ("awk -v me=$(id -u) '$7 == 0 && $8 == me {print $2}' /proc/sysvipc/shm | "
           "xargs -r -n 1 ipcrm -m")
# Code at the start of a probe. Python looks in the working folder first, whose files may come from
# somebody else. Python 3.10 has no option -P against that.
_SAFE_PATH = "import sys\nif sys.path[:1] == ['']:\n    del sys.path[0]\n"


def run(code, extra_path=PACKAGES):
    """Run Python code in a separate process; return its last line of output, and what failed.

    Args:
        code: the code.
        extra_path: folder added after PYTHONPATH. The ``mimopack`` command finds its own prefix,
            but a new process would not.

    Returns:
        (line, ""), or ("", why it failed).
    """
    path = [os.environ.get("PYTHONPATH"), extra_path and str(extra_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))}
    try:
        done = subprocess.run([sys.executable, "-c", _SAFE_PATH + code], env=environment,
                              text=True, capture_output=True, timeout=120)
    except subprocess.TimeoutExpired:
        return "", "no answer within two minutes"
    if done.returncode < 0:
        return "", f"the process was killed by signal {-done.returncode}"
    if done.returncode:
        return "", (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    return (done.stdout.strip().splitlines() or [""])[-1], ""


def probe(name, statements, expression, mend, words="not importable", status="error"):
    """Return the value of an expression after some statements, in a separate process.

    Args:
        name: name of the finding.
        statements, expression: Python code. The value must have a form in JSON.
        mend: the repair if the code fails; or a function that returns it for a reason.
        words, status: text before the reason, and status of the finding.

    Raises:
        Failed: the code fails.
    """
    line, reason = run(f"import json; {statements}; print(json.dumps({expression}))")
    if reason:
        raise Failed(Finding(name, status, f"{words}: {reason}",
                             mend(reason) if callable(mend) else mend))
    return json.loads(line)


def check_prefix():
    """Check that this is the only copy of the package on Python's path."""
    package = import_module(PACKAGE)
    here = Path(package.__file__).parent.resolve()
    parent = sys.modules.get(PACKAGE.rpartition(".")[0])
    folders = [(Path(folder) / "mimopack").resolve() for folder in
               (parent.__path__ if parent else ())]
    copies = [str(folder) for folder in dict.fromkeys(folders)
              if folder != here and (folder / "__init__.py").exists()]
    if copies:
        yield Finding("installation", "warning",
                      f"{here} is used, but other copies are installed: {', '.join(copies)}",
                      "remove outdated copies (run cmake --build build --target uninstall in the "
                      "source tree that installed them)")
    elif run(f"import {PACKAGE}", extra_path=None)[1]:
        yield Finding("installation", "warning",
                      f"{here} is not on Python's path: flowgraphs will not find it",
                      f"export PYTHONPATH={shlex.quote(str(PACKAGES))}"
                      "${PYTHONPATH:+:$PYTHONPATH}")
    else:
        yield Finding("installation", "ok", f"gr-mimopack {package.__version__} in {here}")


def check_numpy():
    """Check that NumPy can be imported."""
    version, file = probe(
        "NumPy", "import numpy", "[numpy.__version__, numpy.__file__]",
        "apt install python3-numpy, and remove other copies of NumPy from PYTHONPATH"
        if WITH_BLOCKS else how_to_install("numpy"))
    yield Finding("NumPy", "ok", f"{version} in {Path(file).parent}")


def check_gnuradio():
    """Check GNU Radio, which may have been compiled for another NumPy."""
    if not WITH_BLOCKS:
        yield Finding("GNU Radio", "ok", f"not used: the package {PACKAGE} has no blocks")
        return

    def mend(reason):
        if "numpy" in reason or "initialization failed" in reason:
            return ("remove the NumPy that is not the distribution's (pip uninstall numpy), or "
                    "pip install 'numpy<2': GNU Radio was compiled for another version")
        return ("apt install gnuradio, remove folders with another package gnuradio from "
                "PYTHONPATH, and run mimopack with the Python for which GNU Radio is installed "
                "(/usr/bin/python3 on Debian and Ubuntu)")

    version, prefix = probe("GNU Radio", "from gnuradio import gr", "[gr.version(), gr.prefix()]",
                            mend, f"not importable by {sys.executable}")
    yield Finding("GNU Radio", "ok", f"{version} in {prefix}")


def check_runtime():
    """Check the C++ part of the blocks, which is compiled for one version of GNU Radio."""
    probe("runtime", f"from {PACKAGE} import _runtime", "0",
          f"with the installed GNU Radio, {_REBUILD}", "_runtime is not importable")
    yield Finding("runtime", "ok", "the C++ part of the blocks fits this GNU Radio")


def check_core():
    """Check the compiled detectors: the instruction set in use, and threads."""
    isa, available, threads = probe(
        "CPU detectors", f"from {PACKAGE} import _core",
        "[_core.isa(), list(_core.available_isas()), _core.max_threads()]",
        f"with the same Python, {_REBUILD}", "_core is not importable")
    yield Finding("CPU detectors", "ok",
                  f"instruction set {isa} (available: {', '.join(available)})")
    cores = len(os.sched_getaffinity(0))
    if threads < cores:
        yield Finding("threads", "warning", f"{threads} of {cores} processor cores are used",
                      f"unset OMP_NUM_THREADS and OMP_THREAD_LIMIT, or set them to {cores}")
    else:
        yield Finding("threads", "ok", f"{threads} on {cores} processor cores")


def installed_grc_folder():
    """Return the folder of the GRC blocks in this installation's prefix, or None."""
    for folder in Path(__file__).resolve().parents:
        blocks = folder / "share/gnuradio/grc/blocks"
        if any(blocks.glob("mimopack_*.block.yml")):
            return blocks
    return None


def companion_script():
    """Return scripts/companion.sh of the checkout if Python runs in its .venv, else None."""
    script = Path(sys.prefix).parent / "scripts/companion.sh"
    return script if Path(sys.prefix).name == ".venv" and script.exists() else None


def how_to_start(blocks):
    """Return commands that start Companion with the blocks and a Python that finds the module."""
    variable = f"GRC_BLOCKS_PATH={shlex.quote(str(blocks))}"
    if sys.prefix == sys.base_prefix:
        return f"export {variable}"
    # The distribution's commands use the system's Python, which does not search this environment.
    python = shlex.quote(sys.executable)
    companion = (shlex.quote(str(companion_script())) if companion_script()
                 else f"{variable} {python} /usr/bin/gnuradio-companion")
    return f"{companion}, or without windows {variable} {python} /usr/bin/grcc FLOWGRAPH.grc"


def check_companion():
    """Check that GNU Radio Companion finds the blocks of this installation."""
    paths = probe("GRC blocks",
                  "from gnuradio import gr; from gnuradio.grc.core.Config import Config",
                  "Config(gr.version(), prefs=gr.prefs()).block_paths",
                  "apt install gnuradio", "GNU Radio Companion's library fails")
    ours = installed_grc_folder()
    if ours is None:
        yield Finding("GRC blocks", "warning",
                      "this copy of the package has no GRC blocks: it is a source tree, or the "
                      "blocks were not installed", "scripts/setup.sh, or cmake --install build")
        return
    seen = [Path(path).resolve() for path in paths
            if any(Path(path).glob("mimopack_*.block.yml"))]
    text = f"{ours}: {len(list(ours.glob('mimopack_*.block.yml')))}"
    if companion_script() and Path(sys.prefix).resolve() in ours.resolve().parents:
        yield Finding("GRC blocks", "ok", f"{text}; {how_to_start(ours)}")
    elif ours.resolve() not in seen:
        yield Finding("GRC blocks", "warning", f"GNU Radio Companion does not look in {ours}",
                      how_to_start(ours))
    elif len(seen) > 1:
        yield Finding("GRC blocks", "warning",
                      "found in more than one folder: " + ", ".join(map(str, seen)),
                      "uninstall the outdated copies")
    else:
        yield Finding("GRC blocks", "ok", text)


def how_to_install(package):
    """Return commands that install a PyPI package for the Python that runs this command."""
    in_environment = sys.prefix != sys.base_prefix
    if in_environment or not (Path(sysconfig.get_path("stdlib")) / "EXTERNALLY-MANAGED").exists():
        return f"{shlex.quote(sys.executable)} -m pip install {package}"
    return (f"{shlex.quote(sys.executable)} -m venv --system-site-packages ~/mimopack-venv && "
            f"~/mimopack-venv/bin/python -m pip install {package}   # then start programs that "
            "need it with ~/mimopack-venv/bin/python; the first command needs the package "
            "python3-venv")


def check_sigmf():
    """Check the ``sigmf`` package, which recordings need."""
    version = probe("SigMF", "import sigmf", "sigmf.__version__", how_to_install("sigmf"),
                    "not importable; only recordings need it", "warning")
    yield Finding("SigMF", "ok", version)


def check_gpu():
    """Check CuPy and an NVIDIA GPU for backend "cuda"; their absence is no fault."""
    if "No module named 'cupy'" in run("import cupy")[1]:
        yield Finding("GPU", "ok", "CuPy is not installed; only backend 'cuda' needs it. "
                                   "Everything runs on the CPU")
        return
    version = probe(
        "CuPy", "import cupy", "cupy.__version__",
        "pip install 'cupy-cuda12x==13.6.*' (cupy-cuda13x from driver 580 on) without changing "
        "NumPy, or pip uninstall CuPy: only backend 'cuda' needs it", status="warning")
    yield Finding("CuPy", "ok", version)
    name, memory, count = probe(
        "GPU", f"import cupy; from {PACKAGE}.cuda import device; device.load_nvrtc(); "
        "cupy.RawKernel('extern \"C\" __global__ void f(float* x) { x[threadIdx.x] += 1; }', 'f')"
        "((1,), (32,), (cupy.zeros(32, 'f'),)); p = cupy.cuda.runtime.getDeviceProperties(0)",
        "[p['name'].decode(), p['totalGlobalMem'] / 2**30, cupy.cuda.runtime.getDeviceCount()]",
        lambda reason: (
            "pip install nvidia-cuda-nvrtc (with cupy-cuda12x: nvidia-cuda-nvrtc-cu12), or install "
            "the CUDA toolkit: CuPy compiles kernels with NVRTC" if "nvrtc" in reason else
            "check the driver with nvidia-smi, and that it supports CuPy's CUDA version "
            "(cupy-cuda12x, cupy-cuda13x)"), "CuPy cannot run a kernel", "warning")
    yield Finding("GPU", "ok", f"{count} x {name}, {memory:.0f} GiB")


def check_shared_memory():
    """Count the segments of System V shared memory; GNU Radio takes two for each buffer."""
    try:
        names, *rows = [line.split() for line in _SEGMENTS.read_text().splitlines()]
        most = int(_MOST_SEGMENTS.read_text())
    except OSError:
        return    # not on Linux
    segments = [dict(zip(names, map(int, row), strict=True)) for row in rows]
    idle = sum(segment["nattch"] == 0 and segment["uid"] == os.getuid()
               for segment in segments)
    text = f"{len(segments)} of {most} segments exist, {idle} of yours have no process"
    mend = f"to remove those without a process: {_REMOVE}" if idle else ""
    if 2 * len(segments) < most:
        yield Finding("shared memory", "ok", text, mend)
    else:
        yield Finding("shared memory", "warning",
                      f"{text}; without a free segment, no flowgraph starts",
                      mend or "end programs that use them: ipcs -m -p lists their processes")


def check_plugins():
    """Import each detector that an installed package declares; their absence is no fault."""
    lookup = f"from {PACKAGE}.detectors import lookup"
    line, reason = run(f"import json; {lookup}; print(json.dumps([[entry.name, "
                       "lookup.describe(entry)] for entry in lookup.entry_points()]))")
    for name, declared in () if reason else json.loads(line):    # another check reports the cause
        reason = run(f"from {PACKAGE} import detectors; "
                     f"assert {name!r} not in list(detectors.REGISTRY), "
                     f"'a detector of gr-mimopack has this name'; detectors.find({name!r})")[1]
        yield (Finding(f"detector {name}", "warning", f"{declared}: {reason}",
                       "update or uninstall that package") if reason else
               Finding(f"detector {name}", "ok", declared))


# Checks in the order of the report, and those of whose findings an error makes them useless.
_CHECKS = ((check_prefix, ()), (check_numpy, ()), (check_gnuradio, ("NumPy",)),
           (check_core, ("NumPy",)),
           *(((check_runtime, ("NumPy", "GNU Radio")), (check_companion, ("NumPy", "GNU Radio")))
             if WITH_BLOCKS else ()),
           (check_sigmf, ("NumPy",)), (check_gpu, ("NumPy",)), (check_shared_memory, ()),
           (check_plugins, ("NumPy",)))


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor_command(as_json):
    """Check the installation: GNU Radio, NumPy, the compiled detectors, Companion, SigMF, GPU,
    and detectors of other packages.

    The exit status is 1 if a check finds an error. Warnings do not change it.
    """
    findings = []
    for check, needed in _CHECKS:
        if any(finding.name in needed and finding.status == "error" for finding in findings):
            continue
        for finding in _all(check):
            findings.append(finding)
            if not as_json:
                click.echo(click.style(f"{finding.status:8}", fg=_COLOURS[finding.status])
                           + f"{finding.name}: {finding.text}")
                if finding.mend:
                    click.echo(f"{'':8}-> {finding.mend}")
    failed = any(finding.status == "error" for finding in findings)
    if as_json:
        click.echo(json.dumps({"ok": not failed, "findings": [asdict(f) for f in findings]},
                              indent=2))
    sys.exit(1 if failed else 0)


def _all(check):
    """Yield the findings of a check, to its end or its failure."""
    try:
        yield from check()
    except Failed as failure:
        yield failure.args[0]
