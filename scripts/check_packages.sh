#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Build packages of the last commit and try them where nothing else is installed.
set -euo pipefail

usage() {
    cat <<'EOF_USAGE'
usage: scripts/check_packages.sh [--isas native|all] [--quick] [--ccache FOLDER]
                                 [--folder FOLDER] CHECK...

  bookworm   Debian packages for Debian 12: built, checked by lintian, installed and tried
  trixie     the same for Debian 13
  recipes    the recipes for conda and PyBOMBS are valid

  --isas     instruction sets to compile for, native by default
  --quick    Debian packages without optimization, which compile in a tenth of the time
  --ccache   Debian packages: keep what the compiler wrote in this folder, for the next build
  --folder   where to build and to make chroots, build/packages by default

bookworm and trixie need root and the package debootstrap. They use the mirror of this machine.
recipes installs packages from PyPI into a virtual environment. scripts/wheel.sh makes the wheel.
EOF_USAGE
}

cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
root=$PWD
isas=native
quick=
ccache=
folder=$root/build/packages
checks=()
while [ $# -gt 0 ]; do
    case $1 in
        --isas) isas=${2:?} && shift ;;
        --quick) quick=noopt ;;
        --ccache) ccache=$(realpath -m "${2:?}") && shift ;;
        --folder) folder=$(realpath -m "${2:?}") && shift ;;
        bookworm | trixie | recipes) checks+=("$1") ;;
        -h | --help) usage; exit 0 ;;
        *) usage >&2; exit 2 ;;
    esac
    shift
done
[ ${#checks[@]} -gt 0 ] || { usage >&2; exit 2; }
unset PYTHONPATH PYTHONHOME
export PYTHONNOUSERSITE=1
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' python/mimopack/__init__.py)
mkdir -p "$folder" ${ccache:+"$ccache"}

say() { printf '%s\n' "packages: $*"; }

recipes() {
    python3 -m venv --clear "$folder/venv"
    "$folder/venv/bin/python" -m pip install --quiet py-rattler-build pyyaml
    "$folder/venv/bin/python" packaging/conda/check.py
    "$folder/venv/bin/python" -c 'import sys, yaml
recipe = yaml.safe_load(open(sys.argv[1]))
assert recipe["inherit"] == "cmake" and recipe["source"].startswith("git+"), recipe' \
        packaging/pybombs/gr-mimopack.lwr
}

# Make a chroot with nothing but the distribution's base. Arguments: suite, folder
new_chroot() {
    local suite=$1 target=$2 base=$folder/$1.tar mirror
    if [ ! -e "$base" ]; then
        mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
            'Label: Debian' | sort -u | head -n 1)
        rm -rf "$target"
        debootstrap --variant=minbase "$suite" "$target" "$mirror" > "$folder/$suite.log"
        tar -C "$target" -cf "$base.part" .
        mv "$base.part" "$base"
    fi
    rm -rf "$target"
    mkdir -p "$target"
    tar -C "$target" -xf "$base"
    cp /etc/resolv.conf /etc/hosts "$target/etc/"
    printf '#!/bin/sh\nexit 101\n' > "$target/usr/sbin/policy-rc.d"    # no services
    chmod +x "$target/usr/sbin/policy-rc.d"
    echo force-unsafe-io > "$target/etc/dpkg/dpkg.cfg.d/fast"
    mkdir "$target/work" "$target/ccache"
}

# Run a shell command in a chroot, where --ccache is /ccache. Arguments: chroot, command
inside() {
    unshare --mount --pid --fork sh -ec '
        mount -t proc proc "$1/proc"
        mount --rbind /dev "$1/dev"
        [ -z "$3" ] || mount --bind "$3" "$1/ccache"
        exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
            DEBIAN_FRONTEND=noninteractive sh -ec "cd /work; $2"' sh "$1" "$2" "$ccache"
}

debian() {
    local suite=$1 chroot=$folder/$1 name=gr-mimopack-$version cached= test
    say "$suite: build"
    new_chroot "$suite" "$chroot"
    git archive --prefix="$name/" HEAD ':!debian' |
        gzip -n > "$chroot/work/gr-mimopack_$version.orig.tar.gz"
    tar -C "$chroot/work" -xf "$chroot/work/gr-mimopack_$version.orig.tar.gz"
    git archive HEAD debian | tar -C "$chroot/work/$name" -x
    [ -z "$ccache" ] || cached="CCACHE_DIR=/ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache"
    inside "$chroot" "apt-get update
        apt-get install -y --no-install-recommends dpkg-dev lintian ${ccache:+ccache}
        apt-get build-dep -y --no-install-recommends ./$name
        export DEB_BUILD_OPTIONS='isas=$isas parallel=$(nproc) $quick' $cached
        export CCACHE_SLOPPINESS=pch_defines,time_macros
        cd $name && dpkg-buildpackage -us -uc" > "$folder/$suite-build.log"
    say "$suite: lintian"
    inside "$chroot" "lintian --fail-on error --suppress-tags bad-distribution-in-changes-file \
        gr-mimopack_*.changes"
    rm -rf "$folder/debs-$suite"
    mkdir "$folder/debs-$suite"
    cp "$chroot"/work/*.deb "$folder/debs-$suite"

    say "$suite: install"
    new_chroot "$suite" "$chroot"
    cp "$folder/debs-$suite"/*.deb "$chroot/work"
    mkdir "$chroot/work/source"
    git archive HEAD debian/tests examples | tar -C "$chroot/work/source" -x
    inside "$chroot" "rm -f *-dbgsym_*.deb
        apt-get update && apt-get install -y --no-install-recommends ./*.deb" \
        > "$folder/$suite-install.log"
    for test in import doctor smoke use detector; do
        say "$suite: debian/tests/$test"
        [ $test != detector ] ||    # It alone needs a compiler.
            inside "$chroot" "apt-get install -y --no-install-recommends cmake g++ make" \
                >> "$folder/$suite-install.log"
        inside "$chroot" "cd source && debian/tests/$test"
    done
    rm -rf "$chroot"
}

for check in "${checks[@]}"; do
    case $check in
        bookworm | trixie) debian "$check" ;;
        *) "$check" ;;
    esac
    say "$check: passed"
done
