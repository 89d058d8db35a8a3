#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Install packages of Debian or Ubuntu, make .venv on top of the system's Python, build in build/
# and install into .venv. A further run does only the missing steps.
set -euo pipefail

usage() {
    cat <<'EOF'
usage: scripts/setup.sh [--pytest] [--tests] [--docs] [--with-cupy] [--isas native|all]

  --pytest      also install pytest
  --tests       also install pytest, ruff, and the programs that the tests use (tshark,
                scapy, h5py, and those of --docs)
  --docs        also install Sphinx into build/docs-venv, for scripts/docs.sh
  --with-cupy   also install CuPy, for NVIDIA GPUs (backend cuda)
  --isas        instruction sets to compile for: native (the best one of this machine, takes a third
                of the time) or all (of this kind of processor). The default is what build/ has,
                or native
EOF
}

pytest=no
tests=no
docs=no
cupy=no
isas=
while [ $# -gt 0 ]; do
    case $1 in
        --pytest) pytest=yes ;;
        --tests) pytest=yes tests=yes docs=yes ;;
        --docs) docs=yes ;;
        --with-cupy) cupy=yes ;;
        --isas)
            isas=${2:-}
            [ "$isas" = native ] || [ "$isas" = all ] || { usage >&2; exit 2; }
            shift
            ;;
        -h | --help) usage; exit 0 ;;
        *) usage >&2; exit 2 ;;
    esac
    shift
done

cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
root=$PWD
log=$root/build/setup.log
venv_python=$root/.venv/bin/python
# GNU Radio uses the system's Python. Another Python (pyenv, conda) or packages in the user's home
# would mix two sets of compiled modules.
unset PYTHONPATH PYTHONHOME
export PYTHONNOUSERSITE=1
export PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH

say() { printf '%s\n' "setup: $*"; }

# Run a step with its output in the log, and show the end of its output if the step fails.
step() {
    local what=$1 from
    shift
    say "$what"
    printf '\n== %s\n+ %s\n' "$what" "$*" >> "$log"
    from=$(wc -l < "$log")
    if ! "$@" >> "$log" 2>&1 < /dev/null; then
        tail -n +"$((from + 1))" "$log" | tail -n 40 >&2
        say "failed: $what (full log: $log)" >&2
        case $what in
            apt-get* | pip*) say "this step needs a network connection" >&2 ;;
        esac
        exit 1
    fi
}

# Compile and show progress: a changing line on a terminal, otherwise a line for each tenth.
compile() {
    local pid made total tenth=-1
    say "compile (instruction sets: $isas)"
    printf '\n== compile\n' >> "$log"
    cmake --build build >> "$log" 2>&1 < /dev/null &
    pid=$!
    # Ctrl-C does not reach background processes.
    trap 'kill "$pid" 2> /dev/null; exit 130' INT TERM
    while kill -0 "$pid" 2> /dev/null; do
        sleep 1
        # Ninja prints [n/m] Building.
        read -r made total < <(tail -n 5 "$log" |
            sed -n 's/^\[\([0-9]*\)\/\([0-9]*\)\] Building.*/\1 \2/p' | tail -n 1) || continue
        if [ -t 1 ]; then
            printf '\rsetup: %s of %s' "$made" "$total"
        elif [ $((10 * made / total)) != "$tenth" ]; then
            tenth=$((10 * made / total))
            say "$made of $total"
        fi
    done
    trap - INT TERM
    [ ! -t 1 ] || printf '\n'
    if ! wait "$pid"; then
        tail -n 40 "$log" >&2
        say "failed: compile (full log: $log)" >&2
        exit 1
    fi
}

mkdir -p build
printf '== setup of %s\n' "$(date)" > "$log"
say "log: $log"

packages=(
    gnuradio gnuradio-dev gir1.2-gtk-3.0 pybind11-dev cmake make ninja-build g++
    python3-dev python3-venv python3-numpy python3-matplotlib python3-click
    python3-rich python3-prometheus-client
    libsoapysdr-dev nlohmann-json3-dev
)
[ $tests = no ] || packages+=(python3-yaml python3-h5py python3-soapysdr tshark)
missing=()
if command -v dpkg-query > /dev/null; then
    for package in "${packages[@]}"; do
        state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null || true)
        [ "$state" = installed ] || missing+=("$package")
    done
else
    say "dpkg not found; assuming that these packages are installed: ${packages[*]}"
