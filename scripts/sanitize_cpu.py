#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compile with the sanitizers of g++ and run tests under them.

    scripts/sanitize_cpu.py address [--isas ISAS] [--jobs N] [pytest arguments]
    scripts/sanitize_cpu.py thread [--isas ISAS] [--jobs N] [pytest arguments]

address is AddressSanitizer with UndefinedBehaviorSanitizer, thread is ThreadSanitizer. Each has a
build folder of its own, build-address and build-thread. The script needs what scripts/setup.sh
--tests installs. It prints each report, and exits with 1 if there is one or if a test fails.
For kernels on GPUs, see sanitize.py.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ROOT / ".venv/bin/python"
SUPPRESSIONS = ROOT / "scripts/sanitize"

# Tests that call the compiled code. Each detector and each code has small sizes here.
ADDRESS_TESTS = """
    tests/detectors tests/coding tests/wifi tests/recording tests/runtime tests/test_llr_health.py
    tests/blocks/test_wifi_receiver.py tests/blocks/test_wifi_receiver_changes.py
    tests/blocks/test_sigmf_multichannel.py tests/soapy
""".split()
# Tests in which threads share something: teams of drivers, the receiver's pool, blocks.
THREAD_TESTS = """
    tests/detectors/test_every_detector.py tests/detectors/test_sphere.py
    tests/detectors/test_sic.py tests/coding/test_viterbi_decoder.py
    tests/coding/test_convolutional.py
    tests/coding/ldpc/test_decoder.py tests/coding/turbo/test_decoder.py
    tests/wifi/test_workers.py tests/wifi/test_losses.py tests/runtime tests/blocks
    tests/apps/test_waiter.py tests/apps/wifi/test_live.py
""".split()
# Tests that fail or wait forever under AddressSanitizer, and why.
ADDRESS_LEFT_OUT = {
    "tests/detectors/test_arguments.py::"
    "test_two_threads_that_make_teams_at_once_do_not_take_the_same_room":
        "AddressSanitizer needs memory beyond the limit that the test sets",
    "tests/detectors/test_outside.py::test_through_nvrtc":
        "NVRTC does not find its second library",
    "tests/recording/test_raw.py::test_pieces_leave_the_memory_of_the_process":
        "AddressSanitizer keeps freed memory",
    "tests/wifi/test_pcap.py::TestFiles::test_fifo_is_read_live":
        "tshark does not start its helper with AddressSanitizer",
}

OPTIONS = {
    "address": {
        # Python does not free everything at its end. Tests ask for more memory than there is.
        # GNU Radio's SoapySDR sink begins with a count that nobody has set. With the usual fill of
        # 190, this count is negative, and the sink never sends.
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:malloc_fill_byte=1",
        "UBSAN_OPTIONS": f"print_stacktrace=1:suppressions={SUPPRESSIONS}/undefined.supp",
        "PYTHONMALLOC": "malloc",    # so that the ends of Python's objects are seen too
    },
    "thread": {
        # Reports make the script fail, not the processes that tests start.
        "TSAN_OPTIONS": "exitcode=0:die_after_fork=0:second_deadlock_stack=1:"
                        f"suppressions={SUPPRESSIONS}/thread.supp",
    },
}
LIBRARIES = {"address": ["libasan.so", "libubsan.so", "libstdc++.so"],
             "thread": ["libtsan.so", "libstdc++.so"]}
COMPILED = {"address": "address,undefined", "thread": "thread"}
TESTS = {"address": ADDRESS_TESTS, "thread": THREAD_TESTS}
LEFT_OUT = {"address": ADDRESS_LEFT_OUT, "thread": {}}
# What AddressSanitizer says where a program switches stacks itself. It is no report.
STACKS = re.compile(r"==\d+==WARNING: ASan doesn't fully support makecontext/swapcontext.*\n")


def build(sanitizer, isas, jobs):
    """Configure and compile; return the build folder."""
    folder = ROOT / f"build-{sanitizer}"
    subprocess.run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", folder,
                    f"-DMIMOPACK_SANITIZE={COMPILED[sanitizer]}", f"-DMIMOPACK_ISAS={isas}",
                    f"-DPYTHON_EXECUTABLE={PYTHON}"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", folder, "-j", str(jobs)], check=True)
    return folder


def environment(sanitizer, folder):
    """Return the variables with which Python runs the instrumented modules."""
    options = dict(OPTIONS[sanitizer])
    for name in options:
        if name.endswith("OPTIONS"):
            options[name] += f":log_path={folder}/reports/{name[:-len('_OPTIONS')].lower()}"
    # Python itself is not instrumented, so the libraries must be there before it. They take over
    # functions of the C++ library, which must be there too.
    libraries = [subprocess.run(["g++", f"-print-file-name={name}"], check=True, text=True,
                                capture_output=True).stdout.strip()
                 for name in LIBRARIES[sanitizer]]
    return {**os.environ, **options, "LD_PRELOAD": ":".join(libraries),
            "PYTHONPATH": str(folder / "python"), "PYTHONNOUSERSITE": "1"}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sanitizer", choices=OPTIONS)
    parser.add_argument("--isas", default="native", help="instruction sets, as MIMOPACK_ISAS")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments, tests = parser.parse_known_args()
    start = time.monotonic()
    folder = build(arguments.sanitizer, arguments.isas, arguments.jobs)
    compiled = time.monotonic()
    reports = folder / "reports"
    reports.mkdir(exist_ok=True)
    for old in reports.iterdir():
        old.unlink()
    # ThreadSanitizer of g++ 12 needs addresses that are not random.
    fixed = ["setarch", "-R"] if arguments.sanitizer == "thread" else []
    tests = tests or [*TESTS[arguments.sanitizer], "-q"]
    left_out = LEFT_OUT[arguments.sanitizer]
    for name, reason in left_out.items():
        print(f"left out: {name}: {reason}", flush=True)
    done = subprocess.run([*fixed, PYTHON, "-m", "pytest", "-m", "not gpu", "-p",
                           "no:cacheprovider", *(f"--deselect={name}" for name in left_out),
                           *tests], cwd=ROOT, env=environment(arguments.sanitizer, folder))
    texts = {path: STACKS.sub("", path.read_text(errors="replace")).strip()
             for path in sorted(reports.iterdir())}
    found = {path: text for path, text in texts.items() if text}
    for path, text in found.items():
        print(f"== {path}\n{text}")
    print(f"{arguments.sanitizer}: {len(found)} processes with reports; compiled in "
          f"{compiled - start:.0f} s, tested in {time.monotonic() - compiled:.0f} s")
    return int(bool(found) or done.returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
