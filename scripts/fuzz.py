#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fuzz the parts that parse input from outside, guided by coverage.

    scripts/fuzz.py TARGET ... [--runs N] [--total N] [--seconds S] [--jobs J] [--merge] [--keep]

A target is a module in tests/fuzz/fuzz_targets, which runs under Atheris, or a C++ file in
tests/fuzz/cpp, which clang++ builds with libFuzzer and the sanitizers of addresses and of undefined
behaviour. "all" runs all targets, one after another. The script needs Atheris, clang++ and an
importable gnuradio.mimopack. The first two come with scripts/setup.sh --fuzzers; the environment
variable CLANGXX names another compiler.

Inputs that reach new code are kept in build/fuzz/TARGET/inputs, and later runs begin with them. The
file build/fuzz/TARGET/record.json counts the executions of all runs. --keep moves these counts to
bench/results/fuzz.json, which is committed. With --total, a run ends when both files together have
so many since the last commit with a finding, and a further one has nothing to do. A finding is an
input in build/fuzz/TARGET. Run it again by its path:

    scripts/fuzz.py TARGET --input build/fuzz/TARGET/finding-...

The exit status is 1 if there is a finding.
"""

import argparse
import json
import os
import random
import re
import resource
import shlex
import shutil
import subprocess
import sys
import time
from math import ceil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FUZZ = ROOT / "tests/fuzz"
CORPUS = ROOT / "tests/data/fuzz"
WORK = ROOT / "build/fuzz"
KEPT = ROOT / "bench/results/fuzz.json"
sys.path.insert(0, str(FUZZ))
# Seconds after which one input is a finding, waiting for a core included, and megabytes of memory
# that are one.
SECONDS, MEGABYTES = 120, 3000
# Executions of a process under Atheris. Atheris 3.0.0 keeps the result of each comparison of NumPy
# arrays that it watches, so that a process grows.
MOST_RUNS = 300_000
INTERRUPTED = 72    # exit status of libFuzzer after SIGINT
EXECUTED = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
# {C++ target: (its sources in the library, further options of the compiler)}. pybind11 shares types
# only between modules of one compiler, and GNU Radio's come from GCC.
LIBRARY = {
    "mpdus.cc": (["lib/wifi/mac.cc"], ["-lz"]),
    "headers.cc": (["lib/wifi/headers.cc", "lib/wifi/samples.cc", "lib/wifi/signal_fields.cc",
                    "lib/wifi/smoothing.cc"], []),
    "scan.cc": (["lib/wifi/scan.cc", "lib/wifi/samples.cc"], []),
    "messages.cc": (["lib/runtime/messages.cc"],
                    ['-DPYBIND11_COMPILER_TYPE="_gcc"', "$ABI", "$PYTHON", "-lgnuradio-pmt",
                     "-lgnuradio-runtime"]),
    "recording.cc": (["soapy/recording.cc"],
                     ["-fsanitize=float-cast-overflow",
                      "-fno-sanitize-recover=float-cast-overflow", "-lSoapySDR"])}
NATIVE_MAX_LEN = 1024
# The last four checks take five times as long as all else. AddressSanitizer and the processor stop
# at what most of them see, but not at a wrong alignment.
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined",
              "-fno-sanitize=null,alignment,object-size,pointer-overflow"]
# A process with this variable runs a target in Python; libFuzzer starts such processes too.
MODULE = "MIMOPACK_FUZZ_MODULE"
# Python's own allocator would hide errors in the use of memory from the sanitizer.
NATIVE_ENVIRONMENT = {"PYTHONMALLOC": "malloc",
                      "ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=16"}


def targets():
    """Return the names of all targets."""
    import fuzz_targets
    return [*fuzz_targets.NAMES, *LIBRARY]


def options(name, runs=0, seconds=0, seed=0, max_len=None):
    """Return libFuzzer's options."""
    told = [f"-artifact_prefix={WORK / name}/finding-", f"-timeout={SECONDS}",
            f"-rss_limit_mb={MEGABYTES}", "-print_final_stats=1", f"-seed={seed}"]
    told += [f"-runs={runs}"] * bool(runs) + [f"-max_total_time={seconds}"] * bool(seconds)
    return told + [f"-max_len={max_len}"] * bool(max_len)


def folders(name):
    """Return the folders of a target's inputs: the one for new inputs first."""
    (WORK / name).mkdir(parents=True, exist_ok=True)
    (WORK / name / "inputs").mkdir(exist_ok=True)
    return [WORK / name / "inputs", *[CORPUS / name] * (CORPUS / name).is_dir()]


def run_module(name, arguments):
    """Run a target in Python under Atheris with libFuzzer's arguments; does not return."""
    try:
        import atheris
    except ImportError:
        sys.exit("fuzz: there is no Atheris in this Python: run scripts/setup.sh --fuzzers")
    import fuzz_targets
    from fuzz_targets import mutations
    with atheris.instrument_imports(include=["gnuradio.mimopack"]):
        module = fuzz_targets.load(name)
    for index, seed in enumerate(module.seeds()):
        (WORK / name / "inputs" / f"seed-{index:02d}").write_bytes(seed)

    def mutate(data, most, seed):
        rng = random.Random(seed)
        if not rng.randrange(4):
            return atheris.Mutate(data, most)
        return module.mutate(data, rng)[:most]

    # libFuzzer's own changes are faster where there is no structure to keep.
    own = {} if module.mutate is mutations.of_bytes else {"custom_mutator": mutate}
    atheris.Setup([sys.argv[0], *arguments, f"-max_len={module.MAX_LEN}"], module.check, **own)
    atheris.Fuzz()


