#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the static analysers of clang and g++ over the C++ sources.

    scripts/analyze.py [--jobs N] [FILE ...]

The script needs clang++, and what scripts/setup.sh installs and builds. It prints each finding that
scripts/sanitize/analyzer.txt does not list with a reason, and exits with 1 if there is one.
clang sees all sources. g++ sees those that use neither Python nor GNU Radio: the analyser of g++ 12
does not know exceptions, and its manual advises against C++.
"""

import argparse
import re
import subprocess
import sys
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FINDING = re.compile(r"^(\S+?):(\d+):\d+: (?:warning|error): (.*?) \[([\w.+=-]+)\]"
                     r"(?: \[-Wanalyzer\S+)?$", re.M)
COMMON = ["-std=gnu++17", "-DMIMOPACK_SANITIZE", "-DMIMOPACK_ISA=avx2", "-mavx2", "-mfma",
          "-fopenmp", "-Ilib", "-Isoapy", "-isystem", sysconfig.get_path("include"),
          *(f"-I{path.parent.parent}" for path in ROOT.glob("build*/lib/cpu/builds.h"))]
OPENMP = subprocess.run(["g++", "-print-file-name=include"], capture_output=True, text=True,
                        check=True).stdout.strip()    # for omp.h
ANALYZERS = {
    # clang lacks an attribute of g++'s omp.h.
    "clang": ["clang++", "--analyze", "--analyzer-output", "text", "-Wno-everything",
              "-D__malloc__(free)=__malloc__", "-idirafter", OPENMP, *COMMON],
    "g++": ["g++", "-fanalyzer", "-w", "-c", *COMMON],
}
LIMIT_SECONDS = 300    # of processor time


def sources(analyzer):
    """Return the sources that an analyser sees."""
    folders = ["lib", "soapy"] if analyzer == "clang" else ["lib"]
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.cc"))]
    return [path for path in found if analyzer == "clang" or not {"bindings", "runtime"} &
            set(path.relative_to(ROOT).parts)]


def known():
    """Read the findings that are accepted: (check, end of the path, part of the message)."""
    lines = (ROOT / "scripts/sanitize/analyzer.txt").read_text().splitlines()
    return [tuple(line.split(None, 2)) for line in lines if line and not line.startswith("#")]


def analyze(analyzer, path):
    """Return (lines of findings, seconds). A source that cannot be analysed is a finding."""
    start = time.monotonic()
    done = subprocess.run(["prlimit", f"--cpu={LIMIT_SECONDS}", *ANALYZERS[analyzer],
                           str(path.relative_to(ROOT)), "-o", "/dev/null"],
                          capture_output=True, text=True, cwd=ROOT)
    found = {f"{place}:{line}: {text} [{check}]"
             for place, line, text, check in FINDING.findall(done.stderr)}
    if done.returncode and not found:
        found = {f"{path}: cannot be analysed: {done.stderr.strip()[-500:]}"}
    return sorted(found), time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--analyzer", action="append", choices=ANALYZERS)
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("files", nargs="*", type=lambda name: Path(name).resolve())
    arguments = parser.parse_args()
    accepted, seen, new = known(), set(), set()
    for analyzer in arguments.analyzer or ANALYZERS:
        paths = [path for path in sources(analyzer)
                 if not arguments.files or path in arguments.files]
        with ThreadPoolExecutor(arguments.jobs) as pool:
            results = pool.map(lambda path: analyze(analyzer, path), paths)    # noqa: B023
            for path, (found, seconds) in zip(paths, results, strict=True):
                for finding in found:
                    rows = {row for row in accepted if f"[{row[0]}]" in finding and
                            row[1] + ":" in finding and row[2] in finding}
                    seen |= rows
                    if not rows and finding not in new:
                        new.add(finding)
                        print(finding, flush=True)
                print(f"{analyzer} {path.relative_to(ROOT)}: {len(found)} findings "
                      f"({seconds:.0f} s)", flush=True)
    if not arguments.files and not arguments.analyzer:
        for row in set(accepted) - seen:
            print(f"scripts/sanitize/analyzer.txt: no longer found: {' '.join(row)}")
    print(f"{len(new)} findings are not accepted")
    return int(bool(new))


if __name__ == "__main__":
    sys.exit(main())
