# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files around the code: versions, licence lines, tables of the documents, what is installed."""

import json
import os
import re
import subprocess
import sys

from cmake_runs import cmake, configure
from gnuradio import mimopack
from gnuradio.mimopack import detectors, recording
from release import COPIES
from source_tree import PACKAGES, ROOT

CODE = sorted(
    path for folder in ("apps", "bench", "cmake", "examples", "grc", "lib", "packaging", "python",
                        "scripts", "tests", ".ci")
    for path in (ROOT / folder).rglob("*")
    if (path.suffix in {".py", ".cc", ".h", ".sh", ".in", ".yml"}
        or path.name in {"CMakeLists.txt", "run"})
    # Ignore scripts that Companion generates beside its flowgraphs.
    and not path.with_suffix(".grc").exists())


def test_one_version_everywhere():
    for path, line in COPIES.items():
        assert line.format(mimopack.__version__) in path.read_text()
    assert mimopack.__version__ in (ROOT / "CHANGELOG.md").read_text()


def test_licence_lines():
    assert len(CODE) > 50
    lines = ("SPDX-FileCopyrightText: 2026 The gr-mimopack authors",
             "SPDX-License-Identifier: GPL-3.0-or-later")
    without = [str(path.relative_to(ROOT)) for path in CODE
               if not all(line in path.read_text(encoding="utf-8")[:400] for line in lines)]
    assert without == []


def test_readme_names_every_block():
    text = (ROOT / "README.md").read_text()
    assert [name for name in mimopack.blocks.__all__ if f"`{name}`" not in text] == []


def test_documentation_says_what_each_detector_takes():
    rows = [[cell.strip() for cell in line.split("|")[1:-1]]
            for line in (ROOT / "docs/detectors.md").read_text().splitlines()
            if line.startswith("| `") and line.count("|") == 9]
    documented = {row[0]: (row[1], row[4], row[5], row[7].removeprefix("nt = ")) for row in rows}
    limits = {"mla": "2 M^(nt-1) = 2^25 slices; without slicing M^nt = 2^24", "omap": "M^nt = 2^24"}
    assert documented == {
        f"`{name}`": (f"`{detector.__name__}`", "yes" if detector.SUPPORTS_PRIOR else "no",
                      "QAM, BPSK" if detector.NEEDS_GRID else "any",
                      limits.get(name, str(detector.MAX_TX)))
        for name, detector in detectors.REGISTRY.items()}
    assert detectors.OMAP.LARGEST_SEARCH == 2**24 and detectors.MLA.LARGEST_SLICED == 2**25


def test_documents_quote_the_committed_measurements():
    subprocess.run([sys.executable, ROOT / "bench" / "tables.py", "--check"], check=True,
                   timeout=60)


def test_readme_says_what_the_demo_decodes():
    rows = [[cell.strip() for cell in line.split("|")[1:-1]]
            for line in (ROOT / "README.md").read_text().splitlines()
            if re.match(r"\| (detector \| at|.* of 20 \|)", line)]
    demo = ROOT / "examples/recordings/wifi_4x4_ht"
    sent = [f"at {frame.snr_db:g} dB"
            for frame in recording.read_frames(recording.Reader(demo).annotations)]
    snrs = sorted(set(sent))
    assert rows[0] == ["detector", *snrs]
    decoded = {name: row["fcs_ok"] for name, row in json.loads(
        demo.with_name(f"{demo.name}.golden.json").read_text())["detectors"].items()}
    assert [row[1:] for row in rows[1:]] == [
        [f"{sum(at == snr and ok == '1' for at, ok in zip(sent, decoded[name], strict=True))} "
         f"of {sent.count(snr)}" for snr in snrs] for name in ("mla", "nway", "mmse", "zf")]


def test_examples_and_documentation_are_installed(tmp_path):
    configure(tmp_path / "build", f"-DPYTHON_EXECUTABLE={sys.executable}")
    for component in ("examples", "doc"):
        cmake("--install", tmp_path / "build", "--component", component, "--prefix", tmp_path)
    examples = tmp_path / "share/gnuradio/examples/mimopack"
    assert os.access(examples / "recordings/make_traffic.py", os.X_OK)
    wanted = {path.name for path in (ROOT / "examples").glob("*.grc")}
    wanted |= {f"{name.removesuffix('.grc')}_headless.py" for name in wanted}
    assert {path.name for path in examples.iterdir()} == wanted | {"recordings", "detector"}
    done = subprocess.run(
        [sys.executable, examples / "wifi_recording_headless.py"], cwd=tmp_path, text=True,
        capture_output=True, timeout=60,
        env={**os.environ, "PYTHONPATH": str(PACKAGES)})
    assert done.returncode == 0, done.stderr
    documents = tmp_path / "share/doc/gr-mimopack"
    assert {path.name for path in (documents / "docs").iterdir()} \
        == {path.name for path in (ROOT / "docs").iterdir()}
    assert (documents / "README.md").exists()