def _python():
    """Return the options to embed the Python that GNU Radio uses."""
    return subprocess.run(["/usr/bin/python3-config", "--embed", "--includes", "--ldflags"],
                          capture_output=True, text=True, check=True).stdout.split()


def _abi():
    """Return the option that gives pybind11 the version of GCC's ABI."""
    told = subprocess.run(["g++", "-dM", "-E", "-x", "c++", "/dev/null"], capture_output=True,
                          text=True, check=True).stdout
    version = re.search(r"#define __GXX_ABI_VERSION (\d+)", told)[1]
    return [f'-DPYBIND11_BUILD_ABI="_cxxabi{version}"']


SPECIAL = {"$PYTHON": _python, "$ABI": _abi}


def sources_of(name):
    """Return the C++ sources of a target: its own first."""
    return [FUZZ / "cpp" / name, *(ROOT / source for source in LIBRARY[name][0])]


def compilation(name, compiler, program, *further):
    """Return the command that compiles a C++ target; ``further`` has more options and sources."""
    more = [word for one in LIBRARY[name][1]
            for word in (SPECIAL[one]() if one in SPECIAL else [one])]
    return [compiler, "-std=c++17", "-g", "-fvisibility=hidden", "-Wno-deprecated-declarations",
            "-DMIMOPACK_ISA=baseline", f"-I{ROOT / 'lib'}", *map(str, further),
            *map(str, sources_of(name)), *more, "-o", str(program)]


def build(name):
    """Compile a C++ target if it is older than its sources, and return the program's path."""
    program = WORK / name / "program"
    program.parent.mkdir(parents=True, exist_ok=True)
    headers = [*(ROOT / "lib").rglob("*.h"), *(FUZZ / "cpp").glob("*.h")]
    if program.is_file() and all(one.stat().st_mtime < program.stat().st_mtime
                                 for one in [*sources_of(name), *headers]):
        return program
    compiler = shutil.which(os.environ.get("CLANGXX", "clang++"))
    if compiler is None:
        sys.exit("fuzz: there is no clang++: run scripts/setup.sh --fuzzers, or name a compiler in "
                 "CLANGXX")
    command = compilation(name, compiler, program, "-O2", "-fsanitize=fuzzer", *SANITIZERS)
    print(shlex.join(command), flush=True)
    if subprocess.run(command).returncode:
        sys.exit(f"fuzz: {name} was not compiled")
    return program


def command_of(name):
    """Return the command that runs a target; libFuzzer's arguments follow."""
    if name in LIBRARY:
        return [str(build(name))]
    return [sys.executable, __file__]


def environment_of(name):
    """Return the environment of a target's processes."""
    if name in LIBRARY:
        return os.environ | NATIVE_ENVIRONMENT
    # To merge, libFuzzer starts this script by its name: with the first Python in PATH.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return os.environ | {MODULE: name, "PATH": path}


def commit():
    """Return the commit of the working tree, with a + if files differ from it."""
    told = subprocess.run(["git", "describe", "--always", "--dirty=+", "--exclude=*"], cwd=ROOT,
                          capture_output=True, text=True)
    return told.stdout.strip() or "unknown"


def record(name):
    """Return the rows of the record: for each commit the executions, seconds and findings."""
    file = WORK / name / "record.json"
    return json.loads(file.read_text()) if file.is_file() else []


def kept():
    """Return the content of the file of all kept records."""
    if KEPT.is_file():
        return json.loads(KEPT.read_text())
    return {"what": "executions of the fuzz targets, by commit", "targets": {}}


def keep(names):
    """Move the records of targets to the file of all kept records."""
    from gnuradio.mimopack.apps.machine import processor

    content = kept()
    for name in names:
        for row in record(name):
            add(content["targets"].setdefault(name, []), row.pop("commit"), processor(), row)
    write(KEPT, content)
    for name in names:
        (WORK / name / "record.json").unlink(missing_ok=True)


def add(rows, commit, processor, counts):
    """Add counts to the row of a commit and a processor; None stands for this machine's."""
    own = {"commit": commit} | ({} if processor is None else {"processor": processor})
    for row in rows:
        if own.items() <= row.items():
            break
    else:
        row = own | dict.fromkeys(counts, 0)
        rows.append(row)
    for key, value in counts.items():
        row[key] += value


def write(file, content):
    """Write a JSON file, which is the old one or the new one at any time."""
    new = file.with_name(f"{file.name}.new")
    new.write_text(json.dumps(content, indent=1) + "\n")
    new.replace(file)


