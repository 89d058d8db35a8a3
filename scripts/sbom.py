#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write a bill of materials: the packages that a release uses, is built with and tested with.

It lists the packages that scripts/setup.sh names, with installed versions, and those of
requirements-build.txt and requirements-docs.txt, with pinned versions and hashes. The format is
JSON of CycloneDX 1.5. Run the script with the Python of ``.venv``, which finds the packages from
PyPI. A package that is not installed is listed without a version.
"""

import argparse
import json
import platform
import re
import shlex
import subprocess
import sys
import uuid
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SETUP = ROOT / "scripts/setup.sh"
# What a package is for, by the option of setup.sh that installs it.
PURPOSES = {"": "required", "pytest": "tests", "tests": "tests", "fuzzers": "fuzzing",
            "cupy": "NVIDIA GPUs"}
# What the packages of other virtual environments are for, by the name of the file that pins them.
PINNED = {"build": "building a release", "docs": "documentation"}


def named():
    """Return {(kind, requirement): option} for the packages in setup.sh.

    kind is "deb" or "pypi". The option is "pytest", "tests", "fuzzers", "cupy", or "" for packages
    that are always installed; a package with several is listed with the first one.
    """
    found, option, text = {}, "", SETUP.read_text()
    for always, condition, names in re.findall(
            r"^(?:\[ \$(tests|fuzzers) = no \] \|\| )?packages(\+?)=\(([^)]*)\)", text, re.M):
        for name in names.split():
            found.setdefault(("deb", name), always if condition else "")
    for line in text.splitlines():
        if match := re.match(r"if \[ \$(pytest|tests|fuzzers|cupy) = yes \]", line):
            option = match.group(1)
        elif line == "fi":
            option = ""
        elif match := re.match(r" *need (.*)", line):
            _, *requirements = shlex.split(match.group(1), comments=True)
            for requirement in requirements:
                found.setdefault(("pypi", requirement), option)
    return found


def pins(name):
    """Return {package: (version, SHA-256)} of requirements-NAME.txt."""
    text = (ROOT / f"requirements-{name}.txt").read_text()
    return {package: (version, digest) for package, version, digest in re.findall(
        r"^(\S+)==(\S+) \\\n +--hash=sha256:(\w+)$", text, re.M)}


def version():
    """Return the version of gr-mimopack, which is written in one place."""
    text = (ROOT / "python/mimopack/__init__.py").read_text()
    return re.search(r'^__version__ = "(.+)"$', text, re.M).group(1)


def project_name(requirement):
    """Return the normalised name in a requirement such as "sigmf>=1.2"."""
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement).group()).lower()


def _deb_version(name):
    done = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}", name],
                          capture_output=True, text=True)
    status, _, version = done.stdout.partition(" ")
    return version if status == "installed" else None


def _pypi_version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _deb_address(name, version):
    release = platform.freedesktop_os_release()
    machine = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True)
    return (f"pkg:deb/{release['ID']}/{name}@{version.replace('+', '%2B').replace(':', '%3A')}"
            f"?arch={machine.stdout.strip()}&distro={release['ID']}-{release['VERSION_ID']}")


def _entry(kind, name, purpose, requirement):
    return {"type": "library", "bom-ref": f"{kind}:{name}", "name": name,
            "scope": "required" if purpose == "required" else "optional",
            "properties": [{"name": "mimopack:purpose", "value": purpose},
                           {"name": "mimopack:requirement", "value": requirement}]}


def component(kind, requirement, option):
    """Return the entry of a package that setup.sh names."""
    name = requirement if kind == "deb" else project_name(requirement)
    version = _deb_version(name) if kind == "deb" else _pypi_version(name)
    entry = _entry(kind, name, PURPOSES[option], requirement)
    if version is not None:
        entry["version"] = version
        entry["purl"] = (f"pkg:pypi/{name}@{version}" if kind == "pypi"
                         else _deb_address(name, version))
    return entry


def pinned(environment):
    """Return the entries of the packages in requirements-ENVIRONMENT.txt."""
    return [{**_entry(environment, name, PINNED[environment], f"{name}=={version}"),
             "version": version, "purl": f"pkg:pypi/{name}@{version}",
             "hashes": [{"alg": "SHA-256", "content": digest}]}
            for name, (version, digest) in pins(environment).items()]


def document():
    """Return the bill of materials as a dictionary; equal installations give equal documents."""
    own = {"type": "library", "bom-ref": "gr-mimopack", "name": "gr-mimopack",
           "version": version(),
           "licenses": [{"license": {"id": "GPL-3.0-or-later"}}]}
    components = [component(*package, option) for package, option in named().items()]
    components += [entry for environment in PINNED for entry in pinned(environment)]
    components.sort(key=lambda entry: entry["bom-ref"])
    content = {"metadata": {"component": own}, "components": components, "dependencies": [
        {"ref": own["bom-ref"], "dependsOn": [entry["bom-ref"] for entry in components]}]}
    serial = uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(content, sort_keys=True))
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "serialNumber": f"urn:uuid:{serial}",
            "version": 1, **content}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-o", "--output", type=Path, help="file; standard output by default")
    output = parser.parse_args().output
    text = json.dumps(document(), indent=1) + "\n"
    if output is None:
        sys.stdout.write(text)
    else:
        output.write_text(text)


if __name__ == "__main__":
    main()
