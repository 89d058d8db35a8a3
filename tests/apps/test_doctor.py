# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``mimopack doctor`` in intentionally broken environments."""

import ctypes
import json
import os
import shlex
import subprocess
import sys

import pytest
from commands import run
from gnuradio.mimopack.apps import doctor
from source_tree import PACKAGES, ROOT


def findings(**settings):
    """Run ``mimopack doctor --json``; return (exit status, {name: finding})."""
    done = run("doctor", "--json", **settings)
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert report["ok"] == (done.returncode == 0)
    return done.returncode, {finding["name"]: finding for finding in report["findings"]}


def fake(folder, name, text):
    """Write a module that Python finds before the real one."""
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


@pytest.mark.quick
def test_working_installation():
    status, found = findings()
    assert status == 0, found
    for name in ("NumPy", "GNU Radio", "CPU detectors", "runtime", "SigMF"):
        assert found[name]["status"] == "ok", found[name]
    # Each finding that is not ok suggests a repair.
    assert all(f["mend"] for f in found.values() if f["status"] != "ok")


def test_numpy_that_gnuradio_was_not_compiled_for(tmp_path):
    # Without numpy.core, GNU Radio's compiled modules fail in the same way as with NumPy 2.
    fake(tmp_path, "numpy/__init__.py", "__version__ = '2.4.6'\n")
    status, found = findings(path=[tmp_path])
    assert status == 1
    assert "2.4.6" in found["NumPy"]["text"] and str(tmp_path) in found["NumPy"]["text"]
    assert "numpy<2" in found["GNU Radio"]["mend"]
    assert "runtime" not in found    # its error would only repeat the cause


def test_an_empty_gnuradio_package_in_front_is_named(tmp_path):
    """With it in front, Python finds no gnuradio.mimopack, so the command itself says it."""
    fake(tmp_path, "gnuradio/__init__.py", "")
    script = tmp_path / "mimopack"
    script.write_text((ROOT / "apps" / "mimopack.in").read_text().replace("@MIMOPACK_SHEBANG@", ""))
    done = subprocess.run([sys.executable, script, "doctor"], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(tmp_path)}, timeout=60)
    assert done.returncode == 1
    assert f"remove {tmp_path} from PYTHONPATH" in done.stderr
    assert "apt install" not in done.stderr


