# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Detectors that installed packages declare as entry points."""

import sys

import pytest
from gnuradio.mimopack import detectors
from own_detectors import install

MODULE = "from own_detectors import OwnZf\nclass Mine(OwnZf):\n    name = {!r}\n"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return a function like ``install`` for a folder on Python's path."""
    before = dict(detectors.REGISTRY)
    loaded = set(sys.modules)
    monkeypatch.syspath_prepend(tmp_path)
    yield lambda entries, modules, **options: install(tmp_path, entries, modules, **options)
    for name in set(detectors.REGISTRY) - set(before):
        del detectors.REGISTRY[name]
    for name in set(sys.modules) - loaded:
        del sys.modules[name]


def test_it_is_loaded_when_asked_for(package):
    package(["mine = lazy_plugin:Mine"], {"lazy_plugin": MODULE.format("mine")})
    assert detectors.names()[-1] == "mine" and "nway" in detectors.REGISTRY
    assert "lazy_plugin" not in sys.modules
    with pytest.raises(ValueError, match="got 'mime', allowed are zf, .*, omap, mine"):
        detectors.create("mime")
    assert "lazy_plugin" not in sys.modules
    assert detectors.create("mine", num_tx=2, num_rx=2).name == "mine"
    assert detectors.REGISTRY["mine"] is detectors.find("mine")


@pytest.mark.parametrize("module, message", [
    ("raise RuntimeError('no licence')", "RuntimeError('no licence')"),
    ("import sys; sys.exit(3)", "SystemExit(3)"), ("Other = 1", "AttributeError"),
    ("Mine = 1", "has another name"), (MODULE.format("other"), "has another name"),
    ("class Mine:\n    name = 'mine'\n", "which has no method detect")])
def test_a_broken_one_is_reported_and_harms_nothing_else(package, module, message):
    package(["mine = broken_plugin:Mine"], {"broken_plugin": module})
    assert "mine" in detectors.names() and detectors.find("nway") is detectors.NWay
    for _ in range(2):
        with pytest.raises(ValueError) as caught:
            detectors.create("mine")
        text = str(caught.value)
        assert "got 'mine', but its plug-in fails, broken_plugin:Mine of some_detectors 1.5" in text
        assert message in text


def test_two_packages_with_one_name(package):
    package(["mine = first_plugin:Mine"], {"first_plugin": MODULE.format("mine")})
    package(["mine = second_plugin:Mine"], {"second_plugin": MODULE.format("mine")},
            package="other_detectors")
    with pytest.raises(ValueError, match="several packages declare: .*other_detectors 1.5"):
        detectors.find("mine")


def test_a_built_in_detector_cannot_be_replaced(package):
    package(["nway = evil_plugin:Mine"], {"evil_plugin": MODULE.format("nway")})
    assert detectors.find("nway") is detectors.NWay
    assert detectors.names().count("nway") == 1
