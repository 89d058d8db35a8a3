#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Compile the part without GNU Radio for aarch64, on Debian for x86-64, and test it under QEMU:
#
#     scripts/aarch64.sh                quick tests of detectors, decoders and the Wi-Fi kernels
#     scripts/aarch64.sh ARGUMENT...    pytest with these arguments, such as tests/coding
#
# Needs g++-aarch64-linux-gnu, qemu-user-static, cmake, ninja-build and pybind11-dev. Packages
# for aarch64 are unpacked in build/aarch64, not installed. Tests that need GNU Radio or
# start other programs do not run.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
folder=$PWD/build/aarch64
root=$folder/root
triplet=aarch64-linux-gnu
for program in $triplet-g++ qemu-aarch64-static cmake ninja; do
    command -v $program > /dev/null || { echo "aarch64: $program is missing" >&2; exit 1; }
done

if [ ! -e "$root/ready" ]; then
    mkdir -p "$folder"/apt/{lists,archives}/partial "$root"
    touch "$folder/apt/status"
    cat > "$folder/apt/conf" <<EOF
Dir::State "$folder/apt";
Dir::State::status "$folder/apt/status";
Dir::Cache "$folder/apt";
APT::Architecture "arm64";
APT::Architectures "arm64";
APT::Install-Recommends "false";
EOF
    export APT_CONFIG=$folder/apt/conf
    apt-get update -qq
    apt-get install -qq --download-only libpython3-dev python3-numpy python3-pytest libgomp1
    for package in "$folder"/apt/archives/*.deb; do
        dpkg -x "$package" "$root"
    done
    touch "$root/ready"
fi

version=$(python3 -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
cmake -S packaging/wheel -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
    -DCMAKE_CXX_COMPILER=$triplet-g++ -DCMAKE_CXX_FLAGS="-isystem $root/usr/include" \
    -DPython_EXECUTABLE="$(command -v python3)" \
    -DPython_INCLUDE_DIR="$root/usr/include/$version" \
    -DPython_LIBRARY="$root/usr/lib/$triplet/lib$version.so" -DSKBUILD_PROJECT_VERSION=0
cmake --build "$folder/build"

$triplet-g++ -std=c++17 -O1 -static -DMIMOPACK_ISA=neon -Ilib tests/cpu/lanes.cc \
    -o "$folder/lanes"
qemu-aarch64-static "$folder/lanes"
echo "aarch64: the operators of the lane types are right"

# gnuradio.mimopack, as the tests name it
package=$folder/python/gnuradio/mimopack
mkdir -p "$package"
ln -sfn "$PWD"/python/mimopack/* "$package"
cp "$folder"/build/lib/_core.*.so "$package/_core.so"
cp "$folder/build/_commit.py" "$package"

if [ $# = 0 ]; then
    set -- -m "quick and not gpu" tests/coding/{ldpc,turbo}/test_decoder.py \
        tests/coding/test_{viterbi,list}_decoder.py \
        tests/detectors/test_{equals_reference,recorded_llrs,every_detector,fsd,sic}.py \
        tests/detectors/test_{breadth_first,sphere,softsphere}.py \
        tests/wifi/test_{kernels,annex_i,antennas,formats}.py
fi
# Nothing has chosen a BLAS for NumPy in the unpacked packages.
lib=$root/usr/lib/$triplet
PYTHONPATH=$folder/python exec qemu-aarch64-static -L "$root" \
    -E LD_LIBRARY_PATH="$lib/blas:$lib/lapack" "$root/usr/bin/$version" \
    -m pytest -q --noconftest -p no:cacheprovider "$@"
