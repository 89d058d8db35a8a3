# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The package ``mimopack``, which pip installs: the same modules, without GNU Radio."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile

import pytest
from scikit_build_core.build import build_sdist
from source_tree import PACKAGES, ROOT

RECORDING = ROOT / "examples/recordings/wifi_4x4_ht"
HIDE = "import sys; sys.modules['gnuradio'] = sys.modules['pmt'] = None; "


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Folder with the package, laid out as in the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    (folder / "mimopack").mkdir()
    for entry in (PACKAGES / "gnuradio/mimopack").iterdir():
        target = folder / "mimopack" / entry.name
        if entry.name.startswith("_core"):
            shutil.copy(entry, target)    # another library than that of gnuradio.mimopack
        elif not entry.name.startswith(("_runtime", "__pycache__")):
            target.symlink_to(entry.resolve())
    return folder


def run(folder, code, *arguments, before=HIDE):
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, "-c", before + code, *arguments], env=environment,
                          capture_output=True, text=True, timeout=120)


def command(folder, *arguments):
    return run(folder, "from mimopack.apps.cli import main; main()", *map(str, arguments))


def test_every_module_but_blocks_is_imported(folder):
    done = run(folder, """
import importlib, json, pkgutil, mimopack
failed = []
for module in pkgutil.walk_packages(mimopack.__path__, "mimopack.", onerror=failed.append):
    try:
        importlib.import_module(module.name)
    except ImportError:
        failed.append(module.name)
print(json.dumps(failed))
""")
    assert done.returncode == 0, done.stderr
    needing = json.loads(done.stdout.splitlines()[-1])
    assert "mimopack.blocks" in needing
    assert {name for name in needing if not name.startswith("mimopack.blocks")} == {
        "mimopack.apps.play.playback", "mimopack.apps.wifi.live", "mimopack.apps.wifi.radio",
        "mimopack.sionna"}    # which needs Sionna


def test_a_block_is_absent_and_the_error_says_why(folder):
    done = run(folder, """
import mimopack
assert not hasattr(mimopack, "pytest_plugins") and "detectors" in dir(mimopack)
mimopack.wifi_receiver
""")
    assert re.search(r"AttributeError: module 'mimopack' has no attribute 'wifi_receiver'.*"
                     "blocks need GNU Radio 3.10.*gnuradio", done.stderr.splitlines()[-1])
    done = run(folder, "from mimopack import blocks")
    assert "ImportError: blocks need GNU Radio 3.10" in done.stderr.splitlines()[-1]


def test_the_command_without_click_says_what_to_install(folder):
    done = run(folder, "from mimopack.apps.cli import main", before="import sys; "
               "sys.modules['click'] = None; ")
    assert done.returncode == 1
    assert done.stderr.startswith("mimopack: the command needs the Python package click: pip")
    assert done.stderr.count("\n") == 1


def test_source_package_has_every_source(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    with tarfile.open(tmp_path / build_sdist(str(tmp_path))) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    sources = {str(path.relative_to(ROOT)) for folder in ("lib", "python/mimopack")
               for path in (ROOT / folder).rglob("*")
               if path.is_file() and path.suffix not in (".pyc", ".so")}
    assert len(sources) > 400 and sources - packed == set()


def test_a_recording_is_decoded(folder):
    done = command(folder, "wifi", RECORDING, "--detector", "mmse")
    assert done.returncode == 0, done.stderr
    assert "20" in done.stdout


@pytest.mark.parametrize("arguments", [
    ("play", RECORDING), ("wifi", "--radio", "driver=rtlsdr", "--frequency", "5.18G")])
def test_a_command_that_needs_blocks_says_so_in_one_line(folder, arguments):
    done = command(folder, *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "blocks need GNU Radio 3.10" in done.stderr.splitlines()[-1]


def test_both_packages_work_in_one_program(folder):
    done = run(f"{folder}:{PACKAGES}", """
import numpy as np, mimopack
from gnuradio import mimopack as whole
y, h = np.ones((1, 2), np.complex64), np.eye(2, dtype=np.complex64)[None]
a, b = (one.detectors.MMSE(2, 2, "qpsk").detect(y, h, 0.1) for one in (mimopack, whole))
assert (a == b).all() and mimopack._core is not whole._core and whole.wifi_receiver
""", before="")
    assert done.returncode == 0, done.stderr