def since_the_last_finding(rows):
    """Return the executions of the commits after the last one with a finding."""
    last = max((n for n, row in enumerate(rows) if row["findings"]), default=-1)
    return sum(row["executions"] for row in rows[last + 1:])


def add_to_record(name, **counts):
    """Add a run's counts to the row of its commit."""
    rows = record(name)
    add(rows, commit(), None, counts)
    write(WORK / name / "record.json", rows)


def processor_seconds():
    """Return the processor time of all ended processes that this one started."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fuzz(name, arguments):
    """Run a target, in one series of processes after another; return whether there was no finding.
    """
    runs, end = arguments.runs, time.monotonic() + arguments.seconds
    if arguments.total:
        rows = [*kept()["targets"].get(name, []), *record(name)]
        left = arguments.total - since_the_last_finding(rows)
        if left <= 0:
            print(f"{name}: has its {arguments.total} executions", flush=True)
            return True
        runs = min(runs, left) if runs else left
    most = 0 if name in LIBRARY else MOST_RUNS * arguments.jobs
    seed = arguments.seed
    while True:
        now = min((limit for limit in (runs, most) if limit), default=0)
        seconds = ceil(end - time.monotonic()) if arguments.seconds else 0
        executed, clean = series(name, now, seconds, seed, arguments.jobs)
        is_over = (runs and executed >= runs) or (arguments.seconds and time.monotonic() >= end)
        if not most or not clean or not executed or is_over:
            return clean
        runs -= executed if runs else 0
        seed += arguments.jobs if seed else 0


def series(name, runs, seconds, seed, jobs):
    """Run a target in several processes; return (executions, whether there was no finding)."""
    command, logs, running = command_of(name), [], []
    inputs = [str(folder) for folder in folders(name)]
    start, processor = time.monotonic(), processor_seconds()
    for job in range(jobs):
        told = options(name, -(-runs // jobs), seconds, seed and seed + job,
                       NATIVE_MAX_LEN if name in LIBRARY else None)
        logs.append(WORK / name / f"log-{job}.txt")
        with logs[-1].open("w") as log:
            running.append(subprocess.Popen([*command, *told, *inputs], stdout=log, stderr=log,
                                            env=environment_of(name)))
    codes = [process.wait() for process in running]
    seconds, processor = time.monotonic() - start, processor_seconds() - processor
    texts = [log.read_text(errors="replace") for log in logs]
    executed = sum(int(found[-1]) for text in texts if (found := EXECUTED.findall(text)))
    findings = sum(code not in (0, INTERRUPTED) for code in codes)
    result = ("no finding" if not any(codes) else "DID NOT RUN" if not executed
              else "FINDING" if findings else "interrupted")
    print(f"{name}: {executed} executions in {seconds:.0f} s and {processor:.0f} s of processor "
          f"time, {executed / processor:.0f} per second of it, "
          f"{len(list((WORK / name / 'inputs').iterdir()))} inputs kept, {result}", flush=True)
    add_to_record(name, executions=executed, seconds=round(seconds),
                  processor_seconds=round(processor),
                  findings=findings * bool(executed))
    for log, text, code in zip(logs, texts, codes, strict=True):
        if code:
            print(f"{log}:\n" + "\n".join(text.splitlines()[-40:]), flush=True)
    return executed, not any(codes)


def merge(name):
    """Add to the committed corpus the inputs that reach code which no other input reaches."""
    (CORPUS / name).mkdir(parents=True, exist_ok=True)
    own, committed = WORK / name / "inputs", CORPUS / name
    subprocess.run([*command_of(name), "-merge=1", *options(name), str(committed), str(own)],
                   env=environment_of(name))


def main():
    if MODULE in os.environ:
        return run_module(os.environ[MODULE], sys.argv[1:])
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="+", choices=[*targets(), "all"], metavar="TARGET",
                        help=", ".join([*targets(), "all"]))
    parser.add_argument("--runs", type=int, default=0, help="executions of all jobs together")
    parser.add_argument("--total", type=int, default=0,
                        help="executions of this run and all on record since a finding")
    parser.add_argument("--seconds", type=int, default=0, help="time limit of each target")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--seed", type=int, default=0,
                        help="begin of the random numbers; 0 takes another one in each run")
    parser.add_argument("--merge", action="store_true",
                        help="afterwards add inputs that reach new code to tests/data/fuzz")
    parser.add_argument("--keep", action="store_true",
                        help="afterwards move the counts of all runs to bench/results/fuzz.json")
    parser.add_argument("--input", type=Path, help="run one input only")
    arguments = parser.parse_args()
    names = targets() if "all" in arguments.target else arguments.target
    if arguments.input:
        return subprocess.run([*command_of(names[0]), str(arguments.input)],
                              env=environment_of(names[0])).returncode
    is_limited = arguments.runs or arguments.total or arguments.seconds
    if not (is_limited or arguments.keep):
        parser.error("give --runs, --total, --seconds or --keep")
    clean = [fuzz(name, arguments) for name in names] if is_limited else []
    if arguments.keep:
        keep(names)
    if arguments.merge:
        for name in names:
            merge(name)
    return int(not all(clean))


if __name__ == "__main__":
    sys.exit(main())