def test_compiled_module_missing(tmp_path):
    package = tmp_path / "gnuradio" / "mimopack"
    package.mkdir(parents=True)
    for entry in (PACKAGES / "gnuradio" / "mimopack").iterdir():
        if not entry.name.startswith(("_core", "__pycache__")):
            (package / entry.name).symlink_to(entry)
    done = subprocess.run(
        [sys.executable, "-c",
         "import gnuradio; gnuradio.__path__ = [p for p in gnuradio.__path__ "
         f"if p != {str(PACKAGES / 'gnuradio')!r}]\n"
         "from gnuradio.mimopack.apps.cli import main; main(['doctor', '--json'])"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True,
        timeout=120)
    assert done.returncode == 1, done.stderr
    found = {f["name"]: f for f in json.loads(done.stdout)["findings"]}
    assert found["CPU detectors"]["status"] == "error"
    assert "scripts/setup.sh" in found["CPU detectors"]["mend"]


def test_sigmf_missing(tmp_path):
    fake(tmp_path, "sigmf.py", "raise ModuleNotFoundError(\"No module named 'sigmf'\")\n")
    status, found = findings(path=[tmp_path])
    assert status == 0
    assert found["SigMF"]["status"] == "warning"
    assert "recordings" in found["SigMF"]["text"]
    assert "pip install sigmf" in found["SigMF"]["mend"]


@pytest.fixture
def blocks(monkeypatch, tmp_path):
    """The only folder with blocks: Companion finds none, not even a copy in /usr/local."""
    blocks = tmp_path / "my checkout/.venv/share/gnuradio/grc/blocks"
    blocks.mkdir(parents=True)
    (blocks / "mimopack_x.block.yml").touch()
    monkeypatch.setattr(doctor, "installed_grc_folder", lambda: blocks)
    monkeypatch.setenv("GR_CONF_GRC_GLOBAL_BLOCKS_PATH", str(tmp_path / "none"))
    monkeypatch.setenv("GRC_BLOCKS_PATH", "")
    return blocks


def test_advice_for_companion_names_a_python_that_finds_the_module(monkeypatch, blocks):
    prefix = blocks.parents[3]
    # The system's Python starts Companion by default; another Python must be given.
    monkeypatch.setattr(doctor.sys, "prefix", sys.base_prefix)
    finding, = doctor.check_companion()
    assert finding.mend == f"export GRC_BLOCKS_PATH='{blocks}'"
    monkeypatch.setattr(doctor.sys, "prefix", str(prefix))
    finding, = doctor.check_companion()
    python = shlex.quote(sys.executable)
    grcc = f"GRC_BLOCKS_PATH='{blocks}' {python} /usr/bin/grcc FLOWGRAPH.grc"
    assert finding.status == "warning"
    assert "/usr/bin/gnuradio-companion" in finding.mend and grcc in finding.mend
    # In a checkout, a script starts Companion, so nothing is wrong.
    script = prefix.parent / "scripts/companion.sh"
    script.parent.mkdir()
    script.touch()
    finding, = doctor.check_companion()
    assert finding.status == "ok" and not finding.mend
    assert f"'{script}'" in finding.text and grcc in finding.text


@pytest.mark.parametrize(("text", "name", "said"), [
    ("raise ImportError('libnvrtc.so.12: cannot open shared object file')\n", "CuPy", "libnvrtc"),
    ("__version__ = '13.6.0'\ndef RawKernel(*a): raise RuntimeError('cudaErrorNoDevice')\n",
     "GPU", "cudaErrorNoDevice"),
    ("__version__ = '13.6.0'\ndef RawKernel(*a): raise RuntimeError("
     "'CuPy failed to load libnvrtc.so.13: OSError')\n", "GPU", "libnvrtc"),
], ids=["no library", "no device", "no compiler"])
def test_cupy_that_does_not_work_is_a_warning(tmp_path, text, name, said):
    fake(tmp_path, "cupy.py", text)
    status, found = findings(path=[tmp_path])
    assert status == 0
    assert found[name]["status"] == "warning"
    assert said in found[name]["text"]
    assert ("pip install nvidia-cuda-nvrtc" in found[name]["mend"]) == (said == "libnvrtc"
                                                                       and name == "GPU")


def test_shared_memory_without_a_process():
    libc = ctypes.CDLL(None)
    # A private segment of a page, which exists until it is removed.
    segment = libc.shmget(0, 4096, 0o600)
    try:
        finding, = doctor.check_shared_memory()
        removes, _, _ = finding.mend.partition(" | ")
        shown = subprocess.run(removes.partition(": ")[2], shell=True, capture_output=True,
                               text=True, check=True).stdout.split()
        assert str(segment) in shown and f"{len(shown)} of yours have no process" in finding.text
    finally:
        subprocess.run(["ipcrm", "-m", str(segment)], check=True)


def test_another_copy_is_reported(tmp_path):
    fake(tmp_path, "gnuradio/mimopack/__init__.py", "")
    code = "from gnuradio.mimopack.apps import doctor; print(next(doctor.check_prefix()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": f"{PACKAGES}{os.pathsep}{tmp_path}"})
    assert "status='warning'" in done.stdout and str(tmp_path) in done.stdout, done.stderr


def test_fewer_threads_than_cores(monkeypatch):
    monkeypatch.setattr(doctor, "probe", lambda *_: ["avx2", ["baseline", "avx2"], 1])
    monkeypatch.setattr(doctor.os, "sched_getaffinity", lambda pid: set(range(8)))
    found = {f.name: f for f in doctor.check_core()}
    assert "avx2" in found["CPU detectors"].text
    assert found["threads"].status == "warning"
    assert "1 of 8" in found["threads"].text


def test_companion_blocks(monkeypatch, tmp_path, blocks):
    finding, = doctor.check_companion()
    assert finding.status == "warning" and f"GRC_BLOCKS_PATH='{blocks}'" in finding.mend
    monkeypatch.setenv("GRC_BLOCKS_PATH", str(blocks))
    finding, = doctor.check_companion()
    assert finding.status == "ok" and ": 1" in finding.text
    other = tmp_path / "other"
    other.mkdir()
    (other / "mimopack_x.block.yml").touch()
    monkeypatch.setenv("GRC_BLOCKS_PATH", f"{blocks}{os.pathsep}{other}")
    finding, = doctor.check_companion()
    assert finding.status == "warning" and str(other) in finding.text
    monkeypatch.setattr(doctor, "installed_grc_folder", lambda: None)
    assert next(doctor.check_companion()).status == "warning"