fi
if [ ${#missing[@]} -gt 0 ]; then
    as_root=()
    if [ "$(id -u)" != 0 ]; then
        if command -v sudo > /dev/null && sudo -n true 2> /dev/null; then
            as_root=(sudo -n)
        else
            say "missing packages: ${missing[*]}" >&2
            say "please run this first, as root or with sudo:" >&2
            printf '    apt-get update && apt-get install %s\n' "${missing[*]}" >&2
            exit 1
        fi
    fi
    step "apt-get update" "${as_root[@]}" apt-get update
    step "apt-get install ${missing[*]} (takes minutes if GNU Radio is missing)" \
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends \
        -o DPkg::Lock::Timeout=300 "${missing[@]}"
fi

# Make .venv if it is missing, belongs to an older Python, or does not use the system's packages.
if ! "$venv_python" -c 'import sys, numpy, pip; sys.exit(sys.base_prefix != "/usr")' 2> /dev/null
then
    step "make .venv with /usr/bin/python3" \
        /usr/bin/python3 -m venv --clear --system-site-packages .venv
fi

# The distribution's GNU Radio was compiled against the distribution's NumPy: pip must not install
# another version (NumPy 2 breaks the GNU Radio of Debian 12 and Ubuntu 24.04), whoever runs it. pip
# takes a path with a blank for two, but not a URL.
/usr/bin/python3 -c 'import numpy; print(f"numpy=={numpy.__version__}")' > .venv/constraints.txt
"$venv_python" -c 'import pathlib, sys
print("[install]\nconstraint =", pathlib.Path(sys.prefix, "constraints.txt").as_uri())' \
    > .venv/pip.conf

# Sphinx needs newer versions of the distribution's packages, which .venv keeps.
if [ $docs = yes ] &&
    ! cmp -s scripts/docs/requirements.txt build/docs-venv/requirements.txt; then
    step "make build/docs-venv" \
        /usr/bin/python3 -m venv --clear --system-site-packages build/docs-venv
    step "pip install -r scripts/docs/requirements.txt" \
        build/docs-venv/bin/python -m pip install --disable-pip-version-check \
        --constraint .venv/constraints.txt -r scripts/docs/requirements.txt
    cp scripts/docs/requirements.txt build/docs-venv/requirements.txt
fi

# Arguments: a module to import, then the arguments for pip to install it.
need() {
    local module=$1
    shift
    "$venv_python" -c "import $module" 2> /dev/null ||
        step "pip install $*" "$venv_python" -m pip install --disable-pip-version-check "$@"
}

need sigmf "sigmf>=1.2"
if [ $pytest = yes ]; then
    need pytest "pytest>=7"
    need xdist.scheduler.worksteal "pytest-xdist>=3.2"    # runs tests on all cores
fi
if [ $tests = yes ]; then
    need ruff ruff
    need scapy scapy    # reads captures, like tshark
    need pandas pandas    # a program of docs/simulation.md
    need scikit_build_core "scikit-build-core>=0.10"    # makes the source package of the wheel
    need distributed "distributed>=2025.7"    # Dask, for simulations on a cluster
    need nvidia.cu13 nvidia-cuda-nvrtc    # compiles GPU programs without a GPU
fi

if [ $cupy = yes ]; then
    driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2> /dev/null |
        sed -n '1s/\..*//p' || true)
    # CUDA 13 needs driver 580 or newer. If the driver is unknown, take CUDA 13.
    if [ "${driver:-580}" -ge 580 ]; then
        need cupy "cupy-cuda13x==13.6.*"
        need nvidia.cu13 nvidia-cuda-nvrtc    # the compiler of the CUDA toolkit
    else
        need cupy "cupy-cuda12x==13.6.*"
        need nvidia.cuda_nvrtc nvidia-cuda-nvrtc-cu12
    fi
fi

# A build folder contains absolute paths. It may also be configured by hand for another prefix.
cached() { sed -n "s/^$1:[A-Z]*=//p" build/CMakeCache.txt 2> /dev/null || true; }
if [ -e build/CMakeCache.txt ] && [ "$(cached CMAKE_HOME_DIRECTORY)" != "$root" ]; then
    step "remove the build of $(cached CMAKE_HOME_DIRECTORY)" \
        rm -rf build/CMakeCache.txt build/CMakeFiles build/python
fi
built_for=$(cached MIMOPACK_ISAS)
isas=${isas:-${built_for:-native}}
if [ "$(cached CMAKE_INSTALL_PREFIX)" != "$root/.venv" ] ||
    [ "$(cached PYTHON_EXECUTABLE)" != "$venv_python" ] || [ "$built_for" != "$isas" ] ||
    [ ! -e build/CMakeFiles/TargetDirectories.txt ]; then
    generator=()
    [ -e build/CMakeCache.txt ] || generator=(-G Ninja)
    step "configure" cmake -S . -B build ${generator[@]+"${generator[@]}"} \
        -DCMAKE_INSTALL_PREFIX="$root/.venv" -DPYTHON_EXECUTABLE="$venv_python" \
        -DMIMOPACK_ISAS="$isas"
fi
compile
# Renamed or deleted files would remain in the installed copy.
rm -rf .venv/lib/python3*/site-packages/gnuradio/mimopack .venv/share/gnuradio/grc/blocks \
    .venv/share/gnuradio/examples/mimopack .venv/share/doc/gr-mimopack
step "install into .venv" cmake --install build
