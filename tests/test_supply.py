# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bill of materials and the pinned packages of a release name what setup.sh names."""

import json
import re
import subprocess
import sys
from importlib import metadata

import pytest
from source_tree import ROOT

# The parts of setup.sh that name packages, evaluated by bash itself.
NAMED = r"""
tests=yes; fuzzers={more}; cupy={more}
need() {{ shift; printf 'pypi %s\n' "$@"; }}
nvidia-smi() {{ echo {driver}.10; }}
eval "$(sed -n '/^packages=(/,/^missing=()/p' {setup})"
printf 'deb %s\n' "${{packages[@]}}"
eval "$(sed -n '/^need sigmf/,/^# A build folder/p' {setup})"
"""


def named(more="no", driver=600):
    """Return {(kind, requirement)} of setup.sh --tests, with or without its other options."""
    script = NAMED.format(more=more, driver=driver, setup=ROOT / "scripts/setup.sh")
    said = subprocess.run(["bash", "-euc", script], check=True, capture_output=True, text=True)
    return {tuple(line.split(" ", 1)) for line in said.stdout.splitlines()}


def name_of(requirement):
    return re.split("[<>=!]", requirement)[0].lower()


@pytest.fixture(scope="module")
def bill():
    done = subprocess.run([sys.executable, ROOT / "scripts/sbom.py"], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)


def test_the_bill_lists_what_setup_installs(bill):
    wanted = named("yes", 600) | named("yes", 500)
    assert len(wanted) > 25
    listed = {(entry["bom-ref"].partition(":")[0],
               {one["name"]: one["value"] for one in entry["properties"]}["mimopack:requirement"])
              for entry in bill["components"]}
    assert listed == wanted


def test_the_bill_has_the_installed_versions(bill):
    entries = {entry["bom-ref"]: entry for entry in bill["components"]}
    assert entries["pypi:pytest"]["version"] == metadata.version("pytest")
    assert entries["pypi:pytest"]["purl"] == f"pkg:pypi/pytest@{metadata.version('pytest')}"
    assert entries["pypi:pytest"]["scope"] == "optional"
    assert entries["pypi:sigmf"]["scope"] == entries["deb:gnuradio"]["scope"] == "required"
    for entry in entries.values():
        assert ("purl" in entry) == ("version" in entry)


def test_the_bill_has_the_form_of_cyclonedx(bill):
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.5", 1)
    assert re.fullmatch("urn:uuid:[0-9a-f-]{36}", bill["serialNumber"])
    references = [entry["bom-ref"] for entry in bill["components"]]
    assert len(set(references)) == len(references)
    own = bill["metadata"]["component"]
    assert bill["dependencies"] == [{"ref": own["bom-ref"], "dependsOn": references}]
    latest = re.search(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.M).group(1)
    assert own["version"] in latest


def test_a_release_pins_what_setup_takes_from_pypi():
    text = (ROOT / "requirements-release.txt").read_text()
    lines = [line for line in text.replace("\\\n", " ").splitlines() if not line.startswith("#")]
    pinned = {}
    for line in lines:
        match = re.fullmatch(r"([a-z0-9-]+)==(\S+) +--hash=sha256:([0-9a-f]{64})", line)
        assert match, line
        pinned[match.group(1)] = match.group(2)
    wanted = {name_of(requirement) for kind, requirement in named() if kind == "pypi"}
    assert wanted <= set(pinned) and "numpy" not in pinned
    assert "://" not in text and "index" not in text
